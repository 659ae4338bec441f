"""The sample grid of all tasks, from its manifest to requests: examples drawn and recorded, prompts in prefix order."""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from mixgrid.plan.grid import Grid, Group, resolve
from mixgrid.plan.requests import Rendered, rendered, request_of


@pytest.fixture(scope="module")
def grid(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Grid:
    return resolve(root / "manifests" / "smoke_tasks.yaml", str(tmp_path_factory.mktemp("store")))


def asks(grid: Grid, group: Group) -> Iterator[Rendered]:
    return rendered(grid.prompts, group.task, group.setting, group.items, group.pool)


def test_every_task_has_its_groups(grid: Grid) -> None:
    assert {(group.task.name, group.setting.name) for group in grid.groups} == {
        ("satire", "zero-shot"), ("implicit-meaning", "zero-shot"),
        *((f"dialogue-{task}", f"{shots}-shot") for task in ("qa", "summary", "topic") for shots in (0, 1)),
    }  # fmt: skip
    assert all(group.items for group in grid.groups)


def test_examples_come_from_outside_the_split_and_are_recorded(grid: Grid) -> None:
    for group in grid.groups:
        outside = {item.item_id: item for item in group.pool}
        assert bool(outside) == bool(group.setting.shots)
        assert not any(item.split == "test" for item in group.pool)
        for ask in asks(grid, group):
            assert bool(ask.shot_ids) == bool(group.setting.shots)
            assert set(ask.shot_ids) <= set(outside)
            assert not {outside[i].cluster_id for i in ask.shot_ids} & {ask.item.cluster_id}
            request = request_of(group.runs[0], ask)
            assert (request.shot_ids, request.order) == (ask.shot_ids, ask.order)


def test_all_seeds_of_a_run_show_the_same_examples(root: Path, tmp_path: Path) -> None:
    """± over seeds is decoding noise: prompts, orders and examples do not depend on the run's seed."""
    manifest = (root / "manifests" / "smoke_tasks.yaml").read_text("utf-8").replace("seeds: [1]", "seeds: [1, 2, 3]")
    for name in ("models.yaml", "corpora.yaml", "samples"):
        (tmp_path / name).symlink_to(root / "manifests" / name)
    (tmp_path / "three.yaml").write_text(manifest, encoding="utf-8")
    grid = resolve(tmp_path / "three.yaml", str(tmp_path / "store"))
    for group in grid.groups:
        assert {run.seed for run in group.runs} == {1, 2, 3}
        for ask in asks(grid, group):
            requests = [request_of(run, ask) for run in group.runs]
            assert len({(r.prompt_sha256, r.order, r.shot_ids) for r in requests}) == 1
            sampled = group.runs[0].sampling.temperature > 0
            assert len({r.request_id for r in requests}) == (3 if sampled else 1)  # at T = 0 one answer serves all


def test_questions_of_a_dialogue_share_all_but_the_question(grid: Grid) -> None:
    """Sorted by text, as the plan sorts them, a dialogue's questions follow each other and share a long prefix."""
    (group,) = (g for g in grid.groups if (g.task.name, g.setting.name) == ("dialogue-qa", "1-shot"))
    ordered = sorted(asks(grid, group), key=lambda ask: ask.messages[0].content)
    sources = [ask.item.source_id for ask in ordered]
    assert sum(a != b for a, b in pairwise(sources)) == len(set(sources)) - 1
    for one, other in pairwise(ordered):
        if one.item.source_id == other.item.source_id:
            text = one.messages[0].content
            assert other.messages[0].content.startswith(text[: text.index("\nQuestion: ")])


def test_the_shipped_answer_forms_are_those_that_the_tasks_read(grid: Grid) -> None:
    """A form that the model is held to must let the right answer of every item through."""
    for group in grid.groups:
        form = group.runs[0].sampling.regex
        assert form
        if group.task.name == "dialogue-summary":
            continue  # free text, cut short for a small model
        for item in group.items:
            context = group.task.context(item, group.task.order(item), ())
            target = grid.prompts.target(group.setting.template, {**context, "answer": group.task.gold(item)})
            assert re.fullmatch(form, target), (form, target)
