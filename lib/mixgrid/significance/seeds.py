"""Tests over seeds: what the papers print as ± and mark with a dagger.

They see decoding noise on one fixed set of items, nothing else, so two equal models can differ "significantly" here;
the cluster tests stand beside them for that reason.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from scipy import stats

from mixgrid.significance.base import Interval, Outcome, is_noise, not_testable
from mixgrid.significance.effects import cohen_d, hedges_g

EXACT_SPLITS = 100_000  # most relabelings that the permutation test walks through


@dataclass(frozen=True, slots=True)
class Spread:
    """`mean ± sd over seeds`; sd is the sample one (n-1), None with one seed, 0.0 when all agree but for rounding."""

    n: int
    mean: float
    sd: float | None


def spread(values: Sequence[float]) -> Spread:
    """Mean and sample sd over seeds; at least one value."""
    mean = math.fsum(values) / len(values)
    if len(values) == 1:
        return Spread(1, mean, None)
    sd = float(np.std(values, ddof=1))
    return Spread(len(values), mean, 0.0 if is_noise(sd, mean) else sd)


def permutation_floor(n: int, m: int) -> float:
    """Least two-sided p of an exact permutation of n against m values: 3 against 3 cannot go below 0.1."""
    return min(1.0, (2 if n == m else 1) / math.comb(n + m, n))


def welch(a: Sequence[float], b: Sequence[float]) -> Outcome:
    """Welch's t over seeds, as `scipy.stats.ttest_ind(equal_var=False)`, but never a p from rounding noise."""
    if not a or not b:
        return not_testable("welch", "no seeds")
    outcome = welch_from_spread(spread(a), spread(b))
    if outcome.statistic is None:
        return outcome
    effects = {"cohen_d": cohen_d(a, b), "hedges_g": hedges_g(a, b)}
    return replace(outcome, effects=effects)


def welch_from_spread(a: Spread, b: Spread) -> Outcome:
    """Welch's t from `mean ± sd` and the number of seeds, as papers publish them.

    `p_floor` is that of the exact permutation test on as many seeds: a smaller p rests on normality alone.
    """
    options = {"equal_var": False, "n_a": a.n, "n_b": b.n}
    delta = a.mean - b.mean
    if a.sd is None or b.sd is None:
        return not_testable("welch", "fewer than two seeds on a side", delta)
    if a.sd == 0 and b.sd == 0:
        return _constant_seeds(delta, max(abs(a.mean), abs(b.mean)))
    va, vb = a.sd**2 / a.n, b.sd**2 / b.n
    se = math.sqrt(va + vb)
    df = (va + vb) ** 2 / (va**2 / (a.n - 1) + vb**2 / (b.n - 1))
    half = float(stats.t.ppf(0.975, df)) * se
    return Outcome(
        "welch",
        estimate=delta,
        p=float(2 * stats.t.sf(abs(delta / se), df)),
        statistic=delta / se,
        df=df,
        interval=Interval(delta - half, delta + half),
        p_floor=permutation_floor(a.n, b.n),
        options=options,
    )


def _constant_seeds(delta: float, size: float) -> Outcome:
    """Both sides without spread (temperature 0, a cached API): equal, or out of reach of a test over seeds."""
    if is_noise(delta, size):
        return Outcome("welch", "degenerate: equal constants", delta, p=1.0)
    return not_testable("welch", "no seed variance", delta)


def seed_permutation(a: Sequence[float], b: Sequence[float]) -> Outcome:
    """Exact permutation test of the mean difference over seeds, with its floor; small numbers of seeds only."""
    if not a or not b:
        return not_testable("seed-permutation", "no seeds")
    delta = spread(a).mean - spread(b).mean
    if len(a) == len(b) == 1:
        return not_testable("seed-permutation", "fewer than two seeds on a side", delta)
    if math.comb(len(a) + len(b), len(a)) > EXACT_SPLITS:
        return not_testable("seed-permutation", "too many seeds to enumerate", delta)
    pooled = np.array([*a, *b], dtype=np.float64)
    sums = np.array([pooled[list(left)].sum() for left in combinations(range(len(pooled)), len(a))])
    deltas = sums / len(a) - (pooled.sum() - sums) / len(b)
    slack = 1e-12 * float(np.abs(pooled).max())
    p = float(np.mean(np.abs(deltas) >= abs(delta) - slack))
    floor = permutation_floor(len(a), len(b))
    return Outcome("seed-permutation", estimate=delta, p=p, p_floor=floor, options={"n_a": len(a), "n_b": len(b)})
