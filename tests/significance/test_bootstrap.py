"""The cluster bootstrap: the exact values it comes to, one set of draws for all, and reasons with names."""

from typing import Any

import numpy as np
import pytest

from mixgrid.errors import UserError
from mixgrid.significance.base import Floats, Total
from mixgrid.significance.bootstrap import Bootstrap, Pair, bootstrap, bootstrap_pair
from mixgrid.significance.definitions import bootstrap_p
from mixgrid.significance.population import Population, with_seeds
from mixgrid.significance.resampling import Resampling, draws_of, prepare
from tests.significance.samples import accuracy, every_resample, golden, macro_f1, one_hot_f1

GOLDEN = golden("paired_bootstrap_exact")
TOTALS: dict[str, Total] = {"f1": macro_f1, "acc": accuracy}
KEYS = {
    "koehn": "koehn2004_p_onesided",
    "berg-kirkpatrick": "bergkirkpatrick_p_onesided_gt2delta",
    "shifted": "shifted_two_sided",
    "mean-centred": "riezler_mean_shift_two_sided",
    "percentile": "percentile_two_sided",
    "sacrebleu": "sacrebleu_2_6_absdiff_mean_centred",
}
EXACT = [(case, metric) for case in ("case1", "case2") for metric in TOTALS]


def golden_population(case: str, metric: str) -> Population:
    statistics = np.stack([GOLDEN[case]["CA"], GOLDEN[case]["CB"]], axis=1).astype(np.float64)
    return Population(f"{case} {metric}", ("A", "B"), statistics, TOTALS[metric])


def exact_draws(population: Population) -> tuple[Floats, Floats]:
    """Differences in every resample, and their chances."""
    counts, chances = every_resample(len(population.statistics))
    values = population.values(np.einsum("rk,kcf->rcf", counts, population.statistics))
    return values[:, 0] - values[:, 1], chances


def quantile(draws: Floats, chances: Floats, level: float) -> float:
    order = np.argsort(draws)
    return float(draws[order][np.searchsorted(np.cumsum(chances[order]), level - 1e-12)])


def check_exact(draws: Floats, chances: Floats, observed: float, expected: dict[str, Any]) -> None:
    p = bootstrap_p(observed, draws, 1.0, chances)
    for name, key in KEYS.items():
        if key in expected:
            assert p[name] == pytest.approx(expected[key], abs=1e-12), name
    mean = float(chances @ draws)
    assert observed == pytest.approx(expected["delta"])
    assert mean == pytest.approx(expected["boot_mean"])
    assert float(np.sqrt(chances @ (draws - mean) ** 2)) == pytest.approx(expected["boot_se"])
    ends = [quantile(draws, chances, level) for level in (0.025, 0.975)]
    assert ends == pytest.approx(expected["ci95_percentile"])
    assert float(chances[draws > 1e-12].sum()) == pytest.approx(expected["koehn_win_fraction"])
    assert float(chances[np.abs(draws) <= 1e-12].sum()) == pytest.approx(expected["ties"])
    beyond = float(chances[draws >= 2 * observed - 1e-12].sum())
    assert beyond == pytest.approx(expected["bergkirkpatrick_ge2delta"], abs=1e-12)


@pytest.mark.parametrize(("case", "metric"), EXACT)
def test_definitions_over_all_resamples_are_golden(case: str, metric: str) -> None:
    expected = GOLDEN[case]["cluster_exact"][metric]
    draws, chances = exact_draws(golden_population(case, metric))
    sums = golden_population(case, metric).statistics.sum(axis=0)
    check_exact(draws, chances, float(TOTALS[metric](sums) @ [1, -1]), expected)


def counts_of(gold: list[int], answers: list[int]) -> Floats:
    """TP0, FP0, FN0, TP1, FP1, FN1, n, right, by item; -1 is unparsed."""
    g, a = np.array(gold), np.array(answers)
    by_class = [[(g == c) & (a == c), (g != c) & (a == c), (g == c) & (a != c)] for c in (0, 1)]
    return np.stack([*by_class[0], *by_class[1], np.ones(len(g)), g == a], axis=1).astype(np.float64)


def test_single_items_are_golden() -> None:
    block = GOLDEN["case1"]["item_exact"]
    rows = block["items"]
    statistics = np.stack([counts_of(rows["gold"], rows["A"]), counts_of(rows["gold"], rows["B"])], axis=1)
    population = Population("items", ("A", "B"), statistics, macro_f1)
    draws, chances = exact_draws(population)
    check_exact(draws, chances, float(macro_f1(statistics.sum(axis=0)) @ [1, -1]), block["f1"])


@pytest.mark.parametrize("case", ["case1", "case2"])
def test_cluster_statistics_of_the_file_are_those_of_its_answers(case: str) -> None:
    rows, sizes = GOLDEN[case], len(GOLDEN[case]["CA"])
    assert GOLDEN["cells_order"] == ["TP0", "FP0", "FN0", "TP1", "FP1", "FN1", "n", "correct"]
    for side, key in (("A", "CA"), ("B", "CB")):
        items, sums = counts_of(rows["gold"], rows[side]), np.zeros((sizes, 8))
        np.add.at(sums, rows["cluster"], items)
        assert sums.tolist() == rows[key]


CENTRED = ("mean-centred", "sacrebleu")


def exact_range(population: Population, name: str, observed: float, slack: float) -> tuple[float, float]:
    """A definition's exact p if its threshold lay a little higher, and a little lower.

    Two definitions centre on the draws' own mean; no number of draws settles ties that lie on the threshold.
    """
    draws, chances = exact_draws(population)
    size = np.abs(draws - chances @ draws) if name == "mean-centred" else np.abs(draws) - chances @ np.abs(draws)
    low, high = (float(chances[size >= abs(observed) + shift].sum()) for shift in (slack, -slack))
    return low, high


@pytest.mark.parametrize("collapse", [False, True])
@pytest.mark.parametrize(("case", "metric"), EXACT)
def test_drawn_values_come_to_the_exact_ones(case: str, metric: str, collapse: bool) -> None:
    """Within 4 Monte-Carlo standard errors, every definition, F1 and accuracy."""
    population, expected = golden_population(case, metric), GOLDEN[case]["cluster_exact"][metric]
    plan = Resampling(draws=40_000, collapse=collapse)
    values = draws_of(population, prepare(population, plan), plan)
    differences = values[:, 0] - values[:, 1]
    found = bootstrap_p(expected["delta"], differences, 1.0)
    spread = 4 * expected["boot_se"] / np.sqrt(plan.draws)
    assert float(differences.mean()) == pytest.approx(expected["boot_mean"], abs=spread)
    for name, key in KEYS.items():
        exact = expected[key]
        low, high = exact_range(population, name, expected["delta"], spread) if name in CENTRED else (exact, exact)
        error = (2 if name == "percentile" else 1) * np.sqrt(max(exact * (1 - exact), 1e-5) / plan.draws)
        room = 4 * error + 2 / plan.draws
        assert low - room <= found[name] <= high + room, name


@pytest.mark.parametrize(
    ("key", "name"), [("koehn", "koehn"), ("bk_gt2delta", "berg-kirkpatrick"), ("shift2", "shifted")]
)
def test_another_programs_draws_agree(key: str, name: str) -> None:
    theirs, exact = GOLDEN["case2"]["montecarlo"], GOLDEN["case2"]["cluster_exact"]["f1"]
    error = np.sqrt(exact[KEYS[name]] / theirs["B"])
    assert theirs[key] == pytest.approx(exact[KEYS[name]], abs=4 * error)
    assert theirs["se"] == pytest.approx(exact["boot_se"], rel=0.01)


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
    from mixgrid.significance.resampling import weight_blocks

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
