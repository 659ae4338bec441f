"""What went wrong is kept, in order, and a torn or foreign object beside it hides nothing."""

import time
from pathlib import Path

import pytest

from mixgrid.plan.events import events, tell
from mixgrid.store import Store, StoreError


def test_the_newest_are_told_oldest_first_and_by_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, clock = Store.open(str(tmp_path)), iter(range(1000, 2000))
    monkeypatch.setattr(time, "time", lambda: next(clock))
    for n in range(12):
        tell(store, "main", "toy" if n % 2 else "two", f"event {n}")
    store.put("main/events/zzz", b"{half")
    store.put("main/events/zzzz", b'{"other": 1}')
    assert [event.text for event in events(store, "main")] == [f"event {n}" for n in range(2, 12)]
    assert [event.text for event in events(store, "main", {"toy"}, newest=2)] == ["event 9", "event 11"]
    assert events(store, "other") == []


def test_a_store_that_is_away_is_no_second_trouble(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> None:
        raise StoreError("away")

    monkeypatch.setattr(Store, "put_json", away)
    tell(Store.open(str(tmp_path)), "main", "toy", "died")
