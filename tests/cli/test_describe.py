"""`mixgrid describe`, from the shipped samples to files; what is wrong is one sentence."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Mixgrid
from tests.helpers import ask
from tests.survey.test_samples import SAMPLES, dialogue, grid_of

pytestmark = pytest.mark.slow


@pytest.fixture
def here(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a person stands: in the checkout."""
    monkeypatch.chdir(root)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)


def test_tables_are_printed_and_files_written(here: None, mixgrid: Mixgrid, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ended = mixgrid("describe", "satire-sample", "--split", "test", "--store", tmp_path / "store", "--out", out)
    assert ended.code == 0
    assert "| ro-en    | random     |" in ended.out
    assert ended.out.splitlines()[-1].endswith(str(out / "index.html"))
    assert "mixing is not measured for 44 of 216 items (mixed, but without spans)" in ended.err
    assert (out / "tables" / "mixing-satire-sample-test.tex").is_file()
    assert (out / "tables" / "all-measures.csv").is_file()


def test_programs_get_one_document(here: None, mixgrid: Mixgrid, tmp_path: Path) -> None:
    ended = mixgrid("describe", "satire-sample", "--split", "train", "--store", tmp_path / "store", "--json")
    found = ended.json
    assert {"survey", "files", "measured", "warnings"} == set(found)
    assert all(one["split"] == "train" for one in found["measured"])
    assert {"utterance", "item", "corpus"} == {one["level"] for one in found["measured"]}


def test_written_dialogues_stand_beside_people_s(here: None, root: Path, mixgrid: Mixgrid, tmp_path: Path) -> None:
    grid = grid_of(root, tmp_path, [dialogue("ayo berangkat", "let's go")])
    ask(grid)
    words = {
        "languages": {
            "id": ["ayo", "berangkat"],
            "en": ["let", "go"],
            "jv": [],
            "su": [],
            "ha": [],
            "ar-dz": [],
            "fr": [],
        }
    }
    (tmp_path / "words.yaml").write_text(json.dumps(words), "utf-8")
    ended = mixgrid(
        "describe", SAMPLES, "--split", "test", "--dialogues", grid.path, "--tags", f"words:{tmp_path / 'words.yaml'}",
        "--store", grid.store.url, "--json",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    found = {
        (one["corpus"], one["measure"]): one["value"]
        for one in ended.json["measured"]
        if (one["language"], one["switching"], one["speakers"], one["level"]) == ("id-en", "all", 0, "item")
    }
    assert found["by-toy", "turns"] == 2
    assert found["by-toy", "cmi"] == pytest.approx(100 * 2 / 5)
    assert found[SAMPLES, "turns"] > 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["satire-smple"], "mixgrid describe: there is no corpus 'satire-smple'; did you mean 'satire-sample'?"),
        (["satire-sample", "--split", "dev"], "corpus 'satire-sample' has no split 'dev'"),
        (["satire-sample", "--tags", "guess"], "--tags 'guess' is no source of language tags"),
        (
            ["satire-sample", "--tokenizer", "org/name"],
            "--tokenizer 'org/name' cannot be read: it is no folder, it is not in the local cache, and the hub cannot "
            "be reached; give 'words', a folder or a hub name",
        ),
        (["satire-sample", "--manifests", "nowhere"], "nowhere/corpora.yaml: cannot be read"),
    ],
)
def test_a_slip_is_one_sentence(
    here: None, mixgrid: Mixgrid, tmp_path: Path, arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")  # nobody answers, and at once
    ended = mixgrid("describe", *arguments, "--store", tmp_path / "store")
    assert ended.code == 2
    assert ended.err.startswith("mixgrid: ")
    assert said in ended.err
    assert not list((tmp_path / "store").rglob("*.parquet"))
