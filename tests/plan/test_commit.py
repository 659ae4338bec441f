"""Which code made the rows: the checkout's commit, or what the submitting machine said of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

from mixgrid.cluster.upload import pack
from tests.helpers import small_grid

ASK = "from mixgrid.plan.preflight import commit; print(commit())"


@pytest.mark.parametrize(
    ("said", "expected"), [({"MIXGRID_COMMIT": "0123abc-dirty"}, "0123abc-dirty"), ({}, "unknown")]
)
def test_code_that_came_with_a_job_has_the_commit_that_was_said(
    tmp_path: Path, said: dict[str, str], expected: str
) -> None:
    pack(small_grid(tmp_path)).write(tmp_path / "job")
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(tmp_path / "job"), **said}
    done = subprocess.run(
        [sys.executable, "-c", ASK], env=env, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == expected
