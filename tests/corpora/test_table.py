"""The column map: every field from a column or a constant, in our spelling; what does not parse is named."""

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixgrid.corpora import nested, read
from mixgrid.errors import UserError
from mixgrid.records import Flag, Turn
from mixgrid.tasks.base import transcript
from tests.corpora.conftest import MAP, Declare

Write = Callable[[str, bytes | list[dict[str, Any]]], Path]


def test_fields_come_from_columns_and_constants_and_ids_default_to_their_source(declare: Declare, write: Write) -> None:
    path = write("c.csv", b"id,text,label\n007,ami jabo,None\n7,NA,NA\n")
    first, second = read(declare(path))
    assert (first.item_id, first.source_id, first.cluster_id, first.twin_id) == ("007", "007", "007", None)
    assert (first.corpus, first.split, first.language, first.switching, first.variant) == (
        "c",
        "test",
        "bn-en",
        "random",
        0,
    )
    assert [(i.item_id, i.text, i.label) for i in (first, second)] == [("007", "ami jabo", "None"), ("7", "NA", "NA")]


def test_the_text_is_not_touched(declare: Declare, write: Write) -> None:
    text = " \u200bcîs\u0326ţig {loadposition\u2028a\r\nb\u202b👩‍👧 "
    assert read(declare(write("c.jsonl", [{"id": "1", "text": text, "label": "x"}])))[0].text == text


def test_without_an_id_column_the_row_number_is_the_id(declare: Declare, write: Write) -> None:
    columns = {"text": "text"}
    rows = [{"text": "a"}, {"text": "b"}]
    assert [i.item_id for i in read(declare(write("c.jsonl", rows), columns=columns))] == ["0", "1"]
    files = [{"path": str(write(f"{n}.jsonl", rows[:1]))} for n in (1, 2)]
    assert [i.item_id for i in read(declare(None, files=files, columns=columns))] == ["0-0", "1-0"]


def test_each_file_may_say_what_its_rows_are(declare: Declare, write: Write) -> None:
    """The hub's layout: the folder is the language, the file's name the split."""
    files = [
        {"path": str(write("train-00000-of-00001.csv", b"id,text,label\n1,a,x\n")), "constants": {"split": "train"}},
        {
            "path": str(write("test-00000-of-00001.csv", b"id,text,label\n2,b,x\n")),
            "constants": {"language": "jv-id-en"},
        },
    ]
    found = read(declare(None, files=files))
    assert [(i.split, i.language) for i in found] == [("train", "bn-en"), ("test", "jv-id-en")]


@pytest.mark.parametrize("yes", ["yes", "YES", "1", "true", "True", 1, 1.0, True])
@pytest.mark.parametrize("no", ["No", "no", "0", "FALSE", 0, False])
def test_flags_are_yes_or_no_in_any_spelling(declare: Declare, write: Write, yes: object, no: object) -> None:
    row = {"id": "1", "text": "a", "label": "x", "Is Funny": yes, "Vulgar": no}
    columns = {"item_id": "id", "text": "text", "flags": {"humorous": "Is Funny", "vulgar": "Vulgar"}}
    (item,) = read(declare(write("c.jsonl", [row]), columns=columns))
    assert item.flags == (Flag("humorous", True), Flag("vulgar", False))


def test_values_are_spelt_our_way_and_an_unknown_one_is_named(declare: Declare, write: Write) -> None:
    path = write("c.csv", b"id,text,label\n1,a,0\n2,b,3\n3,c,\n")
    corpus = declare(path, values={"label": {"0": "positive", "1": "negative"}})
    with pytest.raises(UserError, match=r"c\.csv row 2: label '3' is not under `values.label`.*row 3: no label"):
        read(corpus)
    assert [i.label for i in read(declare(path, values=corpus.entry.values, bad_rows="skip"))] == ["positive"]


def test_parquet_types_of_other_revisions_give_the_same_items(declare: Declare, tmp_path: Path) -> None:
    """dialogue_id is int32, int64 or, beside nulls, float; a column of nulls is float64 with NaN."""
    columns = {"item_id": "dialogue_id", "dialogue": "dialogue", "references": ["summary1", "summary2"]}
    for kind in (pa.int32(), pa.int64(), pa.float64(), pa.string()):
        ids = pa.array([7]).cast(kind)
        table = pa.table({"dialogue_id": ids, "dialogue": ["A: hi"], "summary1": [float("nan")], "summary2": ["s"]})
        pq.write_table(table, tmp_path / "c.parquet")
        (item,) = read(declare(tmp_path / "c.parquet", columns=columns))
        assert (item.item_id, item.references, item.text) == ("7", ("s",), None)


def test_options_from_several_columns_and_from_a_nested_list(declare: Declare, write: Write) -> None:
    flat = {"id": "1", "dialog": "A: x", "chosen": "ya", "rejected1": "tidak", "type": "Negation"}
    columns = {
        "item_id": "id",
        "dialogue": "dialog",
        "options": ["chosen", "rejected1"],
        "label": "chosen",
        "category": "type",
    }
    (item,) = read(declare(write("c.jsonl", [flat]), columns=columns))
    assert (item.options, item.label, item.category) == (("ya", "tidak"), "ya", "Negation")
    nested = {"id": "1", "q": "?", "choices": {"text": ["a", "b", "c"]}}
    columns = {"item_id": "id", "question": "q", "options": ["choices.text"]}
    assert read(declare(write("d.jsonl", [nested]), columns=columns))[0].options == ("a", "b", "c")


def test_a_dialogue_in_one_cell_becomes_turns(declare: Declare, write: Write) -> None:
    cell = "Ani: kamu where?\nBudi: di rumah: ok\ndan lagi\n\nAni: @Budi @nobody siap"
    (item,) = read(declare(write("c.jsonl", [{"id": "1", "d": cell}]), columns={"item_id": "id", "dialogue": "d"}))
    assert [(t.turn_id, t.speaker, t.text) for t in item.turns] == [
        ("0", "Ani", "kamu where?"),
        ("1", "Budi", "di rumah: ok\ndan lagi\n"),
        ("2", "Ani", "@Budi @nobody siap"),
    ]
    assert item.turns[2].mentions == ("Budi",)


def test_a_dialogue_of_records_keeps_reply_links(declare: Declare, write: Write) -> None:
    turns = [
        {"speaker": "A", "text": "x"},
        {"turn_id": 9, "speaker": "B", "text": "y", "reply_to": 0, "mentions": ["A"]},
    ]
    (item,) = read(declare(write("c.jsonl", [{"id": "1", "d": turns}]), columns={"item_id": "id", "dialogue": "d"}))
    assert item.turns == (Turn("0", "A", "x"), Turn("9", "B", "y", "0", ("A",)))


SPAN = {"start": 2, "end": 5, "original": "x", "translation": "two", "language": "en"}


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"text": ""}, "empty text"),
        ({"text": " \n"}, "empty text"),
        ({"text": None}, "empty text"),
        ({"text": ["a"]}, "a list stands where text is wanted"),
        ({"id": ""}, "no item_id"),
        ({"id": " "}, "item_id is blank"),
        ({"id": "a\x00b"}, "item_id 'a⟨U+0000⟩b' holds a control character"),
        ({"source": "a\nb"}, "source_id 'a⟨U+000A⟩b' holds a control character"),
        ({"cluster": "\u2003"}, "cluster_id is blank"),
        ({"twin": "\x7f"}, "twin_id '⟨U+007F⟩' holds a control character"),
        ({"lang": "ro-xx"}, "language 'ro-xx' is not known; did you mean"),
        ({"method": "randm"}, "unknown switching method 'randm'; did you mean 'random'?"),
        ({"k": "one"}, "variant 'one' is no whole number"),
        ({"k": "²"}, "variant '²' is no whole number"),
        ({"funny": "maybe"}, "flag 'humorous' is 'maybe'"),
        ({"funny": None}, "flag 'humorous' is ''"),
        ({"d": "no speaker here"}, "the dialogue begins without a speaker"),
        ({"d": []}, "empty dialogue"),
        (
            {"d": [{"speaker": "A", "text": "x", "reply_to": 7}]},
            "turn '0' of the dialogue replies to '7', which is no turn",
        ),
        ({"d": [{"speaker": "A", "text": "x", "turn_id": 1}] * 2}, "two turns of the dialogue are '1'"),
        ({"d": [{"text": "x"}]}, "turn 0 of the dialogue lacks"),
        ({"d": [{"speaker": " ", "text": "x"}]}, "turn 0 of the dialogue has a blank speaker"),
        ({"d": "A: x\nB: \n"}, "turn 1 of the dialogue, by 'B', says nothing"),
        (
            {"d": [{"speaker": "A", "text": "x", "turn_id": "t", "reply_to": "t"}]},
            "turn 't' of the dialogue replies to itself",
        ),
        ({"spans": [SPAN | {"start": 3}]}, "span 3..5 does not hold 'two'"),
        ({"spans": [SPAN, SPAN]}, "span 2..5 does not hold 'two'"),
        ({"spans": "[{"}, "spans is no JSON list"),
        ({"spans": [{"start": 1}]}, "a span lacks"),
    ],
)
def test_what_does_not_parse_is_named_by_file_row_and_reason(
    declare: Declare, write: Write, row: dict[str, Any], why: str
) -> None:
    good = {"id": "1", "text": "a two b", "method": "random", "k": "1", "funny": "Yes", "d": "A: x", "spans": [SPAN]}
    columns = {
        "item_id": "id", "text": "text", "switching": "method", "variant": "k", "flags": {"humorous": "funny"},
        "dialogue": "d", "spans": "spans",
        "source_id": "source", "cluster_id": "cluster", "twin_id": "twin", "language": "lang",
    }  # fmt: skip
    good |= {"source": "s", "cluster": "c\u200d", "twin": "", "lang": "bn-en"}
    corpus = declare(write("c.jsonl", [good, good | row]), columns=columns)
    with pytest.raises(UserError) as caught:
        read(corpus)
    assert "1 of 2 rows do not parse" in str(caught.value)
    assert f"c.jsonl row 2: {why}" in str(caught.value)


def test_the_first_few_bad_rows_are_listed_and_all_counted(
    declare: Declare, write: Write, caplog: pytest.LogCaptureFixture
) -> None:
    path = write("c.csv", b"id,text,label\n" + b"1,,x\n" * 12 + b"2,a,x\n")
    with pytest.raises(UserError, match=r"12 of 13 rows do not parse: .*row 5: empty text; and 7 more.*bad_rows: skip"):
        read(declare(path))
    with caplog.at_level(logging.WARNING):
        assert len(read(declare(path, bad_rows="skip"))) == 1
    assert "12 of 13 rows do not parse and are left out" in caplog.text


def test_a_column_that_is_in_no_row_is_refused_with_the_nearest(declare: Declare, write: Write) -> None:
    path = write("c.csv", b"id,sentence,label\n1,a,x\n")
    columns = {"item_id": "id", "text": "sentense"}
    with pytest.raises(UserError, match=r"'columns.text': .* has no column 'sentense'; did you mean 'sentence'\?"):
        read(declare(path, columns=columns))


@pytest.mark.parametrize(
    ("name", "data"), [("c.csv", b""), ("c.csv", b"id,text,label\n"), ("c.jsonl", b"\n"), ("c.json", b"[]")]
)
def test_an_empty_corpus_is_refused(declare: Declare, write: Write, name: str, data: bytes) -> None:
    with pytest.raises(UserError, match="corpus 'c' is empty"):
        read(declare(write(name, data)))


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({"columns": {"item_id": "id"}}, "map `text`, `dialogue` or `question`"),
        ({"constants": {"language": "ro"}}, "map `split`"),
        ({"constants": {"split": "test"}}, "map `language`"),
        ({"reader": "tabel"}, "there is no reader 'tabel'; did you mean 'table'"),
    ],
)
def test_an_entry_that_says_too_little_is_refused(
    declare: Declare, write: Write, keys: dict[str, Any], why: str
) -> None:
    with pytest.raises(UserError, match=why):
        read(declare(write("c.csv", b"id,text,label\n1,a,x\n"), **keys))


# Paths, links and choices


def test_records_inside_others_inherit_their_fields(declare: Declare, write: Write) -> None:
    data = {"data": {"title": "t", "list": [
        {"d": "A: x", "qas": [{"id": 1, "q": "a?", "ans": [{"text": "p"}]}, {"id": 2, "q": "b?", "ans": []}]},
        {"d": "A: y", "qas": []},
        {"d": "A: z", "qas": [{"id": 3, "q": "c?", "ans": [{"text": "r"}]}]},
    ]}}  # fmt: skip
    path = write("c.json", json.dumps(data).encode())
    columns = {"item_id": "id", "dialogue": "d", "question": "q", "label": "ans.0.text"}
    keys: dict[str, Any] = {"columns": columns, "constants": {**MAP["constants"], "label": "none"}}
    found = read(declare(path, records="data.list.qas", **keys))
    assert [(i.item_id, i.turns[0].text, i.label) for i in found] == [
        ("1", "x", "p"),
        ("2", "x", "none"),
        ("3", "z", "r"),
    ]
    assert [found[0].source_id == other.source_id for other in found] == [True, True, False]
    with pytest.raises(UserError, match=r"no 'rows' on the way of `records: data.rows`"):
        read(declare(path, records="data.rows", **keys))


def test_links_make_replies_and_texts_make_mentions(declare: Declare, write: Write) -> None:
    row = {"id": 1, "d": [{"speaker": s, "text": t} for s, t in (("A", "x"), ("B", "y @A @Z"), ("C", "z"))]}
    columns = {"item_id": "id", "dialogue": "d", "replies": "r"}
    (item,) = read(declare(write("c.jsonl", [row | {"r": [{"x": 0, "y": 2}]}]), columns=columns))
    assert [(t.reply_to, t.mentions) for t in item.turns] == [(None, ()), (None, ("A",)), ("0", ())]
    for link in ({"x": 0}, {"x": 0, "y": 3}, {"x": -1, "y": 1}, "0-1"):
        with pytest.raises(UserError, match="does not name two of the 3 turns"):
            read(declare(write("c.jsonl", [row | {"r": [link]}]), columns=columns))


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["A", "B (x)", "#P1#"]), st.text(st.characters(exclude_characters="\r")).filter(str.strip)
        ),
        min_size=1,
    )
)
def test_a_numbered_transcript_reads_back_as_the_dialogue_it_was(said: list[tuple[str, str]]) -> None:
    """What prompts show can be a corpus's cell, with its replies, whatever the turns hold."""
    turns = [Turn(str(n), who, text, "1" if n > 1 else None) for n, (who, text) in enumerate(said, start=1)]
    text = transcript([*turns, Turn(str(len(turns) + 1), "A", "x", "1")])
    found = nested.turns(text)
    assert [(t.turn_id, t.speaker, t.text, t.reply_to) for t in found[:-1]] == [
        (t.turn_id, t.speaker, t.text, t.reply_to) for t in turns
    ]


def test_numbered_lines_that_are_no_transcript_are_read_as_they_stand() -> None:
    assert [(t.speaker, t.text) for t in nested.turns("1. A: x\nB: y")] == [("1. A", "x"), ("B", "y")]


def test_a_line_that_only_looks_like_a_speaker_is_found_by_the_release_s_own_count(
    declare: Declare, write: Write
) -> None:
    row = {"id": 1, "d": "Ana: the bill\nAmount: 5\nBudi: oke", "n": 3}
    columns = {"item_id": "id", "dialogue": "d", "speakers": "n"}
    assert len(read(declare(write("c.jsonl", [row]), columns=columns))[0].turns) == 3
    for told in (2, "2", 2.0):
        with pytest.raises(UserError, match="row 1: 2 people speak, but these do in the dialogue: Ana, Amount, Budi; "):
            read(declare(write("c.jsonl", [row | {"n": told}]), columns=columns))
    mended = row | {"d": "Ana: the bill\n   Amount: 5\nBudi: oke", "n": 2}
    assert len(read(declare(write("c.jsonl", [mended]), columns=columns))[0].turns) == 2
    unsaid = [row, row | {"id": 2, "n": None}]
    assert len(read(declare(write("c.jsonl", unsaid), columns=columns))) == 2


def test_a_label_that_is_an_options_id(declare: Declare, write: Write) -> None:
    row = {"id": 1, "q": "?", "c": {"label": ["A", "B"], "text": ["no", "yes"]}, "k": "B"}
    columns = {"item_id": "id", "question": "q", "options": ["c.text"], "option_ids": "c.label", "label": "k"}
    assert read(declare(write("c.jsonl", [row]), columns=columns))[0].label == "yes"
    with pytest.raises(UserError, match="label 'C' is not one of the 2 options' ids: A, B"):
        read(declare(write("c.jsonl", [row | {"k": "C"}]), columns=columns))


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        ({"b": ""}, "option 2 is empty"),
        ({"b": "x "}, "two options are 'x '"),
        ({"kind": "anonym"}, r"unknown category 'anonym' of a question; did you mean 'antonym'\?"),
        ({"k": "z"}, "label 'z' is none of the options"),
    ],
)
def test_an_option_that_is_not_there_is_named(declare: Declare, write: Write, cells: dict[str, str], why: str) -> None:
    columns = {"item_id": "id", "question": "q", "options": ["a", "b"], "label": "k", "category": "kind"}
    good = {"id": "1", "q": "?", "a": "x", "b": "y", "k": "x", "kind": "negation"}
    with pytest.raises(UserError, match=why):
        read(declare(write("c.jsonl", [good | cells]), columns=columns))


@pytest.mark.parametrize("drawn", [False, True])
def test_options_beyond_the_letter_z_are_refused(declare: Declare, write: Write, drawn: bool) -> None:
    columns: dict[str, Any] = {"item_id": "id", "question": "q", "options": ["o"], "label": "k"}
    if drawn:
        columns["distractors"] = {"column": "others", "upto": 40}
    texts = [f"o{n:02}" for n in range(27)]
    for n in (26, 27):
        row = {"id": "1", "q": "?", "k": "o00"} | (
            {"o": ["o00"], "others": texts[1 : n - 1]} if drawn else {"o": texts[:n]}
        )
        corpus = declare(write("c.jsonl", [row]), columns=columns)
        if n == 26:
            assert len(read(corpus)[0].options) == 26
        else:
            with pytest.raises(
                UserError, match="row 1: 27 options, and the letters that name them end at Z; give 26 at"
            ):
                read(corpus)


def test_other_answers_become_wrong_options_unless_they_overlap(declare: Declare, write: Write) -> None:
    row = {
        "id": "1",
        "q": "?",
        "a": "Bandung",
        "others": ["bandung", "Kota Bandung", "Solo", "Bogor", "Medan", "Bali", ""],
    }
    columns = {"item_id": "id", "question": "q", "options": ["a"], "distractors": {"column": "others"}, "label": "a"}
    (item,) = read(declare(write("c.jsonl", [row]), columns=columns))
    assert (item.options[0], item.options[-1], len(item.options)) == ("Bandung", "No correct answer", 5)
    assert set(item.options[1:4]) < {"Solo", "Bogor", "Medan", "Bali"}
    assert read(declare(write("c.jsonl", [row]), columns=columns))[0].options == item.options


def test_a_file_may_have_a_map_and_a_prefix_of_its_own(declare: Declare, write: Write) -> None:
    old, new = write("old.jsonl", [{"nr": 1, "t": "a"}]), write("new.jsonl", [{"id": 1, "text": "b"}])
    files = [
        {"path": str(old), "prefix": "old/", "columns": {"item_id": "nr", "text": "t"}},
        {"path": str(new), "prefix": "new/"},
    ]
    found = read(declare(None, files=files, columns={"item_id": "id", "text": "text"}))
    assert [(i.item_id, i.source_id, i.text) for i in found] == [("old/1", "old/1", "a"), ("new/1", "new/1", "b")]
