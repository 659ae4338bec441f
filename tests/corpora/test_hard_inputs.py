"""The traps of real files that lie beside this checkout, and those that they lack and a corpus can have."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mixgrid.corpora import load_corpora, read
from mixgrid.errors import UserError
from mixgrid.prompts import Prompts
from mixgrid.records import Item
from mixgrid.tasks import TASKS
from tests.corpora.conftest import Declare

Write = Callable[[str, bytes | list[dict[str, Any]]], Path]
SENTIMENT = {"0": "positive", "1": "negative", "2": "neutral", "3": "mixed"}
CONSTANTS = {"split": "test", "language": "bn-en"}
PROMPTS = Prompts()


@pytest.fixture
def bnsentmix(declare: Declare, shared: Path) -> list[Item]:
    """No id column: a record's number is its id. The coding is this release's; the hub's is shifted by one."""
    path = shared / "data" / "bnsentmix" / "Bengali_English_Code-Mixed_Dataset.csv"
    columns = {"text": "sentence1", "label": "label"}
    return read(declare(path, columns=columns, constants=CONSTANTS, values={"label": SENTIMENT}, bad_rows="skip"))


def test_banglish_sentiment_by_a_declared_coding(bnsentmix: list[Item]) -> None:
    assert Counter(i.label for i in bnsentmix) == {"neutral": 5943, "positive": 4292, "negative": 3285, "mixed": 1135}
    by_id = {i.item_id: i for i in bnsentmix}
    assert "6717" not in by_id  # empty, with a label
    assert "\n" in (by_id["6884"].text or "")
    assert all(
        "\ufffd" in (by_id[n].text or "") for n in ("327", "478", "1464", "4224", "7586", "10431", "11483", "11511")
    )
    assert len(by_id["11834"].text or "") == 1985
    assert len(bnsentmix) - len({i.text for i in bnsentmix}) == 422  # kept apart: the record's number is the key
    twice = ("136", "6023"), ("169", "6661"), ("4559", "14255"), ("6869", "8651"), ("10039", "12510")
    assert all(by_id[a].text == by_id[b].text and by_id[a].label != by_id[b].label for a, b in twice)


def test_another_coding_is_refused_not_guessed(declare: Declare, shared: Path) -> None:
    path = shared / "data" / "bnsentmix" / "Bengali_English_Code-Mixed_Dataset.csv"
    hub = {"1": "positive", "2": "negative", "3": "neutral", "4": "mixed"}
    with pytest.raises(UserError, match=r"label '0' is not under `values.label`"):
        read(declare(path, columns={"text": "sentence1", "label": "label"}, constants=CONSTANTS, values={"label": hub}))


def test_flags_in_columns_whose_names_have_spaces(declare: Declare, write: Write) -> None:
    path = write("b.csv", b"text_id,text content,hate label,personal offense\n1,ki khobor,Yes,no\n")
    flags = {"hate": "hate label", "offence": "personal offense"}
    columns = {"item_id": "text_id", "text": "text content", "flags": flags}
    (item,) = read(declare(path, columns=columns, constants=CONSTANTS))
    assert {flag.name: flag.value for flag in item.flags} == {"hate": True, "offence": False}


def test_a_csv_whose_first_column_has_no_name(declare: Declare, shared: Path) -> None:
    path = shared / "data" / "nusax" / "mt" / "test.csv"
    items = read(declare(path, columns={"text": "toba_batak", "label": "english"}, constants=CONSTANTS))
    assert len(items) == 400
    assert sum("\n" in (i.text or "") for i in items) == 16


HARD = [
    "\u202bيمين\u202c", "\u202aleft\u202c", "a\rb", "a\u2028b\x85c", "\ufeffx", "1\u200b2", "{loadposition",
    "<b> & 'c'", "=1+1", "007", "NA", "None", "s\u0326", "👩\u200d👧", "ﻻ ـ ƴ İ",
]  # fmt: skip


@pytest.mark.parametrize("hard", HARD)
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_hard_text_in_a_dialogue_reaches_the_prompt_as_it_is(
    declare: Declare, write: Write, hard: str, kind: str
) -> None:
    columns = {"item_id": "id", "dialogue": "d", "question": "q", "options": ["a", "b"], "label": "a"}
    turns = [{"speaker": "A", "text": hard}, {"speaker": "B", "text": f"x {hard}", "reply_to": 0}]
    row = {
        "id": "007",
        "d": json.dumps(turns, ensure_ascii=False),
        "q": f"{hard}?",
        "a": hard + "!",
        "b": "No correct answer",
    }
    path = write(f"c.{kind}", [row] if kind == "jsonl" else quoted(row))
    (item,) = read(declare(path, columns=columns, constants=CONSTANTS))
    assert (item.item_id, item.question, item.options[0]) == ("007", f"{hard}?", f"{hard}!")
    task = TASKS["dialogue-qa"]
    (message,) = PROMPTS.render(task.settings["0-shot"].template, task.context(item, task.order(item), ()))
    for part in (f"1. A: {hard}\n2. B (reply to 1): x {hard}\n", f"Question: {hard}?\n", f"A. {hard}!\n"):
        assert part in message.content


def quoted(row: dict[str, Any]) -> bytes:
    lines = (",".join('"' + cell.replace('"', '""') + '"' for cell in cells) for cells in (row.keys(), row.values()))
    return "\n".join(lines).encode("utf-8-sig")


def test_a_dialogue_with_a_lone_surrogate_is_refused_by_name(declare: Declare, write: Write) -> None:
    path = write("c.jsonl", b'{"id": "1", "d": "A: \\ud800"}\n')
    with pytest.raises(UserError, match=r"row 1: 'd' holds the lone surrogate U\+D800"):
        read(declare(path, columns={"item_id": "id", "dialogue": "d"}, constants=CONSTANTS))


def test_mixsarc_by_its_declared_map(root: Path, tmp_path: Path) -> None:
    """The columns are not public: the map in the catalogue is what a user edits; flags come in any spelling."""
    (tmp_path / "data").mkdir()
    text = (
        "id,text,Humorous,Sarcastic,Offensive,Vulgar,split\n007,ki obostha,YES,no,0,False,val\n8,NA,No,1,true,No,test\n"
    )
    (tmp_path / "data" / "mixsarc.csv").write_text(text, encoding="utf-8")
    (tmp_path / "corpora.yaml").write_bytes((root / "manifests" / "corpora.yaml").read_bytes())
    items = read(load_corpora(tmp_path / "corpora.yaml")["mixsarc"])
    task = TASKS["implicit-meaning"]
    assert [(i.item_id, i.text, i.split, i.language, task.gold(i)) for i in items] == [
        ("007", "ki obostha", "validation", "bn-en", '{"humorous":1,"sarcastic":0,"offensive":0,"vulgar":0}'),
        ("8", "NA", "test", "bn-en", '{"humorous":0,"sarcastic":1,"offensive":1,"vulgar":0}'),
    ]
