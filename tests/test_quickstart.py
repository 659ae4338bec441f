"""`scripts/quickstart` to its end: the real engine, the embedded model, a scored table and a page."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(1500)]

ROOT = Path(__file__).resolve().parent.parent


def test_quickstart_ends_with_a_score_table_and_a_page_and_a_second_one_asks_nothing(tmp_path: Path) -> None:
    env = {**os.environ, "MIXGRID_VENV": str(Path(sys.executable).parent.parent)}
    command = [str(ROOT / "scripts" / "quickstart"), str(tmp_path / "store")]
    first = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert first.returncode == 0, first.stdout + first.stderr
    assert "smollm2-135m-instruct" in first.stdout
    assert "macro_f1" in first.stdout
    page = Path(first.stdout.rsplit("report: ", 1)[1].splitlines()[0])
    assert "<html" in page.read_text("utf-8")
    second = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert second.returncode == 0, second.stdout + second.stderr
    assert "asked 0, copied 0, started 0 engines" in second.stdout
