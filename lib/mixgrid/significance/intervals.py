"""Intervals: for proportions in closed form, for everything else from bootstrap draws."""

import math

import numpy as np
from scipy import stats

from mixgrid.significance.base import Floats, Interval, is_noise

LEVEL = 0.95


def wilson(k: int, n: int, level: float = LEVEL) -> Interval:
    """Wilson's interval of k in n independent rows: honest at 0 and n, where Wald's has no width."""
    return _proportion(k, n, "wilson", level)


def clopper_pearson(k: int, n: int, level: float = LEVEL) -> Interval:
    """The exact (conservative) interval of k in n independent rows."""
    return _proportion(k, n, "exact", level)


def wilson_corrected(k: int, n: int, level: float = LEVEL) -> Interval:
    """Wilson's interval with continuity correction."""
    return _proportion(k, n, "wilsoncc", level)


def wald(k: int, n: int, level: float = LEVEL) -> Interval:
    """The textbook interval, for comparison with papers that print it; [0, 0] for 0 in n."""
    p = k / n
    half = float(stats.norm.ppf(0.5 + level / 2)) * math.sqrt(p * (1 - p) / n)
    return Interval(p - half, p + half)


def _proportion(k: int, n: int, method: str, level: float) -> Interval:
    ends = stats.binomtest(k, n).proportion_ci(confidence_level=level, method=method)
    return Interval(float(ends.low), float(ends.high))


def newcombe(k1: int, n1: int, k2: int, n2: int) -> Interval:
    """Risk difference k1/n1 - k2/n2 of independent groups (Newcombe 1998, method 10: from two Wilson intervals)."""
    p1, p2 = k1 / n1, k2 / n2
    w1, w2 = wilson(k1, n1), wilson(k2, n2)
    low = p1 - p2 - math.hypot(p1 - w1.low, w2.high - p2)
    return Interval(low, p1 - p2 + math.hypot(w1.high - p1, p2 - w2.low))


def agresti_min(b: int, c: int, n: int) -> Interval:
    """Paired risk difference (b-c)/n: Wald after half a row in each of the four fields (Agresti & Min 2005)."""
    share, discordant = (b - c) / (n + 2), (b + c + 1) / (n + 2)
    half = float(stats.norm.ppf(0.975)) * math.sqrt((discordant - share**2) / (n + 2))
    return Interval(max(-1.0, share - half), min(1.0, share + half))


def expanded_z(clusters: int, level: float = LEVEL) -> float:
    """Normal quantile that makes a bootstrap interval of few clusters as wide as a t interval.

    Resampling K clusters understates the variance by (K-1)/K and has normal tails; sqrt(K/(K-1)) times the t quantile
    mends both (Hesterberg 2015, "What teachers should know about the bootstrap", expanded percentile interval).
    """
    return float(stats.t.ppf(0.5 + level / 2, clusters - 1)) * math.sqrt(clusters / (clusters - 1))


def expanded_p(p: float, clusters: int) -> float:
    """The p value that goes with `expanded_z`: below .05 exactly where the expanded interval leaves 0 out."""
    z = float(stats.norm.isf(p / 2))
    return float(2 * stats.t.sf(z * math.sqrt((clusters - 1) / clusters), clusters - 1))


def percentile(draws: Floats, z: float) -> Interval:
    """Percentile interval of sorted draws, between the normal quantiles -z and z."""
    return _between(draws, float(stats.norm.cdf(-z)), float(stats.norm.cdf(z)))


def bca(draws: Floats, observed: float, leave_one_out: Floats, z: float) -> Interval:
    """Bias-corrected and accelerated interval (Efron 1987) of sorted draws; acceleration by leaving out clusters."""
    below = float(np.mean(draws < observed) + np.mean(draws == observed) / 2)
    if not 0 < below < 1:
        return percentile(draws, z)  # the estimate lies outside its own draws: no bias can be read off
    bias = float(stats.norm.ppf(below))
    pull = leave_one_out.mean() - leave_one_out
    spread = float(np.sum(pull**2))
    acceleration = 0.0 if is_noise(math.sqrt(spread), observed) else float(np.sum(pull**3)) / (6 * spread**1.5)
    ends = [bias + (bias + end) / (1 - acceleration * (bias + end)) for end in (-z, z)]
    low, high = (float(stats.norm.cdf(end)) for end in ends)
    return _between(draws, min(low, high), max(low, high))


def _between(draws: Floats, low: float, high: float) -> Interval:
    ends = np.quantile(draws, [low, high])
    return Interval(float(ends[0]), float(ends[1]))
