"""compare and gate at the terminal: what they print, and that a regression ends in 5."""

import re
from pathlib import Path

import pytest

from mixgrid.corpora.snapshot import write_snapshot
from mixgrid.plan.grid import Grid
from tests.cli.conftest import Mixgrid
from tests.helpers import ask, corpus_rows, open_grid


@pytest.fixture
def two(tmp_path: Path) -> Grid:
    """A model that is right and one that makes its answers up, both answered whole."""
    grid = open_grid(
        tmp_path,
        rows=corpus_rows(60),
        models={"other": {"engine": "canned", "checkpoint": "none", "context_length": 4096, "revision": "2"}},
        asked=("toy", "other"),
        seeds=[1],
        comparisons=[{"family": "h1", "a": {"model": "toy"}, "b": {"model": "other"}}],
    )
    write_snapshot(grid.slices[0].whole, grid.store)
    ask(grid)
    return grid


def reduction(mixgrid: Mixgrid, grid: Grid) -> str:
    found: str = mixgrid("reduce", grid.path, "--store", grid.store.url, "--json").json["id"]
    return found


def test_declared_comparisons_are_in_the_reduction(mixgrid: Mixgrid, two: Grid) -> None:
    found = mixgrid("reduce", two.path, "--store", two.store.url, "--json").json
    methods = {(t["family"], t["method"]) for t in found["tests"]}
    assert methods == {("h1", "cluster-bootstrap"), ("h1", "mcnemar"), ("h1", "paired-bootstrap")}


def test_compare_within_a_reduction_and_with_itself(mixgrid: Mixgrid, two: Grid) -> None:
    name = reduction(mixgrid, two)
    ended = mixgrid("compare", "toy", "other", "--in", name, "--store", two.store.url, "--max-drop", 1)
    assert ended.code == 0
    assert re.search(r"\d+ of \d+ differences are significant \(p corrected for \d+ tests\)", ended.out)
    same = mixgrid("compare", name, f"main/{name}", "--store", two.store.url, "--json")
    assert same.code == 0
    assert same.json["moved"] == same.json["regressions"] == []
    assert {test["kind"] for test in same.json["tests"]} == {"reduction"}


def test_compare_names_what_it_does_not_find(mixgrid: Mixgrid, two: Grid) -> None:
    name = reduction(mixgrid, two)
    ended = mixgrid("compare", name, "none", "--store", two.store.url)
    assert ended.code == 2
    assert "holds no reduction 'none'" in ended.err
    assert mixgrid("compare", "toy", "x", "--in", name, "--store", two.store.url).code == 2


def test_gate_holds_breaks_and_wants_the_earlier_reduction(tmp_path: Path, mixgrid: Mixgrid, two: Grid) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("rules: [{metric: failed, max: 0.5}]", "utf-8")
    held = mixgrid("gate", two.path, "--policy", policy, "--store", two.store.url)
    assert held.code == 0
    assert "1 rules of" in held.out
    policy.write_text("rules: [{metric: macro_f1, min: 0.999}]", "utf-8")
    broken = mixgrid("gate", reduction(mixgrid, two), "--policy", policy, "--store", two.store.url)
    assert broken.code == 5
    assert "is under min 0.999" in broken.err
    policy.write_text("rules: [{metric: macro_f1, max_drop: 0.1}]", "utf-8")
    assert "name the earlier reduction with --against" in mixgrid("gate", two.path, "--policy", policy).err
    name = reduction(mixgrid, two)
    assert mixgrid("gate", name, "--policy", policy, "--against", name, "--store", two.store.url).code == 0


def test_gate_of_a_grid_with_rows_missing_is_incomplete(tmp_path: Path, mixgrid: Mixgrid) -> None:
    grid = open_grid(tmp_path)
    write_snapshot(grid.slices[0].whole, grid.store)
    ask(grid, at_most=9)
    policy = tmp_path / "policy.yaml"
    policy.write_text("rules: [{metric: failed, max: 0.5}]", "utf-8")
    ended = mixgrid("gate", grid.path, "--policy", policy, "--store", grid.store.url)
    assert ended.code == 3
    assert "cells lack rows" in ended.err


def test_a_regression_ends_in_five(monkeypatch: pytest.MonkeyPatch, mixgrid: Mixgrid, two: Grid) -> None:
    """The canned models are alike; what is significant is told apart in tests/compare."""
    from mixgrid import compare

    monkeypatch.setattr(compare, "regressions", lambda tests, lower, max_drop: tests[:1])
    ended = mixgrid("compare", "toy", "other", "--in", reduction(mixgrid, two), "--store", two.store.url)
    assert ended.code == 5
    assert "1 significant regressions beyond 0" in ended.err
