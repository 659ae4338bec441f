"""How far runs are, from names: published counts agree with the rows, also where an actor died before it published."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixgrid.actor import commit
from mixgrid.plan import progress as module
from mixgrid.plan.frozen import freeze
from mixgrid.plan.grid import Grid
from mixgrid.plan.layout import predictions_folder, run_folder
from mixgrid.plan.pending import counts
from mixgrid.plan.progress import Status, progress_from, publish, run_ids, status
from mixgrid.records import Prediction, Progress
from mixgrid.schemas import to_table
from mixgrid.store import Part, Store
from tests.helpers import NS, TOY, ask, open_grid, predictions

COUNT = st.integers(0, 10**9)


@given(st.builds(Progress, st.just("run"), st.text("0123456789abcdef", min_size=16, max_size=16), *[COUNT] * 9))
def test_counts_survive_the_way_through_an_object_s_name(
    tmp_path_factory: pytest.TempPathFactory, progress: Progress
) -> None:
    store = Store.open(str(tmp_path_factory.mktemp("store")))
    publish(store, NS, progress)
    (entry,) = store.list()
    assert progress_from("run", entry.key.rpartition("/")[2]) == progress


@pytest.mark.parametrize("name", ["", "notes.txt", "a-1-2", "a-1-2-3-4-5-6-x", "a-1-2-3-4-5-6-7-8", "a-1-2-3-4-5-6-٣"])
def test_a_foreign_name_among_the_counts_is_no_count(name: str) -> None:
    assert progress_from("run", name) is None


def test_status_agrees_with_the_rows(tmp_path: Path) -> None:
    args = {"refused_share": 0.3, "malformed_share": 0.3}
    grid = open_grid(tmp_path, models={"toy": {**TOY, "engine_args": args}})
    ask(grid, 17, 5)
    rows = predictions(grid)
    found = {one.run_id: one for one in status(grid.store, NS)}
    for run_id, count in counts(grid).items():
        mine = [row for row in rows if row.run_id == run_id]
        assert (found[run_id].planned, found[run_id].done, found[run_id].pending) == (12, count.done, count.pending)
        assert found[run_id].failed == count.failed == sum(row.status == "failed" for row in mine)
        assert found[run_id].prompt_tokens == sum(row.prompt_tokens for row in mine)
        assert found[run_id].completion_tokens == sum(row.completion_tokens for row in mine)
    assert sum(one.unparsed for one in found.values()) > 0


def test_a_frozen_run_without_rows_is_all_pending(tmp_path: Path) -> None:
    grid = open_grid(tmp_path)
    freeze(grid, {})
    assert run_ids(grid.store, NS) == sorted(run.run_id for run in grid.runs)
    assert [(one.done, one.pending, one.eta_s) for one in status(grid.store, NS)] == [(0, 12, None)] * 2


def test_a_grid_that_was_never_run_or_only_under_a_limit_is_pending_to_its_full_size(tmp_path: Path) -> None:
    grid = open_grid(tmp_path, models={"toy": {**TOY, "languages": ["ro-en"]}})
    assert [(one.planned, one.pending) for one in status(grid.store, NS, grid.sizes)] == [(6, 6)] * 2
    assert status(grid.store, NS) == []
    freeze(grid.limited(4), {})
    assert [(one.planned, one.pending) for one in status(grid.store, NS, grid.sizes)] == [(6, 6)] * 2


def test_a_namespace_without_runs_has_none(tmp_path: Path) -> None:
    assert status(Store.open(str(tmp_path)), NS) == []


def drop_counts(grid: Grid, how_many: int = 99) -> None:
    """As if the actor had died between its part and so many of its counts."""
    for entry in [e for e in grid.store.list(f"{NS}/runs/") if "/progress/" in e.key][:how_many]:
        grid.store.delete(entry.key)


@pytest.mark.parametrize("dropped", [1, 2])
def test_rows_whose_counts_were_never_published_are_done(tmp_path: Path, dropped: int) -> None:
    grid = open_grid(tmp_path, sampling=[{"temperature": 0}])  # each part holds rows of both runs
    ask(grid, 7)
    drop_counts(grid, dropped)
    assert [one.done for one in status(grid.store, NS)] == [7, 7]
    assert [one.done for one in status(grid.store, NS, {grid.runs[0].run_id: 12})] == [7]


def test_no_text_is_read_and_ids_only_where_counts_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grid = open_grid(tmp_path)
    ask(grid, 7)
    read: list[object] = []
    kept = Store.read

    def noted(store: Store, part: Part, columns: list[str] | None = None) -> pa.Table:
        read.append(columns)
        return kept(store, part, columns)

    monkeypatch.setattr(Store, "read", noted)
    status(grid.store, NS)
    assert not read
    drop_counts(grid)
    status(grid.store, NS)
    assert read == [["run_id", "item_id"]]


def test_rows_that_are_there_twice_do_not_make_more_than_was_planned(tmp_path: Path) -> None:
    grid = open_grid(tmp_path, seeds=[1])
    ask(grid)
    again = [replace(row, latency_s=9.0, row_sha256="") for row in predictions(grid)]
    grid.store.put_table(predictions_folder(NS, grid.runs[0]), "part", to_table(Prediction, again))
    (one,) = status(grid.store, NS)
    assert (one.done, one.pending) == (12, 0)


def test_rates_are_of_the_time_between_parts(tmp_path: Path) -> None:
    one = _status(tmp_path, [(1_000, 10, 50), (3_000, 20, 100), (11_000, 20, 300)])
    assert one.tokens_per_s == pytest.approx(40)  # 400 tokens in the 10 s after the first part
    assert one.eta_s == pytest.approx(100 / 4)  # 40 rows in 10 s; the parts themselves are not there, so all is pending


def test_rates_look_back_over_the_window_alone(tmp_path: Path) -> None:
    late = module.WINDOW_MS * 3
    one = _status(tmp_path, [(0, 10, 9999), (late, 10, 50), (late + 1_000, 10, 50)])
    assert one.tokens_per_s == pytest.approx(50)


def test_one_part_alone_gives_no_rate(tmp_path: Path) -> None:
    one = _status(tmp_path, [(1_000, 10, 50)])
    assert (one.tokens_per_s, one.eta_s) == (None, None)


def test_parts_that_end_together_give_no_rate(tmp_path: Path) -> None:
    one = _status(tmp_path, [(1_000, 10, 50), (1_004, 10, 50)])
    assert (one.tokens_per_s, one.eta_s) == (None, None)


def _status(folder: Path, parts: list[tuple[int, int, int]]) -> Status:
    """The status of a run of 100 rows whose parts came at (ms, rows, completion tokens)."""
    grid = open_grid(folder, seeds=[1])
    run_id = grid.runs[0].run_id
    grid.store.put_json(f"{run_folder(NS, run_id)}/run.json", {})
    for n, (at_ms, rows, tokens) in enumerate(parts):
        publish(grid.store, NS, Progress(run_id, f"{n:016}", at_ms, rows, 0, 0, 0, tokens, 0))
    grid.store.put(f"{run_folder(NS, run_id)}/requests-{'0' * 16}-100-1.parquet", b"x")
    (found,) = status(grid.store, NS)
    return found


def test_rows_that_were_answered_twice_do_not_make_a_run_whole(tmp_path: Path) -> None:
    """A kill between a part and its receipt lets the same block be answered again: the counts are told twice."""
    grid = open_grid(tmp_path)
    ask(grid, 6, 6)
    (run_id, rows), *_ = {r.run_id: [p for p in predictions(grid) if p.run_id == r.run_id] for r in grid.runs}.items()
    planned = {one.run_id: one.planned for one in status(grid.store, NS)}[run_id]
    copies = planned // len(rows)
    for n in range(copies):
        again = [replace(row, latency_s=float(n + 1), row_sha256="") for row in rows]
        commit(grid.store, NS, {run.run_id: run for run in grid.runs}, again)
    found = {one.run_id: one for one in status(grid.store, NS)}[run_id]
    assert (found.done, found.pending) == (len(rows), planned - len(rows))


def test_a_part_that_is_gone_is_pending_again(tmp_path: Path) -> None:
    grid = open_grid(tmp_path)
    ask(grid, size=6)
    whole = sum(one.done for one in status(grid.store, NS))
    lost = grid.store.parts(f"{NS}/predictions").whole[0]
    grid.store.delete(lost.key)
    assert sum(one.done for one in status(grid.store, NS)) == whole - lost.rows
    assert sum(one.pending for one in status(grid.store, NS)) == lost.rows


def test_a_foreign_file_under_a_part_s_name_is_named_and_holds_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    grid = open_grid(tmp_path)
    ask(grid, size=6)
    before = counts(grid)
    folder = predictions_folder(NS, grid.runs[0])
    grid.store.put(f"{folder}/part-0000000000000000-1-3.parquet", b"abc")
    assert counts(grid) == before
    assert "part-0000000000000000-1-3.parquet" in caplog.text
    assert sum(one.done for one in status(grid.store, NS)) == sum(count.done for count in before.values())
