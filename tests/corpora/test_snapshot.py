"""Snapshots: the same items are the same snapshot, whatever their order; a torn one is never read."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixgrid.corpora import load, load_corpora, load_table, read, slice_items, write_snapshot
from mixgrid.corpora import snapshot as module
from mixgrid.corpora.snapshot import content_digest
from mixgrid.errors import UserError
from mixgrid.records import Flag, Item, Span, Turn
from mixgrid.schemas import digest, plain
from mixgrid.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(str(tmp_path / "store"))


@pytest.fixture(scope="module")
def items(root: Path) -> list[Item]:
    return read(load_corpora(root / "manifests" / "corpora.yaml")["satire-sample"])


def keys(store: Store) -> list[str]:
    return [entry.key for entry in store.list("")]


def test_items_come_back_whole_from_either_name_of_the_digest(store: Store, items: list[Item]) -> None:
    snapshot = write_snapshot(items, store)
    assert (snapshot.corpus, snapshot.items) == ("satire-sample", len(items))
    assert keys(store)[0].startswith(f"corpora/satire-sample/{snapshot.digest[:16]}/items-00000-of-00001-")
    for name in (snapshot.digest, snapshot.digest[:16]):
        assert sorted(load(store, "satire-sample", name), key=lambda i: i.item_id) == sorted(
            items, key=lambda i: i.item_id
        )
    assert load_table(store, "satire-sample", snapshot.digest, "train").num_rows == 24
    assert {i.split for i in load(store, "satire-sample", snapshot.digest, "train")} == {"train"}


def test_the_order_of_rows_makes_no_other_snapshot_and_nothing_is_written_again(
    store: Store, items: list[Item]
) -> None:
    first = write_snapshot(items, store)
    files = {path: path.stat().st_mtime_ns for path in Path(store.url).rglob("*.parquet")}
    assert write_snapshot(random.Random(7).sample(items, len(items)), store) == first
    assert {path: path.stat().st_mtime_ns for path in Path(store.url).rglob("*.parquet")} == files


@pytest.mark.parametrize("change", [{"label": "factual"}, {"text": "Alt text."}, {"split": "train"}, {"variant": 3}])
def test_any_change_of_an_item_makes_another_snapshot(items: list[Item], change: dict[str, object]) -> None:
    changed = [replace(items[0], item_hash="", **change), *items[1:]]  # type: ignore[arg-type]
    assert content_digest(changed) != content_digest(items)
    assert content_digest(items[1:]) != content_digest(items)


def test_ids_that_stand_there_twice_are_refused_by_name(store: Store, items: list[Item]) -> None:
    with pytest.raises(UserError, match=r"corpus 'satire-sample': 1 item ids stand there more than once: '001'"):
        write_snapshot([*items, items[0]], store)
    assert keys(store) == []


def test_a_snapshot_in_chunks_is_whole_only_with_all_of_them(
    store: Store, items: list[Item], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK_ROWS", 100)
    snapshot = write_snapshot(items, store)
    assert len(keys(store)) == 3
    Path(store.url, keys(store)[1]).unlink()  # killed in mid-write
    with pytest.raises(UserError, match="holds no whole snapshot"):
        load(store, "satire-sample", snapshot.digest)
    write_snapshot(items, store)
    assert len(load(store, "satire-sample", snapshot.digest)) == len(items)


def test_a_torn_chunk_is_written_again_and_foreign_files_are_ignored(store: Store, items: list[Item]) -> None:
    snapshot = write_snapshot(items, store)
    part = Path(store.url, keys(store)[0])
    part.write_bytes(part.read_bytes()[:100])
    (part.parent / "notes.txt").write_text("not ours")
    with pytest.raises(UserError, match="holds no whole snapshot"):
        load(store, "satire-sample", snapshot.digest)
    write_snapshot(items, store)
    assert len(load(store, "satire-sample", snapshot.digest)) == len(items)


def test_chunks_that_two_versions_wrote_in_different_sizes_are_read_once(
    store: Store, items: list[Item], monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = write_snapshot(items, store)
    kept = Path(store.url, keys(store)[0])
    hidden = kept.rename(kept.with_suffix(".away"))
    monkeypatch.setattr(module, "CHUNK_ROWS", 200)
    write_snapshot(items, store)
    hidden.rename(kept)
    assert len(keys(store)) == 3
    assert len(load(store, "satire-sample", snapshot.digest)) == len(items)


def test_an_unknown_snapshot_is_refused_with_what_to_do(store: Store) -> None:
    with pytest.raises(UserError, match="holds no whole snapshot 0123456789abcdef of corpus 'x'"):
        load(store, "x", "0123456789abcdef")


texts = st.text(st.characters(codec="utf-8"), max_size=8)


@given(st.builds(Span, st.integers(), st.integers(), texts, texts, texts), st.builds(Turn, texts, texts, texts), texts)
def test_the_quick_digest_of_an_item_is_that_of_its_plain_form(span: Span, turn: Turn, text: str) -> None:
    item = Item(
        "c", "007", "s", None, "k", "test", "ro", "none", 1, text,
        turns=(turn,), flags=(Flag("a", True),), options=(text, "b"), spans=(span,),
    )  # fmt: skip
    assert digest(item) == digest(plain(item))


def test_a_slice_takes_what_is_named(items: list[Item]) -> None:
    found = slice_items(items, "test", ["ro-de", "ro-fr"], ["phrase"])
    assert {(i.split, i.language, i.switching) for i in found} == {
        ("test", "ro-de", "phrase"),
        ("test", "ro-fr", "phrase"),
    }
    assert len(slice_items(items, "test")) == 216


@pytest.mark.parametrize(
    ("split", "languages", "switching", "why"),
    [
        ("tests", None, None, "no split 'tests'; did you mean 'test'.*Allowed: test, train, validation"),
        (
            "test",
            ["ro-en", "ro-es"],
            None,
            "no language 'ro-es'; did you mean 'ro-.*Allowed: ro, ro-de, ro-en, ro-fr, ro-it",
        ),
        ("test", None, ["LLM"], "no switching method 'LLM'.*Allowed: dependency, llm, none, phrase, random"),
    ],
)
def test_a_slice_of_what_the_corpus_lacks_is_refused(
    items: list[Item], split: str, languages: list[str] | None, switching: list[str] | None, why: str
) -> None:
    with pytest.raises(UserError, match=why):
        slice_items(items, split, languages, switching)


def test_a_cell_that_only_this_corpus_leaves_out_is_empty_not_an_error(items: list[Item]) -> None:
    assert slice_items(items, "test", ["ro-de"], ["none"]) == []
