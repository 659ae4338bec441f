"""Ray, literally: `ray job submit` to a head on loopback, with a real S3 server whose keys only the head has."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from mixgrid.store import Store
from tests.rayhead import BIN, RayHead, ray_head
from tests.servers import SECRET, S3Server, rclone, use

pytestmark = [pytest.mark.ray, pytest.mark.timeout(300)]

MANIFESTS = Path(__file__).resolve().parent.parent / "manifests"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with rclone(tmp_path_factory.mktemp("s3")) as found:
        yield found


@pytest.fixture(scope="module")
def head(server: S3Server) -> Iterator[RayHead]:
    """Two fake GPUs, so that actors ask for one each."""
    with ray_head(server.env(os.environ), gpus=2) as found:
        yield found


@pytest.fixture(scope="module")
def canned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The smoke grid with canned answers and two replicas, beside the shipped catalogues."""
    folder = tmp_path_factory.mktemp("manifests")
    for name in ("models.yaml", "corpora.yaml", "samples"):
        (folder / name).symlink_to(MANIFESTS / name)
    manifest = yaml.safe_load((MANIFESTS / "smoke.yaml").read_text("utf-8"))
    manifest |= {
        "models": ["canned"],
        "resources": {"canned": {"replicas": 2, "gpus": 1, "batch_size": 32, "cpus": 0.5}},
    }
    (folder / "grid.yaml").write_text(yaml.safe_dump(manifest), "utf-8")
    return folder / "grid.yaml"


def test_predict_then_reduce_then_report_as_jobs(
    head: RayHead, server: S3Server, canned: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = server.url("jobs")
    for job in ("predict", "reduce", "report"):
        done = head.submit([f"jobs/{job}.py", str(canned), "--store", url])
        assert done.returncode == 0, done.stdout + done.stderr
        assert SECRET not in done.stdout + done.stderr
    use(server, monkeypatch)
    store = Store.open(url)
    assert sum(part.rows for part in store.parts("main/predictions").whole) == 58 * 2 * 3
    assert [entry for entry in store.list("main/reports/") if entry.key.endswith("index.html")]
    written = b"".join(store.get(entry.key) for entry in store.list("main/runs/") if entry.key.endswith(".json"))
    assert SECRET.encode() not in written


def test_status_from_another_shell_shows_the_same_counts(head: RayHead, server: S3Server, canned: Path) -> None:
    """No Ray is needed to look: the store has the counts."""
    url = server.url("status")
    assert head.submit(["jobs/predict.py", str(canned), "--store", url, "--limit", "5"]).returncode == 0
    command = [str(BIN / "mixgrid"), "status", "--store", url, "--json"]
    found = json.loads(subprocess.run(command, env=server.env(os.environ), capture_output=True, check=True).stdout)
    assert sum(run["done"] for run in found) == 5 * 2 * 3
    assert sum(run["pending"] for run in found) == 0


def test_a_job_with_a_bad_manifest_fails_before_anything_is_stored(
    head: RayHead, server: S3Server, tmp_path: Path
) -> None:
    (tmp_path / "bad.yaml").write_text("name: bad\ntaks: [satire]\n", "utf-8")
    done = head.submit(["jobs/predict.py", str(tmp_path / "bad.yaml"), "--store", server.url("bad")])
    assert done.returncode != 0
    assert "did you mean 'tasks'?" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout
    assert server.root is not None
    assert not list(server.root.rglob("bad/*"))


def test_a_corpus_is_described_by_a_job(head: RayHead, server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    url = server.url("described")
    done = head.submit(["jobs/describe.py", "satire-sample", "--split", "test", "--store", url])
    assert done.returncode == 0, done.stdout + done.stderr
    use(server, monkeypatch)
    store = Store.open(url)
    assert sum(part.rows for part in store.parts("main/surveys").whole if part.stem.startswith("rows-")) == 216
    assert [entry for entry in store.list("main/surveys/") if entry.key.endswith("plots/cmi.svg")]


def test_a_corpus_is_made_by_a_job(head: RayHead, server: S3Server, canned: Path, tmp_path: Path) -> None:
    """Prompts, engines and the snapshot are the cluster's; the laptop sees the table and where the corpus lies."""
    canned_model = yaml.safe_load((MANIFESTS / "models.yaml").read_text("utf-8"))["models"]["canned"]
    canned_model["engine_args"] = {"answers": ["<translation>anew</translation>"]}
    (tmp_path / "models.yaml").write_text(yaml.safe_dump({"models": {"canned": canned_model}}), "utf-8")
    for name in ("corpora.yaml", "samples"):
        (tmp_path / name).symlink_to(MANIFESTS / name)
    recipe = yaml.safe_load((MANIFESTS / "generate_sample.yaml").read_text("utf-8"))
    recipe |= {"model": "canned", "sampling": [], "switching": {"random": {"share": 0.5}}, "languages": ["en"]}
    recipe["resources"] = {"replicas": 2, "gpus": 1, "batch_size": 64, "cpus": 0.5}
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(recipe), "utf-8")
    done = head.submit(["jobs/generate.py", str(tmp_path / "recipe.yaml"), "--store", server.url("made")])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "s3://grid-bucket/made/corpora/satire-sample-mixed/" in done.stdout
    assert server.root is not None
    made = [*server.root.rglob("made/corpora/satire-sample-mixed/*/items-*.parquet")]
    assert made
