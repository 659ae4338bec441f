"""Comparisons of code-mixed rows with the monolingual originals that they were made from.

One original has many variants, so the sides are joined by source: a source's variants and its original are drawn
together (`by_source`), or, as papers do, each variant is drawn alone with a copy of its original (`by_row`).
Either result is a population of two cells whose pair is not swappable.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mixgrid.errors import UserError
from mixgrid.significance.base import Floats


@dataclass(frozen=True, slots=True)
class Joined:
    """`statistics` (K, 2, F): variants first, original second; `units`: the ids that are resampled."""

    units: tuple[str, ...]
    statistics: Floats
    unmatched_rows: int  # variants whose original isn't there
    unmatched_originals: int


@dataclass(frozen=True, slots=True)
class Side:
    """Rows of one side: the source that each comes from, and its statistics (n, F)."""

    sources: Sequence[str]
    statistics: Floats


def _match(rows: Side, originals: Side) -> tuple[list[int], list[int], dict[str, int]]:
    """Rows that have an original, the original of each, and all originals by source."""
    place = {source: i for i, source in enumerate(originals.sources)}
    if len(place) != len(originals.sources):
        raise UserError(
            "a source has two originals in the monolingual side of a twin comparison; keep one row per source and seed."
        )
    kept = [i for i, source in enumerate(rows.sources) if source in place]
    return kept, [place[rows.sources[i]] for i in kept], place


def by_row(rows: Side, originals: Side, row_ids: Sequence[str]) -> Joined:
    """Sentence level, as the papers' test: each variant is a unit of its own, beside a copy of its original."""
    kept, partner, place = _match(rows, originals)
    statistics = np.stack([rows.statistics[kept], originals.statistics[partner]], axis=1)
    units = tuple(row_ids[i] for i in kept)
    return Joined(units, statistics, len(rows.sources) - len(kept), len(place) - len(set(partner)))


def by_source(rows: Side, originals: Side) -> Joined:
    """Source level: all variants of a source and its one original are drawn together."""
    kept, partner, place = _match(rows, originals)
    sums = np.zeros_like(originals.statistics)
    np.add.at(sums, partner, rows.statistics[kept])
    used = sorted(set(partner), key=lambda i: originals.sources[i])
    statistics = np.stack([sums[used], originals.statistics[used]], axis=1)
    units = tuple(originals.sources[i] for i in used)
    return Joined(units, statistics, len(rows.sources) - len(kept), len(place) - len(used))
