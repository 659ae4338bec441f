"""Reduce over a small store made by hand: right numbers, and whatever does not belong there is left out by name."""

import dataclasses
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from sklearn.metrics import accuracy_score, f1_score

from mixgrid.errors import UserError
from mixgrid.metrics.base import Policies
from mixgrid.plan.layout import predictions_folder, run_folder
from mixgrid.records import Item, Prediction, Request, Run, Sampling, Score
from mixgrid.reduce import Options, Reduction, load, reduce
from mixgrid.reduce.judge import Judge
from mixgrid.reduce.mapping import judged_parts
from mixgrid.reduce.resample import Draws
from mixgrid.reduce.scores import BASELINE
from mixgrid.schemas import digest, from_table, schema, to_table
from mixgrid.store import Store

NS = "main"
QUICK = Options(draws=Draws(0))
SAID = {"factual": "<raspuns>factual</raspuns>", "satire": "<raspuns>satiră</raspuns>"}
SLICES = [("ro", "none"), ("ro-en", "random"), ("ro-en", "phrase"), ("ro-de", "random")]


def make_items(sources: int = 10) -> list[Item]:
    """Each source once in Romanian and three times mixed; two sources an article, both labels."""
    return [
        Item(
            corpus="mini", item_id=f"s{n}-{language}-{method}", source_id=f"s{n}", twin_id=None,
            cluster_id=f"a{n // 2}", split="test", language=language, switching=method, variant=int(method != "none"),
            text=f"Propoziția {n} în {language} ({method})", label="satire" if n % 3 == 0 else "factual",
        )
        for n in range(sources)
        for language, method in SLICES
    ]  # fmt: skip


def make_run(seed: int = 1, model: str = "tiny", setting: str = "zero-shot", **changes: Any) -> Run:
    run = Run(
        run_id=f"mini.satire.{model}.{setting}.s{seed}", corpus="mini", split="test", snapshot="c0ffee", task="satire",
        model=model, setting=setting, seed=seed, template_version="1", run_digest=digest([model, setting]),
        sampling=Sampling(temperature=0.7),
    )  # fmt: skip
    return dataclasses.replace(run, **changes)


def request_for(run: Run, item: Item) -> Request:
    prompt = digest(["prompt", run.setting, item.item_id])
    return Request(
        run.run_id, item.item_id, item.item_hash, item.source_id, item.cluster_id, item.language, item.switching,
        digest([prompt, run.run_digest, run.seed])[:32], prompt, run.seed, ("factual", "satire"),
    )  # fmt: skip


def _fields(**values: Any) -> dict[str, Any]:
    return values


def answer(run: Run, request: Request, text: str, **changes: Any) -> Prediction:
    fields = _fields(
        run_id=run.run_id, corpus=run.corpus, split=run.split, task=run.task, model=run.model, setting=run.setting,
        run_seed=run.seed, item_id=request.item_id, item_hash=request.item_hash, source_id=request.source_id,
        cluster_id=request.cluster_id, language=request.language, switching=request.switching,
        request_id=request.request_id, prompt_sha256=request.prompt_sha256, status="ok", reason="", text=text,
        reasoning=None, finish_reason="stop", order=request.order, shot_ids=(), seed=request.seed, seed_honoured=True,
        system_folded=False, run_digest=run.run_digest, prompt_tokens=9, completion_tokens=3, reasoning_tokens=0,
        cached_tokens=0, cost_usd=0.0, latency_s=0.1, engine="vllm 0.1 cpu", reused_from=None,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )  # fmt: skip
    return Prediction(**{**fields, **changes})


@dataclass
class Grid:
    """A store with frozen plans, to which predictions are added as each test likes."""

    store: Store
    items: list[Item] = field(default_factory=make_items)
    runs: list[Run] = field(default_factory=lambda: [make_run(seed) for seed in (1, 2, 3)])

    def freeze(self, limit: int | None = None) -> None:
        for run in self.runs:
            requests = [request_for(run, item) for item in self.items[:limit]]
            half = len(requests) // 2
            for rows in (requests[:half], requests[half:]):
                self.store.put_table(run_folder(NS, run.run_id), "requests", to_table(Request, rows))

    def answers(self, run: Run) -> list[Prediction]:
        """Mostly right; some wrong, unparsed or failed, drawn by (seed, item)."""
        rows = []
        for item in self.items:
            assert item.label
            dice = random.Random(f"{run.run_id} {item.item_id}").random()
            other = "satire" if item.label == "factual" else "factual"
            text = SAID[item.label] if dice < 0.6 else SAID[other] if dice < 0.8 else "nu știu" if dice < 0.95 else ""
            failed = {} if text else {"status": "failed", "reason": "too_long"}
            rows.append(answer(run, request_for(run, item), text, **failed))
        return rows

    def put(self, rows: Sequence[Prediction], run: Run | None = None) -> str:
        folder = predictions_folder(NS, run or self.runs[0])
        return self.store.put_table(folder, "part", to_table(Prediction, rows)).key

    def fill(self, size: int = 17) -> list[Prediction]:
        """Every answer of every run, in parts that hold rows of several runs."""
        rows = [row for run in self.runs for row in self.answers(run)]
        for start in range(0, len(rows), size):
            self.put(rows[start : start + size])
        return rows

    def reduce(self, options: Options = QUICK) -> Reduction:
        return reduce(self.store, NS, self.runs, lambda corpus, snapshot: self.items, options)


@pytest.fixture
def grid(tmp_path: Path) -> Grid:
    grid = Grid(Store.open(str(tmp_path / "store")))
    grid.freeze()
    return grid


def find(scores: Iterable[Score], metric: str, language: str = "all", switching: str = "all", **key: Any) -> Score:
    wanted = {"metric": metric, "language": language, "switching": switching, "model": "tiny", **key}
    (found,) = (s for s in scores if all(getattr(s, name) == value for name, value in wanted.items()))
    return found


def codes(rows: Iterable[Prediction]) -> list[int]:
    known = {SAID["factual"]: 0, SAID["satire"]: 1}
    return [known.get(row.text, -1) if row.status == "ok" else -1 for row in rows]


def joined(result: Reduction) -> dict[str, int]:
    total: dict[str, int] = {}
    for counts in result.inputs["joined"].values():
        for name, n in counts.items():
            total[name] = total.get(name, 0) + n
    return total


@pytest.mark.parametrize(
    ("language", "switching", "n"),
    [
        ("all", "all", 40), ("all", "mixed", 30), ("all", "none", 10), ("all", "random", 20), ("all", "phrase", 10),
        ("ro", "none", 10), ("ro-en", "all", 20), ("ro-en", "phrase", 10), ("ro-de", "random", 10),
    ],
)  # fmt: skip
def test_scores_equal_sklearn_in_every_slice(grid: Grid, language: str, switching: str, n: int) -> None:
    rows, labels = grid.fill(), {item.item_id: int(item.label == "satire") for item in grid.items}
    scores = grid.reduce().scores
    kept = [
        row
        for row in rows
        if language in ("all", row.language)
        and (switching in ("all", row.switching) or (switching == "mixed" and row.switching != "none"))
    ]
    f1, accuracy = [], []
    for run in grid.runs:
        own = [row for row in kept if row.run_id == run.run_id]
        gold = [labels[row.item_id] for row in own]
        f1.append(f1_score(gold, codes(own), labels=[0, 1], average="macro", zero_division=0))
        accuracy.append(accuracy_score(gold, codes(own)))
    for name, values in (("macro_f1", f1), ("accuracy", accuracy)):
        score = find(scores, name, language, switching)
        mean = sum(values) / 3
        assert score.per_seed == pytest.approx(values)
        assert score.value == pytest.approx(mean)
        assert score.sd_over_seeds == pytest.approx((sum((v - mean) ** 2 for v in values) / 2) ** 0.5)
        assert (score.n, score.expected, score.clusters, score.seeds) == (n, n, 5, (1, 2, 3))
        assert score.unparsed == pytest.approx(
            sum(row.status == "ok" and row.text == "nu știu" for row in kept) / 3 / n
        )
        assert score.failed == pytest.approx(sum(row.status == "failed" for row in kept) / 3 / n)


def test_signature_says_how_the_number_was_made(grid: Grid) -> None:
    grid.fill()
    signature = find(grid.reduce().scores, "macro_f1").signature
    for part in ("macro_f1|v:1", "unparsed:labels", "failed:labels", "parser:satire-", "order:balanced", "seeds:1,2,3"):
        assert part in signature


def test_shuffled_files_and_rows_give_the_same_scores(grid: Grid, tmp_path: Path) -> None:
    rows = grid.fill()
    other = Grid(Store.open(str(tmp_path / "other")))
    other.freeze()
    random.Random(7).shuffle(rows)
    for start in range(0, len(rows), 23):
        other.put(rows[start : start + 23])
    first, second = grid.reduce(), other.reduce()
    assert first.scores == second.scores
    assert first.inputs["unparsed"] == second.inputs["unparsed"]


def test_repeat_is_answered_from_the_store(grid: Grid, monkeypatch: pytest.MonkeyPatch) -> None:
    grid.fill()
    first = grid.reduce()
    before = {e.key for e in grid.store.list("")}
    monkeypatch.setattr("mixgrid.reduce.collect", lambda *a: pytest.fail("computed again"))
    assert grid.reduce() == first
    assert {e.key for e in grid.store.list("")} == before


def test_judged_parts_are_cached(grid: Grid, monkeypatch: pytest.MonkeyPatch) -> None:
    grid.fill()
    first = grid.reduce()
    monkeypatch.setattr("mixgrid.reduce.judge.Judge.__call__", lambda *a: pytest.fail("judged again"))
    second = grid.reduce(Options(Policies(unparsed="drop"), Draws(0)))
    assert second.id != first.id
    assert find(second.scores, "accuracy").value > find(first.scores, "accuracy").value  # type: ignore[operator]


def test_spoilt_cache_is_made_again(grid: Grid) -> None:
    grid.fill()
    first = grid.reduce()
    for entry in list(grid.store.list(f"{NS}/statistics/")):
        grid.store.put(entry.key, b"x" * entry.size)
    for entry in list(grid.store.list(f"{NS}/scores/")):
        grid.store.delete(entry.key)
    assert grid.reduce() == first


@pytest.mark.parametrize("stem", ["scores", "tests", "items", "inputs.json"])
def test_deleted_piece_of_a_reduction_is_made_again(grid: Grid, stem: str) -> None:
    grid.fill()
    first = grid.reduce()
    before = {e.key for e in grid.store.list("")}
    for entry in list(grid.store.list(f"{first.folder}/{stem}")):
        grid.store.delete(entry.key)
    assert grid.reduce() == first
    assert {e.key for e in grid.store.list("")} == before


@pytest.mark.parametrize("text", [b"", b"{}", b"[]", b"7", b'{"items":5}'])
def test_spoilt_account_of_a_reduction_is_told_and_made_again(grid: Grid, text: bytes) -> None:
    grid.fill()
    first = grid.reduce()
    grid.store.put(f"{first.folder}/inputs.json", text)
    with pytest.raises(UserError, match=f"reduction '{first.id}' is not whole .* `mixgrid reduce MANIFEST` makes it"):
        load(grid.store, NS, first.id)
    assert grid.reduce() == first


def test_missing_part_is_an_incomplete_cell(grid: Grid) -> None:
    rows = grid.fill()
    (lost, *_) = grid.store.parts(f"{NS}/predictions").whole
    grid.store.delete(lost.key)
    result = grid.reduce()
    assert joined(result)["missing"] == lost.rows
    score = find(result.scores, "accuracy")
    assert score.n < score.expected
    assert result.incomplete == 1
    assert any("planned and not answered yet" in warning for warning in result.warnings)
    assert joined(result)["answered"] == len(rows) - lost.rows


def test_limited_plan_is_an_incomplete_cell(tmp_path: Path) -> None:
    grid = Grid(Store.open(str(tmp_path)))
    grid.freeze(limit=12)
    grid.fill()
    score = find(grid.reduce().scores, "accuracy")
    assert (score.n, score.expected) == (12, 40)


def test_doubled_part_changes_nothing(grid: Grid) -> None:
    rows = grid.fill()
    before = grid.reduce()
    grid.put(rows[:30])
    after = grid.reduce()
    assert after.scores == before.scores
    assert (joined(after)["duplicate"], joined(after)["superseded"]) == (30, 0)


@pytest.mark.parametrize("size", [11, 1000], ids=["in two parts", "in one part"])
def test_second_answer_to_a_request_has_one_winner(grid: Grid, tmp_path: Path, size: int) -> None:
    rows = grid.fill()
    again = [
        dataclasses.replace(row, text="altceva", created_at=row.created_at + timedelta(hours=1), row_sha256="")
        for row in rows[:40]
    ]
    key = grid.put(again)
    first = grid.reduce()
    assert (joined(first)["superseded"], joined(first)["duplicate"]) == (40, 0)
    winners = {
        row.item_id: min(row, other, key=lambda r: r.row_sha256) for row, other in zip(rows[:40], again, strict=True)
    }
    gold = {item.item_id: int(item.label == "satire") for item in grid.items}
    expected = sum(c == gold[i] for i, c in zip(winners, codes(winners.values()), strict=True)) / 40
    assert find(first.scores, "accuracy").per_seed[0] == pytest.approx(expected)
    assert 0 < sum(row.text == "altceva" for row in winners.values()) < 40
    # the same rows in any order, some of them twice in one part
    grid.store.delete(key)
    other = Grid(Store.open(str(tmp_path / "other")))
    other.freeze()
    mixed = [*again, *rows]
    random.Random(3).shuffle(mixed)
    for start in range(0, len(mixed), size):
        other.put(mixed[start : start + size])
    second = other.reduce()
    assert second.scores == first.scores
    assert second.inputs["joined"] == first.inputs["joined"]


def test_row_with_another_prompt_hash_is_left_out_by_name(grid: Grid) -> None:
    rows = [row for run in grid.runs for row in grid.answers(run)]
    rows[0] = dataclasses.replace(rows[0], prompt_sha256=digest(["another prompt"]), row_sha256="")
    grid.put(rows)
    result = grid.reduce()
    assert (joined(result)["prompt_differs"], joined(result)["missing"]) == (1, 1)
    assert any("1 rows were made from another prompt" in w for w in result.warnings)


def test_rows_of_an_old_plan_are_counted_and_not_read(grid: Grid) -> None:
    rows = grid.fill()
    before = grid.reduce()
    old = [dataclasses.replace(r, request_id=digest(["old", r.request_id])[:32], row_sha256="") for r in rows[:9]]
    grid.put(old)
    after = grid.reduce()
    assert after.scores == before.scores
    assert joined(after)["other_plan"] == 9


def test_row_about_another_text_is_refused_unless_allowed(grid: Grid) -> None:
    rows = [row for run in grid.runs for row in grid.answers(run)]
    rows[5] = dataclasses.replace(rows[5], item_hash=digest(["another text"]), row_sha256="")
    grid.put(rows)
    with pytest.raises(UserError, match="1 item_differs"):
        grid.reduce()
    result = grid.reduce(Options(draws=Draws(0), allow_changed_items=True))
    assert (joined(result)["item_differs"], joined(result)["missing"]) == (1, 1)
    assert find(result.scores, "accuracy").n == 39


def test_plan_about_another_snapshot_is_refused(grid: Grid) -> None:
    grid.fill()
    grid.items[3] = dataclasses.replace(grid.items[3], text="alt text", item_hash="")
    with pytest.raises(UserError, match="plan_item_differs"):
        grid.reduce()


def test_torn_and_foreign_files_are_warnings(grid: Grid) -> None:
    rows = grid.fill()
    before = grid.reduce()
    folder = predictions_folder(NS, grid.runs[0])
    whole = grid.put([answer(grid.runs[0], request_for(grid.runs[0], grid.items[0]), "alt")])
    data = grid.store.get(whole)
    grid.store.put(whole, data[:-20])
    grid.store.put(f"{folder}/notes.txt", b"mine")
    after = grid.reduce()
    assert after.scores == before.scores
    assert any("torn" in w and whole in w for w in after.warnings)
    assert any("foreign" in w and "notes.txt" in w for w in after.warnings)
    grid.store.put(whole, data[:-20] + b"x" * 20)  # the right size, other bytes
    spoilt = grid.reduce()
    assert spoilt.scores == before.scores
    assert any("does not hold the bytes" in w for w in spoilt.warnings)
    assert grid.store.exists(whole)
    assert joined(spoilt)["rows"] == len(rows)


def test_vote_and_baselines_stand_beside_the_scores(grid: Grid) -> None:
    rows = grid.fill()
    scores = grid.reduce().scores
    gold = {item.item_id: int(item.label == "satire") for item in grid.items}
    votes: dict[str, list[int]] = {}
    for row, code in zip(rows, codes(rows), strict=True):
        votes.setdefault(row.item_id, []).append(code)
    strict = sum(v.count(gold[i]) > 1 for i, v in votes.items()) / 40
    assert find(scores, "accuracy_vote_strict").value == pytest.approx(strict)
    factual = sum(g == 0 for g in gold.values()) / 40
    assert find(scores, "accuracy", model=BASELINE, setting="all factual").value == pytest.approx(factual)
    assert find(scores, "accuracy", model=BASELINE, setting="majority").value == pytest.approx(
        max(factual, 1 - factual)
    )
    assert find(scores, "accuracy", model=BASELINE, setting="random").value == pytest.approx(0.5)


def test_interval_holds_the_value_and_is_the_same_twice(grid: Grid, tmp_path: Path) -> None:
    grid.items = make_items(60)
    grid.freeze()
    grid.fill()
    options = Options(draws=Draws(500))
    score = find(grid.reduce(options).scores, "macro_f1")
    assert score.ci_low is not None
    assert score.ci_high is not None
    assert score.value is not None
    assert score.ci_low < score.value < score.ci_high
    assert "resamples:500" in score.signature
    assert score.design_effect is not None
    assert score.effective_n == pytest.approx(score.n / score.design_effect)


def test_one_class_slice_has_no_macro_f1(tmp_path: Path) -> None:
    items = [dataclasses.replace(i, label="factual") for i in make_items() if i.language != "ro-de"]
    items += [i for i in make_items() if i.language == "ro-de"]
    grid = Grid(Store.open(str(tmp_path)), items)
    grid.freeze()
    grid.fill()
    scores = grid.reduce(Options(draws=Draws(200))).scores
    one = find(scores, "macro_f1", "ro-en", "phrase")
    assert (one.value, one.note, one.sd_over_seeds, one.ci_low) == (None, "n/a (1 class of 2)", None, None)
    assert find(scores, "accuracy", "ro-en", "phrase").value is not None
    assert find(scores, "macro_f1").value is not None


def test_seed_without_rows_is_named(grid: Grid) -> None:
    grid.put(grid.answers(grid.runs[0]))
    score = find(grid.reduce().scores, "accuracy")
    assert score.value == score.per_seed[0]
    assert score.per_seed[1:] == (None, None)
    assert score.n == 0
    assert "seed 2" in score.note


def test_run_without_a_plan_is_a_warning(grid: Grid) -> None:
    grid.fill()
    grid.runs.append(make_run(model="big"))
    result = grid.reduce()
    assert any("mini.satire.big.zero-shot.s1 has no frozen plan" in w for w in result.warnings)
    assert {s.model for s in result.scores} == {"tiny", BASELINE}


def test_two_plans_of_one_cell_and_seed_are_refused(grid: Grid) -> None:
    grid.runs.append(make_run(1, run_id="mini.satire.tiny.other"))
    with pytest.raises(UserError, match="same cell and seed"):
        grid.reduce()


def test_two_requests_for_one_item_are_refused(grid: Grid) -> None:
    request = request_for(grid.runs[0], grid.items[0])
    other = dataclasses.replace(request, request_id=digest(["other"])[:32])
    grid.store.put_table(run_folder(NS, grid.runs[0].run_id), "requests", to_table(Request, [other]))
    with pytest.raises(UserError, match="two requests for one item"):
        grid.reduce()


def test_unparsed_answers_are_shown(grid: Grid) -> None:
    rows = grid.fill()
    (cell,) = grid.reduce().inputs["unparsed"]
    unparsed = sum(row.status == "ok" and row.text == "nu știu" for row in rows)
    assert cell["rows"] == unparsed
    assert cell["top"][0]["rows"] == unparsed
    assert "nu știu" in cell["top"][0]["text"]


def test_a_cell_with_rows_that_kill_the_engine_is_marked(grid: Grid) -> None:
    rows = [row for run in grid.runs for row in grid.answers(run)]
    assert not any("engine_death" in warning for warning in grid.reduce().warnings)
    deadly = [replace(row, status="failed", reason="engine_death", text="") for row in rows[:2]]
    grid.put([*deadly, *rows[2:]])
    (mark,) = (warning for warning in grid.reduce().warnings if "engine_death" in warning)
    assert mark.startswith("mini · satire · tiny · zero-shot: 2 rows killed the engine and are failed (engine_death)")


def test_items_table_traces_a_cell(grid: Grid) -> None:
    rows = grid.fill()
    result = grid.reduce()
    tables = [grid.store.read(key) for key in result.inputs["items"]]
    items = pa.concat_tables([t.replace_schema_metadata().unify_dictionaries() for t in tables])
    assert items.num_rows == len(rows)
    failed = {(r.run_id, r.item_id) for r in rows if r.status == "failed"}
    found = {(r["run_id"], r["item_id"]) for r in items.to_pylist() if r["status"] == "failed: too_long"}
    assert found == failed
    assert all(sum(r["statistics"]) == 1 for r in items.to_pylist())


def test_scores_are_stored_with_the_records_schema(grid: Grid) -> None:
    grid.fill()
    result = grid.reduce()
    table = grid.store.read(result.inputs["scores"])
    assert table.schema == schema(Score)
    assert tuple(from_table(Score, table)) == result.scores


@pytest.mark.ray
def test_ray_gives_the_same(grid: Grid, tmp_path: Path) -> None:
    ray = pytest.importorskip("ray")
    grid.fill()
    here = grid.reduce()
    other = Grid(Store.open(str(tmp_path / "other")))
    other.freeze()
    other.fill()
    ray.init(  # "local": a head that another test killed may have left its address behind
        address="local", num_cpus=1, include_dashboard=False, logging_level="ERROR", log_to_driver=False
    )
    try:
        assert other.reduce(Options(draws=Draws(0), on_ray=True)).scores == here.scores
    finally:
        ray.shutdown()


@pytest.mark.ray
def test_an_encoder_s_parts_are_judged_on_actors_that_hold_a_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = pytest.importorskip("ray")
    grids = [Grid(Store.open(str(tmp_path / name))) for name in ("here", "there")]
    for grid in grids:
        grid.freeze()
        grid.fill()
    monkeypatch.setattr(Judge, "embeds", True)  # the canned encoder of these tests is none
    monkeypatch.setattr("mixgrid.reduce.mapping.TASK_ROWS", 20)
    seen: list[float] = []

    def watched(*given: Any, **named: Any) -> Iterator[pa.Table]:
        for table in judged_parts(*given, **named):
            seen.append(ray.available_resources().get("GPU", 0.0))
            yield table

    monkeypatch.setattr("mixgrid.reduce.judged_parts", watched)
    ray.init(
        address="local", num_cpus=2, num_gpus=2, include_dashboard=False, logging_level="ERROR", log_to_driver=False
    )
    try:
        there = grids[1].reduce(replace(QUICK, on_ray=True)).scores
    finally:
        ray.shutdown()
    monkeypatch.setattr("mixgrid.reduce.judged_parts", judged_parts)
    assert there == grids[0].reduce().scores
    assert min(seen) == 0.0
