"""The dialogue-topic task: five classes, their names in the dialogues' languages, and no hint in the prompt."""

import dataclasses

import pytest

from mixgrid.prompts import render
from mixgrid.records import Item, Turn
from mixgrid.tasks.base import Raw
from mixgrid.tasks.dialogue_topic import DIALOGUE_TOPIC

ITEM = Item(
    "toy", "1", "d1", None, "d1", "test", "su-id-en", "none", 0, turns=(Turn("0", "A", "ujian jam sabaraha?"),),
    topic="final exams", label="Education",
)  # fmt: skip


def prompt(setting: str = "0-shot", shots: tuple[Item, ...] = ()) -> str:
    context = DIALOGUE_TOPIC.context(ITEM, DIALOGUE_TOPIC.order(ITEM), shots)
    (message,) = render(DIALOGUE_TOPIC.settings[setting].template, context)
    return message.content


def read(topic: str) -> tuple[str, str | None]:
    parsed = DIALOGUE_TOPIC.parse(Raw(f'{{"topic": "{topic}"}}'), DIALOGUE_TOPIC.classes)
    return parsed.status, parsed.value


def test_the_classes_are_the_papers() -> None:
    assert DIALOGUE_TOPIC.classes == (
        "Science/Technology",
        "Entertainment",
        "Social/Culture",
        "Education",
        "Daily Life",
    )
    assert not DIALOGUE_TOPIC.accepts(dataclasses.replace(ITEM, label="Sports"))
    assert not DIALOGUE_TOPIC.accepts(dataclasses.replace(ITEM, turns=(), item_hash=""))


def test_the_topic_that_the_speakers_were_given_is_not_shown() -> None:
    assert "final exams" not in prompt()
    assert "explanation" not in prompt()
    assert '{"explanation": "<why>", "topic": "<name>"}' in prompt("0-shot-reasoning")


def test_classes_stand_in_the_recorded_order() -> None:
    text = prompt()
    places = [text.index(f"- {name} (") for name in DIALOGUE_TOPIC.order(ITEM)]
    assert places == sorted(places)


def test_an_example_shows_dialogue_and_topic() -> None:
    shot = dataclasses.replace(ITEM, turns=(Turn("0", "B", "contoh"),), label="Daily Life", item_hash="")
    assert "Example dialogue:\nB: contoh\nIts topic is Daily Life.\n\nDialogue:\nA: ujian" in prompt("1-shot", (shot,))


@pytest.mark.parametrize(
    ("spelling", "value"),
    [
        ("Science/Technology", "Science/Technology"), ("science & technology", "Science/Technology"),
        ("Sains dan Teknologi", "Science/Technology"), ("العلوم والتكنولوجيا", "Science/Technology"),
        ("ENTERTAINMENT.", "Entertainment"), ("Nishadi", "Entertainment"), ("nishaɗi", "Entertainment"),
        ("Social / Culture", "Social/Culture"), ("société/culture", "Social/Culture"), ("Soc/Cul", "Social/Culture"),
        ("Pendidikan", "Education"), ("Education", "Education"), ("التعليم", "Education"),
        ("daily-life", "Daily Life"), ("Kehidupan sehari-hari", "Daily Life"), ("Vie quotidienne", "Daily Life"),
    ],
)  # fmt: skip
def test_names_in_the_languages_of_the_dialogues_are_read(spelling: str, value: str) -> None:
    assert read(spelling) == ("ok", value)


@pytest.mark.parametrize(
    ("topic", "status"),
    [
        ("Science/Technology or Education", "ambiguous"), ("Education, Daily Life", "ambiguous"),
        ("Culture", "invalid_label"), ("Technology", "invalid_label"), ("Sports", "invalid_label"),
        ("Educational matters", "invalid_label"), ("not Education", "invalid_label"), ("<name>", "invalid_label"),
        ("-", "empty"),
    ],
)  # fmt: skip
def test_part_of_a_name_or_two_names_are_no_answer(topic: str, status: str) -> None:
    assert read(topic) == (status, None)


@pytest.mark.parametrize("setting", sorted(DIALOGUE_TOPIC.settings))
def test_copying_the_prompt_is_no_answer(setting: str) -> None:
    assert DIALOGUE_TOPIC.parse(Raw(prompt(setting, (ITEM,))), DIALOGUE_TOPIC.order(ITEM)).value is None
