"""Intervals: the golden files, and bootstrap intervals on draws with known quantiles."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from mixgrid.significance.base import Interval
from mixgrid.significance.intervals import (
    Scaling,
    agresti_min,
    bca,
    clopper_pearson,
    jackknife_error,
    newcombe,
    percentile,
    scaling,
    shifted,
    wald,
    wilson,
    wilson_corrected,
)
from tests.significance.samples import golden

CASES = golden("wilson")["cases"]
EFFECTS = golden("effect_sizes")
METHODS = {
    "wilson": wilson,
    "wald": wald,
    "clopper_pearson": clopper_pearson,
    "scipy_wilson": wilson,
    "scipy_wilsoncc": wilson_corrected,
}


@pytest.mark.parametrize("case", CASES, ids=[f"{c['k']}/{c['n']}" for c in CASES])
@pytest.mark.parametrize("name", METHODS)
def test_proportions_are_golden(case: dict[str, Any], name: str) -> None:
    ends = METHODS[name](case["k"], case["n"])
    expected = case[name]
    if name == "wald":  # the file has statsmodels' ends, cut to [0, 1]
        ends = Interval(max(0.0, ends.low), min(1.0, ends.high))
    assert (ends.low, ends.high) == pytest.approx(expected, rel=1e-9, abs=1e-15)


def test_newcombe_is_golden() -> None:
    ends = newcombe(296, 1000, 260, 1000)
    assert [ends.low, ends.high] == pytest.approx(EFFECTS["risk_diff_newcomb_260_1000_vs_296_1000"], rel=1e-9)


def test_agresti_min_has_width_at_no_difference() -> None:
    ends = agresti_min(0, 0, 35)
    assert -1 <= ends.low < 0 < ends.high <= 1
    assert agresti_min(8, 2, 25).low == pytest.approx(-agresti_min(2, 8, 25).high)


def test_percentile_reads_off_quantiles() -> None:
    ends = percentile(np.linspace(0, 1, 1001), 1.959963984540054)
    assert (ends.low, ends.high) == pytest.approx((0.025, 0.975))


def test_bca_without_bias_or_skew_is_the_percentile() -> None:
    draws, z = np.linspace(-1, 1, 2001), 1.96
    symmetric = np.array([-1.0, 0.0, 1.0])
    assert bca(draws, 0.0, symmetric, z) == percentile(draws, z)


def test_bca_equals_scipys() -> None:
    """Scipy 1.17.1 `bootstrap(method="BCa")`, on its own draws."""
    sample = np.random.default_rng(3).exponential(size=40)
    theirs = stats.bootstrap((sample,), np.mean, n_resamples=4000, method="BCa", rng=np.random.default_rng(4))
    left_out = np.array([np.delete(sample, i).mean() for i in range(40)])
    draws = np.sort(theirs.bootstrap_distribution)
    ends = bca(draws, float(sample.mean()), left_out, float(stats.norm.ppf(0.975)))
    assert (ends.low, ends.high) == pytest.approx(tuple(theirs.confidence_interval), rel=2e-3)


def test_bca_of_an_estimate_outside_its_draws_is_the_percentile() -> None:
    draws = np.linspace(1, 2, 101)
    assert bca(draws, 5.0, np.array([1.0, 2.0]), 1.96) == percentile(draws, 1.96)


@pytest.mark.parametrize("clusters", [20, 50, 176])
def test_scaled_p_is_five_percent_at_the_scaled_end(clusters: int) -> None:
    scale = Scaling(clusters, 1.03)
    assert scale.z() > 1.03 * 1.96
    assert scale.p(float(2 * stats.norm.sf(scale.z()))) == pytest.approx(0.05)
    assert scale.p(1.0) == pytest.approx(1.0)


def test_scaling_of_a_mean_is_hesterbergs() -> None:
    """For a plain mean the jackknife error is s / sqrt(K), and resampling understates it by sqrt((K-1)/K)."""
    sample = np.random.default_rng(3).normal(size=25)
    left_out = np.array([np.delete(sample, i).mean() for i in range(25)])
    assert jackknife_error(left_out) == pytest.approx(float(stats.sem(sample)))
    draws = np.random.default_rng(4).choice(sample, (40_000, 25)).mean(axis=1)
    assert scaling(draws, left_out).ratio == pytest.approx(np.sqrt(25 / 24), rel=0.02)
    assert scaling(draws * 100, left_out).ratio == 1.0


def test_shifted_interval_ends_where_the_test_turns() -> None:
    draws = np.random.default_rng(1).normal(0.3, 0.2, 20_000)
    ends = shifted(draws, 0.3, 1.96)
    assert (ends.low, ends.high) == pytest.approx((0.3 - 0.392, 0.3 + 0.392), abs=0.01)


def test_interval_says_what_it_contains() -> None:
    assert 0.0 in Interval(-0.1, 0.2)
    assert 0.3 not in Interval(-0.1, 0.2)
