"""From declared comparisons to pairs of a cell's slices, each side on the rows that have a partner on the other.

Sides of one slice are joined by item. Others (mixed rows and their originals, two methods) are joined by source, within
a corpus or across two: a row has a partner where the other side has a row of its source.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mixgrid.metrics.base import Array, Metric
from mixgrid.plan.declared import ALL, EACH, KEYS, NONE, SLICE, Declared, Side
from mixgrid.reduce.cells import Cell
from mixgrid.reduce.shared import Shared, shared

Bools = npt.NDArray[np.bool_]
OVERLAP = (ALL, "mixed")  # slices that hold others


@dataclass(frozen=True)
class Place:
    """A slice of a cell."""

    cell: Cell
    s: int

    @cached_property
    def fields(self) -> dict[str, str]:
        """What comparisons are declared by."""
        run, (language, switching) = self.cell.run, self.cell.slices.names[self.s]
        return dict(zip(KEYS, (run.corpus, run.task, run.model, run.setting, language, switching), strict=True))

    @property
    def column(self) -> str:
        """The name under which significance knows the whole slice."""
        return "|".join((self.cell.run.model, self.cell.run.setting, *self.cell.slices.names[self.s]))


@dataclass(frozen=True)
class Ground:
    """What two sides have in common: items kept of each, whether that is all of its rows, and rows left out."""

    n: tuple[int, int]
    whole: tuple[bool, bool]
    unmatched: int  # an original that was never mixed is not counted


@dataclass(frozen=True)
class Matched:
    """A pair of slices with their common ground."""

    declared: Declared
    metric: Metric
    a: Place
    b: Place

    @property
    def kind(self) -> str:
        """What the sides differ in."""
        differs = [key for key in KEYS if self.a.fields[key] != self.b.fields[key]]
        if "switching" in differs and NONE in (self.a.fields["switching"], self.b.fields["switching"]):
            return "twin"
        return "method" if "switching" in differs else differs[0]

    @property
    def one_corpus(self) -> bool:
        """Whether both sides are of the same items' snapshot."""
        return self.a.cell.population is self.b.cell.population

    @property
    def by_item(self) -> bool:
        """Whether both sides answered the same items."""
        return self.one_corpus and all(self.a.fields[key] == self.b.fields[key] for key in SLICE)

    @cached_property
    def shared(self) -> Shared:
        """The sources and clusters of both sides."""
        return shared(self.a.cell.population, self.b.cell.population)

    def kept(self) -> tuple[Bools, Bools]:
        """Of each item of the side's population: whether it counts on the one side, on the other."""
        return self._kept(*self._answered())

    @cached_property
    def ground(self) -> "Ground":
        """What the sides have in common."""
        answered = self._answered()
        kept = self._kept(*answered)
        places = (self.a, self.b)
        n = tuple(int(mask.sum()) for mask in kept)
        lost = [int(mask.sum()) - size for mask, size in zip(answered, n, strict=True)]
        return Ground(
            n=(n[0], n[1]),
            whole=(_all_of(self.a, n[0]), _all_of(self.b, n[1])),
            unmatched=sum(size for size, place in zip(lost, places, strict=True) if not self._original(place)),
        )

    def column(self, at: int) -> str:
        """A side's name among the columns of its population."""
        place, other = (self.a, self.b)[:: 1 - 2 * at]
        if not self.one_corpus:
            return f"{place.fields['corpus']}|{place.column} with {other.fields['corpus']}|{other.column}"
        return place.column if self.ground.whole[at] else f"{place.column} with {other.column}"

    def statistics(self, at: int) -> Array:
        """A side's sums by seed and cluster (R, K, F)."""
        place = (self.a, self.b)[at]
        if not self.one_corpus:
            return place.cell.among(self.kept()[at], (self.shared.clusters[at], self.shared.counts[1]))
        if self.ground.whole[at]:
            return place.cell.statistics[:, :, place.s]
        return place.cell.among(self.kept()[at])

    def _answered(self) -> tuple[Bools, Bools]:
        return self.a.cell.answered_in(self.a.s), self.b.cell.answered_in(self.b.s)

    def _kept(self, a: Bools, b: Bools) -> tuple[Bools, Bools]:
        if self.by_item:
            return a & b, a & b
        sources, count = self.shared.sources, self.shared.counts[0]
        there = [np.bincount(of[mask], minlength=count) > 0 for of, mask in zip(sources, (a, b), strict=True)]
        both = there[0] & there[1]
        return a & both[sources[0]], b & both[sources[1]]

    def _original(self, place: Place) -> bool:
        return self.kind == "twin" and place.fields["switching"] == NONE


def matched(cells: Sequence[Cell], comparisons: Sequence[Declared]) -> list[Matched]:
    """Every pair that the comparisons take in, of cells over the same items or over sources that two corpora share."""
    places = [Place(cell, s) for cell in cells for s in range(len(cell.slices.names))]
    return [pair for declared in comparisons for pair in _pairs(places, declared)]


def unmet(comparisons: Sequence[Declared], pairs: Sequence[Matched]) -> list[str]:
    """A warning for each comparison that no pair of cells answers to."""
    met = {id(pair.declared) for pair in pairs}
    return [
        f"comparison of family {d.family!r}, {_short(d.a)} with {_short(d.b)}, takes in no two answered cells "
        f"that have the metric {d.metric or 'that their tables show first'}: not tested"
        for d in comparisons
        if id(d) not in met
    ]


def _short(side: Side) -> str:
    return " ".join(f"{key}={value}" for key, value in side.items() if value != EACH)


def _all_of(place: Place, n: int) -> bool:
    return bool((place.cell.rows[:, place.s, 0] == n).all())


def _pairs(places: Sequence[Place], declared: Declared) -> Iterator[Matched]:
    same = [key for key in KEYS if declared.a[key] == declared.b[key] == EACH]
    others: dict[tuple[object, ...], list[Place]] = defaultdict(list)
    for place in places:
        if _fits(place, declared.b):
            others[_ground(place, same)].append(place)
    for place in places:
        if _fits(place, declared.a):
            for other in others.get(_ground(place, same), ()):
                metric = _metric(place.cell, declared.metric)
                if metric and _apart(place, other) and _joinable(place, other):
                    yield Matched(declared, metric, place, other)


def _fits(place: Place, side: Side) -> bool:
    return all(value in (EACH, place.fields[key]) for key, value in side.items())


def _ground(place: Place, same: Sequence[str]) -> tuple[object, ...]:
    """What both sides of a pair share: split and task, and the keys that are the same on both."""
    run = place.cell.run
    return (run.split, run.task, *(place.fields[key] for key in same))


def _joinable(a: Place, b: Place) -> bool:
    """Not two states of one corpus: their rows are not the same rows."""
    return a.cell.population is b.cell.population or a.fields["corpus"] != b.fields["corpus"]


def _apart(a: Place, b: Place) -> bool:
    """Whether no row stands on both sides: not a slice with itself, or with one that holds it."""
    differs = [key for key in KEYS if a.fields[key] != b.fields[key]]
    if not differs:
        return False
    if not set(differs) <= set(SLICE):
        return True
    names = [place.fields["switching"] for place in (a, b)]
    if NONE in names:
        return ALL not in names and names[0] != names[1]
    held = [place.fields[key] for key in differs for place in (a, b)]
    return not set(held) & set(OVERLAP)


def _metric(cell: Cell, name: str | None) -> Metric | None:
    """The metric of a comparison, or the first of the family's tables; None where the task has none of that name."""
    known = {metric.name: metric for metric in cell.family.metrics}
    return known.get(name or cell.family.headline[0])
