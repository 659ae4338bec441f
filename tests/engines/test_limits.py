"""How fast a provider is asked, on a clock of the test's own: no real time passes here."""

import asyncio
import heapq
from collections.abc import Awaitable, Callable
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixgrid.engines.limits import Limits, seconds

REFUSAL_S = 0.01  # a refusal comes at once


class Clock:
    """Time that moves on when everybody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self.order = count()

    def __call__(self) -> float:
        return self.now

    async def sleep(self, wait: float) -> None:
        place = asyncio.get_running_loop().create_future()
        heapq.heappush(self.sleepers, (self.now + max(wait, 0.0), next(self.order), place))
        await place

    async def run(self, until: float) -> None:
        """Let time pass."""
        while True:
            for _ in range(12):  # all that can go on without time
                await asyncio.sleep(0)
            if not self.sleepers or self.sleepers[0][0] > until:
                return
            self.now, _, place = heapq.heappop(self.sleepers)
            place.set_result(None)


class Provider:
    """A server behind the limits: so many requests in any minute, the others are refused."""

    def __init__(self, clock: Clock, limits: Limits, limit: int | None = None, latency: float = 0.2) -> None:
        self.clock, self.limits, self.limit, self.latency = clock, limits, limit, latency
        self.passed: list[float] = []
        self.refused: list[float] = []

    async def ask(self, tokens: int = 1) -> None:
        while True:
            async with self.limits.slot(tokens) as sent_at:
                full, wait = self.full()
                (self.refused if full else self.passed).append(self.clock.now)
                await self.clock.sleep(REFUSAL_S if full else self.latency)
                if not full:
                    self.limits.succeeded()
                    return
                self.limits.refused(sent_at, wait)

    def full(self) -> tuple[bool, float]:
        """Whether the last minute has as many as it may, and how long that will be so."""
        if self.limit is None or len(self.passed) < self.limit:
            return False, 0.0
        wait = self.passed[-self.limit] + 60 - self.clock.now
        return wait > 0, max(wait, 0.0)

    async def load(self, requests: int, minutes: float, tokens: int = 1) -> None:
        """So many requests at once, watched for a time."""
        tasks = [asyncio.create_task(self.ask(tokens)) for _ in range(requests)]
        await self.clock.run(self.clock.now + 60 * minutes)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def played(work: Callable[[Clock], Awaitable[Provider]]) -> Provider:
    async def run() -> Provider:
        return await work(Clock())

    return asyncio.run(run())


def test_a_declared_limit_is_used_to_95_percent_and_never_passed() -> None:
    async def work(clock: Clock) -> Provider:
        provider = Provider(clock, Limits(64, 600, clock=clock, sleep=clock.sleep), limit=600)
        await provider.load(1500, minutes=2)
        return provider

    provider = played(work)
    assert not provider.refused
    assert len(provider.passed) >= 0.95 * 2 * 600


def test_a_limit_of_tokens_is_kept_to() -> None:
    async def work(clock: Clock) -> Provider:
        provider = Provider(clock, Limits(64, None, 60_000, clock=clock, sleep=clock.sleep))
        await provider.load(200, minutes=2, tokens=1000)
        return provider

    provider = played(work)
    assert 0.95 * 120 <= len(provider.passed) <= 121


def test_a_limit_in_the_headers_is_shared_among_engines_and_a_lower_one_wins() -> None:
    async def work(clock: Clock) -> Provider:
        limits = Limits(8, None, clock=clock, sleep=clock.sleep)
        limits.learn({"x-ratelimit-limit-requests": "1200", "x-ratelimit-reset-requests": "50ms"}, share=2)
        limits.learn({"x-ratelimit-limit-requests": "5000", "x-ratelimit-reset-requests": "7m12s"})  # no minute's
        limits.learn({"x-ratelimit-limit-requests": "many", "x-ratelimit-limit-tokens": "-1"})
        provider = Provider(clock, limits, limit=600)
        await provider.load(1000, minutes=1)
        return provider

    provider = played(work)
    assert not provider.refused
    assert 0.95 * 600 <= len(provider.passed) <= 600


def test_a_limit_that_nobody_tells_is_found_and_then_refusals_are_rare() -> None:
    async def work(clock: Clock) -> Provider:
        provider = Provider(clock, Limits(16, clock=clock, sleep=clock.sleep), limit=600)
        await provider.load(5000, minutes=7)
        return provider

    provider = played(work)
    assert len(provider.passed) > 0.85 * 7 * 600
    later = [t for t in provider.refused if t > 1060]
    assert len(later) < 0.01 * len(provider.passed)


@pytest.mark.parametrize("latency", [0.01, 0.05, 0.3, 1.5, 5.0])
def test_a_limit_that_nobody_tells_refuses_one_in_a_hundred_from_the_first_minute_on(latency: float) -> None:
    async def work(clock: Clock) -> Provider:
        provider = Provider(clock, Limits(64, clock=clock, sleep=clock.sleep), limit=600, latency=latency)
        await provider.load(5000, minutes=7)
        return provider

    provider = played(work)
    first = [sum(t < 1060 for t in found) for found in (provider.refused, provider.passed)]
    assert first[0] <= 0.01 * first[1]
    assert len(provider.refused) <= 0.01 * len(provider.passed)
    minutes = [sum(n <= (t - 1000) // 60 < n + 1 for t in provider.passed) for n in range(7)]
    assert min(minutes[1:]) > 0.5 * 600  # no refusal is taken for a limit far below the one that is there


def test_a_server_of_one_s_own_is_asked_at_once() -> None:
    clock = Clock()
    assert Limits(64, clock=clock, sleep=clock.sleep, gentle=False).allowed == 64
    assert Limits(64, 600, clock=clock, sleep=clock.sleep).allowed == 64
    assert Limits(64, clock=clock, sleep=clock.sleep).allowed == 4


def test_refusals_that_are_rare_and_not_for_the_rate_hardly_slow_anything() -> None:
    async def work(clock: Clock) -> Provider:
        provider = Provider(clock, Limits(32, clock=clock, sleep=clock.sleep))
        tasks = [asyncio.create_task(provider.ask()) for _ in range(2000)]
        for n in range(10):
            await clock.run(clock.now + 2)
            if n % 3 == 0:
                provider.limits.refused(clock.now, 0.02)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return provider

    assert len(played(work).passed) > 20 * 32 / 0.2 * 0.3  # of what 32 at a time could do in that time


def test_the_gate_stops_everybody_and_they_do_not_come_back_all_at_once() -> None:
    async def work(clock: Clock) -> Provider:
        provider = Provider(clock, Limits(32, clock=clock, sleep=clock.sleep))
        provider.limits.refused(clock.now, 30.0)
        await provider.load(100, minutes=2)
        return provider

    provider = played(work)
    assert min(provider.passed) >= 1030.0
    assert len({round(t, 3) for t in provider.passed}) > 5


def test_errors_halve_and_answers_raise_what_is_in_flight() -> None:
    clock = Clock()
    limits = Limits(100, 6000, clock=clock, sleep=clock.sleep)
    assert limits.allowed == 100
    clock.now += 1
    sent_at = clock.now
    for _ in range(10):  # of one moment: they count once
        limits.troubled(sent_at, 0.0)
    assert limits.allowed == 75
    clock.now += 1
    limits.troubled(clock.now, 0.0)
    assert limits.allowed == 56
    for _ in range(56 * 10):
        limits.succeeded()
    assert 60 <= limits.allowed <= 70
    for _ in range(50):
        clock.now += 1
        limits.troubled(clock.now, 0.0)
    assert limits.allowed == 1


@pytest.mark.parametrize(
    ("text", "value"),
    [("6m0s", 360.0), ("1h2m3s", 3723.0), ("20ms", 0.02), ("1.5s", 1.5), ("12", 12.0), ("", None), ("soon", None)],
)
def test_durations_are_read(text: str, value: float | None) -> None:
    assert seconds(text) == (None if value is None else pytest.approx(value))


@given(st.text(max_size=20))
def test_no_duration_breaks_it(text: str) -> None:
    found = seconds(text)
    assert found is None or 0 <= found < float("inf")
