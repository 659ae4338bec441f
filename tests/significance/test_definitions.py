"""The paired bootstrap's definitions: the golden file's exact values, and drawn ones that come to them."""

from typing import Any

import numpy as np
import pytest

from mixgrid.significance.base import Floats, Total
from mixgrid.significance.definitions import bootstrap_p
from mixgrid.significance.population import Population
from mixgrid.significance.resampling import Resampling, draws_of, prepare
from tests.significance.samples import accuracy, every_resample, golden, macro_f1

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
