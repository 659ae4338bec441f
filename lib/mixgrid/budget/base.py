"""What a paid engine sees of the ledger: a purse. Money is Decimal, in USD.

    known = purse.paid(request_ids)         what was paid for before: engines/paid.py never asks it again
    hold = purse.reserve(request_id, price.worst_case(prompt_bound(messages), max_tokens))
    if hold is None: the row stays pending (answer None), and nothing is sent
    send; then exactly one of
        purse.settle(hold, attempt)     billed: an answer, or a failure that the provider charges for
        purse.release(hold, attempt)    for sure not billed: refused with 4xx before any work, never connected
        purse.keep(hold, attempt)       nobody knows: sent, and then a timeout, a reset, half an answer

Each try of a request is an attempt of its own with its own hold. A bill above its hold is settled as it is, and the
purse stops the sweep. `settle` and `book` wait for one write to the store, which many threads share; `reserve` may wait
for a settlement of others. So call them from threads, give reservations that wait no thread that a settlement needs,
and hold no slot of the provider's concurrency meanwhile. A hold may be stored and settled by a later process.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Literal, Protocol

from mixgrid.pricing import Price
from mixgrid.records import Answer

Ending = Literal["settled", "released", "kept"]


@dataclass(frozen=True)
class Hold:
    """Money held back for one attempt, on the budget of the UTC day on which it was reserved."""

    hold_id: str  # also the attempt's id
    request_id: str
    usd: Decimal
    day: date
    wallet: str  # of the process that reserved it


@dataclass(frozen=True)
class Attempt:
    """One try of one request, as it went. What the ledger fills in stands last."""

    request_id: str
    model: str  # of the manifest
    provider: str  # that answered, as it names itself; else the host that was asked
    http_status: int | None  # None: no status line came back
    usage: str  # JSON as sent; empty: none came
    body: str  # as sent; the key is never in it
    price: Price
    billed_usd: Decimal | None  # None: not billed, or not known
    known_by: str  # reported, priced, assumed, absurd; empty where nothing was billed
    error: str  # empty where there is an answer
    sent_at: datetime
    ended_at: datetime
    answer: Answer | None
    response_id: str = ""  # the provider's own id of the answer
    ending: Ending = "kept"
    answered: bool = False
    attempt_id: str = ""
    wallet: str = ""
    reserved_usd: Decimal = Decimal(0)
    day: str = ""  # ISO, UTC: whose cap it counts for


@dataclass(frozen=True)
class Entry:
    """How one hold ended."""

    hold: Hold
    ending: Ending
    attempt: Attempt


class Purse(Protocol):
    """One engine's access to the sweep's money; safe to call from many threads at once."""

    def paid(self, request_ids: Collection[str]) -> dict[str, Answer]:
        """Those of the requests that the ledger has an answer for."""

    def reserve(self, request_id: str, usd: Decimal, wait: bool = True) -> Hold | None:
        """Hold back the most that one attempt can cost; None where the budget does not allow it.

        Money that requests in flight hold may come back: `wait` for it, or take None as "not now".
        """

    def settle(self, hold: Hold, attempt: Attempt) -> None:
        """Book `attempt.billed_usd` and the whole answer; durable when it returns."""

    def release(self, hold: Hold, attempt: Attempt) -> None:
        """Give all of it back: it is certain that nothing was billed. Written with what is booked next."""

    def keep(self, hold: Hold, attempt: Attempt) -> None:
        """Keep the reservation: it may have been billed. Written with what is booked next."""

    def book(self, entries: Sequence[Entry]) -> None:
        """Many at once, as of a batch; durable when it returns."""

    def disown(self, holds: Iterable[Hold]) -> None:
        """Nobody here will end them: they stay reserved for who does, and are waited for no more."""

    def gate(self, provider: str, wait_s: float = 0.0) -> float:
        """Seconds that a provider (`host:port`) is shut for the sweep, once it has asked for `wait_s`; 0: it is open.

        Without a wait it is only looked at, which takes no time.
        """

    def close(self) -> None:
        """Write what is not yet written, and give back what no attempt holds. The purse may be used again."""
