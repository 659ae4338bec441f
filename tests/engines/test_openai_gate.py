"""A Retry-After of one engine holds up every engine of the sweep that asks the same provider."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import pytest

from mixgrid.budget.purse import LedgerPurse
from mixgrid.engines.base import Ask, EngineSpec
from mixgrid.engines.limits import Limits
from mixgrid.engines.openai import OpenAIEngine
from mixgrid.engines.retry import of_response
from mixgrid.engines.till import Till
from tests.budget.purses import ledger, purse
from tests.faultbodies import key_of, share_of
from tests.faultserver import Plan, fault_server
from tests.paid import asks, entry

MILL = Decimal("0.001")
WAIT_S = 3.0


def till(one: LedgerPurse, url: str = "https://api.example/v1") -> Till:
    return Till(EngineSpec("toy", entry(url), purse=one))


async def sent_at(gate: Callable[[], float], clock: list[float]) -> float:
    """When the next request of an engine behind the gate goes out."""

    async def sleep(seconds: float) -> None:
        clock[0] += seconds

    async with Limits(8, 60_000, clock=lambda: clock[0], sleep=sleep, gate=gate).slot(1) as sent:
        return sent


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_API_KEY", "sk-test-0123456789")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr("mixgrid.budget.gates._now", lambda: now[0])
    monkeypatch.setattr(LedgerPurse, "_start_pulse", lambda _: None)
    return now


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry-after": "30"}, 30.0),
        ({"retry-after-ms": "2500"}, 2.5),
        ({"retry-after": "86400"}, 300.0),  # clamped
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after": "inf"}, 0.0),
        ({"retry-after": "soon"}, 0.0),
        ({}, 0.0),
    ],
)
def test_another_engine_sends_nothing_until_the_gate_is_open(
    headers: dict[str, str], wait: float, tmp_path: Path, clock: list[float]
) -> None:
    book = ledger(tmp_path)
    one, other = purse(tmp_path, book), purse(tmp_path, book, "n")
    assert other.reserve("r1", MILL)
    till(one).gate(of_response(429, headers, {}, proven=True).wait_s or 0.0)
    assert other.reserve("r2", MILL * 100)  # more than its wallet has: the ledger answers
    sent = asyncio.run(sent_at(till(other).gate, clock))
    assert 1000.0 + wait <= sent <= 1000.0 + wait + min(1.0, wait)


@pytest.mark.parametrize("url", ["https://api.example:8443/v1", "http://other.example/v1"])
def test_another_server_s_gate_does_not_matter(url: str, tmp_path: Path, clock: list[float]) -> None:
    book = ledger(tmp_path)
    one, other = purse(tmp_path, book), purse(tmp_path, book, "n")
    till(one).gate(30.0)
    assert other.reserve("r", MILL)
    assert asyncio.run(sent_at(till(other, url).gate, clock)) == 1000.0
    assert asyncio.run(sent_at(till(other, "https://user:word@api.example/v2").gate, clock)) >= 1030.0


def test_a_free_server_s_engine_waits_for_itself_alone() -> None:
    free = Till(EngineSpec("toy", entry("http://127.0.0.1:1/v1", price="free")))
    assert (free.gate(30.0), free.gate()) == (30.0, 0.0)


def test_a_server_hears_nothing_of_one_model_while_another_one_was_asked_to_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mixgrid.budget.purse.PULSE_S", 0.05)
    refused, before, *later = sorted(asks(12), key=lambda ask: share_of(0, asked_as(ask), 1))
    plan = Plan(faults={"429": share_of(0, asked_as(refused), 1) + 1e-9}, retry_after="seconds", refused_s=WAIT_S)
    book = ledger(tmp_path)
    one, other = purse(tmp_path, book), purse(tmp_path, book, "n")
    with fault_server(plan) as server, ThreadPoolExecutor() as threads:
        first = OpenAIEngine(EngineSpec("m", entry(server.url), purse=one))
        second = OpenAIEngine(EngineSpec("n", entry(server.url), purse=other))
        assert None not in second.answer([before])  # it has money, and so it is heard of
        again = threads.submit(first.answer, [refused])
        wait_for(lambda: other.gate(server.url.split("/")[2]) > 0)  # with its pulse: it asks for nothing now
        assert server.state().statuses == {"200": 1, "429": 1}
        assert None not in [*second.answer(later), *again.result()]
        state = server.state()
        for engine, money in ((first, one), (second, other)):
            engine.close()
            money.close()
    assert state.statuses == {"200": 12, "429": 1}
    assert min(state.arrivals[2:]) >= state.arrivals[1] + WAIT_S  # by the server's clock


def asked_as(ask: Ask) -> str:
    """What the fault server draws a fault by."""
    return key_of({"messages": [{"role": m.role, "content": m.content} for m in ask.messages], "seed": ask.seed})


def wait_for(true: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not true():
        assert time.monotonic() < until
        time.sleep(0.02)
