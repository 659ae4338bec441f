"""How fast one provider is asked: requests and tokens a minute, requests at a time, and a gate for all of them.

Limits are declared, read from `x-ratelimit-*` headers, or found by being refused. Requests are spread evenly, as many
providers enforce a limit per minute by the second. Everything here runs on one event loop; `clock` is in seconds.
"""

import asyncio
import math
import random
import re
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

BURST_S = 0.1  # what a late event loop may catch up on, in seconds of the rate
SPREAD_S = 0.1  # while it is gentle: else requests come in waves where answers take equally long
ENOUGH = 60  # requests within a minute, from which a limit that nobody declared is guessed
GENTLE = 4  # requests at a time to begin with, where no limit is known
MORE_PER_S = 1.0  # as long as nothing was refused: what meets the unknown limit at once is then few
MARGIN = 0.98  # of a known limit: with it, no minute holds more than the limit, bursts included
MINUTE = 60.0
PROBE_S = 10.0  # between two raises of a rate that had to be lowered
STEP = 0.02  # of the rate: the first raise; each later one is twice that, until the next refusal
NEAR, BEYOND = 0.95, 1.1  # of what was refused last: in between, the way is felt in quarters of a step
DENSE, RECENT = 5, 20  # so many refusals among the latest are for the rate; fewer may be for anything
LONG_S = 1.0  # a wait after which one request goes ahead of the others
WINDOW_S = 10.0  # a wait that only a limit by the minute asks for
_DURATION = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")


@dataclass
class Pace:
    """A rate per minute, as turns: each taker is told how long to wait for its own. None: no limit is known."""

    limit: float | None
    clock: Callable[[], float]
    next_at: float = -math.inf
    changed_at: float = -math.inf

    def __post_init__(self) -> None:
        """Start at the limit."""
        self.rate = self.limit
        self._step, self._bad = STEP, math.inf  # the next raise; what was too much

    def take(self, amount: float) -> float:
        """Seconds to wait for this amount's turn."""
        if self.rate is None:
            return 0.0
        now = self.clock()
        turn = max(self.next_at, now - BURST_S)
        self.next_at = turn + amount * MINUTE / (self.rate * MARGIN)
        return max(0.0, turn - now)

    def learn(self, limit: float) -> None:
        """What the provider says that the limit is; the lower of two wins."""
        if self.limit is None or limit < self.limit:
            self.limit = limit
            self.rate = min(self.rate or limit, limit)

    def slow_down(self, seen: float) -> None:
        """Refused again and again: a tenth slower than now, or than what was `seen` to pass in the last minute."""
        self._lower(0.9, seen)

    def ease(self, seen: float) -> None:
        """Refused once, at a rate that is no known limit: it is a little too high."""
        if self.rate is not None and self.rate != self.limit:
            self._lower(1 - STEP, seen)

    def speed_up(self) -> None:
        """After a while without refusals, faster, up to the limit if one is known."""
        if self.rate is None or self.rate == self.limit or self.clock() - self.changed_at <= PROBE_S:
            return
        near = NEAR < self.rate / self._bad < BEYOND
        step = STEP / 4 if near else self._step
        self._change(min(self.rate * (1 + step), self.limit or math.inf), STEP if near else self._step * 2)

    def _lower(self, to: float, seen: float) -> None:
        """A share of the rate. What has just passed within a minute is proof that a tenth less than it may."""
        known = seen if seen >= ENOUGH else None
        rate = self.rate or known
        if rate:
            self._bad = known or rate
            self._change(max(rate * to, min(rate, 0.9 * (known or 0.0))), STEP)

    def _change(self, rate: float, step: float) -> None:
        self.rate, self._step, self.changed_at = rate, step, self.clock()


class Limits:
    """One provider's limits for one model, shared by all requests of an engine."""

    def __init__(
        self,
        concurrency: int,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        *,
        gentle: bool = True,  # where no limit is known, begin with few at a time
        gate: Callable[[], float] = lambda: 0.0,  # seconds that the provider is shut, as others were told
    ) -> None:
        self._clock, self._sleep, self._gate = clock, sleep, gate
        self._requests, self._tokens = Pace(requests_per_minute, clock), Pace(tokens_per_minute, clock)
        self._most = concurrency
        self._gentle = gentle and requests_per_minute is None  # until something is refused, or a limit is told
        self._allowed = float(min(GENTLE, concurrency) if self._gentle else concurrency)
        self._raised_at = math.inf  # while it is gentle
        self._doubling_to = 0.0  # above it, one more for a round of answers; below, one more for each
        self._busy = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._shut_until = self._cut_at = -math.inf
        self._passed: deque[float] = deque()  # when a request succeeded, within the last minute
        self._refusals: deque[bool] = deque(maxlen=RECENT)  # which of the latest requests were refused
        self._slowed_at = -math.inf

    @asynccontextmanager
    async def slot(self, tokens: int) -> AsyncIterator[float]:
        """A place among the requests in flight, once it is this request's turn; gives the time of sending."""
        await self._enter()
        try:
            await self._turn(tokens)
            yield self._clock()
        finally:
            self._busy -= 1
            self._admit()

    def learn(self, headers: Mapping[str, str], share: int = 1) -> None:
        """Read limits per minute from the headers of an answer; `share`: how many engines there are for them.

        A window that takes longer than a minute to refill is no limit per minute, and left to refusals.
        """
        for name, pace in (("requests", self._requests), ("tokens", self._tokens)):
            limit = _number(headers.get(f"x-ratelimit-limit-{name}"))
            reset = seconds(headers.get(f"x-ratelimit-reset-{name}", "")) or 0.0
            if limit and reset <= MINUTE:
                pace.learn(limit / share)
                self._allowed, self._gentle = float(self._most) if self._gentle else self._allowed, False

    def succeeded(self) -> None:
        """A request was answered: a little more of everything."""
        now = self._clock()
        self._passed.append(now)
        while self._passed[0] < now - MINUTE:
            self._passed.popleft()
        self._refusals.append(False)
        self._allowed = min(self._most, self._allowed + self._more(now))
        self._requests.speed_up()
        self._admit()

    def refused(self, sent_at: float, wait_s: float) -> None:
        """Too many requests: nobody sends for `wait_s`, then fewer at a time; slower, if it goes on or is for long."""
        self._refusals.append(True)
        seen = len(self._passed)
        if self._cut(sent_at, wait_s, 0.5):
            self._allowed = 1.0 if wait_s >= LONG_S else self._allowed
            self._requests.ease(seen)
        if (sum(self._refusals) >= DENSE or wait_s >= WINDOW_S) and sent_at > self._slowed_at:
            self._slowed_at = self._clock()
            self._requests.slow_down(seen)

    def troubled(self, sent_at: float, wait_s: float) -> None:
        """The server failed: fewer at a time, and nobody for as long as it asks."""
        self._cut(sent_at, wait_s, 0.75)

    @property
    def allowed(self) -> int:
        """Requests at a time, as of now."""
        return max(1, int(self._allowed))

    def _cut(self, sent_at: float, wait_s: float, to: float) -> bool:
        """Shut the gate for a while; a share of those at a time, once for all that were in flight together."""
        self._shut_until = max(self._shut_until, self._clock() + wait_s)
        if sent_at <= self._cut_at:
            return False
        self._cut_at = self._clock()
        self._allowed = self._doubling_to = max(1.0, self._allowed * to)
        self._gentle = False
        return True

    def _more(self, now: float) -> float:
        """What an answer adds to those at a time."""
        if not self._gentle:
            return 1.0 if self._allowed < self._doubling_to else 1 / self._allowed
        since, self._raised_at = max(0.0, now - self._raised_at), now
        return since * MORE_PER_S

    async def _turn(self, tokens: int) -> None:
        while True:
            while (wait := self._shut_for()) > 0:
                await self._sleep(wait + random.uniform(0, min(1.0, wait)))  # not all at once when the gate opens
            wait = max(self._requests.take(1), self._tokens.take(tokens))
            if self._gentle:
                wait += random.uniform(0, SPREAD_S)
            if wait > 0:
                await self._sleep(wait)
            if self._shut_for() <= 0:
                return

    def _shut_for(self) -> float:
        return max(self._shut_until - self._clock(), self._gate())

    async def _enter(self) -> None:
        if self._busy < self.allowed and not self._waiting:
            self._busy += 1
            return
        place = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        await place  # the one who leaves has counted us in

    def _admit(self) -> None:
        while self._waiting and self._busy < self.allowed:
            place = self._waiting.popleft()
            if not place.done():
                self._busy += 1
                place.set_result(None)


def seconds(text: str) -> float | None:
    """A duration such as `6m0s`, `1.5s`, `20ms` or `12`; None where it is none."""
    plain = _number(text)
    if plain is not None:
        return plain
    found = _DURATION.fullmatch(text.strip())
    if not found or not any(found.groups()):
        return None
    parts = zip(found.groups(), (3600, 60, 1, 0.001), strict=True)
    return sum(float(value) * unit for value, unit in parts if value)


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None
