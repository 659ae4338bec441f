"""Declared comparisons through reduce: the right rows meet, the right tests are made, and nothing else is tested."""

import math
import random
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import f1_score

from mixgrid.plan.declared import ALL, EACH, KEYS, Declared
from mixgrid.records import Item, Side, Test
from mixgrid.reduce import Options, reduce
from mixgrid.reduce.compared import corrected
from mixgrid.reduce.resample import Draws
from mixgrid.schemas import from_table, to_table
from mixgrid.store import Store
from tests.test_reduce import NS, Grid, codes, find, make_items, make_run

DRAWS = Draws(2_000)
SOURCES = 60  # 30 clusters


def declare(a: Mapping[str, str], b: Mapping[str, str], family: str = "h1", metric: str | None = None) -> Declared:
    """Two sides, the rest the same on both: each model and setting, all languages and methods."""
    rest = {key: ALL if key in ("language", "switching") else EACH for key in KEYS}
    return Declared(family, metric, {**rest, **a}, {**rest, **b})


def open_grid(folder: Path, seeds: tuple[int, ...], models: tuple[str, ...] = ("tiny", "other")) -> Grid:
    runs = [make_run(seed, model=model) for model in models for seed in seeds]
    return Grid(Store.open(str(folder)), make_items(SOURCES), runs)


def filled(folder: Path, seeds: tuple[int, ...] = (1,), models: tuple[str, ...] = ("tiny", "other")) -> Grid:
    grid = open_grid(folder, seeds, models)
    grid.freeze()
    for run in grid.runs:
        grid.put(grid.answers(run), run)
    return grid


def compare(grid: Grid, *comparisons: Declared, **changes: Any) -> list[Test]:
    return list(grid.reduce(Options(draws=DRAWS, comparisons=comparisons, **changes)).tests)


def by_method(tests: list[Test]) -> dict[str, Test]:
    return {test.method: test for test in tests}


def labels(grid: Grid) -> dict[str, int]:
    return {item.item_id: int(item.label == "satire") for item in grid.items}


def test_one_seed_a_side_gives_mcnemar_and_both_bootstraps(tmp_path: Path) -> None:
    grid = filled(tmp_path)
    found = by_method(compare(grid, declare({"model": "tiny"}, {"model": "other"})))
    assert set(found) == {"cluster-bootstrap", "mcnemar", "paired-bootstrap"}
    gold, said = labels(grid), {run.model: codes(grid.answers(run)) for run in grid.runs}
    right = {m: np.array([gold[i.item_id] == s for i, s in zip(grid.items, said[m], strict=True)]) for m in said}
    b = int((right["tiny"] & ~right["other"]).sum())
    c = int((right["other"] & ~right["tiny"]).sum())
    mcnemar = found["mcnemar"]
    assert mcnemar.metric == "accuracy"
    assert mcnemar.p == pytest.approx(stats.binomtest(b, b + c).pvalue)
    assert mcnemar.odds_ratio == pytest.approx(b / c)
    assert mcnemar.units == len(grid.items)
    f1 = {m: f1_score(list(gold.values()), said[m], labels=[0, 1], average="macro", zero_division=0) for m in said}
    for method in ("cluster-bootstrap", "paired-bootstrap"):
        row = found[method]
        assert row.effect == pytest.approx(f1["tiny"] - f1["other"])
        assert row.metric == "macro_f1"
        assert [row.a.value, row.b.value] == pytest.approx([f1["tiny"], f1["other"]])
        assert row.ci_low is not None
        assert row.ci_high is not None
        assert row.ci_low < row.effect < row.ci_high  # type: ignore[operator]
    assert found["cluster-bootstrap"].sound
    assert found["cluster-bootstrap"].units == SOURCES // 2
    assert found["cluster-bootstrap"].odds_ratio == pytest.approx(b / c)
    assert not found["mcnemar"].sound
    assert found["paired-bootstrap"].units == len(grid.items)


def test_several_seeds_give_welch_over_them(tmp_path: Path) -> None:
    grid = filled(tmp_path, seeds=(1, 2, 3))
    result = grid.reduce(Options(draws=DRAWS, comparisons=(declare({"model": "tiny"}, {"model": "other"}),)))
    found = by_method(list(result.tests))
    assert set(found) == {"cluster-bootstrap", "welch"}
    sides = [find(result.scores, "macro_f1", model=model) for model in ("tiny", "other")]
    expected = stats.ttest_ind(*(side.per_seed for side in sides), equal_var=False)
    assert found["welch"].p == pytest.approx(expected.pvalue)
    assert found["welch"].a == Side("tiny", "zero-shot", "all", "all", sides[0].value, SOURCES * 4, 3)


def test_rows_meet_their_originals_by_source(tmp_path: Path) -> None:
    grid = filled(tmp_path, models=("tiny",))
    twin = declare({"switching": "random"}, {"switching": "none"})
    found = by_method(compare(grid, twin))
    assert set(found) == {"cluster-bootstrap", "paired-bootstrap"}
    row = found["paired-bootstrap"]
    assert (row.kind, row.a.n, row.b.n, row.unmatched, row.units) == ("twin", 2 * SOURCES, SOURCES, 0, 2 * SOURCES)
    rows, gold = grid.answers(grid.runs[0]), labels(grid)
    values = {}
    for method in ("random", "none"):
        own = [r for r in rows if r.switching == method]
        values[method] = f1_score(
            [gold[r.item_id] for r in own], codes(own), labels=[0, 1], average="macro", zero_division=0
        )
    assert found["cluster-bootstrap"].effect == pytest.approx(values["random"] - values["none"])
    assert row.effect == pytest.approx(values["random"] - values["none"])


def test_originals_without_variants_are_left_out_of_a_twin(tmp_path: Path) -> None:
    grid = open_grid(tmp_path, (1,), ("tiny",))
    grid.items = [i for i in grid.items if i.switching == "none" or int(i.source_id[1:]) < 40]
    grid.freeze()
    grid.put(grid.answers(grid.runs[0]))
    row = by_method(compare(grid, declare({"switching": "random"}, {"switching": "none"})))["cluster-bootstrap"]
    assert (row.a.n, row.b.n, row.unmatched) == (80, 40, 0)
    rows, gold = grid.answers(grid.runs[0]), labels(grid)
    own = [r for r in rows if r.switching == "none" and int(r.source_id[1:]) < 40]
    assert row.b.value == pytest.approx(
        f1_score([gold[r.item_id] for r in own], codes(own), labels=[0, 1], average="macro", zero_division=0)
    )


def test_rows_without_a_partner_are_refused_unless_allowed(tmp_path: Path) -> None:
    grid = open_grid(tmp_path, (1,))
    grid.freeze()
    for run, kept in zip(grid.runs, (200, 240), strict=True):
        grid.put(grid.answers(run)[:kept], run)
    models = declare({"model": "tiny"}, {"model": "other"})
    (refused,) = compare(grid, models)
    assert refused.p is None
    assert refused.unmatched == 40
    assert refused.outcome == "not testable: 40 rows have no partner; allow unmatched rows to test the others"
    allowed = by_method(compare(grid, models, allow_unmatched=True))
    row = allowed["cluster-bootstrap"]
    assert (row.a.n, row.b.n, row.unmatched, row.outcome) == (200, 200, 40, "tested")
    gold, own = labels(grid), {run.model: grid.answers(run)[:200] for run in grid.runs}
    for side in (row.a, row.b):
        rows = own[side.model]
        expected = f1_score([gold[r.item_id] for r in rows], codes(rows), labels=[0, 1], average="macro")
        assert side.value == pytest.approx(expected)


def test_error_rates_get_a_chi_squared_table(tmp_path: Path) -> None:
    grid = filled(tmp_path, models=("tiny",))
    fpr = declare({"switching": "random"}, {"switching": "none"}, metric="fpr")
    row = by_method(compare(grid, fpr))["chi2"]
    rows, gold = grid.answers(grid.runs[0]), labels(grid)
    table = []
    for method in ("random", "none"):
        own = [c for r, c in zip(rows, codes(rows), strict=True) if r.switching == method and not gold[r.item_id]]
        table.append([sum(c != 0 for c in own), sum(c == 0 for c in own)])
    assert row.p == pytest.approx(stats.chi2_contingency(table).pvalue)


def test_a_baseline_is_compared_slice_by_slice_and_corrected_by_bh(tmp_path: Path) -> None:
    grid = filled(tmp_path, models=("tiny", "other", "third"))
    baseline = Declared("baseline", None, dict.fromkeys(KEYS, EACH), {**dict.fromkeys(KEYS, EACH), "model": "other"})
    tests = [t for t in compare(grid, baseline) if t.sound]
    slices = {(t.a.language, t.a.switching) for t in tests}
    assert len(tests) == 2 * len(slices)
    assert ("ro-de", "random") in slices
    assert all(t.b.model == "other" and (t.a.language, t.a.switching) == (t.b.language, t.b.switching) for t in tests)
    expected = stats.false_discovery_control([t.p for t in tests])
    assert [t.p_adjusted for t in tests] == pytest.approx(list(expected))
    assert {t.m for t in tests} == {len(tests)}


def test_a_baseline_of_originals_meets_every_mixed_slice(tmp_path: Path) -> None:
    grid = filled(tmp_path, models=("tiny",))
    b = {**dict.fromkeys(KEYS, EACH), "switching": "none", "language": "all"}
    tests = [t for t in compare(grid, Declared("baseline", None, dict.fromkeys(KEYS, EACH), b)) if t.sound]
    assert sorted((t.a.language, t.a.switching) for t in tests) == [
        ("all", "mixed"), ("all", "phrase"), ("all", "random"), ("ro-de", "random"), ("ro-en", "phrase"),
        ("ro-en", "random"),
    ]  # fmt: skip


def test_equal_answers_are_degenerate_and_never_significant(tmp_path: Path) -> None:
    grid = open_grid(tmp_path, (1,))
    grid.freeze()
    said = grid.answers(grid.runs[0])
    grid.put(said)
    other = grid.answers(grid.runs[1])
    same = [type(o)(**{**vars(o), "text": s.text, "status": s.status, "reason": s.reason, "row_sha256": ""})
            for o, s in zip(other, said, strict=True)]  # fmt: skip
    grid.put(same, grid.runs[1])
    for test in compare(grid, declare({"model": "tiny"}, {"model": "other"})):
        assert test.p == 1
        assert test.outcome.startswith("degenerate: ")
        assert (test.effect, test.odds_ratio) == (0, None)


def test_a_comparison_that_nothing_answers_to_is_a_warning(tmp_path: Path) -> None:
    result = filled(tmp_path).reduce(
        Options(draws=Draws(0), comparisons=(declare({"model": "tiny"}, {"model": "gone"}),))
    )
    assert result.tests == ()
    assert any("model=gone" in warning and "not tested" in warning for warning in result.warnings)


def test_rows_are_json_safe_and_survive_parquet(tmp_path: Path) -> None:
    tests = compare(filled(tmp_path), declare({"model": "tiny"}, {"model": "other"}))
    assert from_table(Test, to_table(Test, tests)) == tests
    numbers = [getattr(t, f.name) for t in tests for f in fields(Test) if isinstance(getattr(t, f.name), float)]
    assert all(math.isfinite(value) for value in numbers)


def test_shuffled_rows_give_the_same_tests(tmp_path: Path) -> None:
    comparison = declare({"model": "tiny"}, {"model": "other"})
    first = compare(filled(tmp_path / "a"), comparison)
    other = open_grid(tmp_path / "b", (1,))
    other.freeze()
    for run in other.runs:
        rows = other.answers(run)
        random.Random(3).shuffle(rows)
        other.put(rows[:100], run)
        other.put(rows[100:], run)
    assert compare(other, comparison) == first


def test_what_has_no_p_is_not_counted_in_m(tmp_path: Path) -> None:
    tests = compare(filled(tmp_path), declare({"model": "tiny"}, {"model": "other"}))
    sound = next(t for t in tests if t.sound)
    lost = type(sound)(**{**vars(sound), "p": None})
    assert [t.m for t in corrected([sound, lost, sound])] == [2, 2, 2]


def test_items_of_one_class_are_not_testable(tmp_path: Path) -> None:
    grid = open_grid(tmp_path, (1,))
    grid.items = [replace(i, label="factual") for i in grid.items]
    grid.freeze()
    for run in grid.runs:
        grid.put(grid.answers(run), run)
    sound = next(t for t in compare(grid, declare({"model": "tiny"}, {"model": "other"})) if t.sound)
    assert sound.p is None
    assert sound.outcome == "not testable: n/a (1 class of 2)"


def two_corpora(folder: Path, cluster: str = "same") -> Grid:
    """Mixed rows in the corpus `mini`, their originals and three that were never mixed in `mono`."""
    grid = open_grid(folder, (1,), ("tiny",))
    whole = list(grid.items)
    mixed = [item for item in whole if item.switching != "none"]
    originals = [
        replace(item, corpus="mono", item_id=item.source_id, item_hash="", cluster_id=_cluster(item, cluster))
        for item in whole
        if item.switching == "none"
    ]
    extra = [replace(item, item_id=f"x{n}", source_id=f"x{n}", item_hash="") for n, item in enumerate(originals[:3])]
    runs = (grid.runs[0], replace(grid.runs[0], corpus="mono", run_id="mono.satire.tiny", snapshot="mono"))
    for run, items in zip(runs, (mixed, [*originals, *extra]), strict=True):
        part = Grid(grid.store, items, [run])
        part.freeze()
        part.put(part.answers(run), run)
    grid.items, grid.runs = [*mixed, *originals, *extra], list(runs)
    return grid


def _cluster(item: Item, cluster: str) -> str:
    return item.cluster_id if cluster == "same" else item.source_id


def reduced(grid: Grid, *comparisons: Declared, **changes: Any) -> list[Test]:
    def items(corpus: str, snapshot: str) -> list[Item]:
        return [item for item in grid.items if item.corpus == corpus]

    options = Options(draws=DRAWS, comparisons=comparisons, **changes)
    return list(reduce(grid.store, NS, grid.runs, items, options).tests)


@pytest.mark.parametrize("cluster", ["same", "source"])
def test_originals_of_another_corpus_are_met_by_source(tmp_path: Path, cluster: str) -> None:
    grid, one = two_corpora(tmp_path / cluster, cluster), filled(tmp_path / "one", models=("tiny",))
    twin = declare({"corpus": "mini", "switching": "random"}, {"corpus": "mono", "switching": "none"})
    found = by_method(reduced(grid, twin))
    row = found["cluster-bootstrap"]
    assert set(found) == {"cluster-bootstrap", "paired-bootstrap"}
    assert (row.kind, row.a.n, row.b.n, row.unmatched, row.units) == ("twin", 2 * SOURCES, SOURCES, 0, SOURCES // 2)
    same = by_method(compare(one, declare({"switching": "random"}, {"switching": "none"})))
    gold = {item.source_id: item.label for item in grid.items}
    mono = Grid(grid.store, [item for item in grid.items if item.corpus == "mono" and item.source_id[0] == "s"])
    kept = mono.answers(grid.runs[1])
    value = f1_score(
        [int(gold[r.source_id] == "satire") for r in kept], codes(kept), labels=[0, 1], average="macro", zero_division=0
    )
    assert row.b.value == pytest.approx(value)
    assert row.a.value == pytest.approx(same["cluster-bootstrap"].a.value)


def test_mixed_rows_whose_original_is_in_no_corpus_are_counted_and_refused(tmp_path: Path) -> None:
    grid = two_corpora(tmp_path)
    grid.store = Store.open(str(tmp_path / "less"))
    for run in grid.runs:
        items = [i for i in grid.items if i.corpus == run.corpus and (run.corpus == "mini" or i.source_id < "s3")]
        part = Grid(grid.store, items, [run])
        part.freeze()
        part.put(part.answers(run), run)
    twin = declare({"corpus": "mini", "switching": "random"}, {"corpus": "mono", "switching": "none"})
    (refused,) = reduced(grid, twin)
    lost = sum(i.switching == "random" and i.source_id >= "s3" for i in grid.items)
    assert (refused.p, refused.unmatched) == (None, lost)
    assert "rows have no partner" in refused.outcome
    tested = next(test for test in reduced(grid, twin, allow_unmatched=True) if test.sound)
    assert (tested.outcome, tested.a.n) == ("tested", 2 * SOURCES - lost)
