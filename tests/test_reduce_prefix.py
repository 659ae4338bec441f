"""An unfinished sweep is scored on what all models have answered whole, and says so."""

from pathlib import Path
from typing import Any

from mixgrid.budget.books import ledger_folder
from mixgrid.corpora.snapshot import write_snapshot
from mixgrid.plan.grid import Grid
from mixgrid.plan.order import only, units
from mixgrid.reduce.grid import reduce_grid
from tests.helpers import TOY, ask, corpus_rows, open_grid

OTHER = {"other": {**TOY, "engine_args": {"answers": ["<raspuns>satiră</raspuns>"]}}}


def _grid(folder: Path, **changes: Any) -> Grid:
    """A grid whose corpus is in its store."""
    grid = open_grid(folder, **changes)
    for part in grid.slices:
        write_snapshot(part.whole, grid.store)
    return grid


def test_models_are_scored_on_the_same_items_however_far_each_of_them_came(tmp_path: Path) -> None:
    rows = corpus_rows(12)
    grid = _grid(tmp_path, rows=rows, models=OTHER, asked=("toy", "other"), seeds=[1])
    order = units(grid)
    ask(only(grid, order[:2]))
    ask(only(open_grid(tmp_path, rows=rows, models=OTHER, asked=("toy",), seeds=[1]), order[2:]))
    whole = reduce_grid(grid)
    assert {s.n for s in whole.scores if s.model == "toy" and s.language == "all" and s.switching == "all"} == {24}
    grid.store.put(f"{ledger_folder('main', 'small')}/moves/x", b"")  # it is a sweep
    part = reduce_grid(grid)
    assert part.id != whole.id
    items = sum(len(unit.items) for unit in order[:2])
    pooled = [s for s in part.scores if s.language == s.switching == "all" and s.model != "baseline"]
    told = {(s.model, s.n, s.expected) for s in pooled}
    assert told == {("toy", items, items), ("other", items, items)}
    assert any("2 of 6 units" in warning for warning in part.warnings)


def test_a_sweep_of_which_nothing_is_whole_has_no_scores_and_a_finished_one_has_all(tmp_path: Path) -> None:
    grid = _grid(tmp_path, seeds=[1])
    grid.store.put(f"{ledger_folder('main', 'small')}/moves/x", b"")
    ask(grid, at_most=0)
    nothing = reduce_grid(grid)
    assert all(score.n == 0 for score in nothing.scores)
    ask(grid)
    assert not any("not finished" in warning for warning in reduce_grid(grid).warnings)
