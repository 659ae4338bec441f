"""What only an S3 server can do to us: refuse, tear, go away."""

import http.client
import os
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from mixgrid.errors import UserError
from mixgrid.store import Part, Store, StoreError
from mixgrid.store.parts import encode
from mixgrid.store.s3 import make_client
from tests.servers import BUCKET, KEY_ID, SECRET, S3Server, rclone, use

FOLDER = "main/predictions/corpus=x y/task=satire"
ROWS = pa.table({"item_id": ["007", "7", "NA"], "switching": ["None", "nan", ""], "n": [1, None, 3]})


@pytest.fixture
def s3_store(s3_store_url: str) -> Store:
    return Store.open(s3_store_url)


@pytest.fixture
def own_rclone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    """A server that the test may kill."""
    with rclone(tmp_path) as server:
        use(server, monkeypatch)
        yield server


FAULTS: list[tuple[dict[str, str], str, str]] = [
    ({"AWS_SECRET_ACCESS_KEY": "wrong"}, BUCKET, "SignatureDoesNotMatch; set AWS_SECRET_ACCESS_KEY"),
    ({"AWS_ACCESS_KEY_ID": "wrong"}, BUCKET, "InvalidAccessKeyId; set AWS_ACCESS_KEY_ID"),
    ({}, "no-such-bucket", "s3://no-such-bucket/grid at http://127.*NoSuchBucket; create the bucket"),
    ({"AWS_ENDPOINT_URL_S3": "http://user:pw@127.0.0.1:9"}, BUCKET, "at http://127.0.0.1:9: .*AWS_ENDPOINT_URL_S3"),
    ({"AWS_ENDPOINT_URL_S3": "nonsense"}, BUCKET, "Invalid endpoint"),
    ({"AWS_PROFILE": "nobody"}, BUCKET, "nobody"),
    ({"MIXGRID_S3_ADDRESSING": "pth"}, BUCKET, "MIXGRID_S3_ADDRESSING is 'pth': did you mean 'path'"),
]


@pytest.mark.parametrize(("variables", "bucket", "sentence"), FAULTS)
def test_a_store_that_cannot_work_is_told_in_seconds(
    s3_store: Store, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], bucket: str, sentence: str
) -> None:
    for key, value in variables.items():
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


@pytest.mark.slow
def test_a_server_that_never_answers_fails_the_check_in_seconds(
    s3_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as deaf:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://127.0.0.1:{deaf.getsockname()[1]}")
        started = time.monotonic()
        with pytest.raises(UserError, match="is the server up"):
            Store.open("s3://bucket/x").check(write=False)
    assert time.monotonic() - started < 30
