"""Resume is an anti-join on (run, item, request): what is there is never asked again, whatever order it came in."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mixgrid.plan.frozen import freeze
from mixgrid.plan.grid import Grid
from mixgrid.plan.layout import predictions_folder
from mixgrid.plan.pending import Pending, answered, counts, listing, pending
from mixgrid.records import Prediction, Work
from mixgrid.schemas import to_table
from tests.helpers import NS, TOY, ask, corpus_rows, open_grid, own_template, pending_work, predictions


def lacking(grid: Grid, model: str = "toy") -> list[Pending]:
    freeze(grid, {})
    have = answered(grid.store, listing(grid.store, NS).whole, model)
    mine = [(group, [run for run in group.runs if run.model == model]) for group in grid.groups]
    return [found for group, runs in mine for found in pending(grid, group, runs, have)]


def targets(work: list[Work]) -> list[tuple[str, str]]:
    return [(t.run_id, t.item_id) for w in work for t in w.targets]


def test_an_empty_store_lacks_every_row_once(tmp_path: Path) -> None:
    grid = open_grid(tmp_path)
    freeze(grid, {})
    found = targets(list(pending_work(grid)))
    assert len(found) == len(set(found)) == 24


@pytest.mark.parametrize("size", [1, 5, 100])
@pytest.mark.parametrize("done", [0, 1, 7, 24])
def test_what_was_answered_is_not_asked_again_and_the_rest_is(tmp_path: Path, done: int, size: int) -> None:
    grid = open_grid(tmp_path)
    ask(grid, done, size)
    rest = targets(list(pending_work(grid)))
    there = [(row.run_id, row.item_id) for row in predictions(grid)]
    assert len(there) == done
    assert sorted(rest + there) == sorted((run.run_id, i.item_id) for run in grid.runs for i in grid.groups[0].items)


def test_asking_until_nothing_is_left_gives_every_row_exactly_once(tmp_path: Path) -> None:
    grid = open_grid(tmp_path)
    while ask(grid, 5, 2):
        pass
    rows = [(row.run_id, row.item_id, row.request_id) for row in predictions(grid)]
    assert len(rows) == len(set(rows)) == 24
    assert {count.pending for count in counts(grid).values()} == {0}


def test_a_prompt_s_seeds_stand_side_by_side_and_prompts_in_the_order_of_their_text(tmp_path: Path) -> None:
    grid = open_grid(tmp_path, seeds=[1, 2, 3])
    freeze(grid, {})
    work = list(pending_work(grid))
    texts = [w.messages[-1].content for w in work]
    assert texts == sorted(texts)
    assert [len({w.targets[0].item_id for w in work[n : n + 3]}) for n in range(0, 36, 3)] == [1] * 12


def test_one_request_of_three_runs_is_asked_once_for_all_of_them(tmp_path: Path) -> None:
    grid = open_grid(tmp_path, seeds=[1, 2, 3], sampling=[{"temperature": 0}])
    freeze(grid, {})
    work = list(pending_work(grid))
    assert len(work) == 12
    assert all([t.run_id for t in w.targets] == [run.run_id for run in grid.runs] for w in work)


def test_a_new_seed_alone_is_pending(tmp_path: Path) -> None:
    ask(open_grid(tmp_path))
    grid = open_grid(tmp_path, seeds=[1, 2, 3])
    freeze(grid, {})
    assert {run_id for run_id, _ in targets(list(pending_work(grid)))} == {grid.runs[2].run_id}


def test_a_changed_template_alone_is_pending(tmp_path: Path) -> None:
    both = ["zero-shot", "chain-of-thought"]
    ask(open_grid(tmp_path, settings=both))
    grid = open_grid(tmp_path, settings=both, templates=own_template(tmp_path))
    freeze(grid, {})
    found = {run_id for run_id, _ in targets(list(pending_work(grid)))}
    assert found == {run.run_id for run in grid.runs if run.setting == "zero-shot"}


def test_changed_sampling_reuses_nothing(tmp_path: Path) -> None:
    ask(open_grid(tmp_path))
    other = open_grid(tmp_path, sampling=[{"temperature": 1.0, "max_tokens": 32}])
    (found,) = lacking(other)
    assert len(found.work) == 24
    assert not found.copies


def test_rows_of_a_limited_call_count_for_the_full_grid(tmp_path: Path) -> None:
    grid = open_grid(tmp_path)
    ask(grid.limited(5))
    assert {(count.planned, count.done) for count in counts(grid.limited(5)).values()} == {(5, 5)}
    freeze(grid, {})
    assert {(count.planned, count.done) for count in counts(grid).values()} == {(12, 5)}
    assert len(targets(list(pending_work(grid)))) == 14


def test_another_run_s_answer_to_the_same_request_is_copied_not_asked(tmp_path: Path) -> None:
    rows = corpus_rows()
    ask(open_grid(tmp_path, rows=rows))
    corrected = open_grid(tmp_path, rows=[{**rows[0], "label": "satire"}, *rows[1:]])
    (found,) = lacking(corrected)
    assert not found.work
    assert sorted(r.run_id for requests in found.copies.values() for r in requests) == sorted(
        run.run_id for run in corrected.runs for _ in range(12)
    )


def test_another_model_s_rows_are_not_this_one_s(tmp_path: Path) -> None:
    grid = open_grid(tmp_path, models={"two": {**TOY, "checkpoint": "two"}}, asked=["toy", "two"])
    ask(open_grid(tmp_path, models={"two": {**TOY, "checkpoint": "two"}}))
    freeze(grid, {})
    assert not list(pending_work(grid, "toy"))
    assert len(list(pending_work(grid, "two"))) == 24


def test_an_answer_that_cannot_be_read_is_an_answer_and_not_asked_again(tmp_path: Path) -> None:
    toy = {**TOY, "engine_args": {"answers": ["I would rather not say."]}}
    grid = open_grid(tmp_path, models={"toy": toy})
    (receipt,) = ask(grid)
    assert receipt.unparsed == receipt.rows == len(predictions(grid)) == 24
    assert list(pending_work(grid)) == []


def test_failed_rows_are_final_and_counted(tmp_path: Path) -> None:
    grid = open_grid(tmp_path, models={"toy": {**TOY, "engine_args": {"refused_share": 1}}})
    ask(grid)
    assert not list(pending_work(grid))
    assert {(count.done, count.failed, count.pending) for count in counts(grid).values()} == {(12, 12, 0)}


def test_rows_of_an_older_plan_stay_and_do_not_count_for_the_new_one(tmp_path: Path) -> None:
    old = open_grid(tmp_path)
    ask(old)
    new = open_grid(tmp_path, templates=own_template(tmp_path))
    freeze(new, {})
    assert {count.done for count in counts(new).values()} == {0}
    assert {count.done for count in counts(old).values()} == {12}


# What lies in the store and is no whole part


def test_a_torn_part_s_rows_are_pending_and_the_file_is_named_and_left_alone(tmp_path: Path) -> None:
    grid = open_grid(tmp_path)
    ask(grid, size=6)
    part = listing(grid.store, NS).whole[0]
    grid.store.put(part.key, grid.store.get(part.key)[:-20])
    found = listing(grid.store, NS)
    assert found.torn == (part.key,)
    assert part.key in found.warnings()[0]
    assert "torn (their rows count as pending)" in found.warnings()[0]
    assert sum(count.pending for count in counts(grid).values()) == 6
    ask(grid)
    assert sum(count.pending for count in counts(grid).values()) == 0
    assert grid.store.exists(part.key)


def test_foreign_files_are_named_and_never_read(tmp_path: Path) -> None:
    grid = open_grid(tmp_path)
    ask(grid)
    folder = predictions_folder(NS, grid.runs[0])
    for name in ("notes.txt", "part-.parquet", "part-0123456789abcdef-3.parquet", "_SUCCESS"):
        grid.store.put(f"{folder}/{name}", b"PAR1 not a table")
    assert len(listing(grid.store, NS).foreign) == 4
    assert "ignored 4 foreign in the store" in listing(grid.store, NS).warnings()[0]
    assert {count.done for count in counts(grid).values()} == {12}


def test_a_row_that_is_there_twice_counts_once(tmp_path: Path) -> None:
    grid = open_grid(tmp_path)
    ask(grid, 3)
    rows = predictions(grid)
    again = [Prediction(**{**vars(row), "latency_s": 9.0, "row_sha256": ""}) for row in rows]
    grid.store.put_table(predictions_folder(NS, grid.runs[0]), "part", to_table(Prediction, again))
    assert sum(count.done for count in counts(grid).values()) == 3


IDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20).filter(str.strip)


@settings(max_examples=25)
@given(st.lists(IDS, min_size=1, max_size=4, unique=True))
def test_item_ids_of_any_script_are_found_again(tmp_path_factory: pytest.TempPathFactory, names: list[str]) -> None:
    folder = tmp_path_factory.mktemp("ids")
    row = corpus_rows()[0]
    rows = [{**row, "item_id": name, "source_id": name, "text": f"Text {n}"} for n, name in enumerate(names)]
    grid = open_grid(folder, rows=rows, seeds=[1])
    ask(grid)
    assert {row.item_id for row in predictions(grid)} == set(names)
    assert not list(pending_work(grid))
