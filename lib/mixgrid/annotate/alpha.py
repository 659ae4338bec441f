"""Krippendorff's alpha (2011, Computing Krippendorff's Alpha-Reliability), written from the paper: any number of
annotators, missing ratings, four levels of measurement. Alone among the coefficients it can count near misses.
"""

import numpy as np

from mixgrid.annotate.base import Counts, Floats, quotient

LEVELS = ("interval", "nominal", "ordinal", "ratio")


def krippendorff(table: Counts) -> Floats:
    """1 - observed over expected disagreement of paired ratings; an item of m ratings has m of them."""
    totals = table.paired @ table.counts
    weights = table.paired / np.maximum(table.sizes - 1, 1)
    observed = (weights * _disagreement(table, table.counts, totals)).sum(axis=-1)
    expected = _disagreement(table, totals[..., None, :], totals)[..., 0]
    varied = np.count_nonzero(totals, axis=-1) > 1
    why = "no variation, every paired rating is the same" if totals.any() else "no item has two ratings"
    return 1 - quotient((totals.sum(axis=-1) - 1) * observed, expected, varied, why)


def _disagreement(table: Counts, counts: Floats, totals: Floats) -> Floats:
    """Summed squared distance of all pairs among counts (..., R, C), by the level of measurement: (..., R)."""
    match table.level:
        case "ordinal":  # the ratings in between, each end counted half
            return _spread(counts, np.cumsum(totals, axis=-1) - totals / 2)
        case "interval":
            return _spread(counts, table.values)
        case "ratio":
            sums = table.values[:, None] + table.values
            gaps = table.values[:, None] - table.values
            distances = np.divide(gaps, sums, out=np.zeros_like(sums), where=sums > 0) ** 2
        case _:
            distances = 1 - np.eye(len(table.values))
    return np.asarray(((counts @ distances) * counts).sum(axis=-1))


def _spread(counts: Floats, places: Floats) -> Floats:
    """The sum of (a - b)² over all pairs, without a matrix of them."""
    middle = places - places.mean(axis=-1, keepdims=True)  # near 0, where squares lose nothing
    sums, squares = _weighed(counts, middle), _weighed(counts, middle**2)
    return np.asarray(2 * (counts.sum(axis=-1) * squares - sums**2))


def _weighed(counts: Floats, places: Floats) -> Floats:
    """Each row's sum of places: one product of matrices where all draws share the rows."""
    return np.asarray(places @ counts.T if counts.ndim == 2 else (counts @ places[..., None])[..., 0])
