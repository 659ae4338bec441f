"""The openai engine against a real server that misbehaves: each request is answered once, as billed, or is pending."""

import logging
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx2
import pytest

from mixgrid.engines import build
from mixgrid.engines.base import Ask, Engine, EngineSpec, GaveUp
from mixgrid.engines.transport import proxy_of
from mixgrid.errors import UserError
from mixgrid.manifest import Api
from mixgrid.records import Message, Sampling
from tests.faultbodies import ANSWERS
from tests.faultserver import FaultServer, Plan, fault_server
from tests.paid import Wallet, asks, entry, text_of

pytestmark = pytest.mark.slow

MICRO = Decimal("1e-12")  # the fault server's unit of money


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("TEST_API_KEY", "sk-test-0123456789")
    return "sk-test-0123456789"


@contextmanager
def asked(plan: Plan, wallet: Wallet | None = None, **changes: Any) -> Iterator[tuple[Engine, FaultServer]]:
    """An engine and the server that it asks."""
    with fault_server(plan) as server:
        engine = build(EngineSpec("toy", entry(server.url, **changes), purse=wallet or Wallet()))
        try:
            yield engine, server
        finally:
            engine.close()


def test_each_request_is_answered_in_its_place_and_settled_as_the_server_bills() -> None:
    wallet = Wallet()
    with asked(Plan(), wallet) as (engine, server):
        found = engine.answer(asks(100))
        state = server.state()
    assert {answer.text for answer in found if answer} == set(ANSWERS)
    assert [answer.text for answer in found if answer] == [text_of(ask) for ask in asks(100)]
    assert set(state.answers.values()) == {1}
    assert len(state.answers) == 100
    assert wallet.settled == state.billed * MICRO == state.delivered * MICRO
    assert not wallet.held
    assert wallet.closed
    first = found[0]
    assert first
    assert (first.status, first.finish_reason, first.seed_honoured) == ("ok", "stop", None)
    assert first.prompt_tokens > 8
    assert first.completion_tokens > 0
    assert first.latency_s > 0
    assert first.cost_usd == float(wallet.ended[0].attempt.billed_usd or 0) > 0
    assert first.engine == f"{engine.fingerprint} 127.0.0.1 m-2026-01-01"


FAULTS = {
    "429": 0.03, "500": 0.02, "503": 0.02, "early_reset": 0.02, "error_in_200": 0.02, "garbage": 0.02, "half": 0.02,
    "reset": 0.03, "duplicate_id": 0.02,
}  # fmt: skip


def test_at_a_fifth_of_faults_everything_is_answered_once_and_the_books_agree() -> None:
    wallet = Wallet()
    with asked(Plan(seed=7, faults=FAULTS), wallet, concurrency=32) as (engine, server):
        found = engine.answer(asks(300))
        state = server.state()
    assert None not in found
    assert sum(state.statuses.values()) - state.statuses["200"] > 30
    settled = wallet.of("settled")
    assert len({e.hold.request_id for e in settled}) == len(settled) == 300  # no paid answer is bought twice
    assert wallet.settled == state.delivered * MICRO
    unknown = sum(state.statuses[name] for name in ("500", "early_reset", "error_in_200", "garbage", "half", "reset"))
    assert len(wallet.of("kept")) == unknown
    assert len(wallet.of("released")) == state.statuses["429"] + state.statuses["503"]
    assert state.billed * MICRO <= wallet.spent
    assert not wallet.held


@pytest.mark.parametrize("style", ["ms", "seconds", "date", "garbage", "none"])
def test_a_refusal_for_the_rate_is_waited_for_however_it_is_said(style: str) -> None:
    wallet = Wallet()
    with asked(Plan(limit=20, window_s=1.0, retry_after=style), wallet) as (engine, server):
        found = engine.answer(asks(40))
        state = server.state()
    assert None not in found
    assert state.statuses["429"] == len(wallet.of("released"))
    assert len(wallet.of("settled")) == 40
    assert not wallet.of("kept")


def test_a_limit_in_the_headers_is_kept_to_without_a_refusal() -> None:
    with asked(Plan(limit=40, window_s=4.0, tells_limit=True), concurrency=4) as (engine, server):
        assert None not in engine.answer(asks(30))
        state = server.state()
    assert state.statuses["429"] == 0
    # Ten a second, once the first four have told. From the first arrival on, a slow machine can only lengthen it.
    assert state.arrivals[-1] - state.arrivals[0] > 2.4


def test_concurrency_is_what_is_declared_at_most() -> None:
    with asked(Plan(latency_s=0.05), concurrency=5, price="free") as (engine, server):
        engine.answer(asks(60))
        assert server.state().most_at_once == 5


def test_calls_from_several_threads_share_the_limits() -> None:
    found: dict[int, Any] = {}
    with asked(Plan(latency_s=0.02), concurrency=6) as (engine, server):
        threads = [
            threading.Thread(target=lambda n=n: found.update({n: engine.answer(asks(40)[n * 10 : n * 10 + 10])}))
            for n in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert server.state().most_at_once <= 6
    assert [a.text for n in range(4) for a in found[n]] == [text_of(ask) for ask in asks(40)]


def test_an_empty_account_is_the_end_at_once_and_what_was_answered_comes_with_it() -> None:
    wallet = Wallet()
    with asked(Plan(quota=10), wallet, concurrency=4) as (engine, server):
        with pytest.raises(GaveUp, match="no money or quota left") as caught:
            engine.answer(asks(50))
        assert caught.value.exit_code == 3
        bills = len(server.state().bills)
        assert 10 <= sum(a is not None for a in caught.value.answers) == bills == len(wallet.of("settled")) < 50
        assert server.state().statuses["429"] <= 4  # those in flight together; nobody tries again
        with pytest.raises(GaveUp, match="quota"):
            engine.answer(asks(60)[50:])
        assert server.state().statuses["429"] <= 4
    assert not wallet.held


def test_a_budget_that_is_used_up_by_64_at_a_time_leaves_rows_pending_and_is_never_passed() -> None:
    wallet = Wallet(cap=Decimal("0.022"))
    with asked(Plan(latency_s=0.3), wallet, concurrency=64, requests_per_minute=60_000) as (engine, server):
        found = engine.answer(asks(400))
        state = server.state()
    assert state.most_at_once > 48
    assert 0 < found.count(None) < 400
    assert len([answer for answer in found if answer]) == len(wallet.of("settled")) == len(state.bills)
    assert state.billed * MICRO == wallet.settled <= state.most_exposed * MICRO <= wallet.cap


def test_odd_answers_are_rows_that_are_paid_for_and_never_asked_again() -> None:
    odd = {"eats": 0.2, "empty": 0.2, "filtered": 0.2, "refused": 0.2, "no_usage": 0.1, "wrong_usage": 0.1}
    wallet = Wallet()
    with asked(Plan(seed=3, faults=odd), wallet) as (engine, server):
        found = [answer for answer in engine.answer(asks(80)) if answer]
        state = server.state()
    assert len(found) == len(wallet.of("settled")) == len(wallet.ended) == 80
    kinds = Counter((a.status, a.reason, a.text[:4], a.finish_reason) for a in found)
    assert kinds["ok", "", "", "length"] == state.statuses["eats"] > 0
    assert kinds["ok", "", "", "stop"] == state.statuses["empty"] > 0
    assert kinds["failed", "filtered", "", "content_filter"] == state.statuses["filtered"] > 0
    assert kinds["failed", "refused", "I ca", "stop"] == state.statuses["refused"] > 0
    eaten = [a for a in found if a.finish_reason == "length"]
    assert {(a.completion_tokens, a.reasoning_tokens) for a in eaten} == {(50, 50)}
    assumed = [e for e in wallet.of("settled") if e.attempt.known_by == "assumed"]
    assert len(assumed) == state.statuses["no_usage"] + state.statuses["wrong_usage"] > 0
    assert {e.attempt.billed_usd == e.hold.usd for e in assumed} == {True}  # better over than under
    assert wallet.settled >= state.billed * MICRO


def test_what_a_server_does_not_know_is_left_out_and_every_row_says_so(caplog: pytest.LogCaptureFixture) -> None:
    wallet = Wallet()
    with asked(Plan(unknown=("seed", "temperature", "max_tokens")), wallet, concurrency=8) as (engine, server):
        found = [answer for answer in engine.answer(asks(40)) if answer]
        refused = server.state().statuses["400"]
        assert refused <= 3 * 8  # learnt once for each, by those in flight together
        engine.answer(asks(60)[40:])
        assert server.state().statuses["400"] == refused
    assert len(found) == 40
    says = " without seed,temperature max_completion_tokens for max_tokens"
    assert {(a.engine.endswith(says), a.seed_honoured) for a in found} == {(True, False)}
    assert sum("from now on" in record.message for record in caplog.records) == 3
    assert len(wallet.of("released")) == refused


def test_a_form_that_the_server_does_not_know_ends_the_engine() -> None:
    form = {"type": "json_object"}
    says = pytest.raises(GaveUp, match="does not take 'response_format'")
    with asked(Plan(unknown=("response_format",)), response_format=form) as (engine, _), says:
        engine.answer(asks(5))


def test_a_server_that_only_fails_ends_the_engine_and_holds_the_money() -> None:
    wallet = Wallet()
    says = pytest.raises(GaveUp, match=r"127.0.0.1 has answered nobody for \d+ s \(HTTP 500: The server had")
    with asked(Plan(faults={"500": 1.0}), wallet, tries=2, concurrency=4) as (engine, _), says:
        engine.answer(asks(20))
    assert wallet.of("kept")
    assert not wallet.settled


def test_a_server_that_is_not_there_costs_nothing() -> None:
    wallet = Wallet()
    with fault_server() as server:
        url = server.url
    engine = build(EngineSpec("toy", entry(url, patience_s=0.5), purse=wallet))
    with pytest.raises(GaveUp, match="ConnectError"):
        engine.answer(asks(5))
    engine.close()
    assert {e.ending for e in wallet.ended} == {"released"}


def test_an_answer_that_comes_too_late_keeps_its_money_and_is_asked_again() -> None:
    wallet = Wallet()
    with asked(Plan(seed=5, faults={"slow": 0.3}, slow_s=3.0), wallet, timeout_s=0.8) as (engine, server):
        assert None not in engine.answer(asks(20))
        state = server.state()
    assert len(wallet.of("settled")) == 20
    assert len(wallet.of("kept")) == state.statuses["slow"] + state.at_once > 0


@pytest.mark.timeout(60)
def test_an_answer_that_comes_byte_by_byte_is_given_up_in_time_and_keeps_its_money() -> None:
    wallet = Wallet()
    with asked(Plan(faults={"drip": 1.0}), wallet, timeout_s=0.5, tries=2) as (engine, server):
        with pytest.raises(GaveUp, match="ReadTimeout"):
            engine.answer(asks(1))
        state = server.state()
    assert len(state.bills) == len(wallet.of("kept")) == 2
    assert not wallet.held


def test_the_key_is_nowhere_but_in_the_header(key: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    wallet = Wallet()
    with asked(Plan(seed=1, faults=FAULTS), wallet) as (engine, _):
        found = engine.answer(asks(30))
    assert key not in repr(found) + repr(wallet.ended) + caplog.text


def test_a_key_that_is_refused_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_API_KEY", "wrong")
    wallet, says = Wallet(), pytest.raises(GaveUp, match=r"the key is refused \(HTTP 401\)")
    with asked(Plan(), wallet) as (engine, _), says as caught:
        engine.answer(asks(3))
    assert "sk-" not in str(caught.value) + repr(wallet.ended)
    assert "Incorrect API key provided: (a key)" in wallet.ended[0].attempt.body


def test_without_a_key_or_a_budget_there_is_no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    model = entry("http://127.0.0.1:1/v1")
    with pytest.raises(UserError, match=r"nothing may be sent without a budget: use `mixgrid sweep"):
        build(EngineSpec("toy", model))
    monkeypatch.delenv("TEST_API_KEY")
    with pytest.raises(UserError, match="TEST_API_KEY is not in the environment of the process that sends"):
        build(EngineSpec("toy", model, purse=Wallet()))


def test_a_free_server_needs_neither_budget_nor_key() -> None:
    with fault_server() as server:
        model = entry(server.url, price="free").model_copy(update={"api": Api(url=server.url, key_env=None)})
        engine = build(EngineSpec("toy", model))
        found = [answer for answer in engine.answer(asks(10)) if answer]
        engine.close()
    assert [(a.cost_usd, a.text) for a in found] == [(0.0, text_of(ask)) for ask in asks(10)]


def test_text_that_cannot_be_sent_is_a_row_and_costs_nothing() -> None:
    wallet = Wallet()
    bad = Ask("b" * 32, (Message("user", "a \ud800"),), Sampling(), None)
    with asked(Plan(), wallet) as (engine, _):
        found = engine.answer([bad, *asks(1)])
    assert [(a.status, a.reason) for a in found if a] == [("failed", "bad_text"), ("ok", "")]
    assert len(wallet.ended) == 1


def test_a_hold_ends_as_kept_whatever_goes_wrong_while_it_is_in_flight(monkeypatch: pytest.MonkeyPatch) -> None:
    wallet = Wallet()

    def broken(*_: object) -> None:
        raise ArithmeticError("odd")

    with asked(Plan(), wallet) as (engine, _):
        monkeypatch.setattr("mixgrid.engines.till.Till.bill", broken)
        with pytest.raises(ArithmeticError, match="odd"):
            engine.answer(asks(3))
    assert [e.ending for e in wallet.ended] == ["kept"] * 3
    assert not wallet.held


def test_a_netrc_of_the_user_s_does_not_stand_in_the_key_s_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password mine\n", "utf-8")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    with asked(Plan()) as (engine, _):
        assert None not in engine.answer(asks(3))


def test_the_environment_s_proxy_is_used_but_where_it_says_not_to(monkeypatch: pytest.MonkeyPatch) -> None:
    with asked(Plan(), timeout_s=5.0) as (engine, server):
        monkeypatch.setenv("no_proxy", "api.example")
        monkeypatch.setenv("http_proxy", server.url.removesuffix("/v1"))  # it is asked for another server's address
        assert proxy_of("http", "model.example:8000") == server.url.removesuffix("/v1")
        assert proxy_of("http", "api.example") is None
        assert proxy_of("https", "127.0.0.1:1") is None
        assert None not in engine.answer(asks(1))


@pytest.mark.parametrize("status", [200, 400])
def test_a_server_that_echoes_the_key_finds_it_kept_nowhere(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_API_KEY", "gsk_OddForm0123456789")
    wallet, said = Wallet(), {"message": {"content": "gsk_OddForm0123456789"}}
    body = (
        {"choices": [said], "id": "gsk_OddForm0123456789"}
        if status == 200
        else {"error": {"message": "gsk_OddForm0123456789"}}
    )
    engine = build(EngineSpec("toy", entry("http://127.0.0.1:1/v1"), purse=wallet))

    async def echo(_: object, request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(status, json=body, request=request)

    monkeypatch.setattr("mixgrid.engines.transport.AiohttpTransport.handle_async_request", echo)
    try:
        text = repr(engine.answer(asks(1)))
    except GaveUp as error:
        text = str(error)
    engine.close()
    assert wallet.ended
    assert "OddForm" not in text + repr(wallet.ended)
