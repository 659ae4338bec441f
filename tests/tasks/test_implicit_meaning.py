"""The implicit-meaning task: four labels in the paper's order, each 0 or 1, in strict JSON."""

import dataclasses

import pytest

from mixgrid.prompts import render
from mixgrid.records import Flag, Item
from mixgrid.tasks.base import Raw
from mixgrid.tasks.implicit_meaning import IMPLICIT_MEANING, LABELS

FLAGS = tuple(Flag(name, name == "vulgar") for name in reversed(LABELS))
ITEM = Item("toy", "1", "1", None, "1", "test", "bn-en", "none", 0, text="ki {osthir} post 🙂 <b>", flags=FLAGS)
GOLD = '{"humorous":0,"sarcastic":0,"offensive":0,"vulgar":1}'


def prompt(item: Item = ITEM) -> str:
    (message,) = render(IMPLICIT_MEANING.settings["zero-shot"].template, IMPLICIT_MEANING.context(item, LABELS, ()))
    return message.content


def test_labels_stand_in_the_papers_order_whatever_the_order_of_the_columns() -> None:
    assert LABELS == ("humorous", "sarcastic", "offensive", "vulgar")
    assert IMPLICIT_MEANING.gold(ITEM) == GOLD
    places = [prompt().index(f"\n{name}: 1 if") for name in LABELS]
    assert places == sorted(places)
    assert "Bengali-English" in prompt()


def test_the_post_stands_last_and_as_it_is() -> None:
    assert prompt().endswith(f"Post: {ITEM.text}")


def test_copying_the_prompt_is_no_answer() -> None:
    assert IMPLICIT_MEANING.parse(Raw(prompt()), LABELS).value is None


@pytest.mark.parametrize(
    "text",
    [
        GOLD,
        '{"Vulgar": 1, "Offensive": 0, "Sarcastic": 0, "Humorous": 0}',
        'Sure.\n```json\n{"humorous": false, "sarcastic": false, "offensive": false, "vulgar": true, "why": "x"}\n```',
        f'{{"humorous":1,"sarcastic":1,"offensive":1,"vulgar":1}} No: {GOLD}',
    ],
)
def test_the_last_full_object_counts(text: str) -> None:
    assert IMPLICIT_MEANING.parse(Raw(text), LABELS).value == GOLD


@pytest.mark.parametrize(
    ("text", "status", "note"),
    [
        (GOLD.replace(":1}", ":2}"), "invalid_label", "vulgar: 2"),
        (GOLD.replace(":1}", ':"yes"}'), "invalid_label", 'vulgar: "yes"'),
        (GOLD.replace(":1}", ":NaN}"), "bad_format", "NaN"),
        (GOLD.replace(":1}", ":null}"), "invalid_label", "vulgar: null"),
        (GOLD.replace(":1}", ':1,"Vulgar":0}'), "bad_format", "duplicate key"),
        ('{"humorous":1}', "bad_format", "no key 'sarcastic'"),
        ("humorous: 1, sarcastic: 0, offensive: 0, vulgar: 0", "bad_format", "no JSON object"),
    ],
)
def test_what_is_not_four_binary_labels_is_refused_by_name(text: str, status: str, note: str) -> None:
    parsed = IMPLICIT_MEANING.parse(Raw(text), LABELS)
    assert (parsed.status, parsed.value) == (status, None)
    assert note in parsed.note


def test_a_post_without_all_four_labels_is_not_for_this_task() -> None:
    assert IMPLICIT_MEANING.accepts(ITEM)
    assert not IMPLICIT_MEANING.accepts(dataclasses.replace(ITEM, flags=FLAGS[:3]))
    assert not IMPLICIT_MEANING.accepts(dataclasses.replace(ITEM, text=" ", item_hash=""))
