"""A template that drops what it is to show is refused by name, before anything is written."""

from dataclasses import replace
from pathlib import Path

import pytest

from mixgrid.errors import UserError
from mixgrid.plan.grid import resolve
from mixgrid.plan.shown import dropped
from mixgrid.prompts import SHIPPED, Prompts
from mixgrid.records import Item, Turn
from mixgrid.tasks import TASKS
from tests.helpers import own_template, small_grid


def dialogue(name: str) -> Item:
    return Item(
        corpus="c", item_id=name, source_id=name, twin_id=None, cluster_id=name, split="test", language="id-en",
        switching="none", variant=0, text=None, turns=(Turn("0", "A", f"kapan {name}?"),), topic="plans",
        question=f"When is {name}?", options=("Senin", "Selasa", "No correct answer"), label="Senin",
        references=("A asks when.",),
    )  # fmt: skip


def lost(folder: Path, task: str, setting: str, body: str) -> list[str]:
    """What a template of the user's own drops."""
    file = folder / TASKS[task].settings[setting].template
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{{% set version = '9' %}}{{% block user %}}{body}{{% endblock %}}", "utf-8")
    return dropped(Prompts(folder), TASKS[task], TASKS[task].settings[setting], dialogue("a"), [dialogue("b")])


def test_a_template_without_the_text_is_refused_by_name(tmp_path: Path) -> None:
    path = small_grid(tmp_path, templates=own_template(tmp_path, "Satiră sau factual? {{ classes | join }}"))
    with pytest.raises(
        UserError, match=r"grid.yaml: key 'templates': template 'satire/zero-shot.jinja' never shows 'text'"
    ):
        resolve(path, str(tmp_path / "store"))
    assert not (tmp_path / "store").exists()


def test_what_a_template_shows_in_its_own_way_is_shown(tmp_path: Path) -> None:
    path = small_grid(tmp_path, templates=own_template(tmp_path, "{{ (text | upper | json)[:-1] }}"))
    assert resolve(path, str(tmp_path / "store")).runs


@pytest.mark.parametrize(
    ("setting", "body", "names"),
    [
        ("0-shot", "{{ dialogue }} {{ question }} {{ options }}", []),
        ("0-shot", "{{ question }} {% for o in options.values() %}{{ o }}{% endfor %}", ["dialogue"]),
        ("0-shot", "{{ dialogue }} {{ options }}", ["question"]),
        ("0-shot", "{{ dialogue }} {{ question }}", ["options"]),
        ("1-shot", "{{ dialogue }} {{ question }} {{ options }}", ["examples"]),
    ],
)
def test_each_thing_that_is_dropped_is_named(tmp_path: Path, setting: str, body: str, names: list[str]) -> None:
    assert lost(tmp_path, "dialogue-qa", setting, body) == names


def test_no_dialogue_is_none_to_drop(tmp_path: Path) -> None:
    """As in a corpus of questions alone."""
    task = TASKS["dialogue-qa"]
    bare = replace(dialogue("a"), turns=(), item_hash="")
    assert dropped(Prompts(SHIPPED), task, task.settings["0-shot"], bare, ()) == []
