"""The store's contract, the same over a folder, rclone's S3 server and moto's."""

import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from mixgrid.store import NotFound, Store, StoreError
from mixgrid.store.folder import FolderBackend
from mixgrid.store.parts import encode
from mixgrid.store.s3 import S3Backend
from tests.servers import KEY_ID, SECRET, S3Server, use

FOLDER = "main/predictions/corpus=x y/task=satire"
ROWS = pa.table({"item_id": ["007", "7", "NA"], "switching": ["None", "nan", ""], "n": [1, None, 3]})
HARD_KEYS = ["a b/=x%20y+&?#:@~,;.json", "ș ț/আমি/كتاب.bin", "é-composed", "e\u0301-decomposed", "a..b", "emoji/🙂"]


@pytest.fixture(params=["folder", "rclone", "moto"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    if request.param == "folder":
        return Store.open(str(tmp_path / "store"))
    server: S3Server = request.getfixturevalue(f"{request.param}_server")
    use(server, monkeypatch)
    return Store.open(server.url(f"{tmp_path.name} é/deep"))


def test_bytes_come_back_under_every_hard_key(store: Store) -> None:
    for key in HARD_KEYS:
        store.put(key, key.encode())
    assert [entry.key for entry in store.list()] == sorted(HARD_KEYS)
    assert [store.get(key).decode() for key in HARD_KEYS] == HARD_KEYS
    assert [entry.size for entry in store.list("ș")] == [len(HARD_KEYS[1].encode())]


def test_overwrite_delete_and_exists(store: Store) -> None:
    store.put("a/b", b"long old bytes")
    store.put("a/b", b"new")
    assert store.get("a/b") == b"new"
    assert store.exists("a/b")
    assert not store.exists("a")
    store.delete("a/b")
    store.delete("a/b")
    assert not store.exists("a/b")
    assert list(store.list()) == []


def test_a_missing_key_is_not_found_by_name(store: Store) -> None:
    with pytest.raises(NotFound, match="runs/none"):
        store.get("runs/none")
    with pytest.raises(LookupError):
        store.read("runs/none", ["x"])


def test_a_prefix_may_end_inside_a_name_or_be_no_folder(store: Store) -> None:
    for key in ("r/ab", "r/ab-c/x", "r/abc", "r/b", "s"):
        store.put(key, b"1")
    assert [entry.key for entry in store.list("r/ab")] == ["r/ab", "r/ab-c/x", "r/abc"]
    assert [entry.key for entry in store.list("r/abc/")] == []
    assert [entry.key for entry in store.list("nothing/here")] == []
    assert [entry.key for entry in store.list("r/")] == ["r/ab", "r/ab-c/x", "r/abc", "r/b"]


def test_json_is_compact_sorted_utf8_and_torn_json_is_named(store: Store) -> None:
    store.put_json("main/runs/x/run.json", {"b": [1, None], "a": "ț"})
    assert store.get("main/runs/x/run.json") == '{"a":"ț","b":[1,null]}'.encode()
    assert store.get_json("main/runs/x/run.json") == {"a": "ț", "b": [1, None]}
    for torn in (b'{"a":"\xc8', b'{"a":', b""):
        store.put("main/run.json", torn)
        with pytest.raises(StoreError, match=r"main/run\.json"):
            store.get_json("main/run.json")


def test_a_part_is_named_by_its_content_and_survives_unchanged(store: Store) -> None:
    part = store.put_table(FOLDER, "part", ROWS)
    assert part.key == f"{FOLDER}/part-{part.digest}-3-{part.size}.parquet"
    assert store.read(part).equals(ROWS)
    assert store.read(part.key, verify=True).equals(ROWS)
    assert store.read(part, ["n", "item_id"]).equals(ROWS.select(["n", "item_id"]))
    assert store.parts("main/predictions").whole == (part,)


def test_a_whole_part_is_not_written_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    part = store.put_table(FOLDER, "part", ROWS)

    def forbidden(*_: object) -> None:
        raise AssertionError("written twice")

    monkeypatch.setattr(S3Backend, "put", forbidden)
    monkeypatch.setattr(FolderBackend, "put", forbidden)
    assert store.put_table(FOLDER, "part", ROWS) == part


def test_torn_and_foreign_files_are_named_and_left_alone(store: Store) -> None:
    whole = store.put_table(FOLDER, "part", ROWS)
    lost = store.put_table(FOLDER, "part", ROWS.slice(0, 1))
    store.put(lost.key, store.get(lost.key)[:-7])
    store.put(f"{FOLDER}/notes.txt", b"hello")
    listing = store.parts("main/predictions")
    assert (listing.whole, listing.torn, listing.foreign) == ((whole,), (lost.key,), (f"{FOLDER}/notes.txt",))
    assert [lost.key in listing.warnings()[0], "notes.txt" in listing.warnings()[1]] == [True, True]
    assert len(list(store.list())) == 3


def test_rewriting_a_torn_part_mends_it(store: Store) -> None:
    part = store.put_table(FOLDER, "part", ROWS)
    store.put(part.key, b"PAR1")
    assert store.put_table(FOLDER, "part", ROWS) == part
    assert store.parts(FOLDER).whole == (part,)


@pytest.mark.parametrize("columns", [None, ["n"]])
def test_bytes_that_are_not_the_part_are_refused_by_name(store: Store, columns: list[str] | None) -> None:
    part = store.put_table(FOLDER, "part", ROWS)
    other = encode(ROWS.slice(0, 2))
    for data in (b"\0" * part.size, store.get(part.key)[:-9], other):
        store.put(part.key, data)
        with pytest.raises(StoreError, match=part.digest):
            store.read(part, columns)


def test_a_flipped_byte_of_another_column_is_found_by_verify(store: Store) -> None:
    part = store.put_table(FOLDER, "part", ROWS)
    data = bytearray(store.get(part.key))
    data[8] ^= 1
    store.put(part.key, bytes(data))
    with pytest.raises(StoreError, match="name promises"):
        store.read(part, ["n"], verify=True)


def test_an_unknown_column_is_named(store: Store) -> None:
    part = store.put_table(FOLDER, "part", ROWS)
    with pytest.raises(StoreError, match="no column text; it has item_id, switching, n"):
        store.read(part, ["n", "text"])


def test_projection_leaves_the_big_column_where_it_is(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [os.urandom(1500).hex() for _ in range(500)]
    ids = [f"{n:03}" for n in range(500)]
    part = store.put_table(FOLDER, "part", pa.table({"text": texts, "item_id": ids}))
    fetched: list[int] = []
    for kind in (S3Backend, FolderBackend):

        def counting(self: Any, *args: Any, get: Any = kind.get) -> bytes:
            data: bytes = get(self, *args)
            fetched.append(len(data))
            return data

        monkeypatch.setattr(kind, "get", counting)
    assert store.read(part, ["item_id"])["item_id"].to_pylist() == ids
    assert part.size > 700_000
    assert sum(fetched) < 100_000
    assert len(fetched) <= 4


def test_a_store_travels_without_client_and_credentials(store: Store) -> None:
    store.put("a", b"1")
    sent = pickle.dumps(store)
    assert SECRET.encode() not in sent
    assert KEY_ID.encode() not in sent
    copy = pickle.loads(sent)
    assert copy == store
    assert copy.get("a") == b"1"


def test_check_passes_cleans_up_and_leaves_the_environment(store: Store) -> None:
    before = dict(os.environ)
    store.check()
    store.check(write=False)
    assert list(store.list()) == []
    assert dict(os.environ) == before


def test_threads_may_share_a_store(store: Store) -> None:
    tables = [ROWS.append_column("k", pa.array([n] * 3)) for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        parts = list(pool.map(lambda table: store.put_table(FOLDER, "part", table), tables))
    assert sorted(parts) == list(store.parts(FOLDER).whole)
