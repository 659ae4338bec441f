"""Written dialogues: shares of those that can be read, and that keep to what was asked."""

import json

import pytest

from mixgrid.metrics.base import Answer
from mixgrid.metrics.dialogue import Dialogue
from mixgrid.records import Item, Turn

TURNS = tuple(Turn(str(n), "AB"[n % 2], "x") for n in range(4))
ITEM = Item("c", "1", "1", None, "1", "test", "id-en", "none", 0, turns=TURNS, topic="t")


def said(*speakers: str, reply: int | None = None) -> Answer:
    rows = [{"speaker": speaker, "text": "x", "reply_to": reply if at else None} for at, speaker in enumerate(speakers)]
    return Answer("ok", json.dumps(rows))


def test_shares_are_of_all_rows() -> None:
    family = Dialogue()
    answers = [
        said("A", "B", "A", reply=1),  # three messages are within a quarter of four
        said("A", "A", "A", "A"),
        said("A", "B"),
        Answer("unparsed"),
        Answer("failed"),
    ]
    total = family.statistics([family.facts(ITEM, "")] * len(answers), answers).sum(axis=0)
    assert {metric.name: metric.value(total)[0] for metric in family.metrics} == pytest.approx(
        {
            "valid": 3 / 5, "speakers_as_asked": 2 / 5, "length_as_asked": 2 / 5, "with_replies": 1 / 5,
            "unparsed": 1 / 5, "failed": 1 / 5,
        }
    )  # fmt: skip


def test_nothing_asked_is_nothing_scored() -> None:
    family = Dialogue()
    empty = family.statistics([], []).sum(axis=0)
    assert all(metric.value(empty)[0] is None for metric in family.metrics)
    with pytest.raises(ValueError, match="none of the classes"):
        Dialogue(("a",))
