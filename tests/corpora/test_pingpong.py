"""PINGPONG's layouts as the cards give them: four dialogue columns, two keys, configurations, null references.

The files are written here in the hub's layout; the entries are those that ship, pointed at them.
"""

import csv
import io
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mixgrid.corpora import Corpus, load_corpora, read
from mixgrid.corpora.catalogue import SourceFile
from mixgrid.errors import UserError
from mixgrid.records import Item
from mixgrid.tasks import TASKS

LANGUAGES = ("id-en", "jv-id-en", "su-id-en", "ha-en", "ar-dz-fr")
NONE = "No correct answer"
COLUMNS = [
    "id",
    "dialog",
    "topic",
    "lang",
    "type",
    "question",
    "chosen",
    "rejected1",
    "rejected2",
    "rejected3",
    "rejected4",
]


def dialogue(name: str) -> str:
    return f'A: {name}, kapan "libur", guys?\nB: @A besok\nya, besok\nC: =SUM(1), +1 @D'


def question(number: int, kind: str, name: str, dataset_id: str = "007") -> dict[str, str]:
    """One question; its right option is `chosen`, and there is no letter anywhere."""
    wrong = ["w1", "w2", "w3"]
    chosen, rejected = ("yes", [*wrong, NONE]) if kind == "answerable" else (NONE, [*wrong, "w4"])
    cells = [
        f"{dataset_id}-{number}",
        dialogue(name),
        "libur",
        "Indonesian, English",
        kind,
        f"q{number}?",
        chosen,
        *rejected,
    ]
    return dict(zip(COLUMNS, cells, strict=True))


def written(rows: list[dict[str, str]], bom: bool = False) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\r\n" if bom else "\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode("utf-8-sig" if bom else "utf-8")


@pytest.fixture
def local(root: Path, tmp_path: Path) -> Callable[[str], Corpus]:
    """A shipped entry with its hub files sought below tmp_path, those that are there."""

    def local(name: str) -> Corpus:
        corpus = load_corpora(root / "manifests" / "corpora.yaml")[name]
        files: list[SourceFile] = []
        for source in corpus.entry.files:
            path = tmp_path / source.path.partition("@COMMIT/")[2]
            if path.exists():
                files.append(source.model_copy(update={"path": str(path)}))
        return Corpus(name, corpus.entry.model_copy(update={"files": files}), tmp_path / "corpora.yaml")

    return local


@pytest.fixture
def put(tmp_path: Path) -> Callable[[str, bytes], Path]:
    def put(name: str, data: bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    return put


def test_questions_of_every_configuration(local: Callable[[str], Corpus], put: Callable[[str, bytes], Path]) -> None:
    kinds = ["Negation", "Antonym", "Entity-Swap", "Mutual-Exclusion", "Impossible-Condition"]
    for language in LANGUAGES:
        for split, name in (("train", "t"), ("test", "x")):
            put(
                f"{language}/answerable/{split}-00000-of-00001.csv",
                written([question(n, "answerable", f"{language}{name}") for n in range(5)], bom=language == "ha-en"),
            )
            put(f"{language}/unanswerable/{split}-00000-of-00001.csv",
                written([question(n, kind, f"{language}{name}") for n, kind in enumerate(kinds)]))  # fmt: skip
    items = read(local("pingpong-qa"))
    assert len({item.item_id for item in items}) == len(items) == 100
    assert Counter((item.language, item.split) for item in items) == {
        (x, s): 10 for x in LANGUAGES for s in ("train", "test")
    }
    assert Counter(item.category for item in items if item.language == "ha-en" and item.split == "test") == {
        "answerable": 5, "negation": 1, "antonym": 1, "entity-swap": 1, "mutual-exclusion": 1, "impossible-condition": 1
    }  # fmt: skip
    assert all(TASKS["dialogue-qa"].accepts(item) for item in items)
    for item in items:
        assert (item.label == NONE) == (item.category != "answerable")
        assert TASKS["dialogue-qa"].order(item)[4] == NONE
        assert item.turns[1].text == "@A besok\nya, besok"
        assert item.turns[1].mentions == ("A",)
        assert item.turns[2].mentions == ()


def test_the_questions_of_a_dialogue_are_one_cluster_across_files(
    local: Callable[[str], Corpus], put: Callable[[str, bytes], Path]
) -> None:
    """The release repeats the dialogue without an id of its own, and an `id` may repeat between files."""
    put("id-en/answerable/test-00000-of-00001.csv", written([question(n, "answerable", "x") for n in range(2)]))
    put("id-en/unanswerable/test-00000-of-00001.csv",
        written([question(0, "Negation", "x"), question(1, "Antonym", "other")]))  # fmt: skip
    items = read(local("pingpong-qa"))
    assert [len({i.cluster_id for i in items[:3]}), len({i.cluster_id for i in items})] == [1, 2]
    assert items[0].item_id == "id-en/answerable/test/007-0"


def test_an_unknown_spelling_of_a_category_is_named(
    local: Callable[[str], Corpus], put: Callable[[str, bytes], Path]
) -> None:
    put("id-en/unanswerable/test-00000-of-00001.csv", written([question(0, "Negasi", "x")]))
    with pytest.raises(
        UserError, match=r"test-00000-of-00001\.csv row 1: category 'Negasi' is not under `values.category`"
    ):
        read(local("pingpong-qa"))


@pytest.mark.parametrize("column", ["chosen", "rejected2", "question", "dialog"])
def test_a_question_that_lacks_something_is_named(
    local: Callable[[str], Corpus], put: Callable[[str, bytes], Path], column: str
) -> None:
    put(
        "id-en/answerable/test-00000-of-00001.csv",
        written([question(0, "answerable", "x"), question(1, "answerable", "x") | {column: ""}]),
    )
    with pytest.raises(
        UserError, match=r"1 of 2 rows do not parse: .*row 2: (option|no (label|question)|empty dialogue)"
    ):
        read(local("pingpong-qa"))


@pytest.mark.parametrize("key", [pa.int32(), pa.int64(), pa.float64(), pa.string()])
def test_summaries_with_null_references_of_any_type(
    local: Callable[[str], Corpus], tmp_path: Path, key: pa.DataType
) -> None:
    def table(number: int, references: list[Any]) -> pa.Table:
        return pa.table({
            "dialogue_id": pa.array([number]).cast(key), "dialogue": [dialogue("x")], "initial_topic": ["libur"],
            "summary1": pa.array([references[0]], type=None if references[0] else pa.float64()),
            "summary2": references[1:2], "summary3": references[2:3], "familiarity_check1": [float("nan")],
        })  # fmt: skip

    for number, split, references in ((7, "train", ["r1", "r2", "r3"]), (8, "test", [float("nan"), "r2", None])):
        path = tmp_path / "id-en" / f"{split}-00000-of-00001.parquet"
        path.parent.mkdir(exist_ok=True)
        pq.write_table(table(number, references), path)
    found = read(local("pingpong-summary"))
    assert [(i.item_id, i.references, i.topic) for i in found] == [
        ("id-en/7", ("r1", "r2", "r3"), "libur"), ("id-en/8", ("r2",), "libur")
    ]  # fmt: skip


def test_topics(local: Callable[[str], Corpus], tmp_path: Path) -> None:
    path = tmp_path / "ar-dz-fr" / "test-00000-of-00001.parquet"
    path.parent.mkdir()
    rows = {
        "dialogue_id": [1, 2], "initial_topic": ["la tech", "le bac"], "languages": ["ar", "ar"],
        "topic_category": ["Science/Technology", "Education"], "num_of_speakers": [2, 3],
        "postprocessed_dialogue": [dialogue("x"), "A: في رأيك la tech"], "__index_level_0__": [5, 9],
    }  # fmt: skip
    pq.write_table(pa.table(rows), path)
    items = read(local("pingpong-topic"))
    assert [(i.item_id, i.label, i.language) for i in items] == [
        ("ar-dz-fr/1", "Science/Technology", "ar-dz-fr"), ("ar-dz-fr/2", "Education", "ar-dz-fr")
    ]  # fmt: skip
    assert all(TASKS["dialogue-topic"].accepts(item) for item in items)


def test_naturalness_has_the_fourth_name_of_the_dialogue(local: Callable[[str], Corpus], tmp_path: Path) -> None:
    path = tmp_path / "ha-en" / "train-00000-of-00001.parquet"
    path.parent.mkdir()
    pq.write_table(pa.table({"dialogue_id": [1], "initial_topic": ["x"], "dialogue_human": [dialogue("x")]}), path)
    assert [len(item.turns) for item in read(local("pingpong-naturalness"))] == [3]


def test_the_four_dialogue_columns_are_those_of_the_cards(root: Path) -> None:
    catalogue = load_corpora(root / "manifests" / "corpora.yaml")
    names = {c.entry.columns.dialogue for name, c in catalogue.items() if name.startswith("pingpong")}
    assert names == {"dialog", "dialogue", "postprocessed_dialogue", "dialogue_human"}


@pytest.mark.parametrize("name", ["pingpong-qa", "pingpong-summary", "pingpong-topic", "pingpong-naturalness"])
def test_a_commit_that_was_not_filled_in_is_a_sentence(root: Path, name: str) -> None:
    with pytest.raises(UserError, match="must pin a revision: hf://datasets/ORG/NAME@COMMIT/FILE"):
        read(load_corpora(root / "manifests" / "corpora.yaml")[name])


def test_a_configuration_with_spaces_and_brackets_can_be_a_folder(
    put: Callable[[str, bytes], Path], declare: Any
) -> None:
    path = put("answerable (id-en)/test-00000-of-00001.csv", written([question(0, "answerable", "x")]))
    columns = {
        "item_id": "id",
        "dialogue": "dialog",
        "question": "question",
        "options": ["chosen", "rejected1"],
        "label": "chosen",
    }
    items: list[Item] = read(declare(path, columns=columns))
    assert [(i.item_id, i.options, i.label) for i in items] == [("007-0", ("yes", "w1"), "yes")]
