"""The dialogue-summary task: the language and topic asked for, and examples that are summaries alone."""

import dataclasses
import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mixgrid.parse.base import visible
from mixgrid.prompts import render
from mixgrid.records import Item, Turn
from mixgrid.tasks.base import Raw, Setting
from mixgrid.tasks.dialogue_summary import DIALOGUE_SUMMARY
from mixgrid.tasks.shots import Shots

ITEM = Item(
    "toy", "1", "d1", None, "d1", "test", "ha-en", "none", 0, turns=(Turn("0", "A", "sannu, how far?"),),
    topic="farming", references=("", "Bayani na farko.", "Na biyu."),
)  # fmt: skip


def prompt(setting: str = "0-shot", item: Item = ITEM, shots: tuple[Item, ...] = ()) -> str:
    (message,) = render(DIALOGUE_SUMMARY.settings[setting].template, DIALOGUE_SUMMARY.context(item, (), shots))
    return message.content


@pytest.mark.parametrize(
    ("tag", "written"),
    [("id-en", "Indonesian"), ("jv-id-en", "Indonesian"), ("su-id-en", "Indonesian"), ("ha-en", "Hausa"),
     ("ar-dz-fr", "Arabic"), ("en", "English")],
)  # fmt: skip
@pytest.mark.parametrize("setting", sorted(DIALOGUE_SUMMARY.settings))
def test_three_to_five_sentences_are_asked_for_in_the_first_language(setting: str, tag: str, written: str) -> None:
    text = prompt(setting, dataclasses.replace(ITEM, language=tag))
    assert f"3 to 5 sentences of formal {written}," in text
    assert "Topic: farming\nDialogue:\nA: sannu" in text


def test_no_reference_is_shown_and_no_topic_is_made_up() -> None:
    assert "Bayani" not in prompt()
    assert "Topic:" not in prompt(item=dataclasses.replace(ITEM, topic=None, item_hash=""))


@pytest.mark.parametrize("shots", [1, 3])
def test_examples_are_summaries_without_their_dialogues(shots: int) -> None:
    train = dataclasses.replace(
        ITEM, item_id="2", source_id="d2", cluster_id="d2", turns=(Turn("0", "B", "unseen"),),
        references=("r1", "r2", "r3"), item_hash="",
    )  # fmt: skip
    drawn = Shots(Setting("n", "x", shots), [train]).of(ITEM)
    text = prompt(f"{shots}-shot", shots=drawn)
    assert [r in text for r in ("r1", "r2", "r3")] == [n < shots for n in range(3)]
    assert "unseen" not in text


@given(st.text(st.characters(codec="utf-8"), min_size=1))
def test_any_text_with_a_word_in_json_is_the_summary(text: str) -> None:
    summary = f"A said {text}"
    answer = json.dumps({"summary": summary}, ensure_ascii=False)
    assume(visible(Raw(answer)).text == answer)  # no mark of a thought: what stands before its end is no answer
    read = DIALOGUE_SUMMARY.parse(Raw(answer), ())
    assert read.value == summary.strip()


@pytest.mark.parametrize(
    ("text", "finish", "status"),
    [
        ('{"summary": "…"}', "stop", "empty"),  # the prompt's own form
        ('{"summary": "Maaf, saya tidak bisa."}', "stop", "refused"),
        ('{"summary": ["A", "B"]}', "stop", "bad_format"),
        ('{"summary": "A mengajak B', "length", "truncated"),
        ('<think>{"summary": "A"}', "length", "truncated_reasoning"),
        ("A mengajak B pergi.", "stop", "bad_format"),
    ],
)
def test_what_is_no_summary_says_why(text: str, finish: str, status: str) -> None:
    assert DIALOGUE_SUMMARY.parse(Raw(text, finish_reason=finish), ()).status == status


@pytest.mark.parametrize("setting", sorted(DIALOGUE_SUMMARY.settings))
def test_copying_the_prompt_is_no_answer(setting: str) -> None:
    assert DIALOGUE_SUMMARY.parse(Raw(prompt(setting, shots=(ITEM,))), ()).value is None


def test_the_gold_is_the_first_reference_that_is_there() -> None:
    assert DIALOGUE_SUMMARY.gold(ITEM) == "Bayani na farko."
    assert not DIALOGUE_SUMMARY.accepts(dataclasses.replace(ITEM, references=("", " ")))
    assert not DIALOGUE_SUMMARY.accepts(dataclasses.replace(ITEM, turns=(), item_hash=""))
