"""What is paid for is not asked again."""

from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal

import pytest

from mixgrid.budget.base import Attempt, Entry, Hold
from mixgrid.engines.base import Ask, GaveUp
from mixgrid.engines.paid import PaidEngine
from mixgrid.records import Answer, Message, Sampling


class Asked:
    """An engine that remembers what it was asked, and leaves out what it cannot answer."""

    fingerprint = "asked"

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.closed = False

    def answer(self, asks: Sequence[Ask]) -> list[Answer | None]:
        self.asked += [ask.request_id for ask in asks]
        return [None if ask.request_id == "r3" else Answer(f"new {ask.request_id}") for ask in asks]

    def close(self) -> None:
        self.closed = True


UNASKED = "a purse that knows the answer is asked for no money"


class Remembering:
    """A purse that has answers, and is asked for nothing else: what is paid for needs no money."""

    def __init__(self, known: dict[str, Answer]) -> None:
        self.known, self.closed = known, 0

    def paid(self, request_ids: Collection[str]) -> dict[str, Answer]:
        return {r: a for r, a in self.known.items() if r in request_ids}

    def reserve(self, request_id: str, usd: Decimal, wait: bool = True) -> Hold | None:
        raise AssertionError(UNASKED)

    def settle(self, hold: Hold, attempt: Attempt) -> None:
        raise AssertionError(UNASKED)

    def release(self, hold: Hold, attempt: Attempt) -> None:
        raise AssertionError(UNASKED)

    def keep(self, hold: Hold, attempt: Attempt) -> None:
        raise AssertionError(UNASKED)

    def book(self, entries: Sequence[Entry]) -> None:
        raise AssertionError(UNASKED)

    def disown(self, holds: Iterable[Hold]) -> None:
        raise AssertionError(UNASKED)

    def gate(self, provider: str, wait_s: float = 0.0) -> float:
        raise AssertionError(UNASKED)

    def close(self) -> None:
        self.closed += 1


def asks(*request_ids: str) -> list[Ask]:
    return [Ask(r, (Message("user", r),), Sampling(), 1) for r in request_ids]


def test_paid_answers_stand_in_their_places_and_only_the_others_are_asked() -> None:
    engine, purse = Asked(), Remembering({"r1": Answer("old r1")})
    found = PaidEngine(engine, purse).answer(asks("r0", "r1", "r2", "r3"))
    assert [a and a.text for a in found] == ["new r0", "old r1", "new r2", None]
    assert engine.asked == ["r0", "r2", "r3"]


def test_what_is_paid_for_is_given_even_where_the_engine_gave_up() -> None:
    class Gone(Asked):
        def answer(self, asks: Sequence[Ask]) -> list[Answer | None]:
            raise GaveUp("no credit", [Answer("new r0"), None])

    with pytest.raises(GaveUp, match="no credit") as end:
        PaidEngine(Gone(), Remembering({"r1": Answer("old r1")})).answer(asks("r0", "r1", "r2"))
    assert [a and a.text for a in end.value.answers] == ["new r0", "old r1", None]


def test_money_goes_back_when_nothing_is_in_flight() -> None:
    engine, purse = Asked(), Remembering({})
    paid = PaidEngine(engine, purse)
    paid.answer(asks("r0"))
    assert purse.closed == 1
    paid.close()
    assert engine.closed
