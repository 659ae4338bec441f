"""Which row stands for an item: that of its frozen plan, and of several the one with the lowest digest."""

import dataclasses
from pathlib import Path

from mixgrid.plan.frozen import freeze
from mixgrid.plan.layout import predictions_folder
from mixgrid.plan.standing import standing
from mixgrid.records import Prediction
from mixgrid.schemas import to_table
from tests.helpers import NS, ask, open_grid, predictions, run_of


def test_every_item_of_the_plan_has_its_row_or_none(tmp_path: Path) -> None:
    grid = open_grid(tmp_path)
    freeze(grid, {})
    run = run_of(grid, seed=1)
    before = standing(grid.store, NS, run, ["text"])
    assert len(before) == len(grid.groups[0].items)
    assert set(before.values()) == {None}
    ask(grid)
    mine = {row.item_id: row for row in predictions(grid) if row.run_id == run.run_id}
    found = standing(grid.store, NS, run, ["text"])
    assert {item_id: row and row["text"] for item_id, row in found.items()} == {i: row.text for i, row in mine.items()}


def test_of_two_rows_the_lowest_digest_stands_and_another_request_is_no_row(tmp_path: Path) -> None:
    grid = open_grid(tmp_path)
    ask(grid)
    run = run_of(grid, seed=1)
    row = next(row for row in predictions(grid) if row.run_id == run.run_id)
    again = dataclasses.replace(row, text="again", row_sha256="")
    stray = dataclasses.replace(row, text="stray", request_id="0" * 32, row_sha256="0" * 64)
    grid.store.put_table(predictions_folder(NS, run), "part", to_table(Prediction, [again, stray]))
    winner = min(row, again, key=lambda each: each.row_sha256)
    stands = standing(grid.store, NS, run, ["text"])[row.item_id]
    assert stands is not None
    assert stands["text"] == winner.text
