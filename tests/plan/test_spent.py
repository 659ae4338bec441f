"""What `mixgrid cost` adds up."""

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

from mixgrid.budget.books import Line
from mixgrid.plan.spent import Spent, means, overruns, spent

AT = datetime(2026, 3, 1, tzinfo=UTC)
LINE = Line("a1", "r1", "w", "m", "2026-03-01", "settled", Decimal("0.02"), Decimal("0.1"), "priced", True, AT)


def test_a_retry_that_was_billed_and_a_second_answer_are_wasted_and_a_kept_hold_is_neither() -> None:
    known = [
        replace(LINE, attempt_id="a0", answered=False, billed_usd=Decimal("0.01")),
        LINE,
        replace(LINE, attempt_id="a2", billed_usd=Decimal("0.03")),
        replace(LINE, attempt_id="a3", request_id="r2", ending="kept", answered=False, billed_usd=None),
    ]
    (found,) = spent(known, {"r1": "satire", "r2": "satire"})
    assert found == Spent("m", "satire", "2026-03-01", 1, 4, Decimal("0.06"), Decimal("0.04"))


def test_sums_stand_by_day_model_and_task() -> None:
    known = [
        LINE,
        replace(LINE, attempt_id="b", request_id="r2"),
        replace(LINE, attempt_id="c", request_id="r3", model="n", day="2026-02-28"),
    ]
    found = spent(known, {"r1": "satire", "r2": "dialogue-qa", "r3": "satire"})
    keys = [(s.day, s.model, s.task) for s in found]
    assert keys == [("2026-02-28", "n", "satire"), ("2026-03-01", "m", "dialogue-qa"), ("2026-03-01", "m", "satire")]


def test_the_mean_cost_of_an_answer_has_in_it_what_was_paid_for_nothing_or_may_have_been() -> None:
    known = [
        LINE,
        replace(LINE, attempt_id="a1", request_id="r2", billed_usd=Decimal("0.04")),
        replace(LINE, attempt_id="a2", answered=False, billed_usd=Decimal("0.01")),
        replace(LINE, attempt_id="a3", ending="kept", answered=False, billed_usd=None),
        replace(LINE, attempt_id="a4", model="n", ending="kept", answered=False, billed_usd=None),
    ]
    assert means(known) == {"m": Decimal("0.085")}


def test_bills_above_their_reservation_and_bills_beyond_belief_are_told() -> None:
    known = [
        LINE,
        replace(LINE, attempt_id="a1", request_id="r2", billed_usd=Decimal("0.3")),
        replace(LINE, attempt_id="a2", request_id="r3", billed_usd=Decimal("0.1"), known_by="absurd"),
        replace(LINE, attempt_id="a3", request_id="r4", ending="kept", billed_usd=None),
    ]
    above, absurd = overruns(known)
    assert "request r2 of m: billed 0.3 USD, reserved 0.1 USD" in above
    assert "request r3 of m: a bill beyond belief came, and the 0.1 USD" in absurd
