"""A disk that fills up in mid-run, for real: a file system of 200 kB in a mount namespace of its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import TOY, corpus_rows, small_grid

ROOT = Path(__file__).resolve().parent.parent
INSIDE = ("unshare", "--map-root-user", "--mount")

FILLING = """
import subprocess, sys
from collections import Counter
from mixgrid.plan.grid import resolve
from mixgrid.store import StoreError
from tests.helpers import ask, predictions

path, store = sys.argv[1:]
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "none", store], check=True)
grid = resolve(path, store)
try:
    ask(grid, size=10)
    print("not full")
except StoreError as error:
    print(error)
kept = len(predictions(grid))
subprocess.run(["mount", "-o", "remount,size=20m", store], check=True)
receipts = ask(grid, size=10)
rows = Counter((row.run_id, row.item_id) for row in predictions(grid))
print(kept, sum(receipt.rows for receipt in receipts), len(rows), set(rows.values()))
"""


def test_what_was_written_before_the_disk_was_full_is_kept_and_the_rest_is_asked_again(tmp_path: Path) -> None:
    if not shutil.which("unshare") or subprocess.run([*INSIDE, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine lets nobody make a mount namespace")
    long = {"toy": {**TOY, "engine_args": {"answers": ["satiră " * 60, "factual " * 50]}}}
    path, store = small_grid(tmp_path, rows=corpus_rows(40), models=long), tmp_path / "store"
    store.mkdir()
    env = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'lib'}"}
    ended = subprocess.run(
        [*INSIDE, sys.executable, "-c", FILLING, str(path), str(store)],
        env=env, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    full, counts = ended.stdout.splitlines()
    assert full.startswith("cannot write 'main/predictions/")
    assert "No space left on device; check that the folder is a writable folder on a disk with room" in full
    kept, again, rows, times = counts.split()
    assert 0 < int(kept) < 160
    assert int(kept) + int(again) == int(rows) == 160
    assert times == "{1}"
