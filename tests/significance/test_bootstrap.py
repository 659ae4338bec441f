"""The cluster bootstrap: one set of draws for all cells, scaled p values, and reasons with names."""

import numpy as np
import pytest

from mixgrid.errors import UserError
from mixgrid.significance.base import Floats
from mixgrid.significance.bootstrap import Bootstrap, Pair, bootstrap, bootstrap_pair
from mixgrid.significance.population import Population, with_seeds
from mixgrid.significance.resampling import Resampling, draws_of, prepare, weight_blocks
from tests.significance.samples import accuracy, one_hot_f1


def synthetic(clusters: int = 60, systems: int = 3, seeds: int = 2, name: str = "synthetic") -> Population:
    """One-hot macro-F1 statistics of systems that answer the same items over seeds."""
    rng = np.random.default_rng(11)
    rows = rng.multinomial(5, [0.3, 0.15, 0.05, 0.15, 0.3, 0.05], size=(clusters, systems, seeds)).astype(np.float64)
    return with_seeds(name, [f"s{i}" for i in range(systems)], rows, one_hot_f1)


def shuffled(population: Population, order: list[int]) -> Population:
    names = tuple(population.cells[i] for i in order)
    return Population(population.name, names, population.statistics[:, order], population.total)


def test_order_of_cells_changes_nothing() -> None:
    population = synthetic()
    pairs = [Pair("s0", "s1"), Pair("s1", "s2")]
    one, other = bootstrap(population, pairs), bootstrap(shuffled(population, [4, 1, 5, 0, 3, 2]), pairs[::-1])
    assert one.pairs == other.pairs
    assert {n: (e.value, e.interval) for n, e in one.cells.items()} == {
        n: (e.value, e.interval) for n, e in other.cells.items()
    }


def test_order_of_cells_changes_nothing_for_fractions() -> None:
    """Sums of scores are exact on their grid, so not even the last bit depends on the order of BLAS."""
    rng = np.random.default_rng(6)
    scores = np.stack([rng.random((80, 7)), np.ones((80, 7))], axis=-1)

    def mean(sums: Floats) -> Floats:
        return np.asarray(sums[..., 0] / sums[..., 1])

    population = Population("scores", tuple("abcdefg"), scores, mean)
    one = bootstrap(population, [Pair("a", "b")])
    other = bootstrap(shuffled(population, [6, 0, 5, 1, 4, 2, 3]), [Pair("a", "b")])
    assert one.pairs == other.pairs
    assert one.cells["a"].value == pytest.approx(float(scores[:, 0, 0].mean()), rel=1e-12)
    assert bootstrap_pair(population, "a", "b") == one.pairs[Pair("a", "b")]


def test_name_of_the_population_seeds_the_draws() -> None:
    one, same, other = (bootstrap(synthetic(name=name)).cells["s0"] for name in ("x", "x", "y"))
    assert one == same
    assert one.interval != other.interval


def test_opposite_pairs_mirror_each_other() -> None:
    result = bootstrap(synthetic(), [Pair("s0", "s1"), Pair("s1", "s0")])
    there, back = result.pairs.values()
    assert there.estimate == pytest.approx(-(back.estimate or 0))
    assert there.p == pytest.approx(back.p)


def test_estimate_is_the_mean_of_the_per_seed_metrics() -> None:
    population = synthetic(seeds=3)
    cell = bootstrap(population).cells["s1"]
    per_seed = one_hot_f1(population.statistics[:, 3:6].sum(axis=0))
    assert cell.per_seed == pytest.approx(tuple(per_seed))
    assert cell.value == pytest.approx(float(per_seed.mean()))
    assert cell.sd_over_seeds == pytest.approx(float(np.std(per_seed, ddof=1)))
    assert bootstrap(synthetic(seeds=1)).cells["s0"].sd_over_seeds is None


def test_draws_equal_a_naive_loop() -> None:
    """The same counts, one resample at a time, rows repeated by hand."""
    population, plan = synthetic(clusters=30), Resampling(draws=20)
    clusters = prepare(population, plan)
    fast = draws_of(population, clusters, plan)
    counts = np.concatenate([block for _, block in weight_blocks(population.name, clusters, 20)])
    assert counts.sum(axis=1).tolist() == [30.0] * 20
    for row, values in zip(counts, fast, strict=True):
        picked = np.repeat(population.statistics, row.astype(int), axis=0).sum(axis=0)
        assert values == pytest.approx(one_hot_f1(picked).reshape(3, 2).mean(axis=1))


def test_two_equal_systems_are_degenerate_not_significant() -> None:
    population = synthetic(systems=1, seeds=1)
    doubled = Population("twice", ("a", "b"), population.statistics[:, [0, 0]], one_hot_f1)
    outcome = bootstrap_pair(doubled, "a", "b")
    assert (outcome.outcome, outcome.p, outcome.estimate) == ("degenerate: no cluster differs", 1.0, 0.0)
    assert outcome.interval is None


def test_few_clusters_take_sign_flips_and_say_so() -> None:
    few, many = bootstrap_pair(synthetic(clusters=19), "s0", "s1"), bootstrap_pair(synthetic(clusters=20), "s0", "s1")
    assert few.method == "cluster-swap"
    assert few.options["clusters"] == 19
    assert few.interval is not None
    assert many.method == "cluster-bootstrap"


def test_twins_with_few_clusters_flip_signs_instead_of_swapping() -> None:
    pair = Pair("s0", "s1", swappable=False)
    assert bootstrap(synthetic(clusters=12), [pair]).pairs[pair].method == "cluster-sign-flip"


@pytest.mark.parametrize(("clusters", "why"), [(0, "no rows"), (1, "one cluster")], ids=["no rows", "one cluster"])
def test_too_little_to_resample_is_named(clusters: int, why: str) -> None:
    population = synthetic(clusters=2)
    small = Population("small", population.cells, population.statistics[:clusters], one_hot_f1)
    result = bootstrap(small, [Pair("s0", "s1")])
    assert result.cells["s0"].outcome == f"not testable: {why}"
    outcome = result.pairs[Pair("s0", "s1")]
    assert (outcome.outcome, outcome.p, outcome.interval) == (f"not testable: {why}", None, None)


def test_cell_without_rows_leaves_the_others_alone() -> None:
    population = synthetic()
    statistics = population.statistics.copy()
    statistics[:, :2] = 0.0
    empty = Population(population.name, population.cells, statistics, one_hot_f1)
    result = bootstrap(empty)
    assert result.cells["s0"].outcome == "not testable: no rows"
    assert result.cells["s1"] == bootstrap(population).cells["s1"]


def test_reason_that_the_caller_gives_is_kept() -> None:
    population = synthetic()
    refused = Population("one class", population.cells, population.statistics, one_hot_f1, {"s0": "one class"})
    result = bootstrap(refused, [Pair("s0", "s1"), Pair("s1", "s2")])
    assert result.cells["s0"].outcome == "not testable: one class"
    assert [o.outcome for o in result.pairs.values()] == ["not testable: one class", "tested"]


def test_metric_that_resamples_lose_has_no_interval() -> None:
    """A slice that lives in 2 of 60 clusters: an eighth of the resamples have none of it."""
    population = synthetic(seeds=1)
    statistics = np.concatenate([population.statistics, population.statistics.sum(axis=-1, keepdims=True)], axis=-1)
    statistics[2:, 0] = 0.0

    def right(sums: Floats) -> Floats:
        return np.asarray((sums[..., 0] + sums[..., 4]) / sums[..., 6])

    result = bootstrap(Population("thin", population.cells, statistics, right))
    assert result.cells["s0"].clusters == 2
    assert result.cells["s0"].outcome.startswith("not testable: the metric is undefined in 1")
    assert result.cells["s1"].outcome == "tested"


def test_cell_that_is_always_right_has_no_interval_of_no_width() -> None:
    statistics = np.ones((40, 1, 2))
    cell = bootstrap(Population("right", ("a",), statistics, accuracy)).cells["a"]
    assert (cell.outcome, cell.value, cell.interval) == ("degenerate: no variation between clusters", 1.0, None)


def test_p_carries_its_monte_carlo_error_and_floor() -> None:
    outcome = bootstrap_pair(synthetic(), "s0", "s1", Resampling(draws=2000))
    again = [bootstrap_pair(synthetic(name=f"n{i}"), "s0", "s1", Resampling(draws=2000)).p or 0 for i in range(40)]
    assert outcome.p_error == pytest.approx(float(np.std(again)), rel=0.5)
    assert outcome.p_floor is not None
    assert 0 < outcome.p_floor < 2e-3
    assert "draws:2000" in outcome.signature


def test_pair_says_what_it_could_have_found() -> None:
    outcome = bootstrap_pair(synthetic(), "s0", "s1")
    assert outcome.effects["mde80"] == pytest.approx(2.8016 * outcome.effects["se"], rel=1e-3)


@pytest.mark.parametrize("name", [f"p{i}" for i in range(12)])
def test_interval_agrees_with_p(name: str) -> None:
    population = synthetic(clusters=25, name=name)
    statistics = population.statistics.copy()
    statistics[:, :2, 0] += np.random.default_rng(len(name) + int(name[1:])).integers(0, 3, (25, 2))
    outcome = bootstrap_pair(Population(name, population.cells, statistics, one_hot_f1), "s0", "s1")
    assert outcome.p is not None
    assert outcome.interval is not None
    assert (outcome.p < 0.05) is (0.0 not in outcome.interval)


def test_unknown_cell_is_refused_with_its_neighbour() -> None:
    with pytest.raises(UserError, match="did you mean"):
        bootstrap(synthetic(), [Pair("s0", "s1x")])


@pytest.mark.parametrize("statistics", [np.ones((4, 1, 2)), np.ones((4, 2)), np.full((4, 2, 2), np.nan)])
def test_wrong_shapes_and_nan_are_refused(statistics: Floats) -> None:
    with pytest.raises(UserError, match="population 'bad'"):
        Population("bad", ("a", "b"), statistics, accuracy)


def test_result_is_a_plain_record() -> None:
    result: Bootstrap = bootstrap(synthetic(), [])
    assert set(result.cells) == {"s0", "s1", "s2"}
    assert result.pairs == {}
