"""The actor: rows out = rows in, whatever came back; it writes the part itself, and an engine's death is its own."""

import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from mixgrid import actor as module
from mixgrid.actor import EngineActor, commit, pack
from mixgrid.actor import predictions as rows_of
from mixgrid.engines.base import Ask, EngineDied, EngineSpec, GaveUp
from mixgrid.engines.canned import CannedEngine
from mixgrid.errors import Incomplete
from mixgrid.plan.frozen import freeze
from mixgrid.plan.grid import Grid
from mixgrid.plan.pending import counts, listing
from mixgrid.plan.progress import status
from mixgrid.records import Answer, Receipt
from mixgrid.schemas import from_table
from mixgrid.store import Part, Store, StoreError
from mixgrid.suspects import Suspects
from mixgrid.watchdog import DEAD
from tests.helpers import NS, TOY, ask, open_grid, pending_work, predictions, small_grid

ROOT = Path(__file__).resolve().parent.parent


def frozen_grid(folder: Path, **changes: object) -> Grid:
    grid = open_grid(folder, **changes)
    freeze(grid, {})
    return grid


def test_a_block_becomes_one_part_with_a_row_for_each_that_waited(tmp_path: Path) -> None:
    grid = frozen_grid(tmp_path, seeds=[1, 2, 3], sampling=[{"temperature": 0}])
    (receipt,) = ask(grid)
    assert receipt.rows == 36
    assert [part.key for part in listing(grid.store, NS).whole] == [receipt.part]
    wanted = {(run.run_id, item.item_id) for run in grid.runs for item in grid.groups[0].items}
    assert Counter((row.run_id, row.item_id) for row in predictions(grid)) == dict.fromkeys(wanted, 1)


def test_the_first_that_waited_paid_and_the_others_say_who(tmp_path: Path) -> None:
    grid = frozen_grid(tmp_path, seeds=[1, 2, 3], sampling=[{"temperature": 0}])
    work = next(iter(pending_work(grid)))
    runs = {run.run_id: run for run in grid.runs}
    first, *others = rows_of(runs, work, Answer("x", cost_usd=0.5, completion_tokens=7), "canned")
    assert (first.run_id, first.cost_usd, first.reused_from) == (grid.runs[0].run_id, 0.5, None)
    assert [(row.cost_usd, row.reused_from) for row in others] == [(0.0, first.run_id)] * 2
    assert [row.run_id for row in (first, *others)] == [run.run_id for run in grid.runs]
    assert len({row.row_sha256 for row in (first, *others)}) == 3


def test_a_row_holds_what_was_asked_and_what_came_back(tmp_path: Path) -> None:
    grid = frozen_grid(tmp_path)
    work = next(iter(pending_work(grid)))
    request, run = work.targets[0], grid.runs[0]
    answer = Answer(
        "text\u2028", "thought", finish_reason="length", prompt_tokens=5, completion_tokens=4, reasoning_tokens=3,
        cached_tokens=2, latency_s=0.25, seed_honoured=False, system_folded=True, engine="a server's model",
    )  # fmt: skip
    (row,) = rows_of({run.run_id: run}, work, answer, "engine-1")
    kept = {name: getattr(row, name) for name in vars(answer)}
    assert kept == vars(answer)
    shared = ("item_id", "item_hash", "source_id", "cluster_id", "language", "switching", "request_id", "order", "seed")
    assert [getattr(row, name) for name in shared] == [getattr(request, name) for name in shared]
    assert (row.run_seed, row.run_digest, row.engine) == (run.seed, run.run_digest, answer.engine)
    assert (datetime.now(UTC) - row.created_at).total_seconds() < 60


def test_failed_answers_are_rows_too(tmp_path: Path) -> None:
    grid = frozen_grid(tmp_path, models={"toy": {**TOY, "engine_args": {"refused_share": 0.5}}})
    (receipt,) = ask(grid)
    statuses = Counter((row.status, row.reason) for row in predictions(grid))
    assert receipt.rows == 24 == statuses.total()
    assert receipt.failed == statuses["failed", "refused"] > 0
    assert statuses["ok", ""] > 0


def test_counts_are_published_for_each_run_of_a_part(tmp_path: Path) -> None:
    grid = frozen_grid(tmp_path, models={"toy": {**TOY, "engine_args": {"answers": ["ce?"]}}})
    receipts = ask(grid, size=7)
    found = status(grid.store, NS)
    assert [(one.done, one.unparsed) for one in found] == [(12, 12)] * 2
    assert sum(r.unparsed for r in receipts) == 24
    assert sum(r.prompt_tokens for r in receipts) == sum(one.prompt_tokens for one in found) > 0


def test_tokens_count_where_they_were_spent(tmp_path: Path) -> None:
    three = frozen_grid(tmp_path / "3", seeds=[1, 2, 3], sampling=[{"temperature": 0}])
    one = frozen_grid(tmp_path / "1", seeds=[1], sampling=[{"temperature": 0}])
    assert ask(three)[0].prompt_tokens == ask(one)[0].prompt_tokens


def test_the_same_rows_are_the_same_part(tmp_path: Path) -> None:
    grid = frozen_grid(tmp_path)
    ask(grid)
    runs = {run.run_id: run for run in grid.runs}
    rows = predictions(grid)
    assert commit(grid.store, NS, runs, rows).part == commit(grid.store, NS, runs, rows).part
    assert {count.done for count in counts(grid).values()} == {12}


def test_a_failed_write_is_an_error_and_nothing_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grid = frozen_grid(tmp_path)

    def full(*_: object) -> None:
        raise StoreError("no room")

    monkeypatch.setattr(Store, "put_table", full)
    actor = EngineActor(EngineSpec("toy", grid.models["toy"]), {r.run_id: r for r in grid.runs}, grid.store, NS)
    with pytest.raises(StoreError, match="no room"):
        actor(pack(list(pending_work(grid))))
    assert {count.done for count in counts(grid).values()} == {0}
    assert not any(one.done for one in status(grid.store, NS))


def test_how_requests_are_cut_into_blocks_does_not_change_their_answers(tmp_path: Path) -> None:
    one, two = frozen_grid(tmp_path / "1"), frozen_grid(tmp_path / "2")
    receipts = ask(one, size=100)
    runs = {run.run_id: run for run in two.runs}
    actor = EngineActor(EngineSpec("toy", two.models["toy"]), runs, two.store, NS)
    for work in list(pending_work(two))[::-1]:
        (receipt,) = from_table(Receipt, actor(pack([work])))
        assert receipt.rows == 1
    assert receipts[0].rows == 24
    answers = [{(row.run_id, row.item_id): row.text for row in predictions(grid)} for grid in (one, two)]
    assert answers[0] == answers[1]


def test_what_the_engine_leaves_unanswered_stays_pending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grid = frozen_grid(tmp_path)
    whole = CannedEngine.answer
    monkeypatch.setattr(CannedEngine, "answer", lambda self, asks: [*whole(self, asks)[:-1], None])
    receipts = ask(grid, size=5)  # 24 rows: four blocks of five, one of four
    assert [receipt.rows for receipt in receipts] == [4, 4, 4, 4, 3]
    assert sum(count.pending for count in counts(grid).values()) == 5
    monkeypatch.setattr(CannedEngine, "answer", lambda self, asks: [None for _ in asks])
    (nothing,) = ask(grid)
    assert (nothing.part, nothing.rows) == ("", 0)
    assert len(predictions(grid)) == 19

    def end(engine: CannedEngine, asks: Sequence[Ask]) -> list[Answer]:
        raise GaveUp("no money left", [*whole(engine, asks)[:2], None, None, None])

    monkeypatch.setattr(CannedEngine, "answer", end)
    with pytest.raises(Incomplete, match="no money left"):
        ask(grid)
    assert len(predictions(grid)) == 21
    monkeypatch.setattr(CannedEngine, "answer", whole)
    assert [receipt.rows for receipt in ask(grid)] == [3]


DYING = """
import sys
from pathlib import Path
from mixgrid.plan.grid import resolve
from tests.helpers import ask
ask(resolve(sys.argv[1], sys.argv[2]), size=4)
"""


def test_an_engine_s_death_ends_the_process_and_leaves_what_was_committed(tmp_path: Path) -> None:
    path = small_grid(tmp_path, seeds=[1], models={"toy": {**TOY, "engine_args": {"die_on": "Știrea 3: primarul"}}})
    command = [sys.executable, "-c", DYING, str(path), str(tmp_path / "store")]
    env = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'lib'}"}
    ended = subprocess.run(command, env=env, capture_output=True, timeout=120, check=False)
    assert ended.returncode == DEAD == 70
    grid = open_grid(tmp_path, seeds=[1], models={"toy": {**TOY, "engine_args": {"die_on": "Știrea 3: primarul"}}})
    rows = [row.item_id for row in predictions(grid)]
    assert 0 < len(rows) < 12
    assert "s3-ro" not in rows


class Killed(BaseException):
    """What stands for the end of an actor's process here."""


@pytest.fixture
def mortal(monkeypatch: pytest.MonkeyPatch) -> None:
    def end(stacks: bool = False) -> None:
        raise Killed

    monkeypatch.setattr(module, "end_process", end)


def answer_all(grid: Grid, book: Suspects, size: int) -> int:
    """Give each block to new actors until one brings it back; how many died."""
    work, deaths = list(pending_work(grid)), 0
    runs = {run.run_id: run for run in grid.runs}
    for n in range(0, len(work), size):
        while True:
            try:
                EngineActor(EngineSpec("toy", grid.models["toy"]), runs, grid.store, NS, book)(pack(work[n : n + size]))
                break
            except Killed:
                deaths += 1
    return deaths


@pytest.mark.parametrize(("size", "deaths"), [(12, 4), (10, 4), (1, 3)])
def test_the_row_that_kills_is_found_and_every_other_one_is_answered(
    tmp_path: Path, mortal: None, size: int, deaths: int
) -> None:
    grid = frozen_grid(tmp_path, seeds=[1], models={"toy": {**TOY, "engine_args": {"die_on": "Știrea 3: primarul"}}})
    assert answer_all(grid, Suspects(restarts=9), size) == deaths
    rows = {row.item_id: (row.status, row.reason) for row in predictions(grid)}
    assert rows.pop("s3-ro") == ("failed", "engine_death")
    assert set(rows.values()) == {("ok", "")}
    assert len(rows) == 11
    assert {count.pending for count in counts(grid).values()} == {0}


def test_a_server_is_not_asked_whether_its_client_lives(
    tmp_path: Path, mortal: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    class Client:
        fingerprint = "client"

        def answer(self, asks: Sequence[Ask]) -> list[Answer]:
            asked.extend(ask.request_id for ask in asks)
            if any("Știrea 3: primarul" in ask.messages[-1].content for ask in asks):
                raise EngineDied("out of memory")
            return [Answer("<raspuns>factual</raspuns>")] * len(asks)

        def close(self) -> None:
            pass

    monkeypatch.setattr(module, "build", lambda _: Client())
    served = {"engine": "openai", "checkpoint": "m", "context_length": 4096, "price": "free"}
    grid = frozen_grid(tmp_path, seeds=[1], models={"toy": served})
    answer_all(grid, Suspects(restarts=9), 1)
    rows = {row.item_id: row.reason for row in predictions(grid)}
    assert rows["s3-ro"] == "engine_death"
    assert len(rows) == 12
    assert "alive" not in asked


def test_an_engine_that_dies_of_everything_convicts_no_row(
    tmp_path: Path, mortal: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(engine: CannedEngine, asks: Sequence[Ask]) -> list[Answer]:
        raise EngineDied("CUDA error")

    monkeypatch.setattr(CannedEngine, "answer", die)
    grid = frozen_grid(tmp_path)
    with pytest.raises(GaveUp, match="died 8 times without an answer in between; last: CUDA error"):
        answer_all(grid, Suspects(restarts=99), 4)
    assert not predictions(grid)


def test_a_hung_engine_ends_its_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()
    monkeypatch.setattr(module, "end_process", lambda stacks: ended.set())
    grid = frozen_grid(tmp_path, models={"toy": {**TOY, "engine_args": {"hang_on": "Știrea 3: primarul"}}})
    runs, book = {run.run_id: run for run in grid.runs}, Suspects(restarts=9)
    actor = EngineActor(EngineSpec("toy", grid.models["toy"]), runs, grid.store, NS, book, patience_s=0.3)
    threading.Thread(target=actor, args=[pack(list(pending_work(grid)))], daemon=True).start()
    assert ended.wait(20)
    assert list(book.words.values()) == ["no row was finished for 0 s"]


def test_a_store_that_is_waited_for_is_no_sign_that_the_engine_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended, put = threading.Event(), Store.put_table

    def slowly(*given: Any) -> Part:
        assert not ended.wait(1.5)
        return put(*given)

    monkeypatch.setattr(module, "end_process", lambda stacks: ended.set())
    monkeypatch.setattr(Store, "put_table", slowly)
    grid = frozen_grid(tmp_path)
    runs, work = {run.run_id: run for run in grid.runs}, list(pending_work(grid))
    EngineActor(EngineSpec("toy", grid.models["toy"]), runs, grid.store, NS, Suspects(restarts=9), 0.2)(pack(work))
    assert not ended.is_set()
    assert predictions(grid)


def test_an_engine_that_does_not_end_to_load_ends_its_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()
    monkeypatch.setattr(module, "end_process", lambda stacks: ended.set())
    monkeypatch.setattr(module, "build", lambda spec: ended.wait(20))
    grid = frozen_grid(tmp_path)
    EngineActor(EngineSpec("toy", grid.models["toy"]), {}, grid.store, NS, patience_s=0.2)
    assert ended.is_set()
