"""Welch over seeds: the golden file, and never a p from rounding noise."""

from typing import Any

import pytest
from scipy import stats

from mixgrid.significance.effects import mde_cohen_d
from mixgrid.significance.seeds import Spread, permutation_floor, seed_permutation, spread, welch, welch_from_spread
from tests.significance.samples import golden

GOLDEN = golden("welch")
TESTABLE = ["n3_typical", "n3_overlap", "zero_var_one_side"]
CASES = {case["name"]: case for case in GOLDEN["cases"]}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_means_and_sds_are_golden(case: dict[str, Any]) -> None:
    a, b = spread(case["a"]), spread(case["b"])
    assert a.mean == pytest.approx(case["mean_a"], rel=1e-14)
    assert b.mean == pytest.approx(case["mean_b"], rel=1e-14)
    assert a.sd == pytest.approx(case["sd_a"], abs=1e-15)
    assert b.sd == (None if case["sd_b"] is None else pytest.approx(case["sd_b"], abs=1e-15))


@pytest.mark.parametrize("name", TESTABLE)
def test_welch_is_golden(name: str) -> None:
    case, outcome = CASES[name], welch(CASES[name]["a"], CASES[name]["b"])
    assert outcome.outcome == "tested"
    assert outcome.statistic == pytest.approx(case["t"], rel=1e-9)
    assert outcome.p == pytest.approx(case["p"], rel=1e-9)
    assert outcome.df == pytest.approx(case["df"], rel=1e-9)
    assert outcome.interval is not None
    assert [outcome.interval.low, outcome.interval.high] == pytest.approx(case["ci95"], rel=1e-9)
    assert outcome.effects["cohen_d"] == pytest.approx(case["cohen_d_pooled"], rel=1e-9)
    assert outcome.effects["hedges_g"] == pytest.approx(case["hedges_g"], rel=1e-9)


@pytest.mark.parametrize(
    ("name", "said", "p"),
    [
        ("zero_var_both_diff", "not testable: no seed variance", None),
        ("zero_var_both_equal", "degenerate: equal constants", 1.0),
        ("float_noise_zero_var", "degenerate: equal constants", 1.0),
        ("n_a3_n_b1", "not testable: fewer than two seeds on a side", None),
    ],
)
def test_no_p_comes_from_rounding_noise(name: str, said: str, p: float | None) -> None:
    case = CASES[name]
    outcome = welch(case["a"], case["b"])
    assert (outcome.outcome, outcome.p, outcome.statistic) == (said, p, None)
    assert outcome.estimate == pytest.approx(case["mean_a"] - case["mean_b"], abs=1e-15)
    assert outcome.testable is (p is not None)


def test_library_would_print_noise_where_we_refuse() -> None:
    with pytest.warns(RuntimeWarning):
        assert stats.ttest_ind([0.5] * 3, [0.4] * 3, equal_var=False).pvalue < 1e-30
    assert welch([0.5] * 3, [0.4] * 3).p is None


def test_no_seeds_is_said() -> None:
    assert welch([], [0.5, 0.6]).outcome == "not testable: no seeds"


def test_published_mean_and_sd_are_enough() -> None:
    outcome = welch_from_spread(Spread(3, 61.8, 0.2), Spread(3, 61.1, 1.6))
    published = GOLDEN["published_check"]
    assert outcome.statistic == pytest.approx(published["t"], rel=1e-9)
    assert outcome.p == pytest.approx(published["p"], rel=1e-9)


def test_sd_divides_by_n_less_one() -> None:
    row = GOLDEN["mean_sd"]
    seen = spread(row["x"])
    assert seen.mean == pytest.approx(row["mean"])
    assert seen.sd == pytest.approx(row["sd_ddof1"])
    assert seen.sd != pytest.approx(row["sd_ddof0"])


@pytest.mark.parametrize(("key", "n"), [("n3", 3), ("n5", 5), ("n10", 10)])
def test_smallest_effect_that_few_seeds_can_find(key: str, n: int) -> None:
    assert mde_cohen_d(n) == pytest.approx(GOLDEN["mde_cohen_d_80pct_power"][key], rel=1e-6)


@pytest.mark.parametrize(("key", "df"), [("t_crit_df2", 2), ("t_crit_df4", 4)])
def test_critical_values_of_scipy_are_those_of_the_file(key: str, df: int) -> None:
    assert float(stats.t.ppf(0.975, df)) == pytest.approx(GOLDEN["crit"][key])


def test_three_against_three_seeds_cannot_go_below_a_tenth() -> None:
    assert permutation_floor(3, 3) == pytest.approx(0.1)
    apart = seed_permutation([0.9, 0.91, 0.92], [0.1, 0.11, 0.12])
    assert apart.p == apart.p_floor == pytest.approx(0.1)
    assert welch([0.9, 0.91, 0.92], [0.1, 0.11, 0.12]).p_floor == pytest.approx(0.1)


@pytest.mark.parametrize("a", [[0.2, 0.5, 0.4], [0.1, 0.1, 0.3, 0.9]])
def test_permutation_equals_scipys(a: list[float]) -> None:
    def gap(x: Any, y: Any, axis: int) -> Any:
        return abs(x.mean(axis=axis) - y.mean(axis=axis))

    b = [0.3, 0.8, 0.7]
    theirs = stats.permutation_test((a, b), gap, n_resamples=10_000, vectorized=True, alternative="greater")
    assert seed_permutation(a, b).p == pytest.approx(float(theirs.pvalue), abs=1e-12)


def test_permutation_says_why_it_cannot() -> None:
    assert seed_permutation([0.1], [0.2]).outcome == "not testable: fewer than two seeds on a side"
    assert seed_permutation([], [0.2]).outcome == "not testable: no seeds"
    assert seed_permutation([0.1] * 20, [0.2] * 20).outcome == "not testable: too many seeds to enumerate"
