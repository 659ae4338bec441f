"""Around an engine that is paid for: what the ledger has an answer for is not asked again, whoever died in between."""

import threading
from collections.abc import Mapping, Sequence

from mixgrid.budget.base import Purse
from mixgrid.engines.base import Ask, Engine, GaveUp
from mixgrid.records import Answer


class PaidEngine:
    """The engine, with its purse. When nothing is in flight, the money that is not needed goes back to the others."""

    def __init__(self, engine: Engine, purse: Purse) -> None:
        self._engine, self._purse = engine, purse
        self.fingerprint = engine.fingerprint
        self._calls = 0
        self._lock = threading.Lock()

    def answer(self, asks: Sequence[Ask]) -> list[Answer | None]:
        """The answers, bought before or now."""
        with self._lock:
            self._calls += 1
        try:
            paid = self._purse.paid({ask.request_id for ask in asks})
            lacking = [ask for ask in asks if ask.request_id not in paid]
            try:
                bought = self._engine.answer(lacking) if lacking else ()
            except GaveUp as end:
                raise GaveUp(str(end), _merged(asks, paid, end.answers)) from end
            return _merged(asks, paid, bought)
        finally:
            with self._lock:
                self._calls -= 1
                last = not self._calls
            if last:
                self._purse.close()

    def close(self) -> None:
        """End the engine, then give back the money."""
        self._engine.close()
        self._purse.close()


def _merged(asks: Sequence[Ask], paid: Mapping[str, Answer], bought: Sequence[Answer | None]) -> list[Answer | None]:
    rest = iter(bought)
    return [paid[ask.request_id] if ask.request_id in paid else next(rest, None) for ask in asks]
