"""What stands in a ledger's folder, and what it adds up to.

    moves/moves-*.parquet                    money moved from the caps into a process's wallet, or back
    attempts/model=…/attempts-*.parquet      every try of a request that ended, with its bill and its answer

Both only grow. A wallet's money counts against the caps from before it is first used until it is given back, so the
sum of all moves bounds what can have been billed, whoever was killed. What of it was billed is in the attempts.
"""

import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import TypeVar

import pyarrow as pa

from mixgrid.budget.base import Attempt, Ending
from mixgrid.pricing import ZERO
from mixgrid.records import Answer
from mixgrid.schemas import from_table, schema, to_table
from mixgrid.store import NotFound, Part, Store

COMPACT_ABOVE = 64  # small parts in one folder; a sweep that starts anew makes few of them
_ROWS = 5000  # in a part that was made of others; such parts stay as they are
R = TypeVar("R")


@dataclass(frozen=True)
class Move:
    """USD into a wallet (a grant), or out of it again (below zero)."""

    wallet: str
    model: str
    day: str  # ISO, UTC
    usd: Decimal
    at: datetime
    why: str  # grant, return, reconciled
    move_id: str = field(default_factory=lambda: secrets.token_hex(8))


@dataclass(frozen=True)
class Line:
    """An attempt without what came back: what sums are made of."""

    attempt_id: str
    request_id: str
    wallet: str
    model: str
    day: str
    ending: Ending
    billed_usd: Decimal | None
    reserved_usd: Decimal
    known_by: str
    answered: bool
    ended_at: datetime


@dataclass
class Account:
    """One wallet's sums."""

    model: str
    day: str
    moved: Decimal = ZERO
    settled: Decimal = ZERO

    @property
    def committed(self) -> Decimal:
        """What counts against the caps; a bill above its reservation counts in full."""
        return max(self.moved, self.settled)

    @property
    def reserved(self) -> Decimal:
        """What may still have been billed without our knowing."""
        return self.committed - self.settled


def ledger_folder(namespace: str, sweep: str) -> str:
    """Where a sweep's ledger is."""
    return f"{namespace}/ledger/{sweep}"


def moves_folder(folder: str) -> str:
    """Where money moves are written down."""
    return f"{folder}/moves"


def attempts_folder(folder: str, model: str) -> str:
    """Where one model's attempts are."""
    return f"{folder}/attempts/model={model}"


def write_moves(store: Store, folder: str, moves: Iterable[Move]) -> None:
    """Durable when it returns."""
    store.put_table(moves_folder(folder), "moves", to_table(Move, moves))


def write_attempts(store: Store, folder: str, model: str, attempts: Iterable[Attempt]) -> Part:
    """Durable when it returns."""
    return store.put_table(attempts_folder(folder, model), "attempts", to_table(Attempt, attempts))


def moves(store: Store, folder: str) -> list[Move]:
    """Every move, once, by time; a torn part was never acknowledged, so none of its money was used."""
    found = {move.move_id: move for move in _rows(store, moves_folder(folder), "moves", Move)}
    return sorted(found.values(), key=lambda move: (move.at, move.move_id))


def lines(store: Store, folder: str) -> list[Line]:
    """Every attempt of every model, each once, in the order in which they ended."""
    found = {line.attempt_id: line for line in _rows(store, f"{folder}/attempts", "attempts", Line)}
    return sorted(found.values(), key=lambda line: (line.ended_at, line.attempt_id))


def _rows(store: Store, folder: str, stem: str, record: type[R]) -> list[R]:
    """The rows of all parts; what a part held that was compacted meanwhile is in one that is there now."""
    names = schema(record).names
    read: dict[str, list[R]] = {}
    while True:
        parts = {part.key: part for part in store.parts(folder, stem).whole}
        try:
            for key in parts.keys() - read.keys():
                read[key] = from_table(record, store.read(parts[key], names))
        except NotFound:
            continue
        return [row for key in parts for row in read[key]]


def accounts(store: Store, folder: str) -> dict[str, Account]:
    """Each wallet's sums. Attempts are read first: a move that comes meanwhile can only add to what is held."""
    known = lines(store, folder)
    found: dict[str, Account] = {}
    for move in moves(store, folder):
        found.setdefault(move.wallet, Account(move.model, move.day)).moved += move.usd
    for line in known:
        if line.ending == "settled":
            account = found.setdefault(line.wallet, Account(line.model, line.day))
            account.settled += line.billed_usd or ZERO
    return found


def compact(store: Store, folder: str, models: Iterable[str]) -> None:
    """Few parts of many small ones. Only under the lease on the budget."""
    _compact(store, moves_folder(folder), "moves")
    for model in models:
        _compact(store, attempts_folder(folder, model), "attempts")


def _compact(store: Store, place: str, stem: str) -> None:
    """The new parts are whole before the old ones go, and a row that is in both counts once."""
    parts = [part for part in store.parts(place, stem).whole if part.rows < _ROWS]
    if len(parts) <= COMPACT_ABOVE:
        return
    table = pa.concat_tables([store.read(part) for part in parts])
    kept = {store.put_table(place, stem, table.slice(start, _ROWS)).key for start in range(0, table.num_rows, _ROWS)}
    for part in parts:
        if part.key not in kept:
            store.delete(part.key)


@dataclass(frozen=True)
class _Paid:
    """The part of an attempt that an answer is found by."""

    attempt_id: str
    request_id: str
    ending: Ending
    ended_at: datetime
    answer: Answer | None


class PaidIndex:
    """Where the answers of one model are that were paid for."""

    def __init__(self, store: Store, folder: str, model: str) -> None:
        self._store, self._folder, self._model = store, folder, model
        self._where: dict[str, set[str]] | None = None  # request → parts, more than one if it was bought twice

    def add(self, part: Part, attempts: Iterable[Attempt]) -> None:
        """Take in a part that this process wrote."""
        for attempt in attempts:
            if self._where is not None and attempt.ending == "settled" and attempt.answered:
                self._where.setdefault(attempt.request_id, set()).add(part.key)

    def find(self, request_ids: Iterable[str]) -> dict[str, Answer]:
        """The answers to those of the requests that have one: of several, the one that came first."""
        wanted = set(request_ids)
        try:
            return self._read(wanted)
        except NotFound:  # its parts were compacted meanwhile
            self._where = None
            return self._read(wanted)

    def _read(self, wanted: set[str]) -> dict[str, Answer]:
        if self._where is None:
            self._where = {}
            for request_id, key in self._scan():
                self._where.setdefault(request_id, set()).add(key)
        parts = {key for request_id in wanted for key in self._where.get(request_id, ())}
        rows = [row for key in parts for row in from_table(_Paid, self._store.read(key, schema(_Paid).names))]
        found: dict[str, Answer] = {}
        for row in sorted(rows, key=lambda row: (row.ended_at, row.attempt_id)):
            if row.request_id in wanted and row.ending == "settled" and row.answer is not None:
                found.setdefault(row.request_id, row.answer)
        return found

    def _scan(self) -> Iterator[tuple[str, str]]:
        for part in self._store.parts(attempts_folder(self._folder, self._model), "attempts").whole:
            columns = self._store.read(part, ["request_id", "ending", "answered"]).to_pydict()
            for request_id, ending, answered in zip(*columns.values(), strict=True):
                if ending == "settled" and answered:
                    yield request_id, part.key
