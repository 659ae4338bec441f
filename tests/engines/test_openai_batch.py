"""The batch engine against a real server: nothing is bought twice, whatever ends in between."""

import json
import time
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mixgrid.budget.base import Attempt
from mixgrid.engines import openai_batch
from mixgrid.engines.base import Ask, EngineSpec, GaveUp
from mixgrid.engines.notes import Note, Notes
from mixgrid.engines.openai_batch import BatchEngine
from mixgrid.errors import UserError
from mixgrid.records import Message, Sampling
from mixgrid.schemas import to_table
from mixgrid.store import Store, StoreError
from tests.faultbodies import share_of
from tests.faultserver import FaultServer, Plan, fault_server
from tests.paid import Wallet, asks, entry, text_of

pytestmark = pytest.mark.slow

MICRO = Decimal("1e-12")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_API_KEY", "sk-test-0123456789")


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    return Notes(Store.open(str(tmp_path / "store")), "main/batches/toy")


def engine(server: FaultServer, notes: Notes, wallet: Wallet, **changes: Any) -> BatchEngine:
    model = entry(server.url, "openai-batch", **{"poll_s": 0.02, "patience_s": 5.0, **changes})
    return BatchEngine(EngineSpec("toy", model, purse=wallet, notes=notes))


def answer(server: FaultServer, notes: Notes, wallet: Wallet, requests: list[Ask], **changes: Any) -> list[Any]:
    """What a new process answers."""
    one = engine(server, notes, wallet, **changes)
    try:
        return one.answer(requests)
    finally:
        one.close()


def sent(one: BatchEngine, requests: list[Ask]) -> list[Note]:
    """The notes of what it has sent, and not collected."""
    out: dict[str, Note] = {}
    one._send(requests, out)
    return list(out.values())


def check(server: FaultServer, notes: Notes, wallet: Wallet) -> None:
    """The books agree, and nothing is open."""
    state = server.state()
    assert wallet.settled == state.billed * MICRO
    assert set(state.answers.values()) <= {1}
    assert not wallet.held
    assert not wallet.of("kept")
    assert not list(notes.open())


def test_a_batch_is_answered_in_the_order_of_the_asks_at_half_the_price(notes: Notes) -> None:
    wallet = Wallet()
    with fault_server() as server:
        found = answer(server, notes, wallet, asks(40))
        check(server, notes, wallet)
        assert server.state().statuses["batch"] == 1
    expected = [text_of(ask) for ask in asks(40)]
    assert [a.text for a in found] == expected
    assert len(set(expected)) == 2
    assert found[0].engine.endswith(" 127.0.0.1 m-2026-01-01")
    assert {e.attempt.answer for e in wallet.of("settled")} == set(found)
    assert found[0].cost_usd == pytest.approx((found[0].prompt_tokens * 1 + found[0].completion_tokens * 4) / 2e6)


def test_an_expired_and_a_cancelled_batch_are_partial_successes_and_only_the_missing_are_sent_again(
    notes: Notes,
) -> None:
    wallet = Wallet()
    with fault_server(Plan(batch_ends=("expired", "cancelled", "completed"), batch_done=0.5)) as server:
        found = answer(server, notes, wallet, asks(60))
        check(server, notes, wallet)
        assert server.state().statuses["batch"] == 3
    assert [a.text for a in found] == [text_of(ask) for ask in asks(60)]
    assert 60 < len(wallet.ended) < 180
    released = [entry.attempt.error for entry in wallet.of("released")]
    assert any("batch_expired" in said for said in released)
    assert any("not in the results of a batch that is cancelled" in said for said in released)


def test_what_fails_in_a_batch_is_in_its_error_file_and_asked_again(notes: Notes) -> None:
    wallet = Wallet()
    with fault_server(Plan(batch_errors=0.3)) as server:
        found = answer(server, notes, wallet, asks(40))
        check(server, notes, wallet)
    assert None not in found
    assert {entry.attempt.http_status for entry in wallet.of("released")} == {500}


def test_a_request_that_never_succeeds_stays_pending(notes: Notes) -> None:
    wallet = Wallet()
    with fault_server(Plan(batch_errors=1.0)) as server:
        assert answer(server, notes, wallet, asks(3), tries=2) == [None] * 3
        assert server.state().statuses["batch"] == 2
    assert len(wallet.of("released")) == 6


def test_chunks_go_as_far_as_the_money_and_the_rest_has_its_turn_when_they_are_settled(notes: Notes) -> None:
    wallet = Wallet(cap=Decimal("0.0009"))
    with fault_server() as server:
        found = answer(server, notes, wallet, asks(60))
        check(server, notes, wallet)
        state = server.state()
    assert state.statuses["batch"] > 2
    assert 0 < found.count(None) < 60
    dearest = max(entry.hold.usd for entry in wallet.ended)
    assert wallet.spent + dearest > wallet.cap >= wallet.spent
    assert state.most_exposed * MICRO <= wallet.cap


def test_files_keep_to_the_provider_s_limits(notes: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_batch, "MOST_REQUESTS", 16)
    wallet = Wallet()
    with fault_server() as server:
        assert None not in answer(server, notes, wallet, asks(40))
        assert server.state().statuses["batch"] == 3
        monkeypatch.setattr(openai_batch, "MOST_BYTES", 1000)
        assert None not in answer(server, notes, wallet, asks(10, max_tokens=49))
        assert server.state().statuses["batch"] > 5


def test_a_batch_that_was_sent_by_a_process_that_died_is_found_again(notes: Notes) -> None:
    wallet = Wallet()
    with fault_server() as server:
        died = engine(server, notes, wallet)
        (note,) = sent(died, asks(20))
        assert note.batch_id == "batch-1"
        died.close()
        found = answer(server, notes, wallet, asks(30))
        check(server, notes, wallet)
        assert server.state().statuses["batch"] == 2
    assert [a.text for a in found] == [text_of(ask) for ask in asks(30)]


def test_a_batch_whose_id_nobody_was_told_is_found_by_its_name(notes: Notes) -> None:
    wallet = Wallet()
    with fault_server(Plan(faults={"lost_batch": 1.0})) as server:
        assert None not in answer(server, notes, wallet, asks(10))
        check(server, notes, wallet)
        assert server.state().statuses["batch"] == 1
        died = engine(server, notes, wallet)
        (note,) = sent(died, asks(20)[10:])
        notes.write(replace(note, batch_id=""))  # it died before it could write the id
        died.close()
        assert None not in answer(server, notes, wallet, asks(20)[10:])
        check(server, notes, wallet)
        assert server.state().statuses["batch"] == 2


def test_money_for_a_batch_that_was_never_made_is_given_back(notes: Notes) -> None:
    wallet = Wallet()
    with fault_server() as server:
        died = engine(server, notes, wallet)
        holds = {ask.request_id: died._wire.asked(ask, hold) for ask in asks(5) if (hold := died._till.reserve(ask))}
        notes.write(Note(holds))
        died.close()
        assert None not in answer(server, notes, wallet, asks(5))
        check(server, notes, wallet)
    assert len(wallet.of("released")) == 5


def test_a_full_queue_is_waited_for_and_other_refusals_end_the_engine(notes: Notes) -> None:
    wallet = Wallet()
    with fault_server(Plan(batch_ends=("full", "full", "full", "completed"))) as server:
        assert None not in answer(server, notes, wallet, asks(5), tries=1)
        check(server, notes, wallet)
    with fault_server(Plan(batch_ends=("failed",))) as server:
        with pytest.raises(GaveUp, match=r"127.0.0.1: Refused: invalid_file\.") as caught:
            answer(server, notes, wallet, asks(5))
        assert caught.value.answers == [None] * 5
        assert not wallet.held


def test_an_unknown_parameter_is_left_out_of_the_next_batch(notes: Notes) -> None:
    wallet = Wallet()
    with fault_server(Plan(unknown=("seed",))) as server:
        found = answer(server, notes, wallet, asks(5))
        check(server, notes, wallet)
    assert [(a.seed_honoured, a.engine.endswith(" without seed")) for a in found] == [(False, True)] * 5


def test_text_that_cannot_be_sent_is_a_row_and_not_sent(notes: Notes) -> None:
    bad = Ask("b" * 32, (Message("user", "a \ud800"),), Sampling(), None)
    with fault_server() as server:
        found = answer(server, notes, Wallet(), [bad, *asks(1)])
    assert [(a.status, a.reason) for a in found] == [("failed", "bad_text"), ("ok", "")]


def test_a_second_replica_is_refused(notes: Notes) -> None:
    with pytest.raises(UserError, match="replicas: 1"):
        BatchEngine(EngineSpec("toy", entry("http://h/v1", "openai-batch"), replicas=2, purse=Wallet(), notes=notes))


@pytest.mark.parametrize("status", [200, 500])
def test_half_a_character_in_a_line_does_not_make_the_ledger_unwritable(status: int, notes: Notes) -> None:
    one = BatchEngine(EngineSpec("toy", entry("http://127.0.0.1:1/v1", "openai-batch"), purse=Wallet(), notes=notes))
    (ask,) = asks(1)
    hold = one._till.reserve(ask)
    assert hold is not None
    half = "a \ud83d"
    body = {"id": half, "choices": [{"message": {"content": half}}], "error": {"message": half}}
    line = {"custom_id": ask.request_id, "response": {"status_code": status, "body": body}}
    batch = SimpleNamespace(status="completed", created_at=1, completed_at=2)
    ended, _ = one._entry(one._wire.asked(ask, hold), line, batch)
    one.close()
    assert to_table(Attempt, [ended.attempt]).num_rows == 1
    assert "\\ud83d" in ended.attempt.body


def test_a_key_in_a_result_file_is_kept_nowhere(notes: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    one = BatchEngine(EngineSpec("toy", entry("http://127.0.0.1:1/v1", "openai-batch"), purse=Wallet(), notes=notes))
    line = {"custom_id": "a", "response": {"status_code": 200, "body": {"id": "sk-test-0123456789"}}}
    files = SimpleNamespace(content=lambda _: SimpleNamespace(content=json.dumps(line).encode()))
    monkeypatch.setattr(one, "_client", SimpleNamespace(files=files))
    found = dict(one._lines(SimpleNamespace(error_file_id=None, output_file_id="f")))
    assert found["a"]["response"]["body"]["id"] == "(a key)"


def test_a_batch_that_no_queue_has_place_for_is_halved_and_one_request_alone_ends_the_engine(notes: Notes) -> None:
    wallet = Wallet()
    with fault_server(Plan(batch_ends=("full", "full", "completed"))) as server:
        assert None not in answer(server, notes, wallet, asks(5), patience_s=0.0)
        check(server, notes, wallet)
        assert server.state().statuses["batch"] == 2 + 3
    with fault_server(Plan(batch_ends=("full",))) as server:
        with pytest.raises(GaveUp, match="no place for a single request"):
            answer(server, notes, wallet, asks(5), patience_s=0.0)
        assert not wallet.held


def test_holds_that_no_note_tells_of_end_as_kept(notes: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> None:
        raise StoreError("away")

    monkeypatch.setattr(Notes, "write", away)
    wallet = Wallet()
    with fault_server() as server, pytest.raises(StoreError, match="away"):
        answer(server, notes, wallet, asks(3))
    assert not wallet.held
    assert len(wallet.of("kept")) == 3


def test_a_batch_that_is_given_up_leaves_its_holds_to_a_later_process(
    notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    wallet = Wallet()

    def away(*_: object) -> None:
        raise GaveUp("the server is gone")

    with fault_server() as server:
        with monkeypatch.context() as patch:
            patch.setattr(openai_batch, "MOST_REQUESTS", 10)
            patch.setattr(BatchEngine, "_ended", away)
            with pytest.raises(GaveUp, match="the server is gone"):
                answer(server, notes, wallet, asks(20))
        assert wallet.disowned == set(wallet.held)
        assert len(wallet.held) == 20
        assert None not in answer(server, notes, wallet, asks(20))
        check(server, notes, wallet)


def test_a_retry_after_is_told_to_the_sweep_and_one_that_others_were_told_is_kept_to(
    notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    wallet, slept = Wallet(), list[float]()
    monkeypatch.setattr(openai_batch, "time", SimpleNamespace(sleep=slept.append, monotonic=time.monotonic))
    with fault_server(Plan(upload_refused_s=120.0)) as server:
        assert None not in answer(server, notes, wallet, asks(2))
        assert 0 < wallet.gate(server.url.split("/")[2]) <= 120
    assert slept[0] == 0.0  # nobody had been told to wait
    assert sum(wait > 100 for wait in slept) >= 3  # then each call of the provider's waits first


@pytest.mark.timeout(60)
def test_a_file_that_comes_byte_by_byte_is_given_up_in_time_and_fetched_again(notes: Notes) -> None:
    wallet = Wallet()
    first_try = share_of(0, "file-2", 1)  # of the results
    assert first_try < share_of(0, "file-2", 2)
    with fault_server(Plan(faults={"drip": first_try + 1e-9})) as server:
        found = answer(server, notes, wallet, asks(20), timeout_s=0.5)
        check(server, notes, wallet)
        assert server.state().statuses == {"batch": 1, "drip": 1}
    assert [a.text for a in found] == [text_of(ask) for ask in asks(20)]
