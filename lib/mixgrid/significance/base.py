"""What every test returns, and the few things that all of them share.

A number that should not be believed is not returned: `p` is None when nothing could be tested, and `outcome` says why.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Total = Callable[[Floats], Floats]  # sufficient statistics (..., F) -> value (...), vectorised

TESTED = "tested"
NOISE = 1e-12  # relative size under which a spread is rounding, not variation (golden `float_noise_zero_var`)


@dataclass(frozen=True, slots=True)
class Interval:
    """Both ends of a 95 % interval (or of the level that the options name)."""

    low: float
    high: float

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class Outcome:
    """One test: `outcome` is "tested", "degenerate: why" (p has a defined value) or "not testable: why" (p is None)."""

    method: str
    outcome: str = TESTED
    estimate: float | None = None  # what the test is about: a difference, an odds ratio, a statistic's own effect
    p: float | None = None  # two-sided
    statistic: float | None = None
    df: float | None = None
    interval: Interval | None = None  # the one to print
    p_floor: float | None = None  # no data of this size can give a smaller p
    p_error: float | None = None  # Monte-Carlo standard error of a simulated p
    effects: Mapping[str, float] = field(default_factory=dict)
    intervals: Mapping[str, Interval] = field(default_factory=dict)  # other named intervals
    other_p: Mapping[str, float] = field(default_factory=dict)  # the same question under other named definitions
    options: Mapping[str, str | int | float | bool] = field(default_factory=dict)

    @property
    def testable(self) -> bool:
        """Whether there is a p to print."""
        return self.p is not None

    @property
    def signature(self) -> str:
        """Method and options, as a score row carries them: `mcnemar|b:2|c:8`."""
        return "|".join([self.method, *(f"{key}:{self.options[key]}" for key in sorted(self.options))])


def not_testable(method: str, why: str, estimate: float | None = None) -> Outcome:
    """An outcome without a p."""
    return Outcome(method, f"not testable: {why}", estimate)


def is_noise(spread: float, size: float) -> bool:
    """Whether a spread is no more than the rounding of numbers of this size."""
    return not abs(spread) > NOISE * abs(size)


def seed_of(names: Iterable[str]) -> int:
    """A random seed from names, whatever their order: the same cells always get the same draws."""
    text = "\x1f".join(sorted(names))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "big")


def monte_carlo_error(p: float, draws: int) -> float:
    """Standard error of a p value that was counted in this many draws (binomial)."""
    return float(np.sqrt(p * (1 - p) / draws))
