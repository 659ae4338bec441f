"""Answers that ended at the limit of their length are told wherever a person looks at the grid (cases.md C4, 52)."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from mixgrid.corpora.snapshot import write_snapshot
from mixgrid.engines.base import Ask, EngineSpec
from mixgrid.plan.grid import Grid
from mixgrid.records import Answer
from tests.cli.conftest import Mixgrid
from tests.helpers import ask, corpus_rows, open_grid

CUT = "(finish_reason length)"


class Talker:
    """Answers, and is cut off where the text holds a word."""

    fingerprint = "talker"
    word = ""

    def __init__(self, spec: EngineSpec) -> None:
        """Nothing to load."""

    def answer(self, asks: Sequence[Ask]) -> list[Answer]:
        ends = ["length" if self.word in one.messages[-1].content else "stop" for one in asks]
        return [Answer("<raspuns>satiră</raspuns>", finish_reason=end) for end in ends]

    def close(self) -> None:
        """Nothing to free."""


@pytest.fixture
def talked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Grid:
    """60 sentences in Romanian, 60 mixed, two seeds; those with the parameter in their text are cut off."""
    monkeypatch.setattr(Talker, "word", request.param)
    monkeypatch.setattr("mixgrid.actor.build", Talker)
    grid = open_grid(tmp_path, rows=corpus_rows(60))
    write_snapshot(grid.slices[0].whole, grid.store)
    ask(grid)
    return grid


@pytest.mark.parametrize("talked", ["the mayor"], indirect=True)
def test_run_status_and_reduce_tell_of_cut_answers(mixgrid: Mixgrid, talked: Grid) -> None:
    where = (talked.path, "--store", talked.store.url)
    for verb in ("run", "status"):  # nothing is left to ask, so no engine starts
        ended = mixgrid(verb, *where)
        assert ended.code == 0
        assert f"warning: 2 of 2 runs have answers cut off at `max_tokens` {CUT}: " in ended.err
        assert ended.err.count("(60 of 120)") == 2
    assert [one["cut"] for one in mixgrid("status", *where, "--json").json] == [60, 60]
    says = f"mini · satire · toy · zero-shot: answers cut off at `max_tokens` {CUT} in ro-en/random 100.0 %; raise it"
    assert says in mixgrid("reduce", *where).err
    assert says in Path(mixgrid("report", *where).out.removeprefix("report: ").strip()).read_text("utf-8")


@pytest.mark.parametrize("talked", ["Știrea 7: primarul"], indirect=True)
def test_a_cell_is_told_of_though_its_run_is_not_much_cut(mixgrid: Mixgrid, talked: Grid) -> None:
    where = (talked.path, "--store", talked.store.url)
    assert CUT not in mixgrid("status", *where).err
    assert f"{CUT} in ro/none 1.7 %; raise it" in mixgrid("reduce", *where).err


@pytest.mark.parametrize("talked", ["nowhere"], indirect=True)
def test_where_nothing_is_cut_nothing_is_said(mixgrid: Mixgrid, talked: Grid) -> None:
    where = (talked.path, "--store", talked.store.url)
    assert CUT not in "".join(mixgrid(verb, *where).err for verb in ("run", "status", "reduce"))
