"""The engine: resample clusters with one matrix of counts that all cells of a population share.

Drawing K clusters with replacement is multiplying the (K, C·F) statistics by a row of K counts, so thousands of draws
of hundreds of cells are one matrix product, and every pair is compared on the same draws.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixgrid.significance.base import Floats, seed_of
from mixgrid.significance.population import Population

Counts = NDArray[np.float32] | NDArray[np.float64]
BLOCK_DRAWS = 500  # draws in memory at once ...
BLOCK_ENTRIES = 2**24  # ... fewer where a matrix of them would be larger than this (64 MiB of float32)
BATCH_PICKS = 2**16  # numbers drawn at once; what they index must stay in the cache
FLOAT32_BITS, FLOAT64_BITS = 24, 53  # whole numbers of so many bits are exact


@dataclass(frozen=True, slots=True)
class Resampling:
    """How to draw. `collapse` draws distinct clusters by multiplicity: fast where most are alike (single items)."""

    draws: int = 10_000
    collapse: bool = False


@dataclass(frozen=True, slots=True)
class Distinct:
    """Clusters with their statistics on a grid, and how many there are of each (ones, unless collapsed)."""

    statistics: Counts  # (D, C, F)
    copies: Floats  # (D,)


def prepare(population: Population, plan: Resampling) -> Distinct:
    """The population's clusters, ready for `draws_of`."""
    statistics, copies = population.statistics, np.ones(len(population.statistics))
    if plan.collapse and len(statistics):
        flat = statistics.reshape(len(statistics), -1)
        _, first, counts = np.unique(flat, axis=0, return_index=True, return_counts=True)
        order = np.argsort(first)  # by first appearance, so that the order of cells is no matter
        statistics, copies = statistics[first[order]], counts[order].astype(np.float64)
    return Distinct(_on_grid(statistics, float(copies.sum())), copies)


def _on_grid(statistics: Floats, clusters: float) -> Counts:
    """Statistics rounded so that every sum of K of them is exact, whatever order BLAS adds in: the same draws give the
    same bits on every machine, and equal values are equal. Counts are not changed; they fit float32, twice as fast.
    """
    largest = np.abs(statistics).max(axis=0, initial=0.0) * max(1.0, clusters)
    whole = bool(np.all(statistics == np.rint(statistics)))
    if whole and float(largest.max(initial=0.0)) < 2**FLOAT32_BITS:
        return statistics.astype(np.float32)
    step = np.exp2(np.ceil(np.log2(np.maximum(largest, 2.0**-1000))) - FLOAT64_BITS)
    return np.asarray(np.rint(statistics / step) * step, dtype=np.float64)


def draws_of(population: Population, clusters: Distinct, plan: Resampling) -> Floats:
    """The metric of every cell in every draw (draws, S); 8 bytes each, and blocks of bounded size beside it."""
    return all_draws([population], clusters, plan)[0]


def all_draws(populations: Sequence[Population], clusters: Distinct, plan: Resampling) -> list[Floats]:
    """The same of several populations that differ in their metric alone: their sums are drawn once."""
    one = populations[0]
    _, columns, width = clusters.statistics.shape
    by_statistic: Any = np.swapaxes(clusters.statistics, 1, 2)
    flat = by_statistic.reshape(len(clusters.copies), width * columns)
    out = [np.empty((plan.draws, len(one.names))) for _ in populations]
    for start, weights in weight_blocks(one.name, clusters, plan.draws):
        sums = (weights @ flat).astype(np.float64).reshape(-1, width, columns)
        sums = np.swapaxes(sums, 1, 2)  # one statistic of all columns lies together, as a metric adds them up
        for values, population in zip(out, populations, strict=True):
            values[start : start + len(sums)] = population.by_cell(population.values(sums))
    return out


def weight_blocks(name: str, clusters: Distinct, draws: int) -> Iterator[tuple[int, Counts]]:
    """Blocks (first draw, counts (b, D)). Each has its own stream, seeded by name and block, of a size that K fixes."""
    step = max(1, min(BLOCK_DRAWS, BLOCK_ENTRIES // max(1, len(clusters.copies))))
    streams = np.random.SeedSequence(seed_of([name])).spawn(-(-draws // step))
    for stream, start in zip(streams, range(0, draws, step), strict=True):
        yield start, _counts(np.random.default_rng(stream), clusters, min(step, draws - start))


def _counts(rng: np.random.Generator, clusters: Distinct, draws: int) -> Counts:
    """Multinomial counts; a bincount of drawn numbers that stay in the cache is faster than `Generator.multinomial`."""
    size, total = len(clusters.copies), int(clusters.copies.sum())
    kind: Any = clusters.statistics.dtype
    if total != size:
        return np.asarray(rng.multinomial(total, clusters.copies / total, size=draws), dtype=kind)
    out = np.empty((draws, size), dtype=kind)
    step = max(1, BATCH_PICKS // size)
    for start in range(0, draws, step):
        rows = out[start : start + step]
        picks = rng.integers(0, size, rows.shape) + np.arange(len(rows))[:, None] * size
        rows[:] = np.bincount(picks.ravel(), minlength=rows.size).reshape(rows.shape)
    return out


def leave_one_out(population: Population) -> Floats:
    """The metric of every cell with each cluster left out (K, S): what BCa and linearisation are made from."""
    statistics = population.statistics
    sums = statistics.sum(axis=0)
    step = max(1, BLOCK_ENTRIES // max(1, sums.size))
    blocks = [sums - statistics[i : i + step] for i in range(0, len(statistics), step)]
    return np.concatenate([population.by_cell(population.values(block)) for block in blocks])
