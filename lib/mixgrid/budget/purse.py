"""The purse of one engine process: wallets filled by the ledger, attempts written by this process itself.

A wallet belongs to one model and one UTC day. It is filled for several requests at once and its money goes round, so
that the store is written to a few times a second, whatever the number of requests.
"""

import secrets
import threading
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from mixgrid.budget.base import Attempt, Ending, Entry, Hold
from mixgrid.budget.gates import Gates
from mixgrid.budget.journal import Journal
from mixgrid.budget.ledger import PULSE_S, Authority, Grant
from mixgrid.errors import Incomplete
from mixgrid.pricing import ZERO, round_up
from mixgrid.records import Answer
from mixgrid.store import Store

AHEAD = 16  # a wallet is filled for this many requests like the one that found it empty
PATIENCE_S = 300.0  # for money that other engines hold; then the budget counts as used up
FLIGHT_S = 90_000.0  # for money in flight here: a batch may take a day, and nothing takes longer
_LOOK_S = 0.5


def _today() -> date:
    return datetime.now(UTC).date()


@dataclass
class _Wallet:
    """Money of one day in this process."""

    day: date
    wallet: str = field(default_factory=lambda: secrets.token_hex(8))
    free: Decimal = ZERO
    held: set[str] = field(default_factory=set)  # ids of the attempts in flight


class LedgerPurse:
    """One (sweep, model) in one process; see budget/base.py. It travels to its process without its state."""

    def __init__(self, store: Store, folder: str, model: str, authority: Authority) -> None:
        self._given = store, folder, model, authority
        self._model, self._authority = model, authority
        self._journal, self._gates = Journal(store, folder, model), Gates()
        self._change = threading.Condition()
        self._wallets: dict[str, _Wallet] = {}
        self._current: _Wallet | None = None
        self._filling = self._pulsing = False
        self._stopped = ""
        self._unwritten = False  # the last write failed: nothing more is promised until one succeeds

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._given

    def paid(self, request_ids: Collection[str]) -> dict[str, Answer]:
        """Those of the requests that the ledger has an answer for."""
        return self._journal.find(request_ids)

    def reserve(self, request_id: str, usd: Decimal, wait: bool = True) -> Hold | None:
        """From the wallet of today, filled by the ledger where it lacks; None once the caps leave too little.

        StoreError where what was paid before can still not be written down.
        """
        usd, since = round_up(usd), time.monotonic()
        while not self._stopped:
            if self._unwritten:
                self.book([])
            with self._change:
                wallet = self._wallet_of_today()
                if wallet.free >= usd:
                    wallet.free -= usd
                    hold = Hold(secrets.token_hex(12), request_id, usd, wallet.day, wallet.wallet)
                    wallet.held.add(hold.hold_id)
                    return hold
                if self._filling:
                    self._change.wait(_LOOK_S)
                    continue
                self._filling, need = True, usd - wallet.free
                self._start_pulse()
            refused = self._fill(wallet, need, usd * AHEAD)
            if refused and not wait:
                return None
            if refused:
                self._wait_or_stop(refused, time.monotonic() - since)
        return None

    def settle(self, hold: Hold, attempt: Attempt) -> None:
        """The bill and the answer, durable when it returns."""
        self.book([Entry(hold, "settled", attempt)])

    def release(self, hold: Hold, attempt: Attempt) -> None:
        """The money is free again at once: nothing is lost if the note of it is."""
        self._journal.add([_filled(hold, "released", attempt)])
        self._end(hold, ZERO)

    def keep(self, hold: Hold, attempt: Attempt) -> None:
        """The money stays in the wallet, unused, until `mixgrid cost --reconcile`."""
        self._journal.add([_filled(hold, "kept", attempt)])
        self._end(hold, hold.usd)

    def book(self, entries: Sequence[Entry]) -> None:
        """Written first; only then is what they leave of their holds free. StoreError: every hold ends as kept."""
        attempts = [_filled(e.hold, e.ending, e.attempt) for e in entries]
        written = False
        try:
            self._journal.write(attempts)
            written = True
        finally:
            self._unwritten = not written
            for entry, attempt in zip(entries, attempts, strict=True):
                used = {"settled": attempt.billed_usd or ZERO, "released": ZERO, "kept": entry.hold.usd}[entry.ending]
                self._end(entry.hold, used if written else max(used, entry.hold.usd))
                if attempt.known_by == "absurd":
                    self._stop(f"a bill beyond belief came for request {entry.hold.request_id}: {attempt.usage[:200]}")

    def disown(self, holds: Iterable[Hold]) -> None:
        """They stay in their wallets, unused, until a later process settles them."""
        with self._change:
            for hold in holds:
                if hold.wallet in self._wallets:
                    self._wallets[hold.wallet].held.discard(hold.hold_id)
            self._change.notify_all()

    def gate(self, provider: str, wait_s: float = 0.0) -> float:
        """A wait that nobody knows of yet goes to the ledger at once, and from there to every other engine."""
        if wait_s > self._gates.left(provider):
            self._gates.shut({provider: wait_s})
            self._authority.gate(provider, wait_s)
        return self._gates.left(provider)

    def close(self) -> None:
        """Give back what no attempt holds."""
        self._journal.write([])
        with self._change:
            filling = self._current if self._filling else None  # its money is on its way
            closing = [(w, w.free, not w.held and w is not filling) for w in self._wallets.values()]
            for wallet, free, resting in closing:
                wallet.free -= max(free, ZERO)
                if resting:
                    del self._wallets[wallet.wallet]
                    self._current = None if self._current is wallet else self._current
        for wallet, free, resting in closing:
            self._authority.give_back(wallet.wallet, free, resting)

    def _wallet_of_today(self) -> _Wallet:
        if self._current is None or self._current.day != _today():
            self._current = _Wallet(_today())
            self._wallets[self._current.wallet] = self._current
        return self._current

    def _start_pulse(self) -> None:
        """Tell the ledger that this process lives, as long as it has wallets: who is silent is waited for no more.

        The answer says which providers asked others to wait: a pulse apart, as most ask for a few seconds.
        """
        if not self._pulsing:
            self._pulsing = True
            threading.Thread(target=self._pulse, name="mixgrid-pulse", daemon=True).start()

    def _pulse(self) -> None:
        while True:
            time.sleep(PULSE_S)
            with self._change:
                mine = list(self._wallets)
                self._pulsing = bool(mine)
            if not mine:
                return
            try:
                self._gates.shut(self._authority.alive(mine))
            except Incomplete:  # the ledger is gone, and with it whoever might wait
                self._pulsing = False
                return

    def _fill(self, wallet: _Wallet, need: Decimal, want: Decimal) -> Grant | None:
        """Ask the ledger; the refusal, if it is one."""
        grant = Grant()
        try:
            grant = self._authority.grant(wallet.wallet, self._model, wallet.day.isoformat(), need, want)
            self._gates.shut(grant.gates)
        finally:
            with self._change:
                wallet.free += grant.usd
                self._filling = False
                self._change.notify_all()
        return None if grant.usd else grant

    def _wait_or_stop(self, refused: Grant, waited_s: float) -> None:
        """Money in flight here comes back first; then what others hold, for a while; then the budget is used up.

        What is free here is given back before: two that wait for each other's money would wait for ever.
        """
        with self._change:
            in_flight = any(w.held for w in self._wallets.values())
            if in_flight and waited_s <= FLIGHT_S:
                self._change.wait(_LOOK_S)
                return
            if in_flight or refused.final or waited_s > PATIENCE_S:
                self._stopped = f"{refused.why}, and what is in flight never came back" if in_flight else refused.why
                self._change.notify_all()
                return
        self.close()
        time.sleep(_LOOK_S)

    def _end(self, hold: Hold, used: Decimal) -> None:
        """What a hold leaves goes back to its wallet; if that is another process's, to the ledger."""
        with self._change:
            wallet = self._wallets.get(hold.wallet)
            if wallet:
                wallet.held.discard(hold.hold_id)
                wallet.free += hold.usd - used
                self._change.notify_all()
        if not wallet and used < hold.usd:
            self._authority.give_back(hold.wallet, hold.usd - used, False)
        if used > hold.usd:
            self._stop(f"a bill of {used} USD came for a reservation of {hold.usd} USD (request {hold.request_id})")

    def _stop(self, why: str) -> None:
        """For everyone: what is billed is not what was promised."""
        self._stopped = why
        self._authority.stop(why)


def _filled(hold: Hold, ending: Ending, attempt: Attempt) -> Attempt:
    """The attempt with what the ledger knows of it."""
    return replace(
        attempt, ending=ending, attempt_id=hold.hold_id, wallet=hold.wallet, reserved_usd=hold.usd,
        billed_usd=None if attempt.billed_usd is None else round_up(attempt.billed_usd),
        day=hold.day.isoformat(), request_id=hold.request_id, answered=attempt.answer is not None,
    )  # fmt: skip
