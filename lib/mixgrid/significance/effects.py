"""Effect sizes, design effects and the smallest difference that a test of this size could have found.

A p value without one of these says nothing about how large a difference is, or could have gone unseen.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize, stats

from mixgrid.significance.base import Floats, Total, is_noise


def cohen_h(p: float, q: float) -> float:
    """Distance of two proportions on the arcsine scale (Cohen 1988): .2 small, .5 medium, .8 large."""
    return 2 * math.asin(math.sqrt(p)) - 2 * math.asin(math.sqrt(q))


def cohen_d(a: Sequence[float], b: Sequence[float]) -> float:
    """Mean difference in pooled standard deviations; both sides need two values and one of them a spread."""
    na, nb = len(a), len(b)
    pooled = ((na - 1) * np.var(a, ddof=1) + (nb - 1) * np.var(b, ddof=1)) / (na + nb - 2)
    return float((np.mean(a) - np.mean(b)) / np.sqrt(pooled))


def hedges_g(a: Sequence[float], b: Sequence[float]) -> float:
    """Cohen's d with the usual small-sample factor 1 - 3 / (4 df - 1)."""
    return cohen_d(a, b) * (1 - 3 / (4 * (len(a) + len(b) - 2) - 1))


def mde_from_error(standard_error: float, alpha: float = 0.05, power: float = 0.8) -> float:
    """Smallest difference found with this power, from the standard error of the difference: 2.80 of them by default."""
    return float(stats.norm.ppf(1 - alpha / 2) + stats.norm.ppf(power)) * standard_error


def mde_paired(n: int, discordant: float, design_effect: float = 1.0) -> float:
    """Smallest difference of two proportions on the same n items, `discordant` the share where they differ."""
    return mde_from_error(math.sqrt(discordant * design_effect / n))


def mde_unpaired(n: int, proportion: float = 0.5, design_effect: float = 1.0) -> float:
    """Smallest difference of two proportions on n items each; .5 is the worst case."""
    return mde_from_error(math.sqrt(2 * proportion * (1 - proportion) * design_effect / n))


def mde_cohen_d(n: int, alpha: float = 0.05, power: float = 0.8) -> float:
    """Smallest Cohen d that a t test of n against n seeds finds with this power (noncentral F, two-sided); n >= 2."""
    df = 2 * n - 2
    critical = float(stats.t.ppf(1 - alpha / 2, df))

    def shortfall(d: float) -> float:
        return float(stats.ncf.sf(critical**2, 1, df, d**2 * n / 2)) - power

    return float(optimize.brentq(shortfall, 1e-6, 20.0))


def kish_design_effect(mean_cluster_size: float, icc: float) -> float:
    """1 + (m-1) ICC: the design effect to plan with, before there are data."""
    return 1 + (mean_cluster_size - 1) * icc


@dataclass(frozen=True, slots=True)
class DesignEffect:
    """How much less than `rows` independent rows the clustered rows are worth."""

    design_effect: float
    effective_n: float
    clusters: int
    rows: int


def gradient(total: Total, sums: Floats) -> Floats:
    """Slope of a metric in each of its statistics, at their sums (..., F): its linearisation (central differences)."""
    size = np.abs(sums)
    steps = np.maximum(size, 1e-3 * size.max(axis=-1, keepdims=True, initial=0.0)) * 1e-5
    shifts = steps[..., None] * np.eye(sums.shape[-1])
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = (total(sums[..., None, :] + shifts) - total(sums[..., None, :] - shifts)) / (2 * steps)
    return np.where(steps.any(axis=-1, keepdims=True), slopes, 0.0)


def second_moment(item_statistics: Floats) -> Floats:
    """Sum of s sᵀ over items (n, F) -> (F, F); parts add up. For one-hot counts it is the diagonal of the sums."""
    return np.asarray(item_statistics.T @ item_statistics, dtype=np.float64)


def design_effect(cluster_statistics: Floats, moment: Floats, rows: int, slope: Floats) -> DesignEffect | None:
    """Variance by clusters over variance as if rows were independent, both of the linearised metric.

    `cluster_statistics` (K, F): sums by cluster; `moment`: `second_moment` of the rows; `slope`: the `gradient` of the
    metric at the sum of all. None where it is undefined (one cluster, one row, no variation). For a difference of two
    cells, put their statistics side by side.
    """
    filled = cluster_statistics[np.any(cluster_statistics != 0, axis=1)]
    clusters = len(filled)
    if clusters < 2 or rows < 2 or not np.isfinite(slope).all():
        return None
    sums = filled.sum(axis=0)
    drift = float(slope @ sums)  # 0 for a ratio of sums
    by_row = (float(slope @ moment @ slope) - drift**2 / rows) * rows / (rows - 1)
    by_cluster = float(np.var(filled @ slope, ddof=1)) * clusters
    if is_noise(by_row, float(np.abs(slope) @ np.abs(moment) @ np.abs(slope))):
        return None
    effect = by_cluster / by_row
    return DesignEffect(effect, rows / effect if effect > 0 else math.inf, clusters, rows)
