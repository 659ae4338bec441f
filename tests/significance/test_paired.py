"""McNemar: the golden file, nothing significant in nothing, and the form for clustered items."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as theirs

from mixgrid.errors import UserError
from mixgrid.significance.paired import cluster_mcnemar, mcnemar
from tests.significance.samples import golden

CASES = {case["name"]: case for case in golden("mcnemar")["cases"]}
DISCORDANT = {name: case for name, case in CASES.items() if case["b"] + case["c"]}


def rows(case: dict[str, Any]) -> int:
    return int(np.sum(case["table"]))


@pytest.mark.parametrize("case", DISCORDANT.values(), ids=DISCORDANT.keys())
def test_mcnemar_is_golden(case: dict[str, Any]) -> None:
    outcome = mcnemar(case["b"], case["c"], rows(case))
    assert (outcome.outcome, outcome.statistic) == ("tested", case["exact_stat"])
    assert outcome.p == pytest.approx(case["exact_p"], rel=1e-9)
    assert outcome.p == pytest.approx(case["scipy_binomtest_p"], rel=1e-9)
    assert outcome.other_p["mid-p"] == pytest.approx(case["mid_p"], rel=1e-9)
    assert outcome.effects.get("odds_ratio") == (case["odds_ratio"] if case["c"] else None)
    assert outcome.estimate == pytest.approx((case["b"] - case["c"]) / rows(case))
    assert outcome.effects["chi2"] == pytest.approx(case["chi2"])
    assert outcome.other_p["chi2"] == pytest.approx(case["chi2_p"], rel=1e-9)


@pytest.mark.parametrize("name", sorted(set(DISCORDANT) - {"equal_bc"}))
def test_corrected_chi2_is_golden(name: str) -> None:
    case = CASES[name]
    outcome = mcnemar(case["b"], case["c"], rows(case))
    assert outcome.effects["chi2-corrected"] == pytest.approx(case["chi2_cc"])
    assert outcome.other_p["chi2-corrected"] == pytest.approx(case["chi2_cc_p"], rel=1e-9)


def test_correction_does_not_push_past_zero() -> None:
    """Statsmodels 0.15.0 gives .05 for b = c (golden); the difference can't be made less than none."""
    case = CASES["equal_bc"]
    assert case["chi2_cc"] == pytest.approx(float(theirs(case["table"], exact=False, correction=True).statistic))
    outcome = mcnemar(case["b"], case["c"], rows(case))
    assert (outcome.effects["chi2-corrected"], outcome.other_p["chi2-corrected"]) == (0.0, 1.0)


def test_two_identical_systems_do_not_differ() -> None:
    """Statsmodels' corrected form prints p = 0 here."""
    case = CASES["zero_discordant"]
    assert case["chi2_cc_p"] == 0.0
    outcome = mcnemar(0, 0, rows(case))
    assert outcome.outcome == "degenerate: no discordant pairs"
    assert (outcome.p, outcome.other_p) == (case["exact_p"], {"mid-p": 1.0})
    assert (case["odds_ratio"], case["mid_p"]) == (None, None)
    assert "odds_ratio" not in outcome.effects


@settings(deadline=None, max_examples=50)
@given(b=st.integers(0, 60), c=st.integers(0, 60))
def test_p_is_a_chance_and_blind_to_sides(b: int, c: int) -> None:
    one, other = mcnemar(b, c, 200), mcnemar(c, b, 200)
    assert one.p == pytest.approx(other.p)
    assert one.p is not None
    assert 0 < one.other_p["mid-p"] <= one.p <= 1
    assert one.p >= (one.p_floor or 0) - 1e-15


def test_equal_counts_give_one_not_more() -> None:
    outcome = mcnemar(3, 3, 20)
    assert outcome.p == 1.0
    assert outcome.other_p["chi2-corrected"] == 1.0


def test_odds_ratio_interval_is_that_of_the_binomial() -> None:
    outcome = mcnemar(2, 8, 25)
    share = stats.binomtest(2, 10).proportion_ci()
    odds = outcome.intervals["odds_ratio"]
    assert (odds.low, odds.high) == pytest.approx((share.low / (1 - share.low), share.high / (1 - share.high)))
    assert mcnemar(6, 0, 25).intervals["odds_ratio"].high == float("inf")


@pytest.mark.parametrize(("b", "c", "n"), [(-1, 0, 5), (3, 3, 5), (0, 0, 0)])
def test_impossible_counts_are_refused(b: int, c: int, n: int) -> None:
    with pytest.raises(UserError, match="check the join"):
        mcnemar(b, c, n)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.sampled_from([(0, 0), (1, 0), (0, 1)]), min_size=2, max_size=40))
def test_single_items_make_the_cluster_form_the_plain_one(items: list[tuple[int, int]]) -> None:
    b, c = np.array(items, dtype=np.int64).T
    clustered, plain = cluster_mcnemar(b, c, len(items)), mcnemar(int(b.sum()), int(c.sum()), len(items))
    assert clustered.p == pytest.approx(plain.p)
    assert clustered.other_p["mid-p"] == pytest.approx(plain.other_p["mid-p"])


def test_clusters_that_move_together_count_once() -> None:
    """Four sources of 25 items each that one system wins: 100 wins pooled, but four signs."""
    b, c = np.full(4, 25), np.zeros(4, dtype=np.int64)
    assert cluster_mcnemar(b, c, 100).p == pytest.approx(2 / 16)
    assert (mcnemar(100, 0, 100).p or 1) < 1e-20


def test_cluster_form_counts_every_assignment_of_signs() -> None:
    b, c = np.array([5, 0, 2, 1]), np.array([1, 3, 0, 1])
    gaps = np.abs(b - c)[np.abs(b - c) > 0]
    signs = np.array(np.meshgrid(*[[-1, 1]] * len(gaps))).reshape(len(gaps), -1)
    sums = np.abs(signs.T @ gaps)
    assert cluster_mcnemar(b, c, 30).p == pytest.approx(float(np.mean(sums >= abs(int((b - c).sum())))))


def test_cluster_form_says_why_it_cannot() -> None:
    none, one = np.zeros(0, dtype=np.int64), np.array([3])
    assert cluster_mcnemar(one, one, 10).outcome == "not testable: one cluster"
    assert cluster_mcnemar(none, none, 10).outcome == "not testable: no rows"
    still = cluster_mcnemar(np.array([1, 2]), np.array([1, 2]), 10)
    assert (still.outcome, still.p) == ("degenerate: no cluster differs", 1.0)
