"""Who may be in the engine at once, and what happens to an engine in which no row gets finished."""

import faulthandler
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

DEAD = 70  # exit status of an actor whose engine died; Ray starts another


class Turns:
    """Blocks overlap in the engine; what is asked alone waits until it is empty, and later blocks wait for that."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._alone = False
        self.inside = 0
        self.since = time.monotonic()  # of the last who came in or went out

    @contextmanager
    def turn(self, alone: bool) -> Iterator[None]:
        """Wait for room, and take it."""
        with self._changed:
            self._changed.wait_for(lambda: not self._alone)
            self._alone = alone
            if alone:
                self._changed.wait_for(lambda: not self.inside)
            self.inside, self.since = self.inside + 1, time.monotonic()
        try:
            yield
        finally:
            with self._changed:
                self.inside, self.since = self.inside - 1, time.monotonic()
                self._alone = self._alone and not alone
                self._changed.notify_all()

    @contextmanager
    def outside(self) -> Iterator[None]:
        """Within a turn, what is done without the engine, which is not to blame for how long that takes."""
        with self._changed:
            self.inside -= 1
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self.inside, self.since = self.inside + 1, time.monotonic()


def watch(turns: Turns, finished: Callable[[], int], patience_s: float, hung: Callable[[], None]) -> None:
    """Start a thread that calls `hung` once somebody waits in the engine and no row was finished for so long."""

    def look() -> None:
        count, since = finished(), time.monotonic()
        while True:
            time.sleep(min(patience_s / 10, 30.0))
            if finished() != count:
                count, since = finished(), time.monotonic()
            if turns.inside and time.monotonic() - max(since, turns.since) > patience_s:
                hung()
                return

    threading.Thread(target=look, name="watchdog", daemon=True).start()


def end_process(stacks: bool = False) -> None:
    """End this process and what it started, which may hold GPU memory; with the stacks of its threads, if asked."""
    if stacks:
        faulthandler.dump_traceback(sys.__stderr__ or 2, all_threads=True)
    for child in list(_descendants(os.getpid())):  # all of them first: who loses its parent is found no more
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    os._exit(DEAD)  # not sys.exit: Ray would keep a live actor around a dead engine, and ask it the same for ever


def _descendants(pid: int) -> Iterator[int]:
    """Every process below one, from Linux's own table; none where there is no such table."""
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, task.read_text().split()):
                yield child
                yield from _descendants(child)
