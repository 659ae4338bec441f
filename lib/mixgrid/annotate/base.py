"""Ratings of one criterion as counts, what a coefficient is, and its interval over resampled items.

No coefficient needs to know who said what, only how often an item got each category. Items with the same counts are one
row with its number of copies, so resamples are a matrix of copies (draws, R), which a coefficient takes at once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
LOST = 0.05  # an interval stands only where no larger share of its draws is undefined
ENDS = (0.025, 0.975)
ENTRIES = 2**22  # of a matrix of draws by rows, in memory at once (32 MiB)


class UndefinedError(ValueError):
    """The ratings have no such coefficient; the message says why."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How often the items of one criterion got each of its categories."""

    counts: Floats  # (R, C): distinct rows, a column for each category that there is or was declared
    copies: Floats  # (..., R): how many items have such a row
    values: Floats  # (C,): what a category counts as where the level is not nominal
    level: str = "nominal"

    @classmethod
    def of(cls, counts: ArrayLike, values: Sequence[float] = (), level: str = "nominal") -> Self:
        """From a row of counts an item; the order of the items is no matter, nor are items without a rating."""
        table = np.asarray(counts, dtype=np.float64)
        rows, copies = np.unique(table[table.sum(axis=1) > 0], axis=0, return_counts=True)
        numbers = np.asarray(values or range(table.shape[1]), dtype=np.float64)
        return cls(rows, copies.astype(np.float64), numbers, level)

    @property
    def sizes(self) -> Floats:
        """Ratings of each row."""
        return np.asarray(self.counts.sum(axis=1))

    @property
    def paired(self) -> Floats:
        """Copies of the rows with two ratings or more, 0 for the others."""
        return self.copies * (self.sizes > 1)


Coefficient = Callable[[Counts], Floats]  # (...,), NaN in a draw without one; UndefinedError where no draw has one


def quotient(above: Floats, below: Floats, ok: NDArray[np.bool_], why: str) -> Floats:
    """The quotient where it is `ok`, and UndefinedError where it is nowhere."""
    if not np.any(ok):
        raise UndefinedError(why)
    return np.asarray(np.divide(above, below, out=np.full(np.shape(ok), np.nan), where=ok))


def raw(table: Counts) -> Floats:
    """The share of an item's pairs of ratings that agree, averaged over the items that have a pair."""
    pairs = np.maximum(table.sizes * (table.sizes - 1), 1)
    agreeing = (table.counts * (table.counts - 1)).sum(axis=1) / pairs
    items = table.paired.sum(axis=-1)
    return quotient(table.paired @ agreeing, items, items > 0, "no item has two ratings")


@dataclass(frozen=True, slots=True)
class Category:
    """One category: its ratings, their share of all, and the share of pairs with it in which both named it."""

    name: str
    ratings: int
    share: float
    agreement: float | None  # None: none of its ratings has a partner


def prevalence(table: Counts, names: Sequence[str]) -> list[Category]:
    """Every category; specific agreement after Cicchetti and Feinstein (1990), for any number of raters."""
    given = table.copies @ table.counts
    agreeing = table.copies @ (table.counts * (table.counts - 1))
    possible = table.copies @ (table.counts * (table.sizes - 1)[:, None])
    return [
        Category(name, int(n), float(n / given.sum()), float(a / p) if p else None)
        for name, n, a, p in zip(names, given, agreeing, possible, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class Answer:
    """A coefficient with its 95 % percentile interval over items. No number stands where there is none to believe."""

    coefficient: str
    outcome: str  # "measured", or "undefined: why"
    value: float | None = None
    low: float | None = None
    high: float | None = None
    interval: str = ""  # how many draws it is from, or "none: why"


def resamples(table: Counts, draws: int, seed: int) -> Counts:
    """Items drawn with replacement, the same for all coefficients."""
    items = int(table.copies.sum())
    drawn = np.random.default_rng(seed).multinomial(items, table.copies / items, size=draws)
    return replace(table, copies=drawn.astype(np.float64))


def measure(name: str, coefficient: Coefficient, table: Counts, drawn: Counts) -> Answer:
    """A coefficient of a criterion, or why it has none; `drawn` are its `resamples`."""
    try:
        value = float(coefficient(table))
        again = np.concatenate([coefficient(replace(drawn, copies=block)) for block in _blocks(drawn.copies)])
    except UndefinedError as why:
        return Answer(name, f"undefined: {why}")
    found = again[np.isfinite(again)]
    if len(found) < (1 - LOST) * len(again):
        return Answer(name, "measured", value, interval=f"none: undefined in {len(again) - len(found)} draws of items")
    if np.ptp(found) == 0:
        return Answer(name, "measured", value, interval="none: whatever items are drawn, it is the same")
    low, high = (float(end) for end in np.quantile(found, ENDS))
    return Answer(name, "measured", value, low, high, f"{len(found)} draws of items")


def _blocks(copies: Floats) -> list[Floats]:
    """Draws in memory at once."""
    return np.array_split(copies, -(-copies.size // ENTRIES))
