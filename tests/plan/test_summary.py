"""`mixgrid plan` in numbers: what would be asked, what is there, and how sure the token count is."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from mixgrid.plan import summary as module
from mixgrid.plan.grid import resolve
from mixgrid.plan.summary import summary
from tests.helpers import TOY, ask, corpus_rows, open_grid, small_grid

TOPIC = "Daily Life"


def keys(folder: Path) -> set[Path]:
    return set((folder / "store").rglob("*"))


def test_a_plan_counts_runs_cells_and_requests_and_writes_nothing(tmp_path: Path) -> None:
    grid = open_grid(tmp_path, seeds=[1, 2, 3], settings=["zero-shot", "chain-of-thought"])
    found = summary(grid)
    assert (found.runs, found.cells, found.requests, found.unique_requests) == (6, 4, 72, 72)
    assert (found.done, found.pending, found.reusable) == (0, 72, 0)
    assert found.max_completion_tokens == 72 * 32
    assert found.warnings == ()
    assert not keys(tmp_path)


def test_rows_that_are_there_are_done_and_counted_by_run(tmp_path: Path) -> None:
    grid = open_grid(tmp_path)
    ask(grid, 7)
    found = summary(grid)
    assert (found.done, found.pending) == (7, 17)
    assert sum(run.done for run in found.by_run) == 7
    assert all(run.done + run.pending == run.requests == 12 for run in found.by_run)


def test_three_seeds_at_temperature_zero_are_one_request_and_a_warning(tmp_path: Path) -> None:
    grid = open_grid(tmp_path, seeds=[1, 2, 3], sampling=[{"temperature": 0}])
    found = summary(grid)
    assert (found.requests, found.unique_requests) == (36, 12)
    (warning,) = found.warnings
    assert "temperature 0 for toy/zero-shot: 3 seeds are one and the same request" in warning
    assert not summary(open_grid(tmp_path, seeds=[1], sampling=[{"temperature": 0}])).warnings


def test_answers_of_other_runs_are_said_to_be_reusable(tmp_path: Path) -> None:
    rows = corpus_rows()
    ask(open_grid(tmp_path, rows=rows))
    found = summary(open_grid(tmp_path, rows=[{**rows[0], "label": "satire"}, *rows[1:]]))
    assert (found.done, found.pending, found.reusable) == (0, 24, 24)


def test_a_regional_model_s_other_languages_are_neither_cells_nor_requests(tmp_path: Path) -> None:
    found = summary(open_grid(tmp_path, models={"toy": {**TOY, "languages": ["ro"]}}))
    assert (found.cells, found.requests) == (1, 12)


def test_torn_and_foreign_files_are_warnings(tmp_path: Path) -> None:
    grid = open_grid(tmp_path)
    (receipt,) = ask(grid)
    grid.store.put(receipt.part, grid.store.get(receipt.part)[:100])
    grid.store.put("main/predictions/x.csv", b"a")
    found = summary(grid)
    assert [receipt.part in warning or "x.csv" in warning for warning in found.warnings] == [True, True]
    assert found.done == 0


def _tokens(folder: Path, exact: bool, **changes: Any) -> tuple[int, int]:
    found = summary(open_grid(folder, **changes), exact)
    return found.prompt_tokens, found.prompt_tokens_se


def test_a_sample_of_prompts_gives_the_tokens_within_its_own_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(1)
    rows = [{**row, "text": "vorbe " * draw.randint(1, 400)} for row in corpus_rows(150)]
    exact, none = _tokens(tmp_path, True, rows=rows)
    monkeypatch.setattr(module, "SAMPLE", 60)
    sampled, error = _tokens(tmp_path, False, rows=rows)
    assert none == 0
    assert error > 0
    assert 0 < abs(sampled - exact) < 4 * error


def test_each_seed_is_counted_again_in_the_tokens(tmp_path: Path) -> None:
    one, three = (_tokens(tmp_path, True, seeds=seeds)[0] for seeds in ([1], [1, 2, 3]))
    assert three == 3 * one > 0


def test_a_model_that_is_not_on_this_machine_is_planned_from_bytes_with_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    absent = {"engine": "vllm", "checkpoint": str(tmp_path / "absent"), "context_length": 1024}
    found = summary(open_grid(tmp_path, models={"toy": absent}))
    assert "tokens of toy are estimated from bytes" in found.warnings[0]
    assert "no such folder" in found.warnings[0]
    assert found.prompt_tokens > 0


def test_a_setting_with_examples_is_planned_from_the_corpus_outside_the_split(tmp_path: Path) -> None:
    path = _topics(tmp_path)
    found = summary(resolve(path, str(tmp_path / "store")))
    assert found.requests == 2


def _topics(folder: Path) -> Path:
    """A grid of one-shot topic questions: two dialogues in the split, two outside it."""
    path = small_grid(folder, tasks=["dialogue-topic"], settings=["1-shot"], seeds=[1])
    columns = {"item_id": "id", "split": "split", "language": "language", "label": "topic", "dialogue": "dialogue"}
    entry = {"reader": "table", "path": "mini.jsonl", "licence": "Apache-2.0", "tasks": ["dialogue-topic"]}
    (path.parent / "corpora.yaml").write_text(yaml.safe_dump({"corpora": {"mini": {**entry, "columns": columns}}}))
    rows = [
        {"id": str(n), "split": split, "language": "jv-id-en", "topic": TOPIC, "dialogue": f"Ani: piye {n}?\nBudi: ok"}
        for n, split in enumerate(["test", "test", "train", "train"])
    ]
    (path.parent / "mini.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return path
