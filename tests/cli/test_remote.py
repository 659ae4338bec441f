"""submit, before anything is sent: what it lists, and what it refuses."""

import re
from pathlib import Path

import pytest
from typer.main import get_command

from mixgrid.cli import app
from tests.cli.conftest import Mixgrid
from tests.helpers import small_grid
from tests.servers import free_port

URL = "s3://bucket/prefix"


def test_a_dry_run_lists_the_files_the_largest_and_the_total(tmp_path: Path, mixgrid: Mixgrid) -> None:
    path = small_grid(tmp_path)
    ended = mixgrid("submit", path, "--store", URL, "--dry-run")
    assert ended.code == 0
    assert "grid/mini.jsonl" in ended.out
    assert ended.out.split("largest:")[1].count("MiB") == 11
    assert "nothing was sent" in ended.out
    found = mixgrid("submit", path, "--store", URL, "--dry-run", "--json").json
    assert found["bytes"] == sum(size for _, size in found["files"])


@pytest.mark.parametrize("store", [(), ("--store", "folder"), ("--store", "")])
def test_a_folder_is_no_store_for_a_cluster(tmp_path: Path, mixgrid: Mixgrid, store: tuple[str, ...]) -> None:
    ended = mixgrid("submit", small_grid(tmp_path), *store)
    assert ended.code == 2
    assert "name s3://bucket/prefix" in ended.err


def test_the_manifest_s_store_will_do(tmp_path: Path, mixgrid: Mixgrid) -> None:
    assert mixgrid("submit", small_grid(tmp_path, store=URL), "--dry-run").code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--job", "rnu"), "did you mean 'run'?"),
        (("--job", "gate"), "no verb that runs on a cluster"),
        (("--limt", "5"), "No such option: --limt"),
        (("--limit", "0"), "--limit"),
        (("--job", "reduce", "--limit", "5"), "No such option: --limit"),
    ],
)
def test_a_slip_is_told_here_and_not_on_the_cluster(
    tmp_path: Path, mixgrid: Mixgrid, arguments: tuple[str, ...], said: str
) -> None:
    ended = mixgrid("submit", small_grid(tmp_path), "--store", URL, *arguments)
    assert ended.code == 2
    assert said in ended.err


def test_a_manifest_that_is_wrong_is_told_here(tmp_path: Path, mixgrid: Mixgrid) -> None:
    ended = mixgrid("submit", small_grid(tmp_path, tasks=["satir"]), "--store", URL)
    assert (ended.code, "did you mean 'satire'?" in ended.err) == (2, True)


def test_every_job_file_is_a_verb_and_submit_takes_those_of_a_manifest(
    tmp_path: Path, mixgrid: Mixgrid, root: Path
) -> None:
    allowed = mixgrid("submit", small_grid(tmp_path), "--store", URL, "--job", "x").err.split("Allowed: ")[1]
    verbs = {re.findall(r'main\(\["(\w+)", \*sys.argv', f.read_text("utf-8"))[0] for f in (root / "jobs").glob("*.py")}
    commands = get_command(app).commands  # type: ignore[attr-defined]
    assert verbs <= set(commands)
    of_manifests = {verb for verb in verbs if commands[verb].params[0].name == "manifest"}
    assert of_manifests >= {"nightly", "reduce", "report", "run"}
    assert of_manifests <= set(allowed.strip().split(", "))


@pytest.mark.parametrize("verb", [("submit", "GRID", "--store", URL), ("logs", "job"), ("stop", "job")])
def test_no_cluster_is_one_sentence(tmp_path: Path, mixgrid: Mixgrid, verb: tuple[str, ...]) -> None:
    words = [str(small_grid(tmp_path)) if word == "GRID" else word for word in verb]
    ended = mixgrid(*words, "--address", f"http://127.0.0.1:{free_port()}")
    assert ended.code == 2
    assert "no Ray job server answers" in ended.err
    assert "Traceback" not in ended.err
