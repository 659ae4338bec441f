"""What the ledger's tests share: attempts, and a ledger in a folder with purses on it."""

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from mixgrid.budget.base import Attempt
from mixgrid.budget.ledger import Authority, Caps, Ledger
from mixgrid.budget.purse import LedgerPurse
from mixgrid.pricing import Price
from mixgrid.records import Answer
from mixgrid.store import Store

FOLDER = "main/ledger/toy"
PRICE = Price(Decimal(1), Decimal(1), Decimal(2), "test", "")


def attempt(billed: str | Decimal | None = None, text: str | None = None, error: str = "", model: str = "m") -> Attempt:
    """An attempt that ended now: with an answer where there is a text."""
    now = datetime.now(UTC)
    answer = None if text is None else Answer(text, finish_reason="stop")
    return Attempt(
        "", model, "fake", 200, "{}", "{}", PRICE, None if billed is None else Decimal(billed), "priced",
        error or ("" if answer else "no answer"), now, now, answer,
    )  # fmt: skip


def ledger(folder: Path, usd: str = "1", day: str | None = None, models: dict[str, str] | None = None) -> Ledger:
    """A ledger as a new driver opens it."""
    caps = Caps(Decimal(usd), Decimal(day) if day else None, {k: Decimal(v) for k, v in (models or {}).items()})
    return Ledger(Store.open(str(folder)), FOLDER, caps)


def purse(folder: Path, authority: Authority, model: str = "m") -> LedgerPurse:
    """A purse as a new engine process opens it."""
    return LedgerPurse(Store.open(str(folder)), FOLDER, model, authority)
