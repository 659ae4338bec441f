"""How one process writes down its attempts: many threads' in one part, each durable when its own call returns."""

import threading
import time
from collections.abc import Collection, Sequence

from mixgrid.budget.base import Attempt
from mixgrid.budget.books import PaidIndex, write_attempts
from mixgrid.records import Answer
from mixgrid.schemas import to_table
from mixgrid.store import Store, StoreError

LINGER_S = 0.1  # a write waits this long for others to join it


class _Batch:
    """Attempts that are written together."""

    def __init__(self) -> None:
        self.attempts: list[Attempt] = []
        self.led = False
        self.done = threading.Event()
        self.error: StoreError | None = StoreError("the ledger was not written: the write was interrupted")


class Journal:
    """Group commit: the first that comes writes for all who come while it waits for its turn."""

    def __init__(self, store: Store, folder: str, model: str) -> None:
        self._store, self._folder, self._model = store, folder, model
        self._lock, self._turn = threading.Lock(), threading.Lock()
        self._batch = _Batch()
        self._index = PaidIndex(store, folder, model)
        self._index_lock = threading.Lock()

    def add(self, attempts: Sequence[Attempt]) -> None:
        """Have them written with the next batch."""
        with self._lock:
            self._batch.attempts += attempts

    def write(self, attempts: Sequence[Attempt]) -> None:
        """Durable when it returns; what could not be written is tried again with the next batch."""
        with self._lock:
            batch, leads = self._batch, not self._batch.led
            batch.attempts += attempts
            batch.led = True
        if leads:
            time.sleep(LINGER_S)
            self._lead(batch)
        batch.done.wait()
        if batch.error:
            raise batch.error

    def find(self, request_ids: Collection[str]) -> dict[str, Answer]:
        """What answers these requests."""
        with self._index_lock:
            return self._index.find(request_ids)

    def _lead(self, batch: _Batch) -> None:
        with self._turn:
            with self._lock:
                self._batch = _Batch()
            try:
                if batch.attempts:
                    part = write_attempts(self._store, self._folder, self._model, batch.attempts)
                    with self._index_lock:
                        self._index.add(part, batch.attempts)
                batch.error = None
            except StoreError as error:
                batch.error = error
                self.add(batch.attempts)
            except (ValueError, TypeError, ArithmeticError) as error:  # one of them has no form in a table
                batch.error = StoreError(f"the ledger cannot write down an attempt ({type(error).__name__}: {error})")
                self.add([attempt for attempt in batch.attempts if _fits(attempt)])
            finally:
                batch.done.set()


def _fits(attempt: Attempt) -> bool:
    """Whether an attempt can be written at all: one that cannot must not keep the others from it."""
    try:
        to_table(Attempt, [attempt])
    except (ValueError, TypeError, ArithmeticError):
        return False
    return True
