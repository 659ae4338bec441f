"""What moved between two reductions: joined by item, tested by cluster; nothing where nothing differs."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import pytest
from sklearn.metrics import f1_score

from mixgrid.compare import between, compare, lower_is_better, moved, regressions, within
from mixgrid.errors import UserError
from mixgrid.records import Prediction, Run
from mixgrid.reduce import Options, Reduction
from mixgrid.reduce.resample import Draws
from mixgrid.store import Store
from tests.test_reduce import SAID, Grid, answer, codes, make_items, make_run, request_for

QUICK = Options(draws=Draws(0))


@pytest.fixture
def grid(tmp_path: Path) -> Grid:
    return Grid(Store.open(str(tmp_path / "store")), make_items(60), [])


def reduced(grid: Grid, runs: Sequence[Run], wrong: float = 0.0, kept: int | None = None) -> Reduction:
    """Answer the runs as always, with a share of the answers turned wrong, and reduce them alone."""
    grid.runs = list(runs)
    grid.freeze()
    for run in runs:
        rows = [spoilt(grid, run, row, n, wrong) for n, row in enumerate(grid.answers(run)[:kept])]
        grid.put(rows, run)
    return grid.reduce(QUICK)


def spoilt(grid: Grid, run: Run, row: Prediction, n: int, wrong: float) -> Prediction:
    if n % 10 >= wrong * 10:
        return row
    other = "satire" if grid.items[n].label == "factual" else "factual"
    return answer(run, request_for(run, grid.items[n]), SAID[other])


def night(n: int, model: str = "tiny", setting: str = "zero-shot") -> Run:
    """The same cell under another plan."""
    return dataclasses.replace(
        make_run(1, model=model, setting=setting), run_id=f"night{n}.{model}.{setting}", run_digest=f"{n}"
    )


def test_a_worse_night_is_found_in_its_slices(grid: Grid) -> None:
    first, second = reduced(grid, [night(1)]), reduced(grid, [night(2)], wrong=0.5)
    couples = between(grid.store, first, second)
    tests = compare(couples, draws=2000)
    whole = next(t for t in tests if (t.metric, t.a.language, t.a.switching) == ("macro_f1", "all", "all"))
    gold = [int(i.label == "satire") for i in grid.items]
    rows = {
        n: [spoilt(grid, night(n), r, i, 0.5 * (n - 1)) for i, r in enumerate(grid.answers(night(n)))] for n in (1, 2)
    }
    values = [f1_score(gold, codes(rows[n]), labels=[0, 1], average="macro", zero_division=0) for n in (2, 1)]
    assert [whole.a.value, whole.b.value] == pytest.approx(values)
    assert whole.effect == pytest.approx(values[0] - values[1])
    assert whole.ci_high is not None
    assert whole.ci_high < 0
    assert whole in moved(tests)
    worse = regressions(tests, lower_is_better(couples), max_drop=0.05)
    assert {t.metric for t in worse} >= {"macro_f1", "fpr"}  # a rate of errors gets worse by growing
    assert all((t.effect or 0) > 0 for t in worse if t.metric in ("fpr", "fnr"))
    assert regressions(tests, lower_is_better(couples), max_drop=1.0) == []


def test_a_better_night_is_no_regression(grid: Grid) -> None:
    first, second = reduced(grid, [night(1)], wrong=0.5), reduced(grid, [night(2)])
    couples = between(grid.store, first, second)
    tests = compare(couples, draws=1000)
    assert moved(tests)
    assert regressions(tests, lower_is_better(couples), max_drop=0.0) == []


def test_the_same_reduction_moves_nothing(grid: Grid) -> None:
    only = reduced(grid, [night(1)])
    tests = compare(between(grid.store, only, only), draws=200)
    assert {t.p for t in tests} == {1.0}
    assert moved(tests) == []


def test_two_models_and_two_settings_of_one_reduction(grid: Grid) -> None:
    runs = [night(1, model, setting) for model in ("tiny", "other") for setting in ("zero-shot", "chain-of-thought")]
    both = reduced(grid, runs)
    models = within(grid.store, both, "tiny", "other")
    assert {(c.kind, c.before.key[3], c.after.key[3], c.after.key[4]) for c in models} == {
        ("model", "tiny", "other", "zero-shot"),
        ("model", "tiny", "other", "chain-of-thought"),
    }
    settings = within(grid.store, both, "zero-shot", "chain-of-thought")
    assert {(c.kind, c.after.key[3]) for c in settings} == {("setting", "tiny"), ("setting", "other")}
    with pytest.raises(UserError, match=r"no cells of 'tiny' and 'othr'.*did you mean 'other'"):
        within(grid.store, both, "tiny", "othr")


def test_items_that_do_not_join_are_refused_unless_allowed(grid: Grid) -> None:
    first, second = reduced(grid, [night(1)]), reduced(grid, [night(2)], kept=200)
    couples = between(grid.store, first, second)
    with pytest.raises(UserError, match="40 answered items do not join by id and content"):
        compare(couples, draws=100)
    tests = compare(couples, draws=100, allow_unmatched=True)
    whole = next(t for t in tests if (t.a.language, t.a.switching) == ("all", "all"))
    assert (whole.a.n, whole.b.n, whole.unmatched) == (200, 200, 40)


def test_an_item_with_another_text_is_another_item(grid: Grid) -> None:
    first = reduced(grid, [night(1)])
    item = grid.items[0]
    grid.items[0] = dataclasses.replace(item, text="Alt text", item_hash="")
    second = reduced(grid, [dataclasses.replace(night(2), snapshot="beef")])
    with pytest.raises(UserError, match="2 answered items do not join"):
        compare(between(grid.store, first, second))


def test_reductions_that_share_no_cell_are_refused(grid: Grid) -> None:
    first, second = reduced(grid, [night(1)]), reduced(grid, [night(1, model="other")])
    with pytest.raises(UserError, match="share no cell"):
        between(grid.store, first, second)
