"""Thinking on and off, from the setting to the row: what asks for none holds none, and the rows say what was folded."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mixgrid.engines.base import Ask, EngineSpec
from mixgrid.parse import thoughts
from mixgrid.records import Answer, Prediction
from mixgrid.tasks import TASKS
from mixgrid.tasks.base import Raw
from tests.helpers import TOY, ask, open_grid, predictions
from tests.plan.test_cells import open_topics

SETTINGS = ["0-shot", "0-shot-reasoning", "0-shot-thinking"]


class Thinker:
    """Answers as a model whose template knows `enable_thinking`: on where nothing is said, as Qwen3's."""

    fingerprint = "thinker"

    def __init__(self, spec: EngineSpec) -> None:
        self.switch = spec.entry.thinking_switch

    def answer(self, asks: Sequence[Ask]) -> list[Answer]:
        off = [self.switch is not None and one.thinking is False for one in asks]
        texts = ['{"topic": "Education"}' if quiet else '<think>hm</think>{"topic": "Education"}' for quiet in off]
        return [Answer(text, finish_reason="stop") for text in texts]

    def close(self) -> None:
        """Nothing to free."""


def reasoned(row: Prediction) -> bool:
    return bool(row.reasoning or thoughts(row.text))


def test_rows_that_ask_for_no_thinking_hold_none(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mixgrid.actor.build", Thinker)
    grid = open_topics(tmp_path, root, settings=SETTINGS, toy={"thinking_switch": "enable_thinking"})
    ask(grid)
    found = {setting: [reasoned(row) for row in predictions(grid) if row.setting == setting] for setting in SETTINGS}
    assert all(len(rows) == len(grid.groups[0].items) for rows in found.values())
    assert {setting: set(rows) for setting, rows in found.items()} == {
        "0-shot": {False}, "0-shot-reasoning": {False}, "0-shot-thinking": {True}
    }  # fmt: skip


def test_an_answer_after_thinking_is_read_as_one_without(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mixgrid.actor.build", Thinker)
    grid = open_topics(tmp_path, root, settings=SETTINGS, toy={"thinking_switch": "enable_thinking"})
    ask(grid)
    read = [
        TASKS[row.task].parse(Raw(row.text, row.reasoning, row.finish_reason), row.order) for row in predictions(grid)
    ]
    assert {(one.status, one.value) for one in read} == {("ok", "Education")}


@pytest.mark.parametrize(("role", "folded"), [(True, False), (False, True)])
def test_a_folded_system_text_is_recorded_in_the_row(tmp_path: Path, role: bool, folded: bool) -> None:
    """No shipped template has a system text, so one with it is put over the shipped."""
    place = tmp_path / "manifests" / "prompts" / "satire"
    place.mkdir(parents=True)
    blocks = {"system": "Ești atent.", "user": "{{ text }}", "target": "x"}
    body = "".join(f"{{% block {name} %}}{text}{{% endblock %}}\n" for name, text in blocks.items())
    (place / "zero-shot.jinja").write_text("{% set version = '1' %}\n" + body, "utf-8")
    toy: dict[str, Any] = {**TOY, "system_role": role}
    grid = open_grid(tmp_path, templates="prompts", models={"toy": toy}, seeds=[1])
    ask(grid)
    assert {row.system_folded for row in predictions(grid)} == {folded}
