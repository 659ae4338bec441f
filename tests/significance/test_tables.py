"""Chi-squared on tables of counts: the golden file, Yates stated, Fisher where counts are few."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from mixgrid.significance.tables import chi2_table
from tests.significance.samples import golden

CASES = {case["name"]: case for case in golden("chi2_fpr")["cases"]}
DENSE = ["fpr_two_methods", "fpr_4_methods"]


def outcome_of(case: dict[str, Any], yates: bool = True) -> Any:
    return chi2_table(np.array(case["table"]), yates=yates)


@pytest.mark.parametrize("name", DENSE)
def test_chi2_is_golden_with_and_without_yates(name: str) -> None:
    case = CASES[name]
    corrected, plain = outcome_of(case), outcome_of(case, yates=False)
    assert (corrected.statistic, corrected.p) == pytest.approx((case["chi2_yates_default"], case["p_yates_default"]))
    assert (plain.statistic, plain.p) == pytest.approx((case["chi2"], case["p"]))
    assert corrected.df == plain.df == case["dof"]
    assert corrected.effects["cramers_v"] == pytest.approx(case["cramers_v"])
    assert corrected.effects["least_expected"] == pytest.approx(float(np.min(case["expected"])))
    assert corrected.other_p.get("fisher") == (pytest.approx(case["fisher_p"]) if "fisher_p" in case else None)


def test_signature_states_the_correction() -> None:
    case = CASES["fpr_two_methods"]
    assert "yates:True" in outcome_of(case).signature
    assert "yates:False" in outcome_of(case, yates=False).signature
    assert "yates:False" in outcome_of(CASES["fpr_4_methods"]).signature


def test_few_expected_rows_make_it_fishers() -> None:
    case, outcome = CASES["sparse"], outcome_of(CASES["sparse"])
    assert (outcome.method, outcome.p) == ("fisher", pytest.approx(case["fisher_p"]))
    assert outcome.effects["cramers_v"] == pytest.approx(case["cramers_v"])
    assert outcome.effects["least_expected"] == pytest.approx(float(np.min(case["expected"])))
    assert outcome.other_p["chi2"] == pytest.approx(case["p"])
    assert outcome.other_p["chi2-yates"] == pytest.approx(case["p_yates_default"])
    plain = stats.chi2_contingency(np.array(case["table"]), correction=False)
    assert plain.statistic == pytest.approx(case["chi2"])
    assert stats.chi2_contingency(np.array(case["table"])).statistic == pytest.approx(case["chi2_yates_default"])


def test_column_that_nobody_uses_tells_nothing_apart() -> None:
    """Scipy raises here (golden)."""
    case = CASES["zero_col"]
    assert "zero element" in case["error"]
    outcome = outcome_of(case)
    assert (outcome.outcome, outcome.p) == ("degenerate: all rows in one column", 1.0)


def test_empty_column_is_left_out_of_a_larger_table() -> None:
    with_empty = chi2_table(np.array([[260, 0, 740], [296, 0, 704]]))
    assert with_empty.p == pytest.approx(CASES["fpr_two_methods"]["p_yates_default"])
    assert with_empty.options["empty_columns"] == 1


def test_larger_table_with_few_rows_is_fishers_by_random_tables() -> None:
    table = np.array([[1, 9], [4, 6], [3, 5]])
    one, again = chi2_table(table), chi2_table(table)
    assert one == again
    assert one.method == "fisher"
    assert one.p_error is not None
    known = float(
        stats.fisher_exact(table, method=stats.MonteCarloMethod(200_000, rng=np.random.default_rng(1))).pvalue
    )
    assert one.p == pytest.approx(known, abs=4 * one.p_error)


@pytest.mark.parametrize(
    ("table", "why"),
    [([[0, 0], [0, 0]], "no rows"), ([[0, 0], [3, 4]], "an empty group"), ([[3, 4]], "an empty group")],
)
def test_tables_without_two_groups_say_so(table: list[list[int]], why: str) -> None:
    outcome = chi2_table(np.array(table))
    assert (outcome.outcome, outcome.p) == (f"not testable: {why}", None)
