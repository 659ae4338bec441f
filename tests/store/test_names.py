"""Names: which keys, stems, URLs and parts' names a store takes."""

import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mixgrid.errors import UserError
from mixgrid.store import Entry, Part, Store
from mixgrid.store.parts import sort_out


@pytest.mark.parametrize(
    "key", ["", "/a", "a/", "a//b", "../a", "a/../b", "./a", "a\0b", "a\nb", "\ud800", ".mixgrid-tmp-1"]
)
def test_keys_that_some_store_could_not_hold_are_refused(tmp_path: Path, key: str) -> None:
    store = Store.open(str(tmp_path))
    for act in (store.get, store.exists, store.delete, store.read):
        with pytest.raises(UserError, match="store key"):
            act(key)


def test_a_stem_is_one_name(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="stem"):
        Store.open(str(tmp_path)).put_table("main", "a/b", pa.table({"n": [1]}))


BAD_URLS = [
    "",
    "s3://",
    "s3:///x",
    "s3:bucket/x",
    "gs://b/x",
    "http://h/b",
    "s3://B!/x",
    "s3://ab",
    "s3://bucket/../x",
    "a\0b",
]


@pytest.mark.parametrize("url", BAD_URLS)
def test_impossible_urls_are_refused_at_once(url: str) -> None:
    with pytest.raises(UserError, match="store"):
        Store.open(url)


def test_urls_have_one_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Store.open("out").url == str(tmp_path / "out")
    assert Store.open("s3://bucket/a/b/").url == "s3://bucket/a/b"
    assert Store.open("s3://bucket/").url == "s3://bucket"
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="is a file"):
        Store.open("file")
    with pytest.raises(UserError, match="cannot be looked at"):
        Store.open("x" * 300)


segment = st.text(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="/"), min_size=1, max_size=40)
name = segment.filter(lambda text: text not in (".", "..") and not text.startswith(".mixgrid-tmp-"))


@given(folders=st.lists(name, max_size=3), stem=name, data=st.binary(max_size=50), rows=st.integers(0, 10**9))
def test_a_parts_name_reads_back_whatever_the_words_in_it(
    folders: list[str], stem: str, data: bytes, rows: int
) -> None:
    part = Part.of("/".join(["main", *folders]), stem, rows, data)
    assert Part.named(part.key) == part
    assert sort_out([Entry(part.key, part.size)], stem).whole == (part,)
    assert sort_out([Entry(part.key, part.size + 1)], None).torn == (part.key,)


@given(key=st.lists(name, min_size=1, max_size=3).map("/".join), data=st.binary(max_size=50))
@settings(max_examples=60, deadline=None)
def test_any_allowed_key_round_trips_in_a_folder(key: str, data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(folder)
        store.put(key, data)
        assert (list(store.list(key[:1])), store.get(key)) == ([Entry(key, len(data))], data)


def test_with_a_stem_other_files_of_the_folder_are_no_concern() -> None:
    asked = Part.of("main/runs/x", "requests", 1, b"a")
    other = Part.of("main/runs/x", "requests-old", 1, b"a")
    keys = ["main/runs/x/run.json", "main/runs/x/requests-1.tmp"]
    entries = [Entry(part.key, part.size) for part in (asked, other)] + [Entry(key, 1) for key in keys]
    listing = sort_out(entries, "requests")
    assert (listing.whole, listing.foreign) == ((asked,), ("main/runs/x/requests-1.tmp",))
