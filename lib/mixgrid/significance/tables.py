"""Tests on a table of counts: rows are groups (methods, languages), columns are outcomes (wrong, right).

They take rows of items for independent. The same items under every method are not: pair them (`paired`, `bootstrap`).
"""

import math
from dataclasses import replace

import numpy as np
from scipy import stats

from mixgrid.significance.base import Integers, Outcome, monte_carlo_error, not_testable, seed_of
from mixgrid.significance.intervals import newcombe

DRAWS = 9_999  # random tables where Fisher's test can't be enumerated
FEW = 5  # expected counts under this: Fisher's test instead (Cochran's rule)


def chi2_table(table: Integers, *, yates: bool = True) -> Outcome:
    """Chi-squared of independence, Yates' correction for 2x2 only, and stated; Fisher where less than 5 are expected.

    A column that nobody uses can't tell groups apart: it is left out, and p is 1 when less than two are left.
    """
    counts = np.asarray(table, dtype=np.int64)
    if counts.size == 0 or not counts.any():
        return not_testable("chi2", "no rows")
    if len(counts) < 2 or not counts.any(axis=1).all():
        return not_testable("chi2", "an empty group")
    used = counts[:, counts.any(axis=0)]
    options = {
        "yates": yates and used.shape == (2, 2),
        "groups": len(used),
        "empty_columns": counts.shape[1] - used.shape[1],
    }
    if used.shape[1] < 2:
        return Outcome(
            "chi2", "degenerate: all rows in one column", 0.0, p=1.0, effects={"cramers_v": 0.0}, options=options
        )
    corrected = stats.chi2_contingency(used, correction=yates)
    plain = stats.chi2_contingency(used, correction=False)
    least = float(corrected.expected_freq.min())
    effects = {"cramers_v": _cramers_v(float(plain.statistic), used), "least_expected": least}
    other = {"chi2": float(plain.pvalue), "chi2-yates": float(stats.chi2_contingency(used).pvalue)}
    if used.shape == (2, 2):
        other["fisher"] = float(stats.fisher_exact(used).pvalue)
        effects |= _two_groups(used)
    about = Outcome("chi2", estimate=effects["cramers_v"], effects=effects, other_p=other, options=options)
    if least < FEW:
        return _few(used, about)
    return replace(about, p=float(corrected.pvalue), statistic=float(corrected.statistic), df=float(corrected.dof))


def _few(used: Integers, about: Outcome) -> Outcome:
    """Fisher's exact test; for more than two groups or columns, by random tables with the same margins."""
    if used.shape == (2, 2):
        return replace(about, method="fisher", p=about.other_p["fisher"], options={**about.options, "yates": False})
    rule = stats.MonteCarloMethod(n_resamples=DRAWS, rng=np.random.default_rng(seed_of([str(used.tolist())])))
    p = float(stats.fisher_exact(used, method=rule).pvalue)
    options = {**about.options, "draws": DRAWS}
    return replace(
        about, method="fisher", p=p, p_error=monte_carlo_error(p, DRAWS), p_floor=1 / (1 + DRAWS), options=options
    )


def _cramers_v(chi2: float, used: Integers) -> float:
    """Strength of the association, 0 to 1, from the uncorrected statistic."""
    return math.sqrt(chi2 / (int(used.sum()) * (min(used.shape) - 1)))


def _two_groups(used: Integers) -> dict[str, float]:
    """Risk difference of the first column, second group less first, with Newcombe's interval."""
    (k1, _), (k2, _) = used.tolist()
    n1, n2 = (int(n) for n in used.sum(axis=1))
    ends = newcombe(k2, n2, k1, n1)
    return {"risk_difference": k2 / n2 - k1 / n1, "risk_difference_low": ends.low, "risk_difference_high": ends.high}
