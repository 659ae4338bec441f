"""Coefficients of agreement: every entry of the golden file, AC1 by irrCAC, and a name where there is no number."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mixgrid.annotate import COEFFICIENTS
from mixgrid.annotate.base import Counts, measure, prevalence, resamples

GOLDEN = json.loads((Path(__file__).parent.parent / "golden" / "agreement.json").read_text("utf-8"))
DEGENERATE = {case["name"]: case for case in GOLDEN["degenerate"]}
FLEISS = {case["name"]: case for case in GOLDEN["fleiss_cases"]}
NO_PAIR, ALL_SAME = "undefined: no item has two ratings", "undefined: no variation, every paired rating is the same"
# Outside values of AC1: irrCAC 0.4.4, CAC(ratings).gwet(); the first is the published one of Gwet's four raters.
AC1 = {"binary_3raters": 0.503448275862, "prevalence": 0.928741092637, "total_disagreement_binary": -1.0}
AC1_OF_TWO = {
    "prevalence_paradox_85pct": 0.825834542816, "prevalence_20_items_90yes": 0.889502762431,
    "ordinal_3level": 0.627906976744, "nominal_3level_same_data": 0.627906976744,
}  # fmt: skip


def counted(by_rater: Sequence[Sequence[Any]], level: str = "nominal") -> Counts:
    """Raters' rows of values, None where one is missing."""
    found = sorted({v for row in by_rater for v in row if v is not None})
    counts = [[column.count(v) for v in found] for column in map(list, zip(*by_rater, strict=True))]
    return Counts.of(counts, found if isinstance(found[0], float) else (), level)


def told(name: str, table: Counts) -> str | float:
    """The value, or the reason why there is none."""
    answer = measure(name, COEFFICIENTS[name], table, resamples(table, 20, 0))
    return answer.outcome if answer.value is None else answer.value


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_alpha_of_krippendorffs_four_observers_on_each_level(level: str) -> None:
    case = GOLDEN["krippendorff_2011"]
    found = told("alpha", counted(case["reliability"], level))
    assert found == pytest.approx(case["alpha"][level], rel=1e-12)
    assert found == pytest.approx(case["published"][level], abs=5e-4)


@pytest.mark.parametrize("name", ["krippendorff_binary_2obs", "krippendorff_nominal_2obs"])
def test_alpha_of_two_observers(name: str) -> None:
    case = GOLDEN[name]
    found = told("alpha", counted([case["a"], case["b"]]))
    assert found == pytest.approx(case["alpha"], rel=1e-12)
    assert found == pytest.approx(case["published"], abs=5e-4)


def test_alpha_of_counts() -> None:
    assert told("alpha", Counts.of(GOLDEN["value_counts"]["vc"])) == pytest.approx(GOLDEN["value_counts"]["alpha"])


@pytest.mark.parametrize("name", DEGENERATE)
def test_where_the_library_raises_there_is_a_reason(name: str) -> None:
    case = DEGENERATE[name]
    table = counted(case["data"], case["level"])
    why = {"all_same_one_category": ALL_SAME, "no_pairable": NO_PAIR, "single_rater": NO_PAIR}
    if isinstance(case["alpha"], str):
        assert told("alpha", table) == why[name]
    else:
        assert told("alpha", table) == pytest.approx(case["alpha"], rel=1e-12)
        assert told("gwet", table) == pytest.approx(AC1_OF_TWO[name], abs=1e-12)
    raw = case["raw_agreement_2raters"]
    assert told("raw", table) == (NO_PAIR if raw is None else pytest.approx(raw))


@pytest.mark.parametrize("name", ["fleiss_wikipedia", "fleiss_1971"])
def test_kappa_of_the_published_tables(name: str) -> None:
    case = GOLDEN[name]
    assert told("fleiss", Counts.of(case["table"])) == pytest.approx(case["kappa"], rel=1e-12)
    assert told("fleiss", Counts.of(case["table"])) == pytest.approx(case["published"], abs=5e-3)


@pytest.mark.parametrize("name", FLEISS)
def test_the_kappas_of_one_table(name: str) -> None:
    case = FLEISS[name]
    table = Counts.of(case["table"])
    rated = list(map(list, zip(*case["ratings_items_x_raters"], strict=True)))
    for coefficient, key in (
        ("fleiss", "fleiss_kappa"), ("randolph", "randolph"), ("raw", "mean_pairwise_raw_agreement"),
        ("alpha", "krippendorff_nominal"),
    ):  # fmt: skip
        expected = case[key]
        for found in (told(coefficient, table), told(coefficient, counted(rated))):
            if expected == "nan":
                assert str(found).startswith(("undefined: no variation", "undefined: one category"))
            else:
                assert found == pytest.approx(expected, rel=1e-12)
    if name in AC1:
        assert told("gwet", table) == pytest.approx(AC1[name], abs=1e-12)


@pytest.mark.parametrize("case", GOLDEN["paper_consistency_CS_SeLeRoSa"], ids=lambda case: case["criterion"])
def test_what_the_papers_agreement_implies(case: dict[str, Any]) -> None:
    """Raw agreement and alpha together give the expected disagreement, so the share of the commoner answer."""
    assert (1 - case["raw"]) / (1 - case["alpha"]) == pytest.approx(case["implied_De"], rel=1e-12)
    if "max_alpha_if_50_50" in case:
        balanced = Counts.of([[2, 0]] * 271 + [[0, 2]] * 271 + [[1, 1]] * 173)  # 715 items
        raw, alpha = float(told("raw", balanced)), float(told("alpha", balanced))
        assert 1 - (1 - case["raw"]) * (1 - alpha) / (1 - raw) == pytest.approx(case["max_alpha_if_50_50"], abs=1e-12)
    else:
        both = round(10**5 * case["implied_p_yes_if_binary"] - 7500)  # of 100,000 items
        skewed = Counts.of([[0, 2]] * both + [[1, 1]] * 15_000 + [[2, 0]] * (85_000 - both))
        assert told("raw", skewed) == pytest.approx(case["raw"])
        assert told("alpha", skewed) == pytest.approx(case["alpha"], abs=5e-5)
        assert float(told("gwet", skewed)) > 0.8


def test_gwet_and_randolph_take_missing_ratings_and_fleiss_says_why_not() -> None:
    table = counted(GOLDEN["krippendorff_2011"]["reliability"])
    assert told("gwet", table) == pytest.approx(0.775444068127, abs=1e-12)
    assert told("randolph", table) == pytest.approx(0.772727272727, abs=1e-12)  # irrCAC's bp
    assert told("raw", table) == pytest.approx(0.818181818182, abs=1e-12)
    assert told("fleiss", table) == "undefined: items have 1 to 4 ratings, where Fleiss wants the same number"


def test_a_declared_category_that_nobody_used_makes_chance_known() -> None:
    used, declared = Counts.of([[3], [3]]), Counts.of([[3, 0], [3, 0]])
    assert (
        told("gwet", used)
        == told("randolph", used)
        == "undefined: one category; where the scale has more, declare them"
    )
    assert (told("gwet", declared), told("randolph", declared)) == (1.0, 1.0)
    assert told("alpha", declared) == ALL_SAME


def test_prevalence_and_agreement_on_each_category() -> None:
    yes, no = prevalence(Counts.of([[2, 0]] * 8 + [[1, 1]] * 2), ["yes", "no"])
    assert (yes.ratings, yes.share) == (18, 0.9)
    assert yes.agreement == pytest.approx(16 / 18)
    assert (no.ratings, no.share, no.agreement) == (2, 0.1, 0.0)
    assert [c.agreement for c in prevalence(Counts.of([[1, 0], [0, 1]]), ["a", "b"])] == [None, None]


def test_the_interval_is_the_seeds_and_near_the_normal_one() -> None:
    table = Counts.of([[2, 0]] * 200 + [[1, 1]] * 100 + [[0, 2]] * 100)
    once, twice, other = (
        measure("raw", COEFFICIENTS["raw"], table, resamples(table, 2000, seed)) for seed in (1, 1, 2)
    )
    assert once == twice != other
    half = 1.96 * (0.75 * 0.25 / 400) ** 0.5
    assert once.low == pytest.approx(0.75 - half, abs=0.005)
    assert once.high == pytest.approx(0.75 + half, abs=0.005)


@pytest.mark.parametrize(
    ("counts", "says"),
    [([[2, 0]] * 5 + [[0, 2]], "none: undefined in"), ([[2, 0]], "none: undefined"), ([[1, 1]] * 3, "none: whatever")],
)
def test_no_interval_where_the_draws_have_none(counts: list[list[int]], says: str) -> None:
    table = Counts.of(counts)
    answer = measure("alpha", COEFFICIENTS["alpha"], table, resamples(table, 1000, 0))
    assert answer.low is None
    assert answer.outcome == ALL_SAME if len(counts) == 1 else answer.interval.startswith(says)


RATINGS = st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=2, max_size=12)


@settings(max_examples=30)
@given(RATINGS, st.sampled_from(["nominal", "ordinal", "interval", "ratio"]), st.randoms())
def test_order_is_no_matter_and_a_draw_counts_as_the_items_in_it(
    counts: list[list[int]], level: str, random: Any
) -> None:
    table = Counts.of(counts, level=level)
    if not len(table.counts):
        return
    shuffled = random.sample(counts, len(counts))
    copies = [random.randrange(4) for _ in table.counts]
    drawn = replace(table, copies=table.copies * 0 + copies)
    rows = [row for row, n in zip(table.counts.tolist(), copies, strict=True) for _ in range(n)]
    for name in COEFFICIENTS:
        assert told(name, Counts.of(shuffled, level=level)) == told(name, table)
        if rows and name != "fleiss":  # which looks at the sizes of all items
            assert told(name, drawn) == pytest.approx(told(name, Counts.of(rows, level=level)), nan_ok=True)
