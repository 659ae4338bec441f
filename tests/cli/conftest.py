"""How the command ends, as a person at the terminal sees it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mixgrid.cli import main
from mixgrid.corpora.snapshot import write_snapshot
from mixgrid.plan.grid import Grid
from tests.helpers import ask, open_grid


@dataclass(frozen=True)
class Ended:
    """Exit code and what was printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Mixgrid = Callable[..., Ended]


@pytest.fixture
def mixgrid(capsys: pytest.CaptureFixture[str]) -> Mixgrid:
    """Call the command in this process: `mixgrid("plan", path, "--json")`."""

    def call(*arguments: object) -> Ended:
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main([str(argument) for argument in arguments])
        assert isinstance(end.value.code, int)
        return Ended(end.value.code, *capsys.readouterr())

    return call


@pytest.fixture
def answered(tmp_path: Path) -> Grid:
    """A canned grid with two seeds, answered whole, with its snapshot; its files are tmp_path/manifests and …/store."""
    grid = open_grid(tmp_path)
    write_snapshot(grid.slices[0].whole, grid.store)
    ask(grid, size=9)
    return grid
