"""What a grid's product has and the grid does not: exceptions, regional models, models that cannot be told to think."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from mixgrid.errors import UserError
from mixgrid.manifest import ModelEntry
from mixgrid.plan.cells import NO_SWITCH
from mixgrid.plan.decoding import decoding, design_warnings
from mixgrid.plan.grid import Grid, resolve
from mixgrid.plan.summary import grid_warnings, summary
from tests.helpers import TOY, open_grid, small_grid

BOTH = ["zero-shot", "chain-of-thought"]
SETTINGS = ["0-shot", "0-shot-thinking", "1-shot"]


def topics(folder: Path, root: Path, *, toy: dict[str, Any] | None = None, **changes: Any) -> Path:
    """A grid on the shipped dialogues, three combinations of one dialogue each."""
    path = small_grid(folder, tasks=["dialogue-topic"], models={"toy": {**TOY, **(toy or {})}}, **changes)
    place = root / "manifests"
    shutil.copytree(place / "samples", path.parent / "samples", dirs_exist_ok=True)
    entry = yaml.safe_load((place / "corpora.yaml").read_text("utf-8"))["corpora"]["dialogue-topic-sample"]
    (path.parent / "corpora.yaml").write_text(yaml.safe_dump({"corpora": {"mini": entry}}), "utf-8")
    return path


def open_topics(folder: Path, root: Path, **changes: Any) -> Grid:
    return resolve(topics(folder, root, **{"settings": SETTINGS, "seeds": [1], **changes}), str(folder / "store"))


# Exceptions of the manifest


def test_what_the_manifest_leaves_out_is_no_run(tmp_path: Path) -> None:
    rules = [{"settings": ["chain-of-thought"], "seeds": [2]}, {"models": ["two"], "settings": ["zero-shot"]}]
    grid = open_grid(tmp_path, settings=BOTH, models={"two": TOY}, asked=["toy", "two"], leave_out=rules)
    assert {(run.model, run.setting, run.seed) for run in grid.runs} == {
        ("toy", "zero-shot", 1), ("toy", "zero-shot", 2), ("toy", "chain-of-thought", 1), ("two", "chain-of-thought", 1)
    }  # fmt: skip
    (gone,) = grid.absent()
    assert (gone.model, gone.setting, gone.language, gone.why) == (
        "two", "zero-shot", "all", "the manifest leaves it out"
    )  # fmt: skip


def test_an_exception_changes_no_other_run(tmp_path: Path) -> None:
    whole = open_grid(tmp_path / "a", settings=BOTH)
    less = open_grid(tmp_path / "b", settings=BOTH, leave_out=[{"settings": ["zero-shot"], "seeds": [2]}])
    assert {run.run_id for run in less.runs} < {run.run_id for run in whole.runs}


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ({"models": ["tox"]}, "key 'leave_out.0.models': 'tox' is not in this grid; did you mean 'toy'? Allowed: toy"),
        ({"seeds": [7]}, "key 'leave_out.0.seeds': '7' is not in this grid; Allowed: 1, 2"),
        ({"corpora": ["max"]}, "key 'leave_out.0.corpora': 'max' is not in this grid"),
        ({"model": ["toy"]}, "unknown key 'leave_out.0.model'; did you mean 'models'?"),
        ({}, "can be asked by task 'satire' with these models and settings; every cell is left out ("),
        ({"settings": ["zero-shot"]}, "with these models and settings; every cell is left out ("),
    ],
)
def test_an_exception_that_names_nothing_or_leaves_nothing_is_refused(
    tmp_path: Path, rule: dict[str, Any], says: str
) -> None:
    with pytest.raises(UserError) as caught:
        open_grid(tmp_path, leave_out=[rule])
    assert says in str(caught.value)
    assert "grid.yaml: " in str(caught.value)


# Regional models


def test_languages_that_a_regional_model_is_not_for_are_no_cells(tmp_path: Path) -> None:
    grid = open_grid(tmp_path, models={"toy": {**TOY, "languages": ["ro-en", "ro-fr"]}})
    (gone,) = grid.absent()
    assert (gone.model, gone.setting, gone.language) == ("toy", "all", "ro")
    assert gone.why == "a model for ro-en, ro-fr"
    assert summary(grid).cells == 1


def test_a_regional_model_with_no_language_here_has_no_run(tmp_path: Path) -> None:
    models = {"two": {**TOY, "languages": ["ar-dz-fr"]}}
    grid = open_grid(tmp_path, models=models, asked=["toy", "two"])
    assert {run.model for run in grid.runs} == {"toy"}
    assert {(gone.model, gone.language) for gone in grid.absent()} == {("two", "ro"), ("two", "ro-en")}


# Thinking


def test_a_model_without_a_switch_has_no_thinking_cells_and_the_plan_says_so(tmp_path: Path, root: Path) -> None:
    grid = open_topics(tmp_path, root)
    assert {run.setting for run in grid.runs} == {"0-shot", "1-shot"}
    assert {(gone.setting, gone.why) for gone in grid.absent()} == {("0-shot-thinking", NO_SWITCH)}
    found = summary(grid)
    (warning,) = found.warnings
    assert warning.startswith("no thinking switch for toy/0-shot-thinking: these cells do not exist (–)")
    assert found.unique_requests == found.requests


def test_a_model_with_a_switch_thinks_and_is_asked_another_request(tmp_path: Path, root: Path) -> None:
    grid = open_topics(tmp_path, root, toy={"thinking_switch": "enable_thinking"})
    assert [run.setting for run in grid.runs] == SETTINGS
    assert not grid.absent()
    assert not summary(grid).warnings
    assert len({run.run_digest for run in grid.runs}) == 2  # with thinking, and without


def test_a_grid_of_thinking_alone_needs_a_model_that_can(tmp_path: Path, root: Path) -> None:
    with pytest.raises(UserError, match=r"task 'dialogue-topic' .*; every cell is left out \(no thinking"):
        open_topics(tmp_path, root, settings=["0-shot-thinking"])


def test_thinking_is_sampled_by_its_own_line_under_the_manifest_s(tmp_path: Path, root: Path) -> None:
    lines = {
        "default": {"temperature": 0.1, "top_k": 3, "max_tokens": 50},
        "dialogue-topic": {"temperature": 0.7},
        "dialogue-topic/thinking": {"temperature": 0.6, "max_tokens": 900},
        "dialogue-qa/thinking": {"temperature": 0.2},
    }
    toy = {"thinking_switch": "enable_thinking", "sampling": lines}
    grid = open_topics(tmp_path, root, toy=toy, sampling=[{"setting": "1-shot", "max_tokens": 60}])
    found = {run.setting: run.sampling for run in grid.runs}
    assert (found["0-shot"].temperature, found["0-shot"].max_tokens) == (0.7, 50)
    assert (found["0-shot-thinking"].temperature, found["0-shot-thinking"].max_tokens) == (0.6, 900)
    assert {sampling.top_k for sampling in found.values()} == {3}
    assert found["1-shot"].max_tokens == 60


def test_thinking_at_temperature_0_is_warned_of(tmp_path: Path, root: Path) -> None:
    grid = open_topics(tmp_path, root, toy={"thinking_switch": "enable_thinking"}, sampling=[{"temperature": 0}])
    (warning,) = grid_warnings(grid)
    assert "temperature 0 for toy/0-shot-thinking: thinking that is decoded greedily" in warning


# Decoding, as the plan prints it


def test_the_decoding_table_has_a_row_for_each_model_task_and_setting(tmp_path: Path) -> None:
    layers = [{"temperature": 0.7, "stop": ["\n"]}, {"setting": "chain-of-thought", "temperature": 0.2, "top_p": 0.5}]
    rows = decoding(open_grid(tmp_path, settings=BOTH, sampling=layers).runs)
    assert [(row.model, row.task, row.setting) for row in rows] == [("toy", "satire", setting) for setting in BOTH]
    assert [str(row) for row in rows] == [
        "temperature 0.7, max_tokens 2048, stop ('\\n',)",
        "temperature 0.2, top_p 0.5, max_tokens 2048, stop ('\\n',)",
    ]
    assert not list(design_warnings(rows, [], seeds=3))


# Entries that nothing can answer for yet, and few-shot examples that are not there


@pytest.mark.parametrize("entry", [{"engine": "classical"}, {"engine": "encoder"}, {"adapter": "adapters/x"}])
def test_an_entry_that_nothing_here_answers_for_is_refused_with_the_way_out(
    tmp_path: Path, entry: dict[str, Any]
) -> None:
    key = next(iter(entry))
    with pytest.raises(
        UserError, match=rf"model 'toy', key '{key}'.*leave it out of the grid: `mixgrid plan` sizes it"
    ) as caught:
        open_grid(tmp_path, models={"toy": {**TOY, **entry}})
    assert caught.value.exit_code == 2
    assert not (tmp_path / "store").exists()


def test_effort_is_a_part_of_the_request(tmp_path: Path) -> None:
    digests = [
        open_grid(tmp_path / str(n), models={"toy": {**TOY, **entry}}).runs[0].run_digest
        for n, entry in enumerate([{}, {"reasoning_effort": "low"}, {"reasoning_effort": "medium"}])
    ]
    assert len(set(digests)) == 3
    assert ModelEntry(**TOY).reasoning_effort is None


def test_too_few_examples_are_told_before_anything_is_written(tmp_path: Path, root: Path) -> None:
    path = topics(tmp_path, root, settings=["1-shot"], seeds=[1])
    file = path.parent / "samples" / "dialogues.json"
    file.write_text(file.read_text("utf-8").replace('"split": "train"', '"split": "test"'), "utf-8")
    with pytest.raises(UserError, match=r"setting '1-shot' shows 1 examples, and for item '.*' there are 0"):
        resolve(path, str(tmp_path / "store"))
    assert not (tmp_path / "store").exists()
