"""Language tags from people, spans, lingua and word lists; what belongs to no language, and what cannot be told."""

from pathlib import Path
from typing import Any

import pytest

from mixgrid.describe import TAGGERS, tagger
from mixgrid.describe.base import UntaggedError
from mixgrid.describe.tags import Gold, Spans
from mixgrid.errors import UserError
from mixgrid.records import Item, Span, Token, Turn

LISTS = """
languages:
  id: indonesian.txt
  en: [Where, the, café, "in"]
"""


def item(text: str | None, language: str = "ro-en", switching: str = "random", **fields: Any) -> Item:
    return Item("c", "1", "1", None, "1", "test", language, switching, 1, text=text, **fields)


@pytest.fixture
def lists(tmp_path: Path) -> str:
    (tmp_path / "indonesian.txt").write_text("kamu\ndi\nrumah\nin\n", "utf-8")
    (tmp_path / "lists.yaml").write_text(LISTS, "utf-8")
    return f"words:{tmp_path / 'lists.yaml'}"


def test_gold_tags_are_the_corpus_s_own() -> None:
    tokens = (Token("Ja", "DE"), Token("evdeyim", "TR"), Token("!", ""))
    assert Gold()(item("Ja evdeyim!", "tr-de", "none", tokens=tokens)) == [["DE", "TR", ""]]
    with pytest.raises(UntaggedError, match="no gold tags"):
        Gold()(item("Ja", "tr-de"))


def test_spans_are_in_their_language_and_the_rest_in_the_matrix_language() -> None:
    text = "Primarul <PERSON> a the moon-ul în 2024 @boss"
    span = Span(20, 28, "luna", "the moon", "en")
    assert text[span.start : span.end] == "the moon"
    words = ["ro", "", "ro", "en", "en", "ro", "ro", "", ""]  # the clitic after the hyphen is no part of the span
    assert Spans()(item(text, spans=(span,))) == [words]


def test_a_span_without_spaces_around_it_still_holds_its_words() -> None:
    text = "pre-boom"
    assert Spans()(item(text, spans=(Span(4, 8, "avânt", "boom", "en"),))) == [["ro", "en"]]


def test_an_original_is_in_one_language() -> None:
    assert Spans()(item("Un pod nou.", "ro", "none")) == [["ro", "ro", "ro"]]


@pytest.mark.parametrize("switching", ["llm", "random", "none"])
def test_what_was_mixed_without_spans_is_no_guess(switching: str) -> None:
    with pytest.raises(UntaggedError, match="mixed, but without spans"):
        Spans()(item("Un bridge nou.", switching=switching))
    with pytest.raises(UntaggedError, match="a dialogue has no spans"):
        Spans()(item(None, turns=(Turn("0", "A", "da"),)))


def test_word_lists_go_by_the_neighbour_where_they_cannot_decide(lists: str) -> None:
    found = tagger(lists)
    # "in" is in both lists, "xyz" in none; CAFE is compared without case and accents; 7 is no word of a language
    turns = (Turn("0", "A", "xyz kamu in where xyz CAFE 7"), Turn("1", "B", "???"), Turn("2", "A", "xyz"))
    assert found(item(None, "id-en", turns=turns)) == [["id", "id", "id", "en", "en", "en", ""], [], [""]]
    assert found(item("kamu where في", "id")) == [["id", "id", "id"]]
    assert found.signature.startswith("words-")
    assert "lists.yaml" not in found.signature


def test_a_script_of_one_language_decides_alone(lists: str) -> None:
    """Arabic letters are no French, whatever word stands before."""
    (Path(lists.removeprefix("words:"))).write_text("languages: {ar-dz: [rani], fr: [la]}", "utf-8")
    assert tagger(lists)(item("la في bourse rani la", "ar-dz-fr")) == [["fr", "ar-dz", "ar-dz", "ar-dz", "fr"]]


def test_word_lists_that_lack_a_language_are_refused_before_the_start(lists: str, tmp_path: Path) -> None:
    tagger(lists).check(["id-en", "ro"])
    with pytest.raises(UserError, match="no list for 'ro' of ro-en; there are en, id"):
        tagger(lists).check(["ro-en"])
    (tmp_path / "bad.yaml").write_text("languages: {idd: [a]}", "utf-8")
    with pytest.raises(UserError, match="there is no language 'idd'; did you mean 'id'"):
        tagger(f"words:{tmp_path / 'bad.yaml'}")
    (tmp_path / "bad.yaml").write_text("languages: {id: nowhere.txt}", "utf-8")
    with pytest.raises(UserError, match=r"key 'languages\.id': 'nowhere\.txt' is no UTF-8 file beside it"):
        tagger(f"words:{tmp_path / 'bad.yaml'}")


@pytest.mark.parametrize("name", ["golden", "words", "words:", "gold:x", ""])
def test_an_unknown_source_is_named(name: str) -> None:
    with pytest.raises(UserError, match=r"is no source of language tags; .*words:FILE"):
        tagger(name)


def test_lingua_tells_languages_word_by_word() -> None:
    pytest.importorskip("lingua")
    found = tagger("lingua")
    (tags,) = found(item("Primarul a cumpărat yesterday another bridge și <PERSON> 12", "ro-en"))
    assert tags == ["ro", "ro", "ro", "en", "en", "en", "ro", "", ""]
    assert found.signature == "lingua-2.1.1(words)"


def test_lingua_refuses_what_it_does_not_know() -> None:
    pytest.importorskip("lingua")
    tagger("lingua").check(["ro-en", "ar-dz-fr", "jv"])
    with pytest.raises(UserError, match="jv-id-en: lingua does not know 'jv'; give word lists with --tags words:FILE"):
        tagger("lingua").check(["jv-id-en"])
    with pytest.raises(UserError, match="ar-ar-dz: lingua takes two of them for one"):
        tagger("lingua").check(["ar-ar-dz"])


def test_the_dict_is_sorted() -> None:
    assert list(TAGGERS) == sorted(TAGGERS)
