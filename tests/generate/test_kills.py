"""Generation on a real Ray: the corpus is the same whatever the workers, and whoever was killed on the way."""

import os
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import psutil
import pytest

from mixgrid.store import Store
from tests.generate.samples import SAID, recipe, rows
from tests.rayhead import BIN

pytestmark = [pytest.mark.ray, pytest.mark.kills, pytest.mark.timeout(400)]


def written(folder: Path, log: Path, **resources: Any) -> Path:
    """A generation whose slow engine writes down what it was asked."""
    args = {"answers": list(SAID), "delay_ms": 20, "log_to": str(log)}
    return recipe(folder, toy={"engine_args": args}, resources={"cpus": 0.5, "batches_in_flight": 2, **resources})


def start(path: Path, store: Path) -> subprocess.Popen[str]:
    env = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    command = [str(BIN / "mixgrid"), "generate", str(path), "--store", str(store)]
    return subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )


def finish(path: Path, store: Path) -> None:
    process = start(path, store)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output


def digests(store: Path) -> list[str]:
    return sorted(place.name for place in (store / "corpora" / "made").iterdir())


def end(process: subprocess.Popen[str]) -> None:
    """Kill the driver and the Ray that it started."""
    for pid in (process.pid, *(child.pid for child in psutil.Process(process.pid).children(recursive=True))):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    process.communicate()


def test_workers_and_kills_do_not_change_the_corpus(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    finish(written(whole, tmp_path / "whole.txt", replicas=2, batch_size=7), whole / "store")
    path = written(killed, tmp_path / "killed.txt", replicas=1, batch_size=16)
    process = start(path, killed / "store")
    deadline = time.monotonic() + 200
    while not list(killed.rglob("part-*.parquet")):
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline, "no part was written"
        time.sleep(0.1)
    end(process)
    assert not (killed / "store" / "corpora" / "made").exists()
    finish(path, killed / "store")
    assert digests(killed / "store") == digests(whole / "store")
    asked = Counter((tmp_path / "killed.txt").read_text("utf-8").split())
    assert sum(asked.values()) - len(asked) <= 16 * 2
    assert set(asked) == set((tmp_path / "whole.txt").read_text("utf-8").split())
    (digest,) = digests(whole / "store")
    parts = Store.open(str(whole / "store")).parts(f"corpora/made/{digest}", "rejects").whole
    assert sum(part.rows for part in parts) < len(rows()) * 3 * 2 * 3
