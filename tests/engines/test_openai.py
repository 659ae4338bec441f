"""The openai engine against a real server that misbehaves: each request is answered once, as billed, or is pending."""

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import pytest

from mixgrid.engines import build
from mixgrid.engines.base import Engine, EngineSpec
from tests.faultbodies import ANSWERS
from tests.faultserver import FaultServer, Plan, fault_server
from tests.paid import Wallet, asks, entry, text_of

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
