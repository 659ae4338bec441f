"""The nightly job on canned answers: nothing moves, something moves twice, a night dies, two at once."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from mixgrid import nightly as module
from mixgrid.corpora.snapshot import write_snapshot
from mixgrid.errors import Incomplete, Regression, UserError
from mixgrid.nightly import Job, nightly, open_job, outcome
from mixgrid.nightly.nights import Night, nights
from mixgrid.plan.grid import Grid
from mixgrid.plan.pending import listing
from mixgrid.records import Prediction
from mixgrid.schemas import from_table
from mixgrid.store.lease import Held, hold
from tests.cli.conftest import Mixgrid
from tests.cli.conftest import mixgrid as mixgrid  # noqa: PLC0414 - a fixture, used by its name
from tests.helpers import TOY, ask, corpus_rows, small_grid

pytestmark = pytest.mark.slow

SATIRE, FACTUAL = "<raspuns>satiră</raspuns>", "<raspuns>factual</raspuns>"


def in_process(asked: list[Grid], at_most: int | None = None) -> Any:
    """Predict without Ray, by the actor's own code."""

    def predict(grid: Grid, watch: Any = lambda *_: None, max_failed: float = 1.0) -> None:
        asked.append(grid)
        for part in grid.slices:
            write_snapshot(part.whole, grid.store)
        for receipt in ask(grid, at_most):
            watch("toy", 0, receipt)
        if at_most is not None:
            raise Incomplete("some rows are pending")

    return predict


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Grid]:
    """Every grid that was asked, in order."""
    found: list[Grid] = []
    monkeypatch.setattr(module, "predict", in_process(found))
    return found


def job(
    folder: Path, answers: list[str], plan: Mapping[str, Any] | None = None, asked: Sequence[str] = ("toy",)
) -> Job:
    """A job whose grid has nine satires to a fact in 24 articles, and whose model says these things."""
    models = {name: {**TOY, "engine_args": {"answers": answers if name == "toy" else [SATIRE]}} for name in asked}
    rows = [{**row, "label": "factual" if n // 2 % 10 == 0 else "satire"} for n, row in enumerate(corpus_rows(48))]
    small_grid(folder, rows=rows, models=models, asked=asked)
    path = folder / "manifests" / "nightly.yaml"
    path.write_text(yaml.safe_dump({"grid": "grid.yaml", **(plan or {})}), "utf-8")
    return open_job(path, str(folder / "store"))


def test_the_same_answers_on_two_nights_move_nothing(tmp_path: Path, asked: list[Grid]) -> None:
    first = nightly(job(tmp_path, [SATIRE]), day="2026-11-01")
    assert (first.exit, first.models) == (0, ("toy",))
    assert "no earlier night" in first.summary
    second = nightly(job(tmp_path, [SATIRE]), day="2026-11-02")
    assert second.exit == 0
    assert "0 of" in second.summary
    assert [grid.manifest.namespace for grid in asked] == ["nightly-2026-11-01", "nightly-2026-11-02"]
    rows = [row for grid in asked for row in predictions_of(grid)]
    assert len(rows) == 2 * 192  # each night asked everything afresh
    assert {row.reused_from for row in rows} == {None}
    outcome(second)


def predictions_of(grid: Grid) -> list[Prediction]:
    """Every row of the grid's namespace."""
    parts = listing(grid.store, grid.manifest.namespace).whole
    return [row for part in parts for row in from_table(Prediction, grid.store.read(part))]


def test_a_worse_night_is_asked_again_and_ends_in_5(tmp_path: Path, asked: list[Grid]) -> None:
    nightly(job(tmp_path, [SATIRE]), day="2026-11-01")
    worse = nightly(job(tmp_path, [FACTUAL]), day="2026-11-02")
    assert worse.exit == 5
    assert "REGRESSION" in worse.summary
    assert "worse |" in worse.summary
    assert asked[-1].manifest.namespace == "nightly-2026-11-02-again"
    with pytest.raises(Regression, match="2026-11-02"):
        outcome(worse)
    n = len(asked)
    assert nightly(job(tmp_path, [FACTUAL]), day="2026-11-02") == worse  # an ended night is told, not run again
    assert len(asked) == n


def test_what_a_second_run_does_not_confirm_is_no_regression(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: list[Grid]
) -> None:
    nightly(job(tmp_path, [SATIRE]), day="2026-11-01")
    bad, good = job(tmp_path, [FACTUAL]), job(tmp_path, [SATIRE])
    real = module.Job.again

    def recovered(self: Job, night: Night) -> Grid:
        return real(good, night)

    monkeypatch.setattr(module.Job, "again", recovered)
    night = nightly(bad, day="2026-11-02")
    assert night.exit == 0
    assert "0 of them again" in night.summary


def test_a_second_run_that_does_not_end_leaves_the_night_unfinished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: list[Grid]
) -> None:
    nightly(job(tmp_path, [SATIRE]), day="2026-11-01")
    whole, half = in_process(asked), in_process(asked, at_most=3)

    def predict(grid: Grid, *rest: Any) -> None:
        (half if grid.manifest.namespace.endswith("-again") else whole)(grid, *rest)

    monkeypatch.setattr(module, "predict", predict)
    night = nightly(job(tmp_path, [FACTUAL]), day="2026-11-02")
    assert night.exit == 3
    assert "the second run of what moved" in night.summary
    monkeypatch.setattr(module, "predict", whole)
    assert nightly(job(tmp_path, [FACTUAL]), day="2026-11-02").exit == 5


def test_only_the_cells_that_moved_are_asked_again(tmp_path: Path, asked: list[Grid]) -> None:
    both = ("toy", "steady")
    nightly(job(tmp_path, [SATIRE], asked=both), day="2026-11-01")
    assert nightly(job(tmp_path, [FACTUAL], asked=both), day="2026-11-02").exit == 5
    assert {run.model for run in asked[-2].runs} == set(both)
    assert {run.model for run in asked[-1].runs} == {"toy"}


def test_a_night_that_died_is_gone_on_with_by_the_same_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Grid] = []
    monkeypatch.setattr(module, "predict", in_process(asked, at_most=7))
    half = nightly(job(tmp_path, [SATIRE]))
    assert half.exit == 3
    assert "Not complete" in half.summary
    with pytest.raises(Incomplete, match="same command"):
        outcome(half)
    monkeypatch.setattr(module, "predict", in_process(asked))
    whole = nightly(job(tmp_path, [SATIRE]))
    assert (whole.day, whole.exit) == (half.day, 0)
    rows = [(row.run_id, row.item_id) for row in predictions_of(asked[-1])]
    assert len(rows) == len(set(rows)) == 192
    assert whole.pace["toy"].tokens > half.pace["toy"].tokens


def test_two_nights_at_once_are_refused(tmp_path: Path, asked: list[Grid]) -> None:
    one = job(tmp_path, [SATIRE])
    with hold(one.store, "nightly/lease", "another night"), pytest.raises(Held, match="another writer"):
        nightly(one)
    assert asked == []


def test_a_pinned_baseline_is_compared_with_too_and_outlives_the_others(tmp_path: Path, asked: list[Grid]) -> None:
    first = nightly(job(tmp_path, [SATIRE]), day="2026-11-01")
    pinned = {"baseline": f"{first.namespace}/{first.reduction}", "keep": 2}
    for day in ("02", "03", "04"):
        last = nightly(job(tmp_path, [FACTUAL], pinned), day=f"2026-11-{day}")
    assert last.exit == 5  # against the baseline alone: the night before was as bad
    assert "Against night 2026-11-03: 0 of" in last.summary
    store = job(tmp_path, [SATIRE]).store
    assert [night.day for night in nights(store, "nightly")] == ["2026-11-01", "2026-11-03", "2026-11-04"]


@pytest.mark.parametrize(
    ("plan", "says"),
    [
        ({"grid": "absent.yaml"}, "absent.yaml"),
        ({"kep": 3}, "did you mean 'keep'"),
        ({"keep": 1}, "keep"),
        ({"baseline": "abc"}, "NAMESPACE/REDUCTION"),
        ({"baseline": "main/abc"}, "holds no reduction 'abc'"),
        ({"paid": {"models": ["ghost"], "usd": 1}}, "no model 'ghost'"),
    ],
)
def test_a_bad_job_is_refused_before_anything_starts(tmp_path: Path, plan: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError, match=says):
        job(tmp_path, [SATIRE], plan)


def test_paid_models_without_a_budget_are_left_out_and_named(tmp_path: Path, asked: list[Grid]) -> None:
    paid = {"engine": "openai", "checkpoint": "gpt", "context_length": 4096, "price": {"input": 1, "output": 2}}
    small_grid(tmp_path, models={"dear": paid}, asked=["toy", "dear"])
    path = tmp_path / "manifests" / "nightly.yaml"
    path.write_text("grid: grid.yaml\n", "utf-8")
    night = nightly(open_job(path, str(tmp_path / "store")))
    assert {run.model for run in asked[0].runs} == {"toy"}
    assert "not asked (no budget)" in night.summary
    assert "- dear" in night.summary


def test_the_shipped_job_is_whole(root: Path, tmp_path: Path) -> None:
    found = open_job(root / "manifests" / "nightly.yaml", str(tmp_path))
    assert found.grid.runs
    assert found.left_out == ()


@pytest.mark.ray
@pytest.mark.timeout(300)
def test_the_command_runs_a_night_on_ray_and_prints_its_summary(
    tmp_path: Path, mixgrid: Mixgrid, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    job(tmp_path, [SATIRE])
    path, store = tmp_path / "manifests" / "nightly.yaml", tmp_path / "store"
    first = mixgrid("nightly", path, "--store", store, "--day", "2026-11-01", "--json")
    assert (first.code, first.json["exit"], first.json["day"]) == (0, 0, "2026-11-01")
    assert first.json["pace"]["toy"]["tokens"] > 0
    job(tmp_path, [FACTUAL])
    second = mixgrid("nightly", path, "--store", store, "--day", "2026-11-02")
    assert second.code == 5
    assert "REGRESSION" in second.out
    assert "second run" in second.err
