"""One bootstrap a population and metric: intervals of all its cells, and all declared pairs, on the same draws."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from mixgrid.metrics.base import Array, Metric
from mixgrid.reduce.cells import Cell
from mixgrid.reduce.sides import Matched, Place
from mixgrid.significance.bootstrap import Bootstrap, Pair, bootstraps
from mixgrid.significance.population import Population
from mixgrid.significance.resampling import Resampling

Key = tuple[str, ...]  # corpus, split, snapshot, task; of two corpora, both
Resampled = Mapping[Key, Mapping[str, Bootstrap]]  # by metric


@dataclass(frozen=True)
class Draws:
    """How many cluster resamples the intervals and tests are from; 0: none of either."""

    resamples: int = 10_000


def items_key(cell: Cell) -> Key:
    """What cells share whose items are the same."""
    run = cell.run
    return (run.corpus, run.split, run.snapshot, run.task)


def column(cell: Cell, s: int) -> str:
    """The name of a cell's slice, under which significance knows it."""
    return Place(cell, s).column


def resample(cells: Sequence[Cell], pairs: Sequence[Matched], draws: Draws) -> Resampled:
    """Of each population, the headline metrics of all cells, and any metric of the declared pairs."""
    found: dict[Key, dict[str, Bootstrap]] = {}
    for key, group in groupby(sorted(cells, key=items_key), key=items_key):
        alike = list(group)
        mine = [pair for pair in pairs if pair_key(pair) == key]
        found[key] = dict(_bootstraps(key, alike, mine, draws)) if draws.resamples else {}
    for key in sorted({pair_key(pair) for pair in pairs} - set(found)):
        across = [pair for pair in pairs if pair_key(pair) == key]
        found[key] = dict(_bootstraps(key, [], across, draws)) if draws.resamples else {}
    return found


def pair_key(pair: Matched) -> Key:
    """Where a pair's test is found: with the cells of its corpus, or apart, where its sides are of two."""
    own, other = items_key(pair.a.cell), items_key(pair.b.cell)
    return own if pair.one_corpus else (*own, *other)


def _bootstraps(
    key: Key, cells: Sequence[Cell], pairs: Sequence[Matched], draws: Draws
) -> Iterator[tuple[str, Bootstrap]]:
    """Of some cells over the same items, and of pairs; or of pairs alone."""
    family = (cells or [pairs[0].a.cell])[0].family
    wanted = {*(family.headline if cells else ()), *(pair.metric.name for pair in pairs)}
    metrics = [metric for metric in family.metrics if metric.name in wanted]
    columns = dict(_columns(cells))
    columns |= {pair.column(at): pair.statistics(at) for pair in pairs for at in (0, 1)}
    own = [[pair_of(pair) for pair in pairs if pair.metric.name == metric.name] for metric in metrics]
    found = bootstraps(populations_of(key, columns, metrics), own, Resampling(draws.resamples))
    yield from zip((metric.name for metric in metrics), found, strict=True)


def pair_of(pair: Matched) -> Pair:
    """A matched pair by its columns."""
    return Pair(pair.column(0), pair.column(1), swappable=pair.by_item)


def _columns(cells: Sequence[Cell]) -> Iterator[tuple[str, Array]]:
    for cell in cells:
        for s in range(len(cell.slices.names)):
            yield column(cell, s), cell.statistics[:, :, s]


def populations_of(key: Key, columns: Mapping[str, Array], metrics: Sequence[Metric]) -> list[Population]:
    """Columns (R, K, F) over one set of clusters, ready for intervals and tests of metrics; the key seeds the draws."""
    names = tuple(name for name, sums in columns.items() for _ in sums)
    statistics = np.concatenate([np.moveaxis(sums, 0, 1) for sums in columns.values()], axis=1)
    statistics = statistics[np.any(statistics != 0, axis=(1, 2))]
    name = "|".join(key)
    refused = [{name: refusal(sums, metric) for name, sums in columns.items()} for metric in metrics]
    return [
        Population(name, names, statistics, metric.total, {name: reason for name, reason in why.items() if reason})
        for metric, why in zip(metrics, refused, strict=True)
    ]


def refusal(sums: Array, metric: Metric) -> str:
    """Why a metric of (R, K, F) must not be shown, if one of the seeds gives a reason."""
    return min({metric.undefined(total) for total in sums.sum(axis=1)} - {""}, default="")
