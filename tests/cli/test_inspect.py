"""show, corpora, models, doctor."""

import os
from pathlib import Path

import pytest

from mixgrid.cli import inspect
from mixgrid.corpora.snapshot import write_snapshot
from mixgrid.plan.frozen import freeze
from mixgrid.plan.grid import Grid
from tests.cli.conftest import Mixgrid
from tests.helpers import TOY, ask, open_grid, own_template, small_grid


def test_show_prints_prompt_answer_parse_and_gold_of_every_run(mixgrid: Mixgrid, answered: Grid) -> None:
    ended = mixgrid("show", "s1-en", "--store", answered.store.url)
    assert ended.code == 0
    for run in answered.runs:
        assert f"── {run.run_id}" in ended.out
    assert ended.out.count("Propoziția: Știrea 1: the mayor mută podul.") == 2
    assert ended.out.count("gold: satire") == 2
    assert "parse: ok " in ended.out
    (one, _) = mixgrid("show", "s1-en", "--store", answered.store.url, "--json").json
    assert one["messages"][0]["role"] == "user"
    assert {"run_id", "request_id", "text", "status", "parse_status", "value", "gold"} <= set(one)


def test_show_still_prints_the_old_prompt_of_an_old_run(tmp_path: Path, mixgrid: Mixgrid, answered: Grid) -> None:
    ask(open_grid(tmp_path, templates=own_template(tmp_path, "Alt prompt: {{ text }}")))
    ended = mixgrid("show", "s1-en", "--store", answered.store.url)
    assert ended.out.count("[user] Alt prompt: Știrea 1: the mayor mută podul.") == 2
    assert ended.out.count("[user] Stabilește cărei clase") == 2


def test_what_a_model_wrote_does_not_steer_the_terminal(tmp_path: Path, mixgrid: Mixgrid) -> None:
    hostile = "\x1b[2J\x1b]0;title\x07<raspuns>satiră</raspuns>\rparse: ok\x9b31m \u202egnorw\nnext"
    toy = {**TOY, "engine_args": {"answers": [hostile]}}
    grid = open_grid(tmp_path, seeds=[1], models={"toy": toy})
    write_snapshot(grid.slices[0].whole, grid.store)
    ask(grid)
    ended = mixgrid("show", "s1-en", "--store", grid.store.url)
    assert not {"\x1b", "\x07", "\r", "\x9b", "\u202e"} & set(ended.out)
    assert "⟨U+001B⟩[2J⟨U+001B⟩]0;title⟨U+0007⟩<raspuns>" in ended.out
    assert "gnorw\nnext\n" in ended.out  # lines stay lines
    as_json = mixgrid("show", "s1-en", "--store", grid.store.url, "--json")
    assert as_json.json[0]["text"] == hostile
    assert not {"\x1b", "\x9b"} & set(as_json.out)


def test_show_of_what_is_not_answered_yet(tmp_path: Path, mixgrid: Mixgrid, answered: Grid) -> None:
    freeze(open_grid(tmp_path, seeds=[5]), {})
    assert mixgrid("show", "s0-ro", "--store", answered.store.url).out.count("→ pending") == 1


def test_show_of_an_unknown_item_says_where_it_looked(mixgrid: Mixgrid, answered: Grid) -> None:
    ended = mixgrid("show", "nobody", "--store", answered.store.url)
    assert ended.code == 2
    assert f"no run in {answered.store.url}/main has item 'nobody'" in ended.err


def test_corpora_lists_licence_tasks_and_whether_files_are_here(tmp_path: Path, mixgrid: Mixgrid) -> None:
    place = small_grid(tmp_path).parent
    (one,) = mixgrid("corpora", "--manifests", place, "--json").json
    assert one == {
        "name": "mini", "licence": "Apache-2.0", "tasks": ["satire"], "files": [str(place / "mini.jsonl")],
        "where": "here",
    }  # fmt: skip
    (place / "mini.jsonl").unlink()
    assert mixgrid("corpora", "--manifests", place).out == "mini: satire; Apache-2.0; not here\n"
    catalogue = place / "corpora.yaml"
    catalogue.write_text(catalogue.read_text("utf-8").replace("mini.jsonl", f"hf://datasets/o/n@{'0' * 40}/x.jsonl"))
    assert mixgrid("corpora", "--manifests", place).out == "mini: satire; Apache-2.0; elsewhere\n"


def test_models_are_listed_and_fetched_by_name(tmp_path: Path, mixgrid: Mixgrid) -> None:
    place = small_grid(tmp_path).parent
    assert mixgrid("models", "list", "--manifests", place).out == "toy: canned, none, context 4096\n"
    assert mixgrid("models", "list", "--manifests", place, "--json").json["toy"]["engine"] == "canned"
    assert "needs no checkpoint" in mixgrid("models", "fetch", "toy", "--manifests", place).out
    ended = mixgrid("models", "fetch", "tox", "--manifests", place)
    assert (ended.code, ended.out) == (2, "")
    assert "there is no model 'tox'; did you mean 'toy'?" in ended.err


def test_the_shipped_catalogues_are_listed(mixgrid: Mixgrid, root: Path) -> None:
    assert "smollm2-135m-instruct" in mixgrid("models", "list", "--manifests", root / "manifests", "--json").json
    shipped = mixgrid("corpora", "--manifests", root / "manifests", "--json").json
    assert {one["name"]: one["where"] for one in shipped}["satire-sample"] == "here"


CHECKS = ["python", "ray", "engine", "model", "store", "disk"]


def test_doctor_names_each_check_and_how_to_mend_the_failed_one(tmp_path: Path, mixgrid: Mixgrid, root: Path) -> None:
    (tmp_path / "file").write_text("x", "utf-8")
    ended = mixgrid("doctor", "--store", tmp_path / "file" / "store", "--manifests", root / "manifests", "--json")
    results = {one["check"]: one for one in ended.json}
    assert list(results) == CHECKS
    assert ended.code == 2
    assert not results["store"]["ok"]
    assert "check that the folder is a writable folder" in results["store"]["says"]
    assert results["python"]["ok"]
    assert "the lines with FAIL say how to mend it" in ended.err


def test_doctor_finds_nothing_wrong_where_nothing_is(
    tmp_path: Path, mixgrid: Mixgrid, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspect, "_engine", lambda: "vllm 1")
    monkeypatch.setattr(inspect, "_model", lambda _: "a model")
    ended = mixgrid("doctor", "--store", tmp_path / "store", "--manifests", root / "manifests")
    assert ended.code == 0
    assert [line.split()[0] for line in ended.out.splitlines()] == ["ok"] * len(CHECKS)


def test_doctor_leaves_nothing_in_the_store(tmp_path: Path, mixgrid: Mixgrid, root: Path) -> None:
    mixgrid("doctor", "--store", tmp_path / "store", "--manifests", root / "manifests")
    assert not [name for _, _, files in os.walk(tmp_path / "store") for name in files]


def test_doctor_without_the_embedded_model_says_how_to_get_it(
    tmp_path: Path, mixgrid: Mixgrid, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MIXGRID_CACHE", str(tmp_path / "cache"))
    ended = mixgrid("doctor", "--store", tmp_path / "store", "--manifests", root / "manifests", "--json")
    (model,) = (one for one in ended.json if one["check"] == "model")
    assert not model["ok"]
    assert "mixgrid models fetch smollm2-135m-instruct" in model["says"]


@pytest.mark.parametrize("words", [("models", "list"), ("models", "fetch", "canned"), ("corpora",), ("doctor",)])
def test_outside_a_checkout_the_catalogue_s_folder_is_asked_for(
    tmp_path: Path, mixgrid: Mixgrid, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = mixgrid(*words)
    assert ended.code == 2
    assert "with --manifests" in ended.out + ended.err
