"""A cluster population: what the bootstrap resamples, and the metric that it computes from each resample.

Statistics are sums by cluster, so a metric must be a function of sums: counts for F1; sum and number for a mean.
Macro-F1 of two systems over three seeds is `statistics` of shape (K, 6, F), with each system's name three times.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from mixgrid.errors import UserError
from mixgrid.significance.base import Floats, Integers, Total


@dataclass(frozen=True, slots=True)
class Population:
    """Cells that are cut from the same clusters; columns that share a cell's name are its seeds.

    A cluster that has no rows in a cell is zeros there. `refused`: cells that have no metric (one class), and why.
    """

    name: str  # seeds the draws
    cells: tuple[str, ...]  # (C,), one name a column
    statistics: Floats  # (K, C, F)
    total: Total
    refused: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shape = self.statistics.shape
        if len(shape) != 3 or shape[1] != len(self.cells):
            raise UserError(
                f"population {self.name!r}: {len(self.cells)} columns need statistics (K, C, F), not {shape}."
            )
        if not np.isfinite(self.statistics).all():
            raise UserError(
                f"population {self.name!r} has a statistic that isn't finite; leave such rows out and count them."
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The cells, each once, in order of first appearance."""
        return tuple(dict.fromkeys(self.cells))

    def columns(self, cell: str) -> list[int]:
        """Columns of a cell, one for each of its seeds."""
        return [i for i, name in enumerate(self.cells) if name == cell]

    def only(self, cells: Sequence[str]) -> "Population":
        """The same population with these cells alone; the draws stay the same (unless `Resampling.collapse`)."""
        kept = [i for i, name in enumerate(self.cells) if name in set(cells)]
        names = tuple(self.cells[i] for i in kept)
        return Population(self.name, names, self.statistics[:, kept], self.total, self.refused)

    def by_cell(self, values: Floats) -> Floats:
        """Values by column (..., C) -> by cell (..., S): the mean of the per-seed metrics, seeds fixed."""
        place = {name: i for i, name in enumerate(self.names)}
        cell_of = np.array([place[name] for name in self.cells], dtype=np.int64)
        order, sizes = np.argsort(cell_of, kind="stable"), np.bincount(cell_of)
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        return np.asarray(np.add.reduceat(values[..., order], starts, axis=-1) / sizes, dtype=np.float64)

    def values(self, sums: Floats) -> Floats:
        """The metric of every column from sums (..., C, F); nan where it is undefined."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.total(sums), dtype=np.float64)


def with_seeds(name: str, cells: Sequence[str], statistics: Floats, total: Total) -> Population:
    """A population from statistics with a seed axis, (K, S, R, F)."""
    clusters, systems, seeds, width = statistics.shape
    columns = tuple(cell for cell in cells for _ in range(seeds))
    return Population(name, columns, statistics.reshape(clusters, systems * seeds, width), total)


def sum_by_cluster(clusters: Integers, item_statistics: Floats, count: int) -> Floats:
    """Sums (count, F) of item statistics (n, F) by the items' cluster numbers (n,)."""
    sums = [np.bincount(clusters, weights=column, minlength=count) for column in item_statistics.T]
    return np.stack(sums, axis=1)
