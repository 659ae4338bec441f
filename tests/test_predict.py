"""The main flow on a real local Ray with canned answers: asked once, resumed, reused, and never hung by an engine."""

import gc
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import ray

from mixgrid import predict as module
from mixgrid.errors import Incomplete, UserError
from mixgrid.plan.events import events
from mixgrid.plan.grid import Grid
from mixgrid.plan.layout import lease_folder, predictions_folder, run_key
from mixgrid.plan.pending import counts
from mixgrid.plan.progress import status
from mixgrid.pool import connect
from mixgrid.predict import Outcome, predict
from mixgrid.records import Receipt
from mixgrid.store import StoreError
from mixgrid.store.lease import hold
from tests.cli.conftest import Mixgrid
from tests.cli.conftest import mixgrid as mixgrid  # noqa: PLC0414 - a fixture, used by its name
from tests.helpers import NS, TOY, corpus_rows, open_grid, own_template, predictions

pytestmark = [pytest.mark.ray, pytest.mark.timeout(300)]


@pytest.fixture(scope="module", autouse=True)
def local_ray() -> Iterator[None]:
    """One Ray for the module, on loopback."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("RAY_ADDRESS", raising=False)
        connect()
        yield
        ray.shutdown()


@dataclass
class Watched:
    """What predict told while it ran."""

    starts: list[tuple[str, int]] = field(default_factory=list)
    receipts: list[Receipt] = field(default_factory=list)

    def __call__(self, model: str, rows: int, receipt: Receipt | None) -> None:
        if receipt is None:
            self.starts.append((model, rows))
        else:
            self.receipts.append(receipt)


def told(outcome: Outcome) -> tuple[int, ...]:
    return outcome.planned, outcome.done, outcome.failed, outcome.asked, outcome.copied, outcome.engines_started


def exit_codes(grid: Grid) -> set[int]:
    return {grid.store.get_json(run_key(NS, run.run_id))["ended"]["exit"] for run in grid.runs}


def once_each(grid: Grid) -> bool:
    """Whether every (run, item) of the grid is there, exactly once."""
    rows = Counter((row.run_id, row.item_id) for row in predictions(grid))
    wanted = {(run.run_id, i.item_id) for group in grid.groups for run in group.runs for i in group.items}
    return rows == dict.fromkeys(wanted, 1)


def toy(**engine_args: Any) -> dict[str, Any]:
    return {"toy": {**TOY, "engine_args": engine_args}}


@pytest.fixture
def no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on, starting an engine fails the test."""

    def started(*_: object) -> None:
        pytest.fail("an engine was started")

    monkeypatch.setattr(module, "connect", started)


def test_a_grid_from_nothing_then_again_without_an_engine(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    both = ["zero-shot", "chain-of-thought"]
    grid = open_grid(tmp_path, settings=both, seeds=[1, 2, 3], resources={"toy": {"batch_size": 20, "replicas": 2}})
    watched = Watched()
    assert told(predict(grid, watched)) == (72, 72, 0, 72, 0, 1)
    assert watched.starts == [("toy", 72)]
    assert sorted(receipt.rows for receipt in watched.receipts) == [12, 20, 20, 20]
    assert once_each(grid)
    assert exit_codes(grid) == {0}
    assert {(one.done, one.pending) for one in status(grid.store, NS)} == {(12, 0)}
    assert {row.engine for row in predictions(grid)} == {"canned"}

    request.getfixturevalue("no_engine")
    before = {entry.key for entry in grid.store.list()}
    assert told(predict(open_grid(tmp_path, settings=both, seeds=[1, 2, 3]))) == (72, 72, 0, 0, 0, 0)
    assert {entry.key for entry in grid.store.list()} == before


def test_a_limit_a_seed_and_a_template_each_ask_only_what_is_new(tmp_path: Path) -> None:
    grid = open_grid(tmp_path)
    assert told(predict(grid.limited(5))) == (10, 10, 0, 10, 0, 1)
    assert told(predict(grid)) == (24, 24, 0, 14, 0, 1)
    more = open_grid(tmp_path, seeds=[1, 2, 3])
    assert told(predict(more)) == (36, 36, 0, 12, 0, 1)
    assert once_each(more)
    other = open_grid(tmp_path, seeds=[1, 2, 3], templates=own_template(tmp_path))
    assert told(predict(other)) == (36, 36, 0, 36, 0, 1)
    assert len(predictions(other)) == 72


def test_what_another_run_paid_for_is_copied_at_no_cost(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    rows = corpus_rows()
    paid = open_grid(tmp_path, rows=rows)
    predict(paid)
    request.getfixturevalue("no_engine")
    corrected = open_grid(tmp_path, rows=[{**rows[0], "label": "satire"}, *rows[1:]])
    assert told(predict(corrected)) == (24, 24, 0, 0, 24, 0)
    new = {run.run_id for run in corrected.runs}
    copies = [row for row in predictions(corrected) if row.run_id in new]
    answers = {row.request_id: row for row in predictions(corrected) if row.run_id not in new}
    assert len(copies) == 24
    assert {row.cost_usd for row in copies} == {0.0}
    assert all(row.text == answers[row.request_id].text for row in copies)
    assert all(row.reused_from == answers[row.request_id].run_id for row in copies)
    assert {(one.done, one.pending) for one in status(corrected.store, NS)} == {(12, 0)}


def test_equal_requests_of_a_grid_are_asked_once_and_are_rows_of_each(tmp_path: Path) -> None:
    first, *rest = corpus_rows()
    log = tmp_path / "asked"
    grid = open_grid(
        tmp_path, rows=[first, {**first, "item_id": "again"}, *rest], seeds=[1, 2, 3], sampling=[{"temperature": 0}],
        models=toy(log_to=str(log)),
    )  # fmt: skip
    assert told(predict(grid)) == (39, 39, 0, 39, 0, 1)
    assert once_each(grid)
    asked = log.read_text("utf-8").split()
    assert len(asked) == len(set(asked)) == 12
    assert sum(row.reused_from is None for row in predictions(grid)) == 12


def test_equal_requests_of_two_slices_are_asked_once_and_are_rows_of_each_in_one_call(tmp_path: Path) -> None:
    corpora = [{"name": "mini"}, {"name": "mini", "split": "train"}]  # whose only item has the text of another one
    grid = open_grid(tmp_path, sampling=[{"temperature": 0}], corpora=corpora, resources={"toy": {"batch_size": 4}})
    outcome = predict(grid)
    assert told(outcome) == (26, 26, 0, 24, 2, 1)
    rows = [row for row in predictions(grid) if row.item_id in ("old", "s0-ro")]
    assert len({row.request_id for row in rows}) == 1
    assert sorted(row.reused_from is None for row in rows) == [False, False, False, True]


def test_two_models_and_a_regional_one_side_by_side_in_one_store(tmp_path: Path) -> None:
    models = {"two": {**TOY, "checkpoint": "two", "languages": ["ro-en"]}}
    grid = open_grid(tmp_path, models=models, asked=["toy", "two"])
    watched = Watched()
    assert told(predict(grid, watched)) == (36, 36, 0, 36, 0, 2)
    assert sorted(watched.starts) == [("toy", 24), ("two", 12)]
    assert {row.language for row in predictions(grid) if row.model == "two"} == {"ro-en"}


def test_failed_rows_are_done_unless_there_are_too_many_of_them(tmp_path: Path) -> None:
    grid = open_grid(tmp_path, models=toy(refused_share=0.5))
    outcome = predict(grid)
    assert outcome.done == 24
    assert outcome.failed == sum(row.status == "failed" for row in predictions(grid)) > 3
    assert exit_codes(grid) == {0}
    with pytest.raises(Incomplete, match=r"more than 10% of the rows failed in: mini\.satire\.toy"):
        predict(grid, max_failed=0.1)
    assert exit_codes(grid) == {3}
    assert len(predictions(grid)) == 24


def test_a_store_that_breaks_in_mid_run_leaves_rows_pending_and_the_next_call_ends_it(tmp_path: Path) -> None:
    resources = {"toy": {"batch_size": 2, "batches_in_flight": 1}}
    grid = open_grid(tmp_path, resources=resources, models=toy(delay_ms=50))
    folder = Path(grid.store.url) / predictions_folder(NS, grid.runs[0])

    def break_it(model: str, rows: int, receipt: Receipt | None) -> None:
        if receipt is not None and folder.is_dir():
            folder.rename(tmp_path / "aside")
            folder.write_text("a file where the parts' folder should be", "utf-8")

    with pytest.raises(Incomplete, match=r"^model toy: cannot .*/part-.*writable folder"):
        predict(grid, break_it)
    folder.unlink()
    (tmp_path / "aside").rename(folder)
    kept = len(predictions(grid))
    assert 2 <= kept < 24
    assert sum(count.pending for count in counts(grid).values()) == 24 - kept
    assert told(predict(grid)) == (24, 24, 0, 24 - kept, 0, 1)
    assert once_each(grid)


@pytest.mark.slow
def test_rows_that_kill_or_hang_the_engine_are_found_and_every_other_one_is_answered(tmp_path: Path) -> None:
    resources = {"toy": {"batch_size": 6, "batches_in_flight": 2, "hung_after_s": 1.0}}
    deadly = toy(die_on="Știrea 3: the mayor", hang_on="Știrea 4: primarul")
    grid = open_grid(tmp_path, resources=resources, models=deadly, seeds=[1])
    assert told(predict(grid)) == (12, 12, 2, 12, 0, 1)
    assert once_each(grid)
    dead = {row.item_id for row in predictions(grid) if (row.status, row.reason) == ("failed", "engine_death")}
    assert dead == {"s3-en", "s4-ro"}
    texts = [event.text for event in events(grid.store, NS, newest=99)]
    assert sum("kills the engine: it is failed, engine_death" in text for text in texts) == 2
    assert any(text.startswith("engine died over 6 rows: canned engine: a prompt holds") for text in texts)
    assert any(text.endswith("no row was finished for 1 s") for text in texts)


def test_an_engine_that_dies_too_often_is_given_up_and_the_next_call_goes_on(tmp_path: Path) -> None:
    resources = {"toy": {"batch_size": 4, "batches_in_flight": 1, "restarts": 0}}
    grid = open_grid(tmp_path, resources=resources, models=toy(die_on="Știrea 3: the mayor"))
    with pytest.raises(Incomplete, match=r"^model toy: its engine's process died too often"):
        predict(grid)
    kept = predictions(grid)
    assert len(kept) <= 20
    assert "s3-en" not in {row.item_id for row in kept}
    mended = open_grid(tmp_path, resources=resources, models=toy())
    assert told(predict(mended)) == (24, 24, 0, 24 - len(kept), 0, 1)
    assert once_each(mended)


def test_an_engine_that_refuses_its_entry_is_the_user_s_to_mend(tmp_path: Path) -> None:
    grid = open_grid(tmp_path, models=toy(delay_ms="soon"))
    says = (
        r"^model toy: models.yaml: model 'toy': its engine refuses its entry \(could not convert .* 'soon'\); mend it$"
    )
    with pytest.raises(UserError, match=says):
        predict(grid)
    assert not predictions(grid)


def test_a_model_that_gives_up_does_not_keep_the_others_from_their_turn(tmp_path: Path) -> None:
    models = {**toy(delay_ms="soon"), "two": {**TOY, "checkpoint": "two"}}
    grid = open_grid(tmp_path, models=models, asked=["toy", "two"])
    says = (
        r"^model toy: models.yaml: .*; 24 of 48 rows are pending; what was answered is kept, the same command goes on$"
    )
    with pytest.raises(Incomplete, match=says):
        predict(grid)
    assert Counter(row.model for row in predictions(grid)) == {"two": 24}
    assert exit_codes(grid) == {0, 3}
    assert [event.text[:50] for event in events(grid.store, NS)] == [
        "models.yaml: model 'toy': its engine refuses its e"
    ]


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Python's collector at rest, as it may be for minutes in a driver that only waits."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_a_model_that_gives_up_frees_its_room_for_the_next_at_once(tmp_path: Path, no_collector: None) -> None:
    whole = {"cpus": int(ray.cluster_resources()["CPU"]), "batch_size": 2, "batches_in_flight": 1}
    models = {**toy(delay_ms=50), "two": {**TOY, "checkpoint": "two"}}
    grid = open_grid(tmp_path, models=models, asked=["toy", "two"], seeds=[1], resources={"toy": whole, "two": whole})
    folder = Path(grid.store.url) / predictions_folder(NS, next(run for run in grid.runs if run.model == "toy"))

    def break_it(model: str, rows: int, receipt: Receipt | None) -> None:
        if model == "toy" and receipt is not None and folder.is_dir():
            folder.rename(tmp_path / "aside")
            folder.write_text("a file where the parts' folder should be", "utf-8")

    with pytest.raises(Incomplete, match=r"^model toy: cannot .*/part-.*writable folder"):
        predict(grid, break_it)
    folder.unlink()
    assert Counter(row.model for row in predictions(grid))["two"] == 12


def test_an_engine_for_which_no_node_is_large_enough_is_refused(tmp_path: Path) -> None:
    grid = open_grid(tmp_path, resources={"toy": {"cpus": 999}})
    says = r"^model toy: one engine needs 0 GPUs and 999 CPUs of one node, and the largest that .* set resources\.toy,"
    with pytest.raises(UserError, match=says):
        predict(grid)


def test_engines_for_which_there_is_no_room_wait_or_are_left_out_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole = {"cpus": int(ray.cluster_resources()["CPU"]), "replicas": 3, "batch_size": 8}
    models = {"two": {**TOY, "checkpoint": "two"}}
    grid = open_grid(tmp_path, models=models, asked=["toy", "two"], seeds=[1], resources={"toy": whole, "two": whole})
    assert told(predict(grid)) == (24, 24, 0, 24, 0, 2)
    assert once_each(grid)
    assert "model toy: 2 engines asked for, room for 1" in caplog.text


def test_two_models_work_side_by_side(tmp_path: Path) -> None:
    small = {"batch_size": 2, "batches_in_flight": 1, "cpus": 0.1}
    models = {name: {**TOY, "checkpoint": name, "engine_args": {"delay_ms": 500}} for name in ("toy", "two")}
    grid = open_grid(tmp_path, models=models, asked=["toy", "two"], seeds=[1], resources={"toy": small, "two": small})
    assert told(predict(grid)) == (24, 24, 0, 24, 0, 2)
    began = {r.model: min(p.created_at for p in predictions(grid) if p.model == r.model) for r in grid.runs}
    ended = {r.model: max(p.created_at for p in predictions(grid) if p.model == r.model) for r in grid.runs}
    assert max(began.values()) < min(ended.values())


def test_a_second_writer_is_refused_before_anything_is_asked(tmp_path: Path, no_engine: None) -> None:
    grid = open_grid(tmp_path)
    with (
        hold(grid.store, lease_folder(NS, "toy"), "x"),
        pytest.raises(UserError, match="another writer has model toy in namespace main: process"),
    ):
        predict(grid)
    assert not list(grid.store.list("main/leases/"))


def test_a_writer_whose_lease_is_broken_stops(tmp_path: Path) -> None:
    grid = open_grid(tmp_path, resources={"toy": {"batch_size": 2, "batches_in_flight": 1}}, models=toy(delay_ms=100))

    def break_it(model: str, rows: int, receipt: Receipt | None) -> None:
        for entry in grid.store.list("main/leases/"):
            grid.store.delete(entry.key)
        if receipt is not None:
            time.sleep(0.5)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "hold", partial(hold, beat_s=0.1))
        with pytest.raises(Incomplete, match=r"^the lease on model toy in namespace main was broken.*rows are pending"):
            predict(grid, break_it)


def test_a_store_that_cannot_take_a_copy_leaves_it_pending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = corpus_rows()
    predict(open_grid(tmp_path, rows=rows))
    corrected = open_grid(tmp_path, rows=[{**rows[0], "label": "satire"}, *rows[1:]])

    def full(*_: object) -> None:
        raise StoreError("no room")

    monkeypatch.setattr(module, "commit", full)
    with pytest.raises(Incomplete, match=r"^no room; 24 of 24 rows are pending"):
        predict(corrected)
    monkeypatch.undo()
    assert told(predict(corrected)) == (24, 24, 0, 0, 24, 0)


def test_bad_input_ends_before_an_engine_is_started(tmp_path: Path, no_engine: None) -> None:
    (tmp_path / "file").write_text("x", "utf-8")
    absent = {"engine": "vllm", "checkpoint": str(tmp_path / "absent"), "context_length": 1024}
    with pytest.raises(UserError, match="no such folder"):
        predict(open_grid(tmp_path, models={"toy": absent}))


def test_the_command_runs_it_and_ends_with_the_outcome_s_code(tmp_path: Path, mixgrid: Mixgrid) -> None:
    grid = open_grid(tmp_path, models=toy(refused_share=0.5))
    lenient = ("--max-failed", 1)  # which half the engine refuses is by the prompts' hashes: a run may lose more of it
    ended = mixgrid("run", grid.path, "--store", grid.store.url, *lenient, "--json")
    assert ended.code == 0
    fields = {name: ended.json[name] for name in ("planned", "done", "asked", "copied", "engines_started")}
    assert fields == {"planned": 24, "done": 24, "asked": 24, "copied": 0, "engines_started": 1}
    text = mixgrid("run", grid.path, "--store", grid.store.url, *lenient)
    assert "24 of 24 rows done" in text.out
    assert "this call asked 0, copied 0, started 0 engines" in text.out
    ended = mixgrid("run", grid.path, "--store", grid.store.url, "--max-failed", 0.1)
    assert ended.code == 3
    assert ended.err.startswith("mixgrid: more than 10% of the rows failed in: ")
