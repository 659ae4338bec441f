"""McNemar's test and its like: two systems, right or wrong on the same items.

`b`: items that only the first has right; `c`: that only the second has right; n: all items.
"""

import math
from dataclasses import replace

import numpy as np
from scipy import stats

from mixgrid.errors import UserError
from mixgrid.significance.base import Integers, Interval, Outcome, not_testable
from mixgrid.significance.intervals import agresti_min, clopper_pearson, wilson


def mcnemar(b: int, c: int, n: int) -> Outcome:
    """Exact two-sided McNemar; mid-p and both chi-squared forms beside it. Rows must be independent (one per item).

    No discordant pair: p is 1, where other programs print 0 (statsmodels, corrected chi-squared).
    Mid-p: Fagerland, Lydersen & Laake 2013.
    """
    if n <= 0 or b + c > n or min(b, c) < 0:
        raise UserError(f"McNemar needs 0 <= b, c and b + c <= n with n > 0, not b={b}, c={c}, n={n}; check the join.")
    options = {"b": b, "c": c, "n": n, "exact": True}
    if b + c == 0:
        why = "degenerate: no discordant pairs"
        return Outcome("mcnemar", why, 0.0, 1.0, interval=agresti_min(0, 0, n), other_p={"mid-p": 1.0}, options=options)
    tail = float(stats.binom.cdf(min(b, c), b + c, 0.5))
    point = float(stats.binom.pmf(min(b, c), b + c, 0.5))
    exact = min(1.0, 2 * tail)
    corrected = max(0, abs(b - c) - 1) ** 2 / (b + c)
    plain = (b - c) ** 2 / (b + c)
    return Outcome(
        "mcnemar",
        estimate=(b - c) / n,
        p=exact,
        statistic=float(min(b, c)),
        interval=agresti_min(b, c, n),
        p_floor=min(1.0, 2.0 ** (1 - b - c)),
        effects={"chi2": plain, "chi2-corrected": corrected, "risk_difference": (b - c) / n, **_odds(b, c)},
        intervals=_odds_interval(b, c),
        other_p={
            "mid-p": 1.0 if b == c else 2 * tail - point,
            "chi2": float(stats.chi2.sf(plain, 1)),
            "chi2-corrected": float(stats.chi2.sf(corrected, 1)),
        },
        options=options,
    )


def _odds(b: int, c: int) -> dict[str, float]:
    """b/c, left out where nothing divides it."""
    return {"odds_ratio": b / c} if c else {}


def _odds_interval(b: int, c: int) -> dict[str, Interval]:
    """Exact interval of b/c, from that of b/(b+c); an end that is infinite stays so."""

    def odds(share: float) -> float:
        return share / (1 - share) if share < 1 else math.inf

    exact, approximate = clopper_pearson(b, b + c), wilson(b, b + c)
    return {
        "odds_ratio": Interval(odds(exact.low), odds(exact.high)),
        "odds_ratio-wilson": Interval(odds(approximate.low), odds(approximate.high)),
    }


def cluster_mcnemar(b: Integers, c: Integers, n: int) -> Outcome:
    """McNemar for items in clusters: `b` and `c` (K,) count by cluster; equals `mcnemar` when no cluster has two.

    Under no difference the sign of each cluster's b - c is a coin toss; the distribution of the sum of all signs is
    worked out exactly (a convolution over whole numbers), so there is no Monte-Carlo error.
    """
    pooled = mcnemar(int(b.sum()), int(c.sum()), n)
    differences = np.abs(np.asarray(b, dtype=np.int64) - np.asarray(c, dtype=np.int64))
    differences = differences[differences > 0]
    options = {**pooled.options, "clusters": len(b), "clusters_that_differ": len(differences)}
    if len(b) < 2:
        return not_testable("cluster-mcnemar", "one cluster" if len(b) else "no rows", pooled.estimate)
    if not len(differences):
        why = "degenerate: no cluster differs"
        return replace(pooled, method="cluster-mcnemar", outcome=why, p=1.0, other_p={"mid-p": 1.0}, options=options)
    observed = abs(int(b.sum()) - int(c.sum()))
    chances = _sign_sums(differences)
    centre = len(chances) // 2
    beyond = float(chances[centre + observed :].sum())
    point = float(chances[centre + observed])
    exact = 1.0 if observed == 0 else min(1.0, 2 * beyond)
    return replace(
        pooled,
        method="cluster-mcnemar",
        outcome="tested",
        p=exact,
        statistic=float(observed),
        interval=None,  # agresti_min takes rows for independent; the bootstrap has the interval
        intervals={},
        p_floor=min(1.0, 2.0 ** (1 - len(differences))),
        other_p={"mid-p": 1.0 if observed == 0 else 2 * beyond - point},
        options=options,
    )


def _sign_sums(sizes: Integers) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Chance of every sum of ± sizes, from -sum to +sum, all signs alike likely."""
    reach = int(sizes.sum())
    chances = np.zeros(2 * reach + 1)
    chances[reach] = 1.0
    for size in sizes.tolist():
        moved = np.zeros_like(chances)
        moved[size:] += chances[:-size] / 2
        moved[:-size] += chances[size:] / 2
        chances = moved
    return chances
