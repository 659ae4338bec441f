"""Stranded reservations meet the provider's own figures: an export with a date, a model and a cost in every row.

What the provider billed for a model on a day, less what the ledger settled for it, is what the stranded reservations of
that day cost; the rest of them is given back. A day that is not over, or that the export lacks, is left as it is.
"""

import csv
import secrets
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path

from mixgrid.budget.base import Attempt
from mixgrid.budget.books import Account, Move, accounts, write_attempts, write_moves
from mixgrid.errors import UserError
from mixgrid.pricing import ZERO, Price, round_up
from mixgrid.store import Store

DATE = ("date", "day", "created_at", "start_time_iso", "start_time", "timestamp")
MODEL = ("model", "model_permaslug", "snapshot_id", "line_item")
COST = ("cost_usd", "cost_total", "cost", "amount_value", "total_cost", "usage")

Billed = Mapping[tuple[str, str], Decimal]  # (the provider's name of a model, ISO day) → USD


@dataclass(frozen=True)
class Settled:
    """What became of one checkpoint's stranded reservations of one day."""

    checkpoint: str
    day: str
    stranded_usd: Decimal
    billed_usd: Decimal  # of that, by the provider's figures
    note: str = ""


def read_export(path: Path) -> dict[tuple[str, str], Decimal]:
    """The export's sums by model and UTC day; UserError names what is missing in the file."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path}: cannot be read as CSV ({error}); give the provider's usage export") from error
    names = list(rows[0]) if rows else []
    when, model, cost = (_column(path, names, wanted) for wanted in (DATE, MODEL, COST))
    sums: dict[tuple[str, str], Decimal] = {}
    for n, row in enumerate(rows, 2):
        key = row[model].strip(), _day(path, n, row[when])
        sums[key] = sums.get(key, ZERO) + _usd(path, n, row[cost])
    return sums


def reconcile(store: Store, folder: str, checkpoints: Mapping[str, str], billed: Billed, today: date) -> list[Settled]:
    """Settle what can be; `checkpoints`: model of the manifest → the provider's name. Nobody may spend meanwhile."""
    found: list[Settled] = []
    books = accounts(store, folder)
    for checkpoint in sorted(set(checkpoints.values())):
        models = {m for m, c in checkpoints.items() if c == checkpoint}
        for day in sorted({a.day for a in books.values() if a.model in models and a.reserved}):
            mine = {w: a for w, a in books.items() if a.model in models and a.day == day}
            found.append(_reconcile(store, folder, (checkpoint, day), mine, _billed(billed, checkpoint, day, today)))
    return found


def _reconcile(
    store: Store, folder: str, key: tuple[str, str], mine: Mapping[str, Account], total: Decimal | str
) -> Settled:
    """Book what the stranded cost first, then give their reservations back: killed in between, it is counted twice."""
    settled = sum((a.settled for a in mine.values()), ZERO)
    stranded = sum((a.reserved for a in mine.values()), ZERO)
    if isinstance(total, str):
        return Settled(*key, stranded, ZERO, total)
    cost = round_up(min(max(total - settled, ZERO), stranded))
    model, now = next(iter(mine.values())).model, datetime.now(UTC)
    if cost:
        wallet = f"reconciled-{secrets.token_hex(6)}"
        write_moves(store, folder, [Move(wallet, model, key[1], cost, now, "reconciled")])
        write_attempts(store, folder, model, [_attempt(wallet, model, key[1], cost, now)])
    back = [Move(w, a.model, a.day, -a.reserved, now, "reconciled") for w, a in mine.items() if a.reserved]
    write_moves(store, folder, back)
    note = ""
    if total < settled:
        note = f"the ledger settled {settled} USD, the export says {total} USD"
    elif total - settled > stranded:
        note = f"the export has {total - settled - stranded} USD more than the ledger can account for"
    return Settled(*key, stranded, cost, note)


def _attempt(wallet: str, model: str, day: str, usd: Decimal, now: datetime) -> Attempt:
    """One attempt that stands for all that nobody heard of."""
    nothing = Price(ZERO, ZERO, ZERO, "the provider's export", day)
    return Attempt(
        request_id="", model=model, provider="export", http_status=None, usage="", body="", price=nothing,
        billed_usd=usd, known_by="reconciled", error="billed without an answer that reached us", sent_at=now,
        ended_at=now, answer=None, ending="settled", attempt_id=wallet, wallet=wallet, reserved_usd=usd, day=day,
    )  # fmt: skip


def _billed(billed: Billed, checkpoint: str, day: str, today: date) -> Decimal | str:
    """The provider's sum for a model (under its dated names too) and day, or why it cannot be used."""
    if date.fromisoformat(day) >= today:
        return "the day is not over"
    sums = [usd for (name, when), usd in billed.items() if when == day and _same(name, checkpoint)]
    return sum(sums, ZERO) if sums else "the export has no row for it, so its reservations stay"


def _same(name: str, checkpoint: str) -> bool:
    """`gpt-x-2026-01-02` is billed for `gpt-x`; `gpt-x-mini` is another model."""
    rest = name.removeprefix(checkpoint)
    return name == checkpoint or (rest != name and rest[0] in "-@:" and rest[1:2].isdigit())


def _column(path: Path, names: Collection[str], wanted: Iterable[str]) -> str:
    for name in wanted:
        if name in names:
            return name
    raise UserError(f"{path}: no column {' or '.join(wanted)}; it has {', '.join(names) or 'no rows'}")


def _day(path: Path, line: int, text: str) -> str:
    """ISO dates and times (without a zone: UTC), or seconds since 1970."""
    try:
        if text.strip().isdigit():
            return datetime.fromtimestamp(int(text), UTC).date().isoformat()
        when = datetime.fromisoformat(text.strip())
    except (ValueError, OverflowError):
        raise UserError(f"{path}: line {line}: {text!r} is no date; ISO dates or Unix seconds are read") from None
    return (when.astimezone(UTC) if when.tzinfo else when).date().isoformat()


def _usd(path: Path, line: int, text: str) -> Decimal:
    try:
        usd = Decimal(text.strip().removeprefix("$"))
    except InvalidOperation:
        usd = Decimal(-1)
    if not usd.is_finite() or usd < 0:
        raise UserError(f"{path}: line {line}: {text!r} is no cost in USD")
    return usd
