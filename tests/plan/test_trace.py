"""Any row can be traced to what was asked and what came back, also after its template was edited."""

from dataclasses import replace
from pathlib import Path

from mixgrid.corpora.snapshot import write_snapshot
from mixgrid.plan.frozen import freeze
from mixgrid.plan.grid import Grid
from mixgrid.plan.layout import predictions_folder
from mixgrid.plan.trace import Trace, trace
from mixgrid.records import Prediction
from mixgrid.schemas import to_table
from tests.helpers import NS, TOY, ask, open_grid, own_template, predictions


def traced(grid: Grid, item_id: str = "s1-en") -> list[Trace]:
    return trace(grid.store, NS, item_id)[0]


def asked(grid: Grid) -> Grid:
    write_snapshot(grid.slices[0].whole, grid.store)
    ask(grid)
    return grid


def test_an_item_is_shown_in_every_run_that_asked_it(tmp_path: Path) -> None:
    grid = asked(open_grid(tmp_path))
    found = traced(grid)
    assert [one.run_id for one in found] == sorted(run.run_id for run in grid.runs)
    rows = {(row.run_id, row.item_id): row for row in predictions(grid)}
    for one in found:
        assert one.text == rows[one.run_id, "s1-en"].text
        assert one.messages[-1].content.endswith("Propoziția: Știrea 1: the mayor mută podul.")
        assert (one.status, one.parse_status, one.gold) == ("ok", "ok", "satire")
        assert one.value == {"<raspuns>satiră</raspuns>": "satire", "<raspuns>factual</raspuns>": "factual"}[one.text]


def test_an_item_that_was_not_answered_yet_is_pending_with_its_prompt(tmp_path: Path) -> None:
    grid = open_grid(tmp_path)
    write_snapshot(grid.slices[0].whole, grid.store)
    freeze(grid, {})
    (one, _) = traced(grid)
    assert (one.status, one.text, one.parse_status, one.gold) == ("pending", "", "", "satire")
    assert one.messages


def test_an_unknown_item_is_in_no_run(tmp_path: Path) -> None:
    assert traced(asked(open_grid(tmp_path)), "nobody") == []


def test_an_old_run_keeps_its_old_prompt_beside_the_new_one(tmp_path: Path) -> None:
    asked(open_grid(tmp_path, seeds=[1]))
    new = asked(open_grid(tmp_path, seeds=[1], templates=own_template(tmp_path, "Alt prompt: {{ text }}")))
    contents = [one.messages[-1].content for one in traced(new)]
    assert len(contents) == 2
    assert sum(content == "Alt prompt: Știrea 1: the mayor mută podul." for content in contents) == 1
    assert sum("Stabilește cărei clase" in content for content in contents) == 1


def test_a_failed_row_says_why(tmp_path: Path) -> None:
    grid = asked(open_grid(tmp_path, models={"toy": {**TOY, "context_length": 16}}, sampling=[{"max_tokens": 8}]))
    assert {(one.status, one.reason) for one in traced(grid)} == {("failed", "too_long")}


def test_of_two_rows_the_one_that_counts_is_shown(tmp_path: Path) -> None:
    grid = asked(open_grid(tmp_path, seeds=[1]))
    (row,) = (row for row in predictions(grid) if row.item_id == "s1-en")
    others = [replace(row, text=f"<raspuns>{n}</raspuns>", row_sha256="") for n in range(4)]
    for other in others:
        grid.store.put_table(predictions_folder(NS, grid.runs[0]), "part", to_table(Prediction, [other]))
    (one,) = traced(grid)
    assert one.text == min([row, *others], key=lambda r: r.row_sha256).text


def test_files_that_were_left_alone_are_named(tmp_path: Path) -> None:
    grid = asked(open_grid(tmp_path))
    grid.store.put(f"{NS}/predictions/odd.txt", b"x")
    found, warnings = trace(grid.store, NS, "s1-en")
    assert len(found) == 2
    assert "odd.txt" in warnings[0]


def test_a_damaged_part_is_named_and_its_row_is_shown_without_its_answer(tmp_path: Path) -> None:
    grid = asked(open_grid(tmp_path, seeds=[1]))
    (part,) = grid.store.parts(f"{NS}/predictions").whole
    data = bytearray(grid.store.get(part.key))
    data[len(data) // 3] ^= 1
    grid.store.put(part.key, bytes(data))
    found, warnings = trace(grid.store, NS, "s1-en")
    assert [(one.status, bool(one.messages)) for one in found] == [("pending", True)]
    (warning,) = warnings
    assert part.key in warning
    assert "delete it and run again" in warning
