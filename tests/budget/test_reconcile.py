"""Stranded reservations and a provider's export."""

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from mixgrid.budget.books import accounts, lines
from mixgrid.budget.reconcile import read_export, reconcile
from mixgrid.errors import UserError
from mixgrid.pricing import ZERO
from mixgrid.store import Store
from tests.budget.purses import FOLDER, attempt, ledger, purse

DAY, NEXT = "2026-03-01", date(2026, 3, 2)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """0.03 USD settled, 0.1 kept, and a wallet that died with the rest of its money."""
    monkeypatch.setattr("mixgrid.budget.purse._today", lambda: date.fromisoformat(DAY))
    one = purse(tmp_path, ledger(tmp_path, "10"))
    for n, how in enumerate(("settle", "keep")):
        hold = one.reserve(f"r{n}", Decimal("0.1"))
        assert hold is not None
        getattr(one, how)(hold, attempt("0.03", "yes") if how == "settle" else attempt(error="reset"))
    return Store.open(str(tmp_path))


def sums(store: Store) -> tuple[Decimal, Decimal]:
    books = accounts(store, FOLDER).values()
    return sum((a.settled for a in books), ZERO), sum((a.reserved for a in books), ZERO)


def test_what_the_provider_billed_beyond_the_ledger_is_settled_and_the_rest_given_back(store: Store) -> None:
    assert sums(store)[1] > Decimal("0.1")
    (found,) = reconcile(store, FOLDER, {"m": "gpt"}, {("gpt-2026-01-01", DAY): Decimal("0.05")}, NEXT)
    assert found.billed_usd == Decimal("0.02")
    assert sums(store) == (Decimal("0.05"), ZERO)
    assert ledger(Path(store.url), "10").committed() == Decimal("0.05")


def test_the_same_export_again_changes_nothing(store: Store) -> None:
    billed = {("gpt", DAY): Decimal("0.05")}
    reconcile(store, FOLDER, {"m": "gpt"}, billed, NEXT)
    before = lines(store, FOLDER)
    assert reconcile(store, FOLDER, {"m": "gpt"}, billed, NEXT) == []
    assert lines(store, FOLDER) == before


@pytest.mark.parametrize(
    ("billed", "today", "says"),
    [
        ({("gpt", DAY): Decimal(0)}, date.fromisoformat(DAY), "not over"),
        ({("gpt", "2026-02-28"): Decimal(0)}, NEXT, "no row"),
        ({("gpt-mini", DAY): Decimal(0)}, NEXT, "no row"),
    ],
)
def test_what_the_export_cannot_tell_stays_reserved(
    store: Store, billed: dict[tuple[str, str], Decimal], today: date, says: str
) -> None:
    before = sums(store)
    (found,) = reconcile(store, FOLDER, {"m": "gpt"}, billed, today)
    assert says in found.note
    assert sums(store) == before


def test_a_bill_beyond_all_reservations_is_told_and_takes_them_all(store: Store) -> None:
    settled, reserved = sums(store)
    (found,) = reconcile(store, FOLDER, {"m": "gpt"}, {("gpt", DAY): Decimal(50)}, NEXT)
    assert found.billed_usd == reserved
    assert "more than the ledger can account for" in found.note
    assert sums(store) == (settled + reserved, ZERO)


def test_an_export_is_read_whatever_it_calls_its_columns(tmp_path: Path) -> None:
    file = tmp_path / "export.csv"
    file.write_text("created_at,model,cost\n2026-03-01T23:30:00-02:00,gpt,0.1\n1772409600,gpt,$0.2\n", "utf-8")
    assert read_export(file) == {("gpt", "2026-03-02"): Decimal("0.3")}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("model,cost\nm,1\n", "date"),
        ("date,model,cost\nyesterday,m,1\n", "line 2: 'yesterday'"),
        ("date,model,cost\n2026-03-01,m,much\n", "'much'"),
        ("", "no rows"),
    ],
)
def test_an_export_that_is_none_is_told_in_a_sentence(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "export.csv"
    file.write_text(text, "utf-8")
    with pytest.raises(UserError, match=says):
        read_export(file)
