"""Bad input ends before anything starts: exit 2, one sentence on stderr with the remedy, no stack trace."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import ray

from tests.cli.conftest import Ended, Mixgrid
from tests.helpers import TOY, small_grid

VERBS = ["plan", "run", "status", "reduce", "report"]
READING = ["plan", "run"]


def refused(ended: Ended, *says: str) -> None:
    assert ended.code == 2, ended
    assert ended.out == ""
    assert ended.err.startswith("mixgrid: ")
    assert ended.err.count("\n") == 1
    assert "Traceback" not in ended.err
    assert all(text in ended.err for text in says), ended.err
    assert not ray.is_initialized()


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"", "the file is empty"),
        (b"a: [b", "not YAML"),
        (b"name: \xff", "not UTF-8 (byte 6)"),
        (b"- a", "the file is a list"),
    ],
)
def test_a_file_that_is_no_manifest(tmp_path: Path, mixgrid: Mixgrid, verb: str, text: bytes, says: str) -> None:
    file = tmp_path / "grid.yaml"
    file.write_bytes(text)
    refused(mixgrid(verb, file, "--store", tmp_path / "store"), str(file), says)
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("verb", READING)
@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"langages": ["ro"]}, ["unknown key 'langages'", "did you mean 'languages'?"]),
        ({"asked": ["tox"]}, ["key 'models'", "no model 'tox'", "did you mean 'toy'?"]),
        ({"tasks": ["satir"]}, ["key 'tasks'", "no task 'satir'", "Allowed: code-mixing, dialogue-qa"]),
        ({"sampling": [{"top_k": 0.2}]}, ["key 'sampling.0.top_k'", "0.2", "valid integer"]),
        ({"sampling": [{"temperature": -1}]}, ["key 'sampling.0.temperature'", "-1", "greater than or equal to 0"]),
        ({"languages": ["ro-fr"]}, ["key 'languages'", "'ro-fr'", "Allowed: ro, ro-en"]),
        ({"namespace": "../other"}, ["key 'namespace'", "'../other'"]),
        ({"rows": []}, ["corpora.yaml", "corpus 'mini'", "is empty"]),
        ({"rows": [{"item_id": 1}]}, ["corpora.yaml", "corpus 'mini'"]),
        ({"models": {"toy": {**TOY, "engine": "vlm"}}}, ["models.yaml", "no engine 'vlm'", "did you mean 'vllm'?"]),
        ({"models": {"toy": {**TOY, "context_length": 0}}}, ["models.yaml", "key 'models.toy.context_length'"]),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_a_manifest_that_names_what_cannot_be(
    tmp_path: Path, mixgrid: Mixgrid, verb: str, changes: dict[str, Any], says: list[str]
) -> None:
    path = small_grid(tmp_path, **changes)
    refused(mixgrid(verb, path, "--store", tmp_path / "store"), *says)
    assert not (tmp_path / "store").exists()


def test_a_model_path_that_is_not_there_ends_a_run_before_any_engine(tmp_path: Path, mixgrid: Mixgrid) -> None:
    absent = {"engine": "vllm", "checkpoint": str(tmp_path / "absent"), "context_length": 1024}
    path = small_grid(tmp_path, models={"toy": absent})
    refused(mixgrid("run", path, "--store", tmp_path / "store"), f"checkpoint {tmp_path}/absent: no such folder")


@pytest.mark.parametrize("verb", VERBS)
def test_a_store_in_a_place_that_cannot_be(tmp_path: Path, mixgrid: Mixgrid, verb: str) -> None:
    path = small_grid(tmp_path)
    (tmp_path / "file").write_text("x", "utf-8")
    refused(mixgrid(verb, path, "--store", tmp_path / "file"), "is a file: name a folder or s3://bucket/prefix")
    refused(mixgrid(verb, path, "--store", "ftp://x"), "is neither a folder nor s3://bucket/prefix")


@pytest.mark.parametrize("verb", ["run", "reduce", "report"])
def test_a_store_that_cannot_be_written(tmp_path: Path, mixgrid: Mixgrid, verb: str) -> None:
    path = small_grid(tmp_path)
    (tmp_path / "file").write_text("x", "utf-8")
    ended = mixgrid(verb, path, "--store", tmp_path / "file" / "store")
    refused(ended, "cannot write", "writable folder")
    assert ("where you may only read, copy its namespace" in ended.err) == (verb != "run")


@pytest.mark.parametrize("verb", VERBS)
def test_an_s3_store_without_permission(
    tmp_path: Path, mixgrid: Mixgrid, s3_store_url: str, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    ended = mixgrid(verb, small_grid(tmp_path), "--store", s3_store_url)
    refused(ended, s3_store_url, "set AWS_SECRET_ACCESS_KEY to the secret of AWS_ACCESS_KEY_ID")
    assert "wrong" not in ended.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["plan"], "Missing argument 'MANIFEST'"),
        (["plan", "x.yaml", "--limit", "0"], "Invalid value for '--limit'"),
        (["run", "x.yaml", "--max-failed", "2"], "Invalid value for '--max-failed'"),
        (["plna"], "No such command 'plna'"),
        (["plan", "x.yaml", "--exat"], "No such option: --exat"),
    ],
)
def test_bad_usage(mixgrid: Mixgrid, arguments: list[str], says: str) -> None:
    ended = mixgrid(*arguments)
    assert ended.code == 2
    assert says in ended.err
    assert "Traceback" not in ended.err


def test_names_that_lie_outside_of_the_store_or_are_no_text(tmp_path: Path, mixgrid: Mixgrid) -> None:
    refused(mixgrid("show", "x", "--store", tmp_path, "--namespace", "../up"), "is refused")
    refused(mixgrid("show", "a\udcff", "--store", tmp_path), "'a\\udcff' is not UTF-8")


def test_an_interrupted_command_says_that_nothing_is_lost(
    tmp_path: Path, mixgrid: Mixgrid, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mixgrid.sweep.answer", interrupted)
    ended = mixgrid("run", small_grid(tmp_path), "--store", tmp_path / "store")
    assert ended.code == 130
    assert ended.err == "mixgrid: interrupted; what was answered is kept, the same command goes on\n"


@pytest.mark.slow
def test_the_installed_command_and_the_job_end_alike(tmp_path: Path, root: Path) -> None:
    path = small_grid(tmp_path, tasks=["satir"])
    env = {**os.environ, "PYTHONPATH": str(root / "lib")}
    commands = [[str(Path(sys.executable).parent / "mixgrid"), "run"], [sys.executable, str(root / "jobs/predict.py")]]
    started = [
        subprocess.Popen([*c, str(path)], env=env, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for c in commands
    ]
    for process in started:
        out, err = process.communicate(timeout=120)
        refused(Ended(process.returncode, out, err), "there is no task 'satir'; did you mean 'satire'?")
