"""Which providers take no requests for now. Told in seconds from now: no two machines' clocks are compared."""

import math
import threading
import time
from collections.abc import Mapping


def _now() -> float:
    return time.monotonic()


class Gates:
    """Until when each provider (`host:port`) is shut, by this process's clock; from any thread."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}
        self._lock = threading.Lock()

    def shut(self, waits: Mapping[str, float]) -> None:
        """Nobody sends for so many seconds; of two waits, the one that ends later holds."""
        now = _now()
        with self._lock:
            self._until |= {name: max(now + wait_s, self._until.get(name, now)) for name, wait_s in waits.items()}

    def left(self, provider: str) -> float:
        """Seconds that it is still shut; 0: it is open."""
        return max(0.0, self._until.get(provider, -math.inf) - _now())

    def waits(self) -> dict[str, float]:
        """Seconds for all that are shut."""
        with self._lock:
            names = list(self._until)
        return {name: left for name in names if (left := self.left(name)) > 0}
