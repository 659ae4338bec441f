"""Real S3 servers on loopback for tests: rclone's (checks signatures, shows half-written objects) and moto's.

with rclone(folder) as server:
    subprocess.run(command, env=server.env(os.environ))     # another process sees the same store
    Store.open(server.url("grid"))                          # this one does inside the fixture `s3_store_url`
"""

import os
import shutil
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import boto3
import pytest
import rclone_api

# Linux: a killed pytest leaves no server behind.
_DIE_WITH_PARENT = ("setpriv", "--pdeathsig", "KILL") if shutil.which("setpriv") else ()
KEY_ID, SECRET, BUCKET = "testkey", "testsecret", "grid-bucket"


@dataclass
class S3Server:
    """One server process; `kill` and `start` again on the same port and data (moto's data go with it)."""

    command: list[str]
    port: int
    log: Path
    root: Path | None = None  # rclone: the bucket's folder on disk
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def url(self, prefix: str) -> str:
        return f"s3://{BUCKET}/{prefix}"

    def env(self, base: Mapping[str, str]) -> dict[str, str]:
        """The environment with this server's endpoint and keys, and no other AWS setting than the CA bundle."""
        kept = {k: v for k, v in base.items() if not k.startswith("AWS_") or k == "AWS_CA_BUNDLE"}
        return kept | {
            "AWS_ENDPOINT_URL_S3": self.endpoint,
            "AWS_ACCESS_KEY_ID": KEY_ID,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def start(self) -> None:
        """Returns when the port answers. Not from a thread that ends: the server ends with it."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen([*_DIE_WITH_PARENT, *self.command], stdout=log, stderr=log)
        deadline = time.monotonic() + 60
        while not listens(self.port):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{self.command[0]} did not start: {self.log.read_text()[-2000:]}")
            time.sleep(0.05)

    def kill(self) -> None:
        """As kill -9 does: nothing is flushed or cleaned up."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def restart(self) -> None:
        """As after a crash. rclone remembers folders for a while; after this it sees what was changed on the disk."""
        self.kill()
        self.start()


@contextmanager
def rclone(folder: Path) -> Iterator[S3Server]:
    """An rclone S3 server with authentication; the bucket is a folder under `folder`."""
    root = folder / "data" / BUCKET
    root.mkdir(parents=True, exist_ok=True)
    port = free_port()
    auth = ["--auth-key", f"{KEY_ID},{SECRET}"]
    # A folder cache of 0 s makes rclone 1.75 spin for minutes in the third level of folders.
    cache = ["--vfs-cache-mode", "off", "--dir-cache-time", "5s"]
    command = [str(rclone_api.BINARY_PATH), "serve", "s3", "--config", os.devnull, "--addr", f"127.0.0.1:{port}"]
    server = S3Server([*command, *auth, *cache, str(root.parent)], port, folder / "rclone.log", root)
    with _running(server):
        yield server


@contextmanager
def moto(folder: Path) -> Iterator[S3Server]:
    """A moto S3 server: honours conditional writes, checks no keys, keeps everything in memory."""
    port = free_port()
    command = [sys.executable, "-c", "from moto.server import main; main()", "-H", "127.0.0.1", "-p", str(port)]
    server = S3Server(command, port, folder / "moto.log")
    with _running(server):
        session = boto3.Session(aws_access_key_id=KEY_ID, aws_secret_access_key=SECRET, region_name="us-east-1")
        session.client("s3", endpoint_url=server.endpoint).create_bucket(Bucket=BUCKET)
        yield server


@pytest.fixture(scope="session")
def rclone_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """One rclone for the session. A test that kills its server starts its own with `rclone(tmp_path)`."""
    with rclone(tmp_path_factory.mktemp("rclone")) as server:
        yield server


@pytest.fixture(scope="session")
def moto_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """One moto for the session."""
    with moto(tmp_path_factory.mktemp("moto")) as server:
        yield server


@pytest.fixture
def s3_store_url(rclone_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty store on rclone; this process's environment points to it until the test ends."""
    use(rclone_server, monkeypatch)
    return rclone_server.url(f"store-{uuid.uuid4().hex[:8]}")


def use(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Point this process's environment to the server, until the test ends."""
    env = server.env(os.environ)
    for name in set(os.environ) - set(env):
        monkeypatch.delenv(name)
    for name, value in env.items():
        monkeypatch.setenv(name, value)


@contextmanager
def _running(server: S3Server) -> Iterator[None]:
    try:
        server.start()
        yield
    finally:
        server.kill()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
