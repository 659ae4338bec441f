"""A purse over a real ledger in a folder: what is held, what is free again, what outlives the process."""

import pickle
import threading
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mixgrid.budget.base import Entry
from mixgrid.budget.books import COMPACT_ABOVE, accounts, attempts_folder, compact, lines, moves, write_moves
from mixgrid.budget.ledger import SILENT_S, Grant, Ledger
from mixgrid.budget.purse import LedgerPurse
from mixgrid.pricing import ZERO
from mixgrid.store import Store, StoreError
from tests.budget.purses import FOLDER, attempt, ledger, purse

USD = Decimal("0.1")


class Far(Ledger):
    """A handle to a ledger elsewhere."""

    def __init__(self) -> None:
        pass

    def __reduce__(self) -> tuple[Any, ...]:
        return Far, ()


def committed(folder: Path) -> Decimal:
    return sum((a.committed for a in accounts(Store.open(str(folder)), FOLDER).values()), ZERO)


def test_a_settled_attempt_leaves_the_rest_of_its_hold_free_and_is_in_the_store_with_its_answer(tmp_path: Path) -> None:
    one = purse(tmp_path, ledger(tmp_path))
    hold = one.reserve("r1", USD)
    assert hold is not None
    one.settle(hold, attempt("0.03", "yes"))
    one.close()
    assert committed(tmp_path) == Decimal("0.03")
    assert purse(tmp_path, ledger(tmp_path)).paid(["r1", "r2"])["r1"].text == "yes"


def test_a_released_hold_costs_nothing_and_a_kept_one_all_of_it(tmp_path: Path) -> None:
    one = purse(tmp_path, ledger(tmp_path))
    held = [one.reserve(f"r{n}", USD) for n in range(2)]
    assert held[0] is not None
    assert held[1] is not None
    one.release(held[0], attempt(error="429"))
    one.keep(held[1], attempt(error="reset"))
    one.close()
    assert committed(tmp_path) == USD
    assert {line.ending for line in lines(Store.open(str(tmp_path)), FOLDER)} == {"released", "kept"}
    assert one.paid(["r0", "r1"]) == {}


def test_money_is_in_the_store_s_books_before_it_can_be_spent(tmp_path: Path) -> None:
    one = purse(tmp_path, ledger(tmp_path))
    assert one.reserve("r", USD) is not None
    assert committed(tmp_path) >= USD


def test_after_a_death_what_was_not_settled_stays_reserved_for_every_later_process(tmp_path: Path) -> None:
    one = purse(tmp_path, ledger(tmp_path, "1"))
    hold = one.reserve("r1", USD)
    assert hold is not None
    one.settle(hold, attempt("0.01", "yes"))
    granted = committed(tmp_path)  # and the process is gone, with its wallet
    assert ledger(tmp_path).committed() == granted >= USD


def test_the_cap_is_used_to_the_last_request_that_fits_and_not_beyond(tmp_path: Path) -> None:
    book = ledger(tmp_path, "1")
    one = purse(tmp_path, book)
    asked = 0
    while hold := one.reserve(f"r{asked}", USD):
        one.settle(hold, attempt("0.07", "yes"))
        asked += 1
    assert asked == 13  # 13 × 0.07 = 0.91; another one might have cost 0.10
    one.close()
    assert committed(tmp_path) == Decimal("0.91")
    assert "of the sweep" in book.ended()[""]


def test_a_model_s_cap_ends_that_model_alone(tmp_path: Path) -> None:
    book = ledger(tmp_path, "1", models={"m": "0.15"})
    one, other = purse(tmp_path, book), purse(tmp_path, book, "n")
    hold = one.reserve("r1", USD)
    assert hold is not None
    one.settle(hold, attempt("0.1", "yes"))
    assert one.reserve("r2", USD) is None
    assert other.reserve("r2", USD) is not None
    assert list(book.ended()) == ["m"]


def test_a_day_s_cap_ends_with_the_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = purse(tmp_path, ledger(tmp_path, "1", day="0.15"))
    hold = first.reserve("r1", USD)
    assert hold is not None
    first.settle(hold, attempt("0.1", "yes"))
    assert first.reserve("r2", USD) is None
    first.close()
    tomorrow = hold.day + timedelta(days=1)
    monkeypatch.setattr("mixgrid.budget.purse._today", lambda: tomorrow)
    assert purse(tmp_path, ledger(tmp_path, "1", day="0.15")).reserve("r2", USD) is not None


def test_a_hold_that_outlasts_midnight_counts_for_the_day_on_which_it_was_reserved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = purse(tmp_path, ledger(tmp_path))
    monkeypatch.setattr("mixgrid.budget.purse._today", lambda: date(2026, 3, 1))
    late = one.reserve("r1", USD)
    monkeypatch.setattr("mixgrid.budget.purse._today", lambda: date(2026, 3, 2))
    early = one.reserve("r2", USD)
    assert late is not None
    assert early is not None
    one.settle(late, attempt("0.02", "yes"))
    one.settle(early, attempt("0.03", "yes"))
    one.close()
    by_day = {a.day: a.committed for a in accounts(Store.open(str(tmp_path)), FOLDER).values()}
    assert by_day == {"2026-03-01": Decimal("0.02"), "2026-03-02": Decimal("0.03")}


def test_a_bill_above_its_reservation_is_booked_in_full_and_stops_everyone(tmp_path: Path) -> None:
    book = ledger(tmp_path, "1")
    one, other = purse(tmp_path, book), purse(tmp_path, book, "n")
    hold = one.reserve("r1", USD)
    assert hold is not None
    one.settle(hold, attempt("2.5", "yes"))
    assert one.reserve("r2", Decimal("0.001")) is None
    assert other.reserve("r3", Decimal("0.001")) is None
    assert "2.5" in book.ended()[""]
    assert ledger(tmp_path, "1").committed() >= Decimal("2.5")


def test_a_reservation_waits_for_money_in_flight_instead_of_giving_up(tmp_path: Path) -> None:
    one = purse(tmp_path, ledger(tmp_path, "0.15"))
    first = one.reserve("r1", USD)
    assert first is not None
    assert one.reserve("r2", USD, wait=False) is None
    found: list[Any] = []
    waiting = threading.Thread(target=lambda: found.append(one.reserve("r2", USD)))
    waiting.start()
    one.settle(first, attempt("0.01", "yes"))
    waiting.join(30)
    assert found[0].request_id == "r2"


def test_two_engines_that_wait_for_each_other_s_money_both_come_to_an_end(tmp_path: Path) -> None:
    book = ledger(tmp_path, "0.2")
    both = [purse(tmp_path, book, model) for model in ("m", "n")]
    asked: list[int] = []

    def work(one: LedgerPurse) -> None:
        n = 0
        while hold := one.reserve(f"r{n}", Decimal("0.03")):
            one.settle(hold, attempt("0.01", "yes"))
            n += 1
        asked.append(n)

    threads = [threading.Thread(target=work, args=(one,)) for one in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sum(asked) == 18  # 0.18 spent; another one might have cost 0.03


def test_few_writes_serve_many_requests(tmp_path: Path) -> None:
    one = purse(tmp_path, ledger(tmp_path, "100"))

    def work(n: int) -> None:
        hold = one.reserve(f"r{n}", USD)
        assert hold is not None
        one.settle(hold, attempt("0.01", "yes"))

    for _ in range(4):
        threads = [threading.Thread(target=work, args=(n,)) for n in range(64)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    written = len(list(Store.open(str(tmp_path)).list(FOLDER)))
    assert len(lines(Store.open(str(tmp_path)), FOLDER)) == 256
    assert written < 128


def test_a_hold_of_a_process_that_is_gone_can_be_settled_by_another_one(tmp_path: Path) -> None:
    gone = purse(tmp_path, ledger(tmp_path))
    hold = gone.reserve("r1", USD)
    assert hold is not None
    before = committed(tmp_path)
    other = purse(tmp_path, ledger(tmp_path))
    other.book([Entry(hold, "settled", attempt("0.04", "yes"))])
    assert committed(tmp_path) == before - Decimal("0.06")
    assert other.paid(["r1"])["r1"].text == "yes"


def test_a_purse_travels_without_its_money(tmp_path: Path) -> None:
    there = pickle.loads(pickle.dumps(purse(tmp_path, Far())))
    assert isinstance(there, LedgerPurse)


def test_what_could_not_be_written_is_told_and_written_with_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = purse(tmp_path, ledger(tmp_path))
    holds = [one.reserve(f"r{n}", USD) for n in range(2)]
    assert holds[0] is not None
    assert holds[1] is not None

    def away(*_: object) -> None:
        raise StoreError("away")

    with monkeypatch.context() as patch:
        patch.setattr("mixgrid.budget.journal.write_attempts", away)
        with pytest.raises(StoreError, match="away"):
            one.settle(holds[0], attempt("0.01", "first"))
    one.settle(holds[1], attempt("0.01", "second"))
    assert {a.text for a in one.paid(["r0", "r1"]).values()} == {"first", "second"}


def test_the_same_answer_bought_twice_is_given_once_and_the_first_one_wins(tmp_path: Path) -> None:
    one = purse(tmp_path, ledger(tmp_path))
    for text in ("first", "second"):
        hold = one.reserve("r", USD)
        assert hold is not None
        one.settle(hold, attempt("0.01", text))
    for reader in (one, purse(tmp_path, ledger(tmp_path))):
        assert reader.paid(["r"])["r"].text == "first"


def test_parts_of_attempts_are_compacted_without_losing_or_doubling_one(tmp_path: Path) -> None:
    store = Store.open(str(tmp_path))
    one = purse(tmp_path, ledger(tmp_path, "100"))
    for n in range(COMPACT_ABOVE + 1):
        hold = one.reserve(f"r{n}", USD)
        assert hold is not None
        one.settle(hold, attempt("0.01", f"text {n}"))
    before, committed_before = lines(store, FOLDER), committed(tmp_path)
    compact(store, FOLDER, ["m"])
    assert len(list(store.list(attempts_folder(FOLDER, "m")))) == 1
    assert lines(store, FOLDER) == before
    assert committed(tmp_path) == committed_before
    assert one.paid(["r7"])["r7"].text == "text 7"  # of a process that still knows the old parts


def test_every_move_says_why(tmp_path: Path) -> None:
    one = purse(tmp_path, ledger(tmp_path))
    one.reserve("r", USD)
    assert [m.why for m in moves(Store.open(str(tmp_path)), FOLDER)] == ["grant"]


def test_books_that_are_compacted_while_they_are_read_are_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mixgrid.budget.books.COMPACT_ABOVE", 1)
    store, one = Store.open(str(tmp_path)), purse(tmp_path, ledger(tmp_path, "100"))
    for n in range(3):
        hold = one.reserve(f"r{n}", USD)
        assert hold is not None
        one.settle(hold, attempt("0.01", "yes"))
    before, read = lines(store, FOLDER), Store.read
    done: list[Any] = []

    def late(self: Store, part: Any, *rest: Any, **named: Any) -> Any:
        if not done:
            done.append(part)
            compact(store, FOLDER, ["m"])
        return read(self, part, *rest, **named)

    monkeypatch.setattr(Store, "read", late)
    assert lines(store, FOLDER) == before
    assert done


def test_a_compaction_that_was_cut_off_counts_nothing_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mixgrid.budget.books.COMPACT_ABOVE", 1)
    monkeypatch.setattr(Store, "delete", lambda *_: None)  # killed before the old parts went
    store, one = Store.open(str(tmp_path)), purse(tmp_path, ledger(tmp_path, "1"))
    for n in range(9):
        hold = one.reserve(f"r{n}", USD)
        assert hold is not None
        one.settle(hold, attempt("0.1", "yes"))
    before = lines(store, FOLDER), moves(store, FOLDER), committed(tmp_path)
    files = len(list(store.list(FOLDER)))
    compact(store, FOLDER, ["m"])
    assert len(list(store.list(FOLDER))) > files
    assert (lines(store, FOLDER), moves(store, FOLDER), committed(tmp_path)) == before


def test_an_attempt_that_cannot_be_written_is_told_and_keeps_no_other_from_the_books(tmp_path: Path) -> None:
    one = purse(tmp_path, ledger(tmp_path))
    holds = [hold for n in range(3) if (hold := one.reserve(f"r{n}", USD))]
    one.release(holds[0], replace(attempt(error="429"), body="half a \ud83d"))
    with pytest.raises(StoreError, match="cannot write down an attempt"):
        one.settle(holds[1], attempt("0.01", "first"))
    one.settle(holds[2], attempt("0.01", "second"))
    assert {a.text for a in one.paid(["r1", "r2"]).values()} == {"first", "second"}


def test_money_of_an_attempt_that_was_not_written_stays_reserved_and_nothing_more_is_promised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = purse(tmp_path, ledger(tmp_path, "0.15"))
    first = one.reserve("r1", USD)
    assert first is not None

    def away(*_: object) -> None:
        raise StoreError("away")

    with monkeypatch.context() as patch:
        patch.setattr("mixgrid.budget.journal.write_attempts", away)
        with pytest.raises(StoreError, match="away"):
            one.settle(first, attempt("0.01", "first"))
        with pytest.raises(StoreError, match="away"):
            one.reserve("r2", Decimal("0.01"))
    assert one.reserve("r2", Decimal("0.01")) is not None
    assert set(one.paid(["r1"])) == {"r1"}
    assert committed(tmp_path) >= USD


def test_money_in_flight_is_not_waited_for_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mixgrid.budget.purse.FLIGHT_S", 0.0)
    one = purse(tmp_path, ledger(tmp_path, "0.15"))
    assert one.reserve("r1", USD) is not None
    assert one.reserve("r2", USD) is None


def test_a_wallet_that_is_being_filled_is_not_closed(tmp_path: Path) -> None:
    book = ledger(tmp_path)
    one = purse(tmp_path, book)

    class Slow(Ledger):
        def __init__(self) -> None:
            pass

        def grant(self, wallet: str, model: str, day: str, need: Decimal, want: Decimal) -> Grant:
            one.close()  # as another thread may, meanwhile
            return book.grant(wallet, model, day, need, want)

        def give_back(self, wallet: str, usd: Decimal, resting: bool) -> None:
            book.give_back(wallet, usd, resting)

    one._authority = Slow()
    hold = one.reserve("r1", USD)
    one._authority = book
    assert hold is not None
    one.settle(hold, attempt("0.03", "yes"))
    one.close()
    assert committed(tmp_path) == Decimal("0.03")


def test_a_bill_beyond_belief_takes_its_reservation_and_stops_everyone(tmp_path: Path) -> None:
    book = ledger(tmp_path)
    one, other = purse(tmp_path, book), purse(tmp_path, book, "n")
    hold = one.reserve("r1", USD)
    assert hold is not None
    one.settle(hold, replace(attempt(USD, "yes"), known_by="absurd"))
    assert one.reserve("r2", Decimal("0.001")) is None
    assert other.reserve("r3", Decimal("0.001")) is None
    assert "beyond belief" in book.ended()[""]


def test_holds_that_are_disowned_stay_reserved_and_nobody_waits_for_them(tmp_path: Path) -> None:
    book = ledger(tmp_path, "0.15")
    one = purse(tmp_path, book)
    given_up = one.reserve("r1", USD)
    assert given_up is not None
    found: list[Any] = [0]
    waiting = threading.Thread(target=lambda: found.append(one.reserve("r2", USD)))
    waiting.start()
    one.disown([given_up])
    waiting.join(30)
    assert found == [0, None]
    assert "of the sweep" in book.ended()[""]
    one.close()
    assert committed(tmp_path) == USD
    purse(tmp_path, ledger(tmp_path)).book([Entry(given_up, "settled", attempt("0.04", "yes"))])  # a later process
    assert committed(tmp_path) == Decimal("0.04")


def test_the_wallet_of_a_process_that_was_killed_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mixgrid.budget.ledger.SILENT_S", 0.2)
    book = ledger(tmp_path, "0.15")
    with monkeypatch.context() as patch:
        patch.setattr(LedgerPurse, "_start_pulse", lambda _: None)
        assert purse(tmp_path, book).reserve("r1", USD) is not None
    assert purse(tmp_path, book).reserve("r2", USD) is None
    assert "of the sweep" in book.ended()[""]  # so that the sweep ends by its budget, not as one with trouble
    assert committed(tmp_path) >= USD


def test_time_in_which_the_ledger_waits_for_its_store_is_no_silence_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book, clock = ledger(tmp_path, "0.2"), [0.0]
    monkeypatch.setattr("mixgrid.budget.ledger.time", SimpleNamespace(monotonic=lambda: clock[0]))
    for wallet in ("in flight", "done"):
        assert book.grant(wallet, "m", "2026-03-01", USD, USD).usd

    def slowly(*given: Any) -> None:
        clock[0] += 2 * SILENT_S
        write_moves(*given)

    with monkeypatch.context() as patch:
        patch.setattr("mixgrid.budget.ledger.write_moves", slowly)
        book.give_back("done", Decimal("0.05"), True)
    assert not book.grant("other", "n", "2026-03-01", USD, USD).final
    clock[0] += 2 * SILENT_S
    assert book.grant("other", "n", "2026-03-01", USD, USD).final


def test_the_wallet_of_a_process_that_is_only_slow_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mixgrid.budget.ledger.SILENT_S", 1.0)
    monkeypatch.setattr("mixgrid.budget.purse.PULSE_S", 0.05)
    book = ledger(tmp_path, "0.15")
    slow, other = purse(tmp_path, book), purse(tmp_path, book, "n")
    held = slow.reserve("r1", USD)
    assert held is not None

    def end() -> None:
        slow.settle(held, attempt("0.01", "yes"))
        slow.close()

    later = threading.Timer(2.5, end)
    later.start()
    assert other.reserve("r2", USD) is not None
    later.join()
    assert not book.ended()
