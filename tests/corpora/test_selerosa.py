"""SeLeRoSa's real file, trap by trap (numbers: the shared data's README), and files in its layouts."""

from collections import Counter
from pathlib import Path

import pytest

from mixgrid.corpora import load_corpora, read, slice_items
from mixgrid.errors import UserError
from mixgrid.records import Item
from mixgrid.tasks import TASKS
from tests.corpora.conftest import Declare

HEADER = "index,news_id,sentence,domain,label_0,label_1,label_2,label,split\n"


@pytest.fixture(scope="module")
def items(root: Path, shared: Path) -> dict[int, Item]:
    del shared  # the shipped catalogue's path leads there
    return {int(item.item_id): item for item in read(load_corpora(root / "manifests" / "corpora.yaml")["selerosa"])}


def text(item: Item) -> str:
    assert item.text is not None
    return item.text


def test_every_row_is_an_item(items: dict[int, Item]) -> None:
    assert len(items) == 13_873
    assert Counter(i.split for i in items.values()) == {"train": 9800, "validation": 2000, "test": 2073}
    assert Counter(i.label for i in items.values()) == {"factual": 8179, "satire": 5694}
    assert Counter(i.label for i in items.values() if i.split == "test") == {"factual": 1234, "satire": 839}
    assert Counter(i.domain for i in items.values()) == {
        "life-death": 10_393,
        "it-stiinta": 3293,
        "cronica-de-film": 187,
    }


def test_clusters_are_articles_and_none_crosses_a_split(items: dict[int, Item]) -> None:
    assert len({i.cluster_id for i in items.values()}) == 1149
    assert len({(i.cluster_id, i.split) for i in items.values()}) == 1149
    assert len({i.cluster_id for i in items.values() if i.split == "test"}) == 176


def test_items_are_monolingual_originals(items: dict[int, Item]) -> None:
    kinds = {(i.corpus, i.language, i.switching, i.variant, i.twin_id) for i in items.values()}
    assert kinds == {("selerosa", "ro", "none", 0, None)}
    assert all(i.source_id == i.item_id for i in items.values())


def test_both_kinds_of_diacritics_stay_as_they_are(items: dict[int, Item]) -> None:
    legacy = {index for index, i in items.items() if set(text(i)) & set("şţ")}
    modern = {index for index, i in items.items() if set(text(i)) & set("șț")}
    assert (len(legacy), len(modern), len(legacy & modern)) == (9042, 2337, 88)


def test_zero_width_spaces_newlines_braces_and_tags_stay(items: dict[int, Item]) -> None:
    hidden = {index for index, i in items.items() if "\u200b" in text(i)}
    assert hidden == {1040, 1045, 1047, 1048, 1049, 4699, 4702, 4704}
    assert text(items[4704]).startswith("\u200b")
    assert sum(text(i).count("\u200b") for i in items.values()) == 13
    assert sum("\n" in text(i) for i in items.values()) == 29
    assert {112, 720, 1803} <= {index for index, i in items.items() if "\n" in text(i)}
    assert "{loadposition" in text(items[4360])
    tags = {tag: sum(text(i).count(tag) for i in items.values()) for tag in ("<PERSON>", "<GPE>", "<LOC>", "<ORG>")}
    assert tags == {"<PERSON>": 9999, "<GPE>": 2314, "<LOC>": 788, "<ORG>": 282}


def test_equal_texts_with_two_labels_stay_apart(items: dict[int, Item]) -> None:
    for one, other in ((108, 539), (7366, 7380)):
        assert items[one].text == items[other].text
        assert items[one].label != items[other].label
    assert len(items) - len({i.text for i in items.values()}) == 8
    across = [{items[n].split for n in group} for group in ((10013, 10468, 11357, 13715), (10104, 10115, 10427, 11804))]
    assert across == [{"validation", "test"}, {"train", "validation"}]


def test_sentences_of_one_word_are_asked_like_any(items: dict[int, Item]) -> None:
    short = [i for i in items.values() if len(text(i).split()) == 1]
    assert len(short) == 49
    assert all(TASKS["satire"].accepts(i) for i in short)


def test_the_split_of_the_readme_snippet_is_refused_not_empty(items: dict[int, Item]) -> None:
    with pytest.raises(UserError, match="no split 'val'; Allowed: test, train, validation"):
        slice_items(list(items.values()), "val")
    assert len(slice_items(list(items.values()), "validation", ["ro"], ["none"])) == 2000


def test_the_processed_file_is_refused_for_its_empty_sentences(declare: Declare, shared: Path) -> None:
    path = shared / "data" / "selerosa" / "selerosa_proc.csv"
    with pytest.raises(UserError, match=r"81 of 13873 rows do not parse: selerosa_proc\.csv row \d+: empty text"):
        read(declare(path, reader="selerosa", columns={}, constants={}))


def test_labels_may_be_digits_or_names(declare: Declare, tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    rows = "".join(f"{n},1,Da.,d,0,0,0,{label},test\n" for n, label in enumerate(["0", "1", "factual", "satire"]))
    path.write_text(HEADER + rows, encoding="utf-8")
    found = read(declare(path, reader="selerosa", columns={}, constants={}))
    assert [i.label for i in found] == ["factual", "satire", "factual", "satire"]
    path.write_text(HEADER + "0,1,Da.,d,0,0,0,2,test\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"label '2' is not under `values\.label`; Allowed: 0, 1, factual, satire"):
        read(declare(path, reader="selerosa", columns={}, constants={}))


def test_the_hub_copy_has_its_split_in_the_file_name(declare: Declare, tmp_path: Path) -> None:
    path = tmp_path / "validation-00000-of-00001.csv"
    path.write_text("index,news_id,sentence,domain,label\n007,3,Nu.,d,1\n", encoding="utf-8")
    files = [{"path": str(path), "constants": {"split": "validation"}}]
    (item,) = read(declare(None, files=files, reader="selerosa", columns={}, constants={}))
    assert (item.item_id, item.cluster_id, item.split, item.label) == ("007", "3", "validation", "satire")


def test_columns_for_this_reader_are_refused(declare: Declare, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="knows its columns"):
        read(declare(tmp_path / "s.csv", reader="selerosa"))
