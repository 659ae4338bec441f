"""The store: the same contract over a folder, rclone's S3 server and moto's; then each kind's own faults."""

import http.client
import os
import pickle
import resource
import socket
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given, settings
from hypothesis import strategies as st

from mixgrid.errors import UserError
from mixgrid.store import Entry, NotFound, Part, Store, StoreError
from mixgrid.store.folder import FolderBackend
from mixgrid.store.parts import encode, sort_out
from mixgrid.store.s3 import S3Backend, make_client
from tests.servers import BUCKET, KEY_ID, SECRET, S3Server, rclone, use

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


@pytest.fixture
def s3_store(s3_store_url: str) -> Store:
    return Store.open(s3_store_url)


@pytest.fixture
def own_rclone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    """A server that the test may kill."""
    with rclone(tmp_path) as server:
        use(server, monkeypatch)
        yield server


# --- the contract, over every kind of store -------------------------------------------------------------------------


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
        store.put("main/outcome.json", torn)
        with pytest.raises(StoreError, match=r"main/outcome\.json"):
            store.get_json("main/outcome.json")


@pytest.mark.parametrize("value", [float("nan"), "\ud800"])
def test_what_json_cannot_say_is_refused_by_key(tmp_path: Path, value: object) -> None:
    with pytest.raises(StoreError, match=r"x\.json"):
        Store.open(str(tmp_path)).put_json("x.json", {"v": value})


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


# --- names ----------------------------------------------------------------------------------------------------------


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
        Store.open(str(tmp_path)).put_table(FOLDER, "a/b", ROWS)


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


# --- a folder -------------------------------------------------------------------------------------------------------


def test_a_full_disk_is_an_error_and_leaves_nothing_behind(tmp_path: Path) -> None:
    store = Store.open(str(tmp_path / "store"))
    store.put("a/b", b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(StoreError, match="cannot write 'a/b'"):
            store.put("a/b", b"x" * 200_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert store.get("a/b") == b"old"
    assert [path.name for path in (tmp_path / "store" / "a").iterdir()] == ["b"]


def test_files_still_being_written_are_no_parts(tmp_path: Path) -> None:
    store = Store.open(str(tmp_path))
    part = store.put_table(FOLDER, "part", ROWS)
    (tmp_path / FOLDER / ".mixgrid-tmp-1-ab").write_bytes(b"PAR1")
    listing = store.parts("main")
    assert (listing.whole, listing.torn, listing.foreign) == ((part,), (), ())


@pytest.mark.parametrize("place", ["/proc/none/x", "/dev/null/x"])
def test_a_folder_that_cannot_be_written_is_a_users_error(place: str) -> None:
    with pytest.raises(UserError, match="writable"):
        Store.open(place).check()


# --- S3 -------------------------------------------------------------------------------------------------------------

FAULTS: list[tuple[dict[str, str], str, str]] = [
    ({"AWS_SECRET_ACCESS_KEY": "wrong"}, BUCKET, "SignatureDoesNotMatch; set AWS_SECRET_ACCESS_KEY"),
    ({"AWS_ACCESS_KEY_ID": "wrong"}, BUCKET, "InvalidAccessKeyId; set AWS_ACCESS_KEY_ID"),
    ({}, "no-such-bucket", "s3://no-such-bucket/grid at http://127.*NoSuchBucket; create the bucket"),
    ({"AWS_ENDPOINT_URL_S3": "http://user:pw@127.0.0.1:9"}, BUCKET, "at http://127.0.0.1:9: .*AWS_ENDPOINT_URL_S3"),
    ({"AWS_ENDPOINT_URL_S3": "nonsense"}, BUCKET, "Invalid endpoint"),
    ({"AWS_PROFILE": "nobody"}, BUCKET, "nobody"),
    ({"MIXGRID_S3_ADDRESSING": "pth"}, BUCKET, "MIXGRID_S3_ADDRESSING is 'pth': did you mean 'path'"),
]


@pytest.mark.parametrize(("settings_", "bucket", "sentence"), FAULTS)
def test_a_store_that_cannot_work_is_told_in_seconds(
    s3_store: Store, monkeypatch: pytest.MonkeyPatch, settings_: dict[str, str], bucket: str, sentence: str
) -> None:
    for key, value in settings_.items():
        monkeypatch.setenv(key, value)
    started = time.monotonic()
    for write in (True, False):
        with pytest.raises(UserError, match=sentence) as fault:
            Store.open(f"s3://{bucket}/grid").check(write=write)
        assert "\n" not in str(fault.value)
        assert "pw" not in str(fault.value)
    assert time.monotonic() - started < 15


def test_missing_credentials_are_told(s3_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(UserError, match="NoCredentialsError; set AWS_ACCESS_KEY_ID"):
        s3_store.check()


def test_checksums_and_path_style_follow_the_endpoint(s3_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def shape() -> tuple[str, str, str]:
        config = make_client().meta.config
        return config.request_checksum_calculation, config.s3["addressing_style"], make_client().meta.region_name

    assert shape() == ("when_required", "path", "us-east-1")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    monkeypatch.setenv("MIXGRID_S3_ADDRESSING", "virtual")
    assert shape() == ("when_required", "virtual", "eu-central-1")
    monkeypatch.delenv("MIXGRID_S3_ADDRESSING")
    monkeypatch.delenv("AWS_ENDPOINT_URL_S3")
    assert shape() == ("when_supported", "auto", "eu-central-1")


def test_an_endpoint_from_the_profile_counts(
    s3_store: Store, rclone_server: S3Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    keys = f"aws_access_key_id = {KEY_ID}\naws_secret_access_key = {SECRET}"
    (tmp_path / "config").write_text(f"[profile lab]\nendpoint_url = {rclone_server.endpoint}\n{keys}\n")
    for variable in ("AWS_ENDPOINT_URL_S3", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(variable)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_PROFILE", "lab")
    s3_store.check()
    assert make_client().meta.config.request_checksum_calculation == "when_required"


def test_listings_go_past_a_thousand_keys(s3_store: Store, rclone_server: S3Server) -> None:
    assert rclone_server.root is not None
    folder = rclone_server.root / s3_store.url.rpartition("/")[2] / "many"
    folder.mkdir(parents=True)
    for n in range(2300):
        (folder / f"{n:04} é").write_bytes(b"x")
    rclone_server.restart()
    assert [entry.key for entry in s3_store.list("many/")] == [f"many/{n:04} é" for n in range(2300)]
    assert len(list(s3_store.list("many/0"))) == 1000


def test_a_part_cut_on_the_servers_disk_is_torn(s3_store: Store, rclone_server: S3Server) -> None:
    part = s3_store.put_table(FOLDER, "part", ROWS)
    assert rclone_server.root is not None
    os.truncate(rclone_server.root / s3_store.url.rpartition("/")[2] / part.key, part.size // 2)
    rclone_server.restart()
    listing = s3_store.parts(FOLDER)
    assert (listing.whole, listing.torn) == ((), (part.key,))


def half_put(server: S3Server, key: str, data: bytes) -> http.client.HTTPConnection:
    """Send a signed PUT, but only half of its body; returns when the server has some of it on its disk."""
    request = AWSRequest("PUT", f"{server.endpoint}/{BUCKET}/{key}", data=data)
    S3SigV4Auth(Credentials(KEY_ID, SECRET), "s3", "us-east-1").add_auth(request)
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.putrequest("PUT", f"/{BUCKET}/{key}")
    for header, value in {**request.headers, "Content-Length": str(len(data))}.items():
        connection.putheader(header, value)
    connection.endheaders(data[: len(data) // 2])
    assert server.root is not None
    deadline = time.monotonic() + 20
    while not (target := server.root / key).exists() or not target.stat().st_size:
        assert time.monotonic() < deadline, "the server wrote nothing"
        time.sleep(0.02)
    return connection


@pytest.mark.kills
@pytest.mark.parametrize("victim", ["server", "client"])
def test_a_half_sent_part_is_never_read_as_data(own_rclone: S3Server, victim: str) -> None:
    big = pa.table({"text": [os.urandom(10_000) for _ in range(2_000)]})
    store, data = Store.open(own_rclone.url("grid")), encode(big)
    kept = store.put_table("main/predictions", "part", ROWS)
    torn = Part.of("main/predictions", "part", big.num_rows, data)
    connection = half_put(own_rclone, f"grid/{torn.key}", data)
    if victim == "server":
        own_rclone.restart()
    connection.close()
    listing = store.parts("main")
    assert listing.whole == (kept,)
    if victim == "server":
        assert listing.torn == (torn.key,)
        with pytest.raises(StoreError):
            Store(store.url, patience_s=0).read(torn)
    assert store.put_table("main/predictions", "part", big) == torn
    assert store.read(torn, verify=True).equals(big)


@pytest.mark.kills
def test_a_server_that_is_away_for_a_while_is_waited_for(own_rclone: S3Server) -> None:
    store = Store.open(own_rclone.url("grid"))
    part = store.put_table(FOLDER, "part", ROWS)
    own_rclone.kill()
    with ThreadPoolExecutor(2) as pool:
        listing, table = pool.submit(store.parts, FOLDER), pool.submit(store.read, part)
        time.sleep(2.5)
        assert not listing.done()
        own_rclone.start()
    assert listing.result().whole == (part,)
    assert table.result().equals(ROWS)


@pytest.mark.kills
def test_a_server_that_stays_away_is_an_error_after_the_patience(own_rclone: S3Server) -> None:
    store = Store(own_rclone.url("grid"), patience_s=1)
    own_rclone.kill()
    with pytest.raises(StoreError, match="is the server up"):
        store.put_table(FOLDER, "part", ROWS)


def test_a_server_that_never_answers_fails_the_check_in_seconds(
    s3_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as deaf:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://127.0.0.1:{deaf.getsockname()[1]}")
        started = time.monotonic()
        with pytest.raises(UserError, match="is the server up"):
            Store.open("s3://bucket/x").check(write=False)
    assert time.monotonic() - started < 30


def test_other_readers_can_open_a_part(tmp_path: Path) -> None:
    part = Store.open(str(tmp_path)).put_table(FOLDER, "part", ROWS)
    file = pq.ParquetFile(tmp_path / part.key)
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"
    assert file.read().equals(ROWS)
