"""Who hears of a provider that asked one engine to wait; on a clock of the test's own."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from time import monotonic, sleep

import pytest

from mixgrid.budget.gates import Gates
from mixgrid.budget.purse import LedgerPurse
from tests.budget.purses import ledger, purse

CENT = Decimal("0.01")


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Let seconds pass."""
    now = [1000.0]
    monkeypatch.setattr("mixgrid.budget.gates._now", lambda: now[0])

    def pass_by(seconds: float) -> None:
        now[0] += seconds

    return pass_by


@pytest.fixture
def unpulsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LedgerPurse, "_start_pulse", lambda _: None)


def test_of_two_waits_the_one_that_ends_later_holds_and_each_provider_has_its_own(
    later: Callable[[float], None],
) -> None:
    gates = Gates()
    gates.shut({"a": 30.0, "b": 0.0})
    later(10)
    gates.shut({"a": 5.0, "c": -1.0})
    assert gates.waits() == {"a": 20.0}
    assert (gates.left("a"), gates.left("b"), gates.left("never heard of")) == (20.0, 0.0, 0.0)
    later(20)
    assert gates.waits() == {}


@pytest.mark.usefixtures("unpulsed")
def test_an_engine_that_begins_later_is_told_before_it_sends_and_only_for_what_is_left(
    tmp_path: Path, later: Callable[[float], None]
) -> None:
    book = ledger(tmp_path)
    one, other = purse(tmp_path, book), purse(tmp_path, book, "n")
    assert one.gate("a:443", 30.0) == 30.0
    later(10)
    assert other.gate("a:443") == 0.0  # it has not spoken to the ledger yet
    assert other.reserve("r", CENT)
    assert (other.gate("a:443"), other.gate("b:443"), one.gate("a:443")) == (20.0, 0.0, 20.0)
    later(20)
    assert other.gate("a:443") == 0.0


@pytest.mark.usefixtures("unpulsed")
def test_a_refusal_by_a_cap_tells_of_the_gates_too(tmp_path: Path, later: Callable[[float], None]) -> None:
    book = ledger(tmp_path, "0.001")
    purse(tmp_path, book).gate("a:443", 30.0)
    other = purse(tmp_path, book, "n")
    assert other.reserve("r", CENT, wait=False) is None
    later(1)
    assert other.gate("a:443") == 29.0


def test_the_ledger_is_asked_only_to_tell_what_nobody_knows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book, told = ledger(tmp_path), list[float]()
    monkeypatch.setattr(book, "gate", lambda _, wait_s: told.append(wait_s))
    one = purse(tmp_path, book)
    for wait_s in (0.0, 30.0, 0.0, 20.0, 60.0):
        one.gate("a:443", wait_s)
    assert told == [30.0, 60.0]


def test_an_engine_at_work_is_told_with_its_pulse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mixgrid.budget.purse.PULSE_S", 0.01)
    book = ledger(tmp_path)
    one, other = purse(tmp_path, book), purse(tmp_path, book, "n")
    assert other.reserve("r", CENT)
    one.gate("a:443", 300.0)
    until = monotonic() + 30
    while not other.gate("a:443") and monotonic() < until:
        sleep(0.01)
    assert 0 < other.gate("a:443") <= 300
    other.close()
