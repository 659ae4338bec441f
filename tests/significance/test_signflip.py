"""Sign flips: the golden exact values, and random flips that come to them."""

import numpy as np
import pytest
from scipy import stats

from mixgrid.errors import UserError
from mixgrid.significance.base import Floats
from mixgrid.significance.signflip import sign_flip_floor, sign_test, swap_test
from tests.significance.samples import accuracy, golden, macro_f1

GOLDEN = golden("paired_bootstrap_exact")
NAMES = ("a", "b")


@pytest.mark.parametrize("case", ["case1", "case2"])
def test_exact_swaps_are_golden(case: str) -> None:
    a, b = (np.array(GOLDEN[case][side], dtype=np.float64) for side in ("CA", "CB"))
    outcome = swap_test(a, b, macro_f1, NAMES)
    assert outcome.p == pytest.approx(GOLDEN[case]["approx_rand_exact_two_sided_f1"])
    assert outcome.estimate == pytest.approx(GOLDEN[case]["cluster_exact"]["f1"]["delta"])
    assert outcome.options["exact"] is True
    assert outcome.p_error is None


def test_floors() -> None:
    """Three pairs cannot go below .25, as Wilcoxon's."""
    assert sign_flip_floor(3) == 0.25
    assert float(stats.wilcoxon([1.0, 2.0, 3.0]).pvalue) == 0.25
    assert sign_test(np.array([1.0, 2.0, 3.0]), 1.0, NAMES).p == 0.25


def right_or_wrong(clusters: int, chance: float) -> Floats:
    right = (np.random.default_rng(clusters).random(clusters) < chance).astype(np.float64)
    return np.stack([np.ones(clusters), right], axis=1)


@pytest.mark.parametrize("clusters", [8, 40])
def test_swaps_of_single_items_are_mcnemar(clusters: int) -> None:
    a, b = right_or_wrong(clusters, 0.8), right_or_wrong(clusters, 0.2)[::-1]
    wins, losses = int(np.sum(a[:, 1] > b[:, 1])), int(np.sum(a[:, 1] < b[:, 1]))
    outcome = swap_test(a, b, accuracy, NAMES)
    known = float(stats.binomtest(wins, wins + losses).pvalue)
    assert outcome.p == pytest.approx(known, abs=1e-12 if outcome.p_error is None else 4 * outcome.p_error + 1e-3)
    assert outcome.options["clusters_that_differ"] == wins + losses


def test_random_signs_come_to_the_exact_ones() -> None:
    values = np.random.default_rng(1).normal(0.3, 1, 16)
    signs = np.where((np.arange(2**16)[:, None] >> np.arange(16)) & 1, 1.0, -1.0)
    exact = float(np.mean(np.abs(signs @ values) >= abs(values.sum()) - 1e-12))
    outcome = sign_test(values, 1.0, NAMES, draws=50_000)
    assert outcome.options["exact"] is False
    assert outcome.p_error is not None
    assert outcome.p == pytest.approx(exact, abs=4 * outcome.p_error)


def test_order_of_names_changes_nothing() -> None:
    values = np.random.default_rng(1).normal(0.3, 1, 30)
    assert sign_test(values, 1.0, ("a", "b")) == sign_test(values, 1.0, ("b", "a"))


def test_seeds_are_swapped_together() -> None:
    a = np.stack([np.array(GOLDEN["case2"]["CA"], dtype=np.float64)] * 3, axis=1)
    b = np.stack([np.array(GOLDEN["case2"]["CB"], dtype=np.float64)] * 3, axis=1)
    assert swap_test(a, b, macro_f1, NAMES).p == pytest.approx(GOLDEN["case2"]["approx_rand_exact_two_sided_f1"])


def test_equal_systems_are_degenerate() -> None:
    a = right_or_wrong(12, 0.5)
    outcome = swap_test(a, a, accuracy, NAMES)
    assert (outcome.outcome, outcome.p) == ("degenerate: no cluster differs", 1.0)
    assert sign_test(np.zeros(4), 1.0, NAMES).p == 1.0
    assert swap_test(a[:0], a[:0], accuracy, NAMES).outcome == "not testable: no rows"


def test_unequal_sides_cannot_be_swapped() -> None:
    a = right_or_wrong(12, 0.5)
    with pytest.raises(UserError, match="needs equal seeds"):
        swap_test(a, a[:6], accuracy, NAMES)


def test_undefined_metric_is_not_testable() -> None:
    def nothing(sums: Floats) -> Floats:
        return np.asarray(sums[..., 0] * np.nan)

    a, b = right_or_wrong(6, 0.9), right_or_wrong(6, 0.1)[::-1]
    assert swap_test(a, b, nothing, NAMES).outcome == "not testable: the metric is undefined here"
