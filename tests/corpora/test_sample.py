"""The sample corpus keeps its promises: twins, spans that undo themselves, every method and language, hard text."""

import unicodedata
from collections import Counter
from itertools import product
from pathlib import Path

import pytest

from mixgrid.corpora import load_corpora, read
from mixgrid.records import Item

LANGUAGES = ("ro-de", "ro-en", "ro-fr", "ro-it")
SPANNED = ("dependency", "phrase", "random")


@pytest.fixture(scope="module")
def items(root: Path) -> list[Item]:
    return read(load_corpora(root / "manifests" / "corpora.yaml")["satire-sample"])


@pytest.fixture(scope="module")
def sources(items: list[Item]) -> dict[str, Item]:
    return {item.item_id: item for item in items if item.switching == "none"}


def restored(item: Item) -> str:
    """The original text: every span's translation put back."""
    text = item.text or ""
    for span in reversed(item.spans):
        text = text[: span.start] + span.original + text[span.end :]
    return text


def test_sources_articles_labels_and_splits(sources: dict[str, Item]) -> None:
    assert len(sources) == 44
    assert len({s.cluster_id for s in sources.values()}) == 16
    assert Counter(s.label for s in sources.values()) == {"factual": 23, "satire": 21}
    for split in ("train", "validation", "test"):
        assert {s.label for s in sources.values() if s.split == split} == {"factual", "satire"}
    assert all((s.language, s.variant, s.twin_id, s.spans) == ("ro", 0, None, ()) for s in sources.values())


def test_no_article_crosses_a_split(items: list[Item]) -> None:
    assert len({(i.cluster_id, i.split) for i in items}) == len({i.cluster_id for i in items})


def test_every_variant_has_its_twin_and_shares_its_place(items: list[Item], sources: dict[str, Item]) -> None:
    for item in items:
        if item.twin_id is not None:
            twin = sources[item.twin_id]
            assert item.source_id == twin.item_id
            assert item.text != twin.text
            assert (item.cluster_id, item.split, item.label, item.domain) == (
                twin.cluster_id, twin.split, twin.label, twin.domain
            )  # fmt: skip
    assert sum(item.twin_id is not None for item in items) == 220


def test_every_language_has_every_method_in_two_variants(items: list[Item]) -> None:
    counts = Counter((i.language, i.switching, i.variant) for i in items)
    for language, method in product(LANGUAGES, (*SPANNED, "llm")):
        assert counts[language, method, 1] >= 10
        assert counts[language, method, 2] >= 1


def test_spans_put_back_the_original_byte_for_byte(items: list[Item], sources: dict[str, Item]) -> None:
    spanned = [item for item in items if item.switching in SPANNED]
    for item in spanned:
        assert item.spans, item.item_id
        assert restored(item) == sources[item.source_id].text
        assert {span.language for span in item.spans} == {item.language.removeprefix("ro-")}
    assert not any(item.spans for item in items if item.switching not in SPANNED)


def test_tags_survive_mixing(items: list[Item], sources: dict[str, Item]) -> None:
    tags = ("<PERSON>", "<GPE>", "<ORG>", "<LOC>")
    for item in items:
        source = sources[item.source_id].text or ""
        assert [(item.text or "").count(tag) for tag in tags] == [source.count(tag) for tag in tags], item.item_id
    assert all(any(tag in (s.text or "") for s in sources.values()) for tag in tags)


@pytest.mark.parametrize(
    ("item_id", "trait"),
    [
        ("004", "ţ"), ("004", "ş"), ("007", "s\u200bincer"), ("010", "\u2028"), ("013", "👨\u200d👩"), ("015", "„"),
        ("019", "{loadposition"), ("022", "s\u0326"), ("022", "a\u0306"), ("025", "\n"), ("028", "\u00a0"),
        ("031", "=SUM("), ("034", "5 < 7 & 7 > 5"),
    ],
)  # fmt: skip
def test_hard_text_is_there(sources: dict[str, Item], item_id: str, trait: str) -> None:
    assert trait in (sources[item_id].text or "")


def test_one_sentence_is_not_in_nfc(sources: dict[str, Item]) -> None:
    decomposed = [i for i, s in sources.items() if not unicodedata.is_normalized("NFC", s.text or "")]
    assert decomposed == ["022"]
