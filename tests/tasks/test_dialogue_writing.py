"""Dialogues that a model writes: what it is shown, and which answers are dialogues."""

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mixgrid.parse.base import visible
from mixgrid.prompts import Prompts
from mixgrid.records import Item, Turn
from mixgrid.tasks.base import Raw
from mixgrid.tasks.dialogue_writing import DIALOGUE_WRITING as TASK
from mixgrid.tasks.dialogue_writing import turns_of

TURNS = (Turn("7", "Ani", "secret one"), Turn("8", "Budi", "secret two", "7"), Turn("9", "Ani", "oke"))
ITEM = Item("c", "1", "1", None, "1", "test", "jv-id-en", "none", 0, turns=TURNS, topic="night trains")
ORDER = ("Ani", "Budi")


def message(speaker: str = "Ani", text: str = "oke", **fields: Any) -> dict[str, Any]:
    return {"speaker": speaker, "text": text, **fields}


def answer(*messages: Any, key: str = "messages") -> Raw:
    return Raw(json.dumps({key: messages}), finish_reason="stop")


def test_the_prompt_has_the_specification_and_nothing_that_was_said() -> None:
    order = TASK.order(ITEM)
    assert order == ORDER
    (prompt,) = Prompts().render(TASK.settings["0-shot"].template, TASK.context(ITEM, order, ()))
    for wanted in ("between 2 people", "Javanese and Indonesian and English", "night trains", "Ani, Budi", "about 3"):
        assert wanted in prompt.content
    assert "secret" not in prompt.content


def test_only_dialogues_with_a_topic_are_taken() -> None:
    assert TASK.accepts(ITEM)
    for fields in ({"topic": None}, {"turns": ()}):
        assert not TASK.accepts(dataclasses.replace(ITEM, item_hash="", **fields))


def test_a_dialogue_of_one_language_asks_for_no_switching() -> None:
    item = dataclasses.replace(ITEM, item_hash="", language="id")
    (prompt,) = Prompts().render(TASK.settings["0-shot"].template, TASK.context(item, ORDER, ()))
    assert TASK.accepts(item)
    assert "between 2 people who all speak Indonesian.\n" in prompt.content
    assert "switch" not in prompt.content


def test_an_answer_becomes_turns() -> None:
    read = TASK.parse(answer(message(), message("Budi", "ayo", reply_to=1), message(reply_to=None)), ORDER)
    assert read.status == "ok"
    assert read.value is not None
    assert turns_of(read.value) == (Turn("1", "Ani", "oke"), Turn("2", "Budi", "ayo", "1"), Turn("3", "Ani", "oke"))


def test_gold_is_the_people_s_dialogue_numbered_from_one() -> None:
    said = turns_of(TASK.gold(ITEM))
    assert [(turn.turn_id, turn.speaker, turn.text, turn.reply_to) for turn in said] == [
        ("1", "Ani", "secret one", None), ("2", "Budi", "secret two", "1"), ("3", "Ani", "oke", None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("raw", "status", "note"),
    [
        (answer(), "empty", "no messages"),
        (answer(message("Eve")), "invalid_label", "nobody is called 'Eve'"),
        (answer(message(text=" ")), "bad_format", "no speaker, or no text"),
        (answer({"text": "x"}), "bad_format", "no speaker, or no text"),
        (answer("oke"), "bad_format", "no object"),
        (answer(message(reply_to=1)), "bad_format", "it replies to 1, which is no earlier message"),
        (answer(message(), message(reply_to="1")), "bad_format", "it replies to '1'"),
        (answer(message(), message(reply_to=True)), "bad_format", "it replies to True"),
        (answer(message(text="\ud800")), "bad_format", "half a character"),
        (answer(message(), key="chat"), "bad_format", "not one list under one of messages"),
        (Raw('{"messages": [{"speaker": "Ani", "text": "o', finish_reason="length"), "truncated", ""),
        (Raw("Ani: oke", finish_reason="stop"), "bad_format", "no JSON object"),
    ],
)
def test_what_is_no_dialogue_is_named(raw: Raw, status: str, note: str) -> None:
    read = TASK.parse(raw, ORDER)
    assert (read.status, read.value) == (status, None)
    assert note in read.note


@given(st.lists(st.tuples(st.sampled_from(ORDER), st.text(min_size=1), st.none() | st.integers(-1, 9)), max_size=5))
def test_what_is_read_is_what_was_written(said: list[tuple[str, str, int | None]]) -> None:
    raw = answer(*(message(who, text, reply_to=to) for who, text, to in said))
    assume(visible(raw).text == raw.text)  # no mark of a thought: what stands before its end is no answer
    read = TASK.parse(raw, ORDER)
    good = all(text.strip() and (to is None or 0 < to < at) for at, (_, text, to) in enumerate(said, start=1))
    assert (read.status == "ok") == (good and bool(said))
    if read.value is not None:
        assert [(turn.speaker, turn.text) for turn in turns_of(read.value)] == [(who, text) for who, text, _ in said]
