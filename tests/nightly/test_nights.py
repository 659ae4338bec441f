"""Which night a call is about, which one it is compared with, and which ones go."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mixgrid.errors import UserError
from mixgrid.nightly.nights import Night, Pace, before, nights, record, retire, tonight
from mixgrid.store import Store

NOW = datetime(2026, 11, 30, 2, 0, tzinfo=UTC)


def night(day: str, exit_code: int | None = 0, began: datetime = NOW, reduction: str = "r") -> Night:
    return Night("nightly", day, began.isoformat(), exit_code, reduction)


def test_a_night_comes_back_from_the_store_as_it_was(tmp_path: Path) -> None:
    store = Store.open(str(tmp_path))
    written = Night(
        "nightly", "2026-11-29", NOW.isoformat(), 5, "abc", ("toy",), {"toy": Pace(120, 3.5, 0.25)}, "# ș | <b>\u2028"
    )
    record(store, written)
    assert nights(store, "nightly") == [written]
    assert nights(store, "night") == []


@pytest.mark.parametrize(
    ("last", "day"),
    [
        (night("2026-11-29", 0), "2026-11-30"),
        (night("2026-11-29", 5), "2026-11-30"),
        (night("2026-11-29", None, NOW - timedelta(hours=3)), "2026-11-29"),  # it died, and is gone on with
        (night("2026-11-29", 3, NOW - timedelta(hours=3)), "2026-11-29"),
        (night("2026-11-29", None, NOW - timedelta(hours=24)), "2026-11-30"),  # too old: given up
        (night("2026-11-30", 0), "2026-11-30"),  # it has ended: the call is about it, and does nothing
    ],
)
def test_a_young_unfinished_night_is_gone_on_with(last: Night, day: str) -> None:
    found = tonight([last], "nightly", NOW)
    assert found.day == day
    assert (found is last) == (day == last.day)


def test_a_named_day_wins_and_a_day_that_is_none_is_refused() -> None:
    assert tonight([night("2026-11-29", None)], "nightly", NOW, "2026-11-01").day == "2026-11-01"
    for day in ("yesterday", "2026-13-01", "2026-11-1", "2026-11-30T00"):
        with pytest.raises(UserError, match="YYYY-MM-DD"):
            tonight([], "nightly", NOW, day)


def test_the_last_complete_night_is_the_one_to_compare_with() -> None:
    known = [
        night("2026-11-26"),
        night("2026-11-27", 5),
        night("2026-11-28", 3),
        night("2026-11-29", None, reduction=""),
    ]
    found = before(known, night("2026-11-30", None))
    assert found is not None
    assert found.day == "2026-11-27"
    assert before(known, night("2026-11-26")) is None


def test_old_nights_go_with_all_their_rows_and_a_pinned_one_stays(tmp_path: Path) -> None:
    store = Store.open(str(tmp_path))
    for day in range(1, 6):
        one = record(store, night(f"2026-11-0{day}"))
        store.put(f"{one.namespace}/runs/x/run.json", b"{}")
        store.put(f"{one.second}/runs/x/run.json", b"{}")
    store.put("prompts/a/b", b"shared")
    gone = retire(store, nights(store, "nightly"), 2, "nightly-2026-11-02")
    assert gone == ["2026-11-01", "2026-11-03"]
    assert [n.day for n in nights(store, "nightly")] == ["2026-11-02", "2026-11-04", "2026-11-05"]
    kept = {entry.key.split("/")[0] for entry in store.list()}
    assert kept == {"nightly", "prompts"} | {
        f"nightly-2026-11-0{day}{end}" for day in (2, 4, 5) for end in ("", "-again")
    }
