"""A newcomer's path, word for word as in the README: submit from a laptop, watch, stop, submit again, reduce, report.

The laptop is this process's environment without a checkout or a cluster's keys for the engine; the cluster is a head in
another process, with a token; the store is a server that checks signatures.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from mixgrid.plan.progress import status
from mixgrid.store import Store
from tests.helpers import TOY, corpus_rows, small_grid
from tests.rayhead import ROOT, RayHead, ray_head
from tests.servers import SECRET, S3Server, rclone, use

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(1500)]

ITEMS, SEEDS = 40, 2
SLOW = {"delay_ms": 2000}  # a request; two are a part. No part of what a run is, so that a resumed one may be fast
HIDDEN = "not-for-any-cluster-1234"


@dataclass(frozen=True)
class Laptop:
    """Where the newcomer sits: a folder with a manifest, the store's keys, and the cluster's token."""

    folder: Path
    env: dict[str, str]
    url: str

    def start(self, *words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "mixgrid", *words]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=self.folder, env=self.env, stdout=pipe, stderr=pipe, text=True)

    def run(self, *words: str) -> tuple[int, str, str]:
        process = self.start(*words)
        out, err = process.communicate(timeout=300)
        assert "Traceback" not in err, err
        return process.returncode, out, err

    def done(self) -> int:
        return sum(run.done for run in status(Store.open(self.url), "main"))


@pytest.fixture(autouse=True)
def heeds_ctrl_c() -> Iterator[None]:
    """A test run in a shell's background is deaf to Ctrl-C, and so would be all that it starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with rclone(tmp_path_factory.mktemp("s3")) as found:
        yield found


@pytest.fixture(scope="module")
def head(server: S3Server) -> Iterator[RayHead]:
    with ray_head(server.env(os.environ), gpus=1) as found:
        yield found


@pytest.fixture(scope="module")
def laptop(server: S3Server, head: RayHead, tmp_path_factory: pytest.TempPathFactory) -> Laptop:
    folder = tmp_path_factory.mktemp("laptop")
    resources = {"toy": {"batch_size": 2, "batches_in_flight": 1, "cpus": 0.5}}
    small_grid(
        folder, rows=corpus_rows(ITEMS // 2), models={"toy": {**TOY, "engine_args": SLOW}}, resources=resources,
        sampling=[{"temperature": 0.7, "max_tokens": 8}],
    )  # fmt: skip
    (folder / ".env").write_text(f"OPENAI_API_KEY={HIDDEN}", "utf-8")
    (folder / "manifests/.env").write_text(f"HF_TOKEN={HIDDEN}", "utf-8")
    token = {name: head.env[name] for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN")}
    places = {"PYTHONPATH": str(ROOT / "lib"), "RAY_API_SERVER_ADDRESS": head.address, "OPENAI_API_KEY": HIDDEN}
    return Laptop(folder, {**server.env(os.environ), **token, **places}, server.url("newcomer"))


def test_submit_detach_stop_submit_again_reduce_report(
    laptop: Laptop, head: RayHead, server: S3Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use(server, monkeypatch)
    following = laptop.start("submit", "manifests/grid.yaml", "--store", laptop.url)
    _wait(lambda: laptop.done() >= 4)
    code, out, err = laptop.run("status", "manifests/grid.yaml", "--store", laptop.url, "--address", head.address)
    (job,) = re.findall(r"raysubmit_\w+", out)
    assert "1 nodes, CPUs held 0.5 of 2, GPUs held 1 of 1" in out, out + err

    following.send_signal(signal.SIGINT)
    out, err = following.communicate(timeout=60)
    assert following.returncode == 3
    assert f"job {job} goes on" in err
    assert out.count("ok   node") == 3
    before = laptop.done()
    _wait(lambda: laptop.done() > before)  # Ctrl-C detached, and stopped nothing

    assert laptop.run("stop", job)[:2] == (0, f"job {job}: stopped\n")
    kept = laptop.done()
    assert before < kept < ITEMS * SEEDS

    models = laptop.folder / "manifests/models.yaml"
    models.write_text(models.read_text("utf-8").replace("delay_ms: 2000", "delay_ms: 0"), "utf-8")
    assert laptop.run("submit", "manifests/grid.yaml", "--store", laptop.url, "--wait")[0] == 0
    store = Store.open(laptop.url)
    assert laptop.done() == ITEMS * SEEDS
    assert sum(part.rows for part in store.parts("main/predictions").whole) == ITEMS * SEEDS
    _check_what_is_told(head, store)

    code, out, err = laptop.run("submit", "manifests/grid.yaml", "--store", laptop.url, "--job", "reduce")
    assert code == 0, out + err
    assert "macro_f1" in out
    code, out, _ = laptop.run("report", "manifests/grid.yaml", "--store", laptop.url, "--out", str(tmp_path / "page"))
    assert code == 0
    assert list((tmp_path / "page").rglob("index.html"))
    _check_no_secret(head, server)


def test_the_exit_code_is_the_job_s(laptop: Laptop) -> None:
    code, _, err = laptop.run("submit", "manifests/grid.yaml", "--store", "s3://no-such-bucket/x", "--wait")
    assert code == 2
    assert "ended with exit code 2" in err
    job = re.findall(r"raysubmit_\w+", err)[0]
    code, out, _ = laptop.run("logs", job)
    assert (code, "FAIL node" in out, "create the bucket" in out) == (0, True, True)


def test_another_token_is_one_sentence(laptop: Laptop) -> None:
    stranger = Laptop(laptop.folder, {**laptop.env, "RAY_AUTH_TOKEN": "0" * 32}, laptop.url)
    code, _, err = stranger.run("submit", "manifests/grid.yaml", "--store", laptop.url)
    assert code == 2
    assert "the cluster wants its token" in err


def _check_what_is_told(head: RayHead, store: Store) -> None:
    """run.json has the laptop's commit, times and GPU-hours; Prometheus has the counts; lines have ids and no text."""
    (key, *_) = [entry.key for entry in store.list("main/runs/") if entry.key.endswith("run.json")]
    run = store.get_json(key)
    assert re.fullmatch(r"[0-9a-f]{40}(-dirty)?", run["environment"]["commit"])
    assert run["environment"]["ray"]
    assert run["ended"]["exit"] == 0
    assert run["ended"]["gpu_hours"] > 0
    assert run["ended"]["seconds"] > 0
    assert run["frozen_at"] < run["ended"]["ended_at"]
    lines = "".join(f.read_text("utf-8", "replace") for f in head.log.parent.rglob("worker-*.err"))
    parts = [json.loads(line) for line in lines.splitlines() if '"event": "part"' in line]
    assert sum(part["rows"] for part in parts) >= ITEMS * SEEDS
    assert "primarul" not in lines
    _wait(lambda: "ray_mixgrid_rows_total{" in _metrics(head))
    assert 'model="toy"' in _metrics(head)


def _metrics(head: RayHead) -> str:
    """What Prometheus would scrape."""
    ask = urllib.request.Request(
        f"{head.address}/nodes?view=summary", headers={"Authorization": f"Bearer {head.env['RAY_AUTH_TOKEN']}"}
    )
    with urllib.request.urlopen(ask) as answer:
        port = json.load(answer)["data"]["summary"][0]["raylet"]["metricsExportPort"]
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        return str(answer.read().decode())


def _check_no_secret(head: RayHead, server: S3Server) -> None:
    """What lay beside the manifest or in the laptop's shell is in none of the cluster's files; no key in any output."""
    assert server.root is not None
    for file in (f for place in (head.log.parent, server.root) for f in place.rglob("*") if f.is_file()):
        try:
            data = file.read_bytes()
        except FileNotFoundError:  # a file of the running head that has had its time
            continue
        assert HIDDEN.encode() not in data, file
        shown = file.name.startswith("job-driver") or file.is_relative_to(server.root)
        assert not (shown and SECRET.encode() in data), file


def _wait(until: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 240
    while not until():
        assert time.monotonic() < deadline
        time.sleep(1)
