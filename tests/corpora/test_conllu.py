"""CoNLL-U: words with gold language tags; surface tokens and empty nodes are no words; bad sentences are named."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixgrid.corpora import load_corpora, read
from mixgrid.corpora.conllu import sentences
from mixgrid.errors import UserError
from mixgrid.records import Item, Token
from tests.corpora.conftest import Declare

Write = Callable[[str, bytes | list[dict[str, Any]]], Path]

COLUMNS = {"item_id": "sent_id", "text": "text", "tokens": {"form": "form", "language": "misc.Lang"}}
CONSTANTS = {"split": "test", "language": "tr-de"}


def line(number: str, form: str, misc: str = "_") -> str:
    return "\t".join([number, form, form.lower(), "X", "_", "_", "0", "root", "_", misc])


SENTENCE = [
    "# sent_id = s1",
    "# text = Also evdeyim = tamam!",
    line("1", "Also", "Lang=DE|Other=x"),
    line("2-3", "evdeyim", "Lang=TR"),
    line("2", "evde", "Lang=TR"),
    line("3", "yim", "Lang=TR"),
    line("3.1", "ben"),
    line("4", "!", "SpaceAfter=No"),
]


def file_of(*blocks: list[str]) -> bytes:
    return "\n\n".join("\n".join(block) for block in blocks).encode()


def test_words_are_tagged_and_the_text_is_the_surface(declare: Declare, write: Write) -> None:
    untagged = ["# sent_id = s2", "# text = tamam", line("1", "tamam")]
    path = write("c.conllu", file_of(SENTENCE, untagged).replace(b"\n", b"\r\n"))
    first, second = read(declare(path, columns=COLUMNS, constants=CONSTANTS))
    assert (first.item_id, first.text) == ("s1", "Also evdeyim = tamam!")
    assert first.tokens == (Token("Also", "DE"), Token("evde", "TR"), Token("yim", "TR"), Token("!", ""))
    assert second.tokens == (Token("tamam", ""),)


def test_tags_are_spelt_as_the_entry_says(declare: Declare, write: Write) -> None:
    tokens = {"form": "form", "language": "misc.Lang", "tags": {"DE": "", "TR": "tr"}}
    path = write("c.conllu", file_of(SENTENCE))
    (item,) = read(declare(path, columns={**COLUMNS, "tokens": tokens}, constants=CONSTANTS))
    assert [token.language for token in item.tokens] == ["", "tr", "tr", ""]


def test_a_misspelt_key_of_misc_is_refused(declare: Declare, write: Write) -> None:
    tokens = {"form": "form", "language": "misc.Lnag"}
    path = write("c.conllu", file_of(SENTENCE))
    with pytest.raises(UserError, match=r"has no column 'misc.Lnag'; did you mean 'misc.Lang'\?"):
        read(declare(path, columns={**COLUMNS, "tokens": tokens}, constants=CONSTANTS))


@pytest.mark.parametrize(
    ("block", "why"),
    [
        ([*SENTENCE[:3], "2\tshort"], "2 columns in '2.tshort', where CoNLL-U has 10"),
        ([*SENTENCE[:3], line("3", "drei")], "its words are numbered 1, 3, …, not 1, 2, 3"),
    ],
)
def test_a_sentence_that_does_not_parse_is_named(declare: Declare, write: Write, block: list[str], why: str) -> None:
    with pytest.raises(UserError, match=f"row 2: {why}"):
        read(declare(write("c.conllu", file_of(SENTENCE, block)), columns=COLUMNS, constants=CONSTANTS))


def test_columns_of_other_formats_hold_words_and_tags_too(declare: Declare, write: Write) -> None:
    columns = {"item_id": "id", "text": "text", "tokens": {"form": "words", "language": "langs"}}
    rows: list[dict[str, Any]] = [
        {"id": "1", "text": "kamu where?", "words": ["kamu", "where"], "langs": ["id", "en"]},
        {"id": "2", "text": "di rumah", "words": "di rumah", "langs": "id id"},
    ]
    found = read(declare(write("c.jsonl", rows), columns=columns, constants=CONSTANTS))
    assert [[token.language for token in item.tokens] for item in found] == [["id", "en"], ["id", "id"]]
    with pytest.raises(UserError, match="2 words in 'words', but 1 tags in 'langs'"):
        read(declare(write("b.jsonl", [{**rows[0], "langs": ["id"]}]), columns=columns, constants=CONSTANTS))


@given(st.text(alphabet="#=|\t\n 123-._äİ", max_size=60))
def test_no_text_breaks_the_reader(text: str) -> None:
    for sentence in sentences(text):
        assert isinstance(sentence, str) or len(sentence["form"]) == len(sentence["id"])


def tags(items: list[Item], split: str) -> Counter[str]:
    return Counter(token.language for item in items if item.split == split for token in item.tokens)


def test_the_real_treebanks_are_read(root: Path, shared: Path) -> None:
    """Sizes that the shared data's README counts."""
    catalogue = load_corpora(root / "manifests" / "corpora.yaml")
    spoken, written = read(catalogue["ud-turkish-german"]), read(catalogue["ud-arabizi"])
    assert Counter(item.split for item in spoken) == {"train": 578, "validation": 801, "test": 805}
    assert Counter(item.split for item in written) == {"train": 1003, "validation": 139, "test": 145}
    assert tags(written, "train")[""] == 458
    assert set(tags(spoken, "validation")) == {"DE", "TR", "LANG3", "MIXED", ""}
    assert sum(n for tag, n in tags(spoken, "validation").items() if tag) == 10970 + sum(
        any(token.language for token in item.tokens) for item in spoken if item.split == "validation"
    )
