"""The order of a sweep: fair wherever it is cut, the same for all models; and the part that all have answered."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mixgrid.plan.grid import Grid
from mixgrid.plan.order import Unit, only, pending_units, prefix, units
from mixgrid.plan.pending import answered, listing
from tests.helpers import TOY, ask, corpus_rows, open_grid

TWO: dict[str, Any] = {"models": {"other": {**TOY, "engine_args": {"answers": ["x"]}}}, "asked": ("toy", "other")}


def many(clusters: int = 40, variants: int = 2) -> list[dict[str, Any]]:
    """Clusters of one label each, three of four satire; each mixed row in several variants."""
    rows: list[dict[str, Any]] = []
    for row in corpus_rows(clusters):
        n = int(row["source_id"][1:]) if row["source_id"] != "old" else 0
        row |= {"cluster_id": row["source_id"], "label": "factual" if n % 4 == 0 else "satire"}
        copies = range(1, variants + 1) if row["switching"] != "none" else [0]
        rows += [{**row, "item_id": f"{row['item_id']}-{k}", "variant": str(k), "twin_id": None} for k in copies]
    return rows


def have(grid: Grid) -> Any:
    parts = listing(grid.store, grid.manifest.namespace).whole
    return {model: answered(grid.store, parts, model) for model in grid.models}


def label(grid: Grid, unit: Unit) -> str | None:
    return next(i.label for part in grid.slices for i in part.items if i.item_id in unit.items)


def test_every_row_is_in_one_unit_first_variants_come_first_and_further_seeds_last(tmp_path: Path) -> None:
    grid = open_grid(tmp_path, rows=many())
    order = units(grid)
    assert [u.seed for u in order] == [1] * 80 + [2] * 80
    assert [u.rank for u in order[:80]] == [0] * 40 + [1] * 40
    rows = Counter((u.seed, i) for u in order for i in u.items)
    assert set(rows.values()) == {1}
    assert len(rows) == 2 * sum(len(part.items) for part in grid.slices)
    assert [u.cluster_id for u in order[:40]] == [u.cluster_id for u in order[40:80]]


@pytest.mark.parametrize("cut", [4, 8, 12, 20, 32])
def test_every_beginning_has_the_labels_in_their_proportion(tmp_path: Path, cut: int) -> None:
    grid = open_grid(tmp_path, rows=many())
    found = Counter(label(grid, unit) for unit in units(grid)[:cut])
    assert abs(found["factual"] - cut / 4) <= 1


def test_the_order_depends_neither_on_the_order_of_rows_nor_on_the_models(tmp_path: Path) -> None:
    grid = open_grid(tmp_path / "a", rows=many())
    other = open_grid(tmp_path / "b", rows=many()[::-1], **TWO)
    assert [u.cluster_id for u in units(grid)] == [u.cluster_id for u in units(other)]


def test_a_round_asks_its_units_and_makes_no_other_requests(tmp_path: Path) -> None:
    grid = open_grid(tmp_path, rows=many(6), **TWO)
    order = units(grid)
    part = only(grid, order[:2])
    ask(part)
    assert {r.run_id for r in part.runs} < {r.run_id for r in grid.runs}
    assert pending_units(grid, order, have(grid)) == list(order[2:])


def test_the_prefix_is_what_all_models_have_and_not_what_some_have(tmp_path: Path) -> None:
    grid = open_grid(tmp_path, rows=many(6), **TWO)
    order = units(grid)
    ask(only(grid, order[:3]))
    ask(only(grid, order[4:6]))  # in flight when the money ended
    alone = open_grid(tmp_path, rows=many(6), **{**TWO, "asked": ("toy",)})
    ask(only(alone, order[3:4]))
    found = prefix(grid, have(grid))
    assert (found.units, found.of, found.seeds) == (3, len(order), (1,))
    assert found.items == {"mini": frozenset(i for unit in order[:3] for i in unit.items)}


def test_a_seed_counts_when_it_is_whole_and_the_first_one_from_its_first_unit(tmp_path: Path) -> None:
    grid = open_grid(tmp_path, rows=many(4), seeds=[1, 2, 3])
    order = units(grid)
    ask(only(grid, [u for u in order if u.seed == 1]))
    ask(only(grid, [u for u in order if u.seed == 2][:3]))
    found = prefix(grid, have(grid))
    assert (found.seeds, found.items) == ((1,), None)
    ask(grid)
    assert prefix(grid, have(grid)).seeds == (1, 2, 3)


def test_questions_of_one_dialogue_are_no_variants_of_each_other(tmp_path: Path) -> None:
    rows = [{**row, "source_id": "s", "cluster_id": "c", "twin_id": None} for row in corpus_rows(3)]
    assert {unit.rank for unit in units(open_grid(tmp_path, rows=rows))} == {0}
