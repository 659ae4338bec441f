"""A short storm: head, store, driver, nodes and actors are killed while a grid is answered, and nothing is lost."""

import subprocess
import sys
from pathlib import Path

import pytest

CHAOS = Path(__file__).resolve().parent.parent / "scripts" / "chaos"


@pytest.mark.ray
@pytest.mark.kills
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_grid_survives_the_loss_of_everything_that_it_runs_on() -> None:
    command = [sys.executable, str(CHAOS), "--minutes", "0.5", "--seed", "5", "--every", "4", "8"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=850, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "kill head" in done.stdout
    assert "kill store" in done.stdout
