"""One bootstrap a population and metric: intervals of all its cells, and all declared pairs, on the same draws."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from mixgrid.metrics.base import Array, Metric
from mixgrid.reduce.cells import Cell
from mixgrid.reduce.sides import Matched, Place
from mixgrid.significance.bootstrap import Bootstrap, Pair, bootstrap
from mixgrid.significance.population import Population
from mixgrid.significance.resampling import Resampling

Key = tuple[str, ...]  # corpus, split, snapshot, task
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
        mine = [pair for pair in pairs if items_key(pair.a.cell) == key]
        found[key] = dict(_bootstraps(alike, mine, draws)) if draws.resamples else {}
    return found


def _bootstraps(cells: Sequence[Cell], pairs: Sequence[Matched], draws: Draws) -> Iterator[tuple[str, Bootstrap]]:
    family = cells[0].family
    wanted = {*family.headline, *(pair.metric.name for pair in pairs)}
    for metric in (m for m in family.metrics if m.name in wanted):
        own = [pair for pair in pairs if pair.metric.name == metric.name]
        columns = dict(_columns(cells)) if metric.name in family.headline else {}
        columns |= {pair.column(at): pair.statistics(at) for pair in own for at in (0, 1)}
        compared = [pair_of(pair) for pair in own]
        yield metric.name, bootstrap(population_of(cells[0], columns, metric), compared, Resampling(draws.resamples))


def pair_of(pair: Matched) -> Pair:
    """A matched pair by its columns."""
    return Pair(pair.column(0), pair.column(1), swappable=pair.by_item)


def _columns(cells: Sequence[Cell]) -> Iterator[tuple[str, Array]]:
    for cell in cells:
        for s in range(len(cell.slices.names)):
            yield column(cell, s), cell.statistics[:, :, s]


def population_of(any_cell: Cell, columns: Mapping[str, Array], metric: Metric) -> Population:
    """Columns (R, K, F) over the clusters of one corpus split and task, ready for intervals and tests."""
    names = tuple(name for name, sums in columns.items() for _ in sums)
    statistics = np.concatenate([np.moveaxis(sums, 0, 1) for sums in columns.values()], axis=1)
    refused = {name: refusal(sums, metric) for name, sums in columns.items()}
    filled = np.any(statistics != 0, axis=(1, 2))
    name = "|".join(items_key(any_cell))  # seeds the draws
    why = {name: reason for name, reason in refused.items() if reason}
    return Population(name, names, statistics[filled], metric.total, why)


def refusal(sums: Array, metric: Metric) -> str:
    """Why a metric of (R, K, F) must not be shown, if one of the seeds gives a reason."""
    return min({metric.undefined(total) for total in sums.sum(axis=1)} - {""}, default="")
