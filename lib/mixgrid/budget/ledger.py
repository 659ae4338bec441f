"""The one authority over a sweep's money: it moves money from the caps into wallets, never more than they hold.

It lives in one process (an actor of Ray, sweep.py), under a lease that nobody else can hold meanwhile. All engines of a
sweep speak to it, so it also tells each of them which providers asked another one to wait.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Protocol

from mixgrid.budget.books import Account, Move, accounts, write_moves
from mixgrid.budget.gates import Gates
from mixgrid.pricing import ZERO, round_down
from mixgrid.store import Store

PULSE_S, SILENT_S = 1.0, 30.0  # a process with wallets is heard of so often; after such a silence it counts as dead
SHARE = 8  # a wallet is filled with at most this part of what is left, so that the last money is not spread about


@dataclass(frozen=True)
class Caps:
    """USD that a sweep may spend in all, in one UTC day, and on single models."""

    usd: Decimal
    day: Decimal | None = None
    models: Mapping[str, Decimal] = field(default_factory=dict)


@dataclass(frozen=True)
class Grant:
    """Money for a wallet; none of it where the caps do not allow what was needed."""

    usd: Decimal = ZERO
    why: str = ""  # which cap refused
    final: bool = True  # else there are wallets, of the asker too, that may yet give back what would be enough
    gates: Mapping[str, float] = field(default_factory=dict)  # as `alive` answers


class Authority(Protocol):
    """The ledger, as a purse in another process sees it."""

    def grant(self, wallet: str, model: str, day: str, need: Decimal, want: Decimal) -> Grant:
        """Move at least `need` and at most `want` into a wallet."""

    def give_back(self, wallet: str, usd: Decimal, resting: bool) -> None:
        """Move money back; a resting wallet has nothing in flight."""

    def alive(self, wallets: Iterable[str]) -> Mapping[str, float]:
        """The process of these wallets lives, and may give something back yet; the seconds each shut provider wants."""

    def gate(self, provider: str, wait_s: float) -> None:
        """A provider wants nobody to send for so long."""

    def stop(self, why: str) -> None:
        """Grant nothing more."""


class Ledger:
    """Every move is in the store before it is used; `confirm` raises where the lease is no longer ours."""

    def __init__(self, store: Store, folder: str, caps: Caps, confirm: Callable[[], None] = lambda: None) -> None:
        self._store, self._folder, self._caps, self._confirm = store, folder, caps, confirm
        self._accounts = accounts(store, folder)
        self._open: dict[str, float] = {}  # wallets that may give money back → when their process was last heard of
        self._ended: dict[str, str] = {}  # model, or "" for all: which cap ended it
        self._gates = Gates()
        self._lock = threading.Lock()

    def grant(self, wallet: str, model: str, day: str, need: Decimal, want: Decimal) -> Grant:
        """A refusal ends the sweep (or, by its own cap, the model): rows that come later must not fit in by size."""
        with self._lock:
            grant = self._grant(wallet, model, day, need, want)
        return replace(grant, gates=self._gates.waits())

    def give_back(self, wallet: str, usd: Decimal, resting: bool) -> None:
        """Safe to lose: what is not given back stays held."""
        with self._lock:
            if usd > 0:
                account = self._accounts[wallet]
                self._move(wallet, account.model, account.day, -usd, "return")
            if resting:
                self._open.pop(wallet, None)

    def alive(self, wallets: Iterable[str]) -> dict[str, float]:
        """Their money is worth waiting for."""
        with self._lock:
            self._open |= {wallet: time.monotonic() for wallet in wallets if wallet in self._open}
        return self._gates.waits()

    def gate(self, provider: str, wait_s: float) -> None:
        """Told to everybody with the next answer that each gets."""
        self._gates.shut({provider: wait_s})

    def stop(self, why: str) -> None:
        """Grant nothing more, whoever asks."""
        with self._lock:
            self._ended[""] = why

    def ended(self) -> dict[str, str]:
        """Which models were stopped and why; "" stands for all of them."""
        with self._lock:
            return dict(self._ended)

    def committed(self) -> Decimal:
        """What counts against the sweep's cap now."""
        with self._lock:
            return sum((a.committed for a in self._accounts.values()), ZERO)

    def left(self, models: Iterable[str], day: str) -> dict[str, Decimal]:
        """USD that each model may still spend on a day; "": all of them together."""
        with self._lock:
            own = {model: min(self._room(model, day).values()) for model in models}
            shared = self._room("", day).values()
            return {**own, "": min(shared)}

    def _grant(self, wallet: str, model: str, day: str, need: Decimal, want: Decimal) -> Grant:
        ended = self._ended.get("") or self._ended.get(model)
        if ended:
            return Grant(why=ended)
        room = self._room(model, day)
        scope, left = min(room.items(), key=lambda pair: pair[1])
        if need > left:
            return self._refuse(model, scope, need, left)
        usd = max(need, round_down(min(want, left / SHARE)))
        self._move(wallet, model, day, usd, "grant")
        self._open[wallet] = time.monotonic()
        return Grant(usd)

    def _refuse(self, model: str, scope: str, need: Decimal, left: Decimal) -> Grant:
        why = f"the cap {scope} leaves {left:.6f} USD, and the next request may cost {need:.6f} USD"
        if any(time.monotonic() - heard < SILENT_S for heard in self._open.values()):
            return Grant(why=why, final=False)
        self._ended[model if scope.startswith("of model") else ""] = why
        return Grant(why=why)

    def _room(self, model: str, day: str) -> dict[str, Decimal]:
        """What each cap leaves."""
        all_of = self._accounts.values()
        room = {"of the sweep": self._caps.usd - sum((a.committed for a in all_of), ZERO)}
        if self._caps.day is not None:
            room["of the day"] = self._caps.day - sum((a.committed for a in all_of if a.day == day), ZERO)
        if model in self._caps.models:
            spent = sum((a.committed for a in all_of if a.model == model), ZERO)
            room[f"of model {model}"] = self._caps.models[model] - spent
        return room

    def _move(self, wallet: str, model: str, day: str, usd: Decimal, why: str) -> None:
        """Written, then looked: whoever took the lease from us in between reads this move."""
        since = time.monotonic()
        try:
            write_moves(self._store, self._folder, [Move(wallet, model, day, usd, datetime.now(UTC), why)])
            self._confirm()
        finally:  # while the store is waited for nobody is heard, so that this time is nobody's silence
            away = time.monotonic() - since
            self._open = {name: heard + away for name, heard in self._open.items()}
        self._accounts.setdefault(wallet, Account(model, day)).moved += usd
