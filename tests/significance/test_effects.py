"""Effect sizes, smallest findable differences and design effects, against the golden file and known cases."""

import numpy as np
import pytest

from mixgrid.significance.base import Floats, Total
from mixgrid.significance.effects import (
    DesignEffect,
    cohen_h,
    design_effect,
    gradient,
    kish_design_effect,
    mde_from_error,
    mde_paired,
    mde_unpaired,
    second_moment,
)
from mixgrid.significance.population import sum_by_cluster
from tests.significance.samples import golden, one_hot_f1


def share(sums: Floats) -> Floats:
    return np.asarray(sums[..., 0] / sums[..., 1])


@pytest.mark.parametrize("case", golden("effect_sizes")["cohen_h"])
def test_cohen_h_is_golden(case: dict[str, float]) -> None:
    assert cohen_h(case["p"], case["q"]) == pytest.approx(case["h"], rel=1e-12)


@pytest.mark.parametrize(("n", "unpaired", "paired"), [(99, 0.199, 0.154), (198, 0.141, 0.109), (495, 0.089, 0.069)])
def test_smallest_findable_differences_of_the_dialogue_tasks(n: int, unpaired: float, paired: float) -> None:
    assert mde_unpaired(n) == pytest.approx(unpaired, abs=5e-4)
    assert mde_paired(n, discordant=0.3) == pytest.approx(paired, abs=5e-4)


def test_clusters_make_the_smallest_findable_difference_larger() -> None:
    """48 variants of 2,073 sentences, 30 % discordant: .5 points if rows were independent, 1.2 and 1.9 if not."""
    rows = 2073 * 48
    assert mde_paired(rows, 0.3) == pytest.approx(0.005, abs=5e-4)
    assert mde_paired(rows, 0.3, kish_design_effect(48, 0.1)) == pytest.approx(0.012, abs=5e-4)
    assert mde_paired(rows, 0.3, kish_design_effect(48, 0.3)) == pytest.approx(0.019, abs=5e-4)
    assert mde_from_error(1.0) == pytest.approx(2.8016, abs=1e-4)


def test_gradient_is_the_slope() -> None:
    assert gradient(share, np.array([30.0, 120.0])) == pytest.approx([1 / 120, -30 / 120**2], rel=1e-6)
    assert gradient(share, np.zeros(2)).tolist() == [0.0, 0.0]


def test_gradients_of_many_sums_are_those_of_each() -> None:
    sums = np.array([[30.0, 120.0], [0.0, 0.0], [7.0, 9.0]])
    assert gradient(share, sums).tolist() == [gradient(share, one).tolist() for one in sums]


def clustered(copies: int, groups: int = 200) -> tuple[Floats, Floats]:
    """Right-or-wrong rows, `copies` equal ones to a cluster; cluster sums."""
    right = (np.random.default_rng(5).random(groups) < 0.6).astype(np.float64)
    items = np.stack([np.repeat(right, copies), np.ones(groups * copies)], axis=1)
    return items, sum_by_cluster(np.repeat(np.arange(groups), copies), items, groups)


def effect_of(clusters: Floats, moment: Floats, rows: int, total: Total) -> DesignEffect | None:
    return design_effect(clusters, moment, rows, gradient(total, clusters.sum(axis=0)))


@pytest.mark.parametrize("copies", [1, 2, 8])
def test_copies_of_a_row_are_worth_one(copies: int) -> None:
    items, clusters = clustered(copies)
    effect = effect_of(clusters, second_moment(items), len(items), share)
    assert effect is not None
    assert effect.design_effect == pytest.approx(copies, rel=0.01)
    assert effect.effective_n == pytest.approx(200, rel=0.01)
    assert (effect.clusters, effect.rows) == (200, 200 * copies)


def test_outer_and_inner_clusters_have_their_own_effect() -> None:
    items, sentences = clustered(4)
    moment = second_moment(items)
    articles = sentences.reshape(50, 4, 2).sum(axis=1)
    inner, outer = (effect_of(level, moment, len(items), share) for level in (sentences, articles))
    assert inner is not None
    assert outer is not None
    assert inner.design_effect == pytest.approx(4, rel=0.02)
    assert outer.clusters == 50
    assert outer.design_effect != pytest.approx(inner.design_effect, rel=1e-6)


def test_variance_is_that_of_the_bootstrap() -> None:
    """The linearised cluster variance of macro-F1 and the spread of plain resampling of the same clusters agree."""
    rng = np.random.default_rng(8)
    items = np.eye(6)[rng.choice(6, size=1200, p=[0.3, 0.1, 0.1, 0.1, 0.35, 0.05])]
    numbers = np.repeat(np.arange(300), 4)
    clusters = sum_by_cluster(numbers, items, 300)
    effect = effect_of(clusters, second_moment(items), 1200, one_hot_f1)
    assert effect is not None
    slope = gradient(one_hot_f1, clusters.sum(axis=0))
    linear = float(np.sqrt(np.var(clusters @ slope, ddof=1) * 300))
    drawn = [one_hot_f1(clusters[rng.integers(0, 300, 300)].sum(axis=0)) for _ in range(4000)]
    assert linear == pytest.approx(float(np.std(drawn)), rel=0.05)


def test_one_hot_counts_carry_their_own_second_moment() -> None:
    items = np.eye(6)[np.random.default_rng(2).integers(0, 6, 50)]
    assert second_moment(items) == pytest.approx(np.diag(items.sum(axis=0)))


def test_no_design_effect_without_clusters_or_variation() -> None:
    items, clusters = clustered(2)
    moment = second_moment(items)
    assert effect_of(clusters[:1], moment, 2, share) is None
    assert effect_of(np.zeros((0, 2)), moment, 0, share) is None
    ones = np.ones((10, 2))
    assert effect_of(ones, second_moment(ones), 10, share) is None
