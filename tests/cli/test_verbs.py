"""plan, status, reduce, report over a small canned store: what is printed, and the JSON beside it."""

import re
from datetime import date
from pathlib import Path

from mixgrid.corpora.snapshot import write_snapshot
from mixgrid.plan.events import tell
from mixgrid.plan.frozen import freeze
from mixgrid.plan.grid import Grid
from mixgrid.plan.layout import lease_folder, writes
from mixgrid.store.lease import hold
from tests.cli.conftest import Mixgrid
from tests.helpers import TOY, corpus_rows, open_grid, small_grid
from tests.plan.test_estimate import absent_data

PLAN = {
    "runs", "cells", "requests", "unique_requests", "done", "pending", "prompt_tokens", "max_completion_tokens",
    "warnings",
}  # fmt: skip


def test_plan_as_json_and_as_text(tmp_path: Path, mixgrid: Mixgrid, answered: Grid) -> None:
    found = mixgrid("plan", answered.path, "--store", answered.store.url, "--json")
    assert found.code == 0
    assert set(found.json) >= PLAN
    assert {name: found.json[name] for name in ("runs", "cells", "requests", "done", "pending")} == {
        "runs": 2, "cells": 2, "requests": 24, "done": 24, "pending": 0
    }  # fmt: skip
    text = mixgrid("plan", answered.path, "--store", answered.store.url)
    assert "2 runs, 2 cells, 24 requests (24 unique): 24 done, 0 pending" in text.out


def test_plan_says_in_json_too_what_a_budget_buys_and_which_one_shows_a_difference(
    tmp_path: Path, mixgrid: Mixgrid
) -> None:
    price = {"input": 1, "output": 4, "as_of": date(2020, 1, 1)}
    paid = {"engine": "openai", "checkpoint": "m", "context_length": 4096, "price": price}
    path = small_grid(tmp_path, models={"m": paid}, asked=["m"], rows=corpus_rows(60), budget={"usd": 0.02})
    found = mixgrid("plan", path, "--store", tmp_path / "store", "--json").json
    buys = found["worth"]
    assert "the price of m is of 2020-01-01" in found["warnings"][-1]
    assert buys["of_items"] == 120
    (whole,) = [one for one in buys["bought"] if one["usd"] == "0.02"]
    assert 0 < whole["items"] < 120
    assert 0 < whole["half_width"] < 0.5
    assert {one["difference"] for one in buys["needed"]} == {0.02, 0.05, 0.1}
    text = mixgrid("plan", path, "--store", tmp_path / "store").out
    assert f"{whole['items']} of 120 items of every model: ± {100 * whole['half_width']:.1f} points" in text
    free = small_grid(tmp_path)
    assert mixgrid("plan", free, "--store", tmp_path / "store", "--json").json["worth"] is None


def test_plan_spends_and_writes_nothing(tmp_path: Path, mixgrid: Mixgrid) -> None:
    ended = mixgrid("plan", small_grid(tmp_path), "--store", tmp_path / "store", "--limit", 5, "--exact", "--json")
    assert (ended.json["requests"], ended.json["prompt_tokens_se"]) == (10, 0)
    assert not (tmp_path / "store").exists()


def test_plan_says_what_it_warns_of_on_stderr_and_in_json(tmp_path: Path, mixgrid: Mixgrid) -> None:
    path = small_grid(tmp_path, seeds=[1, 2, 3], sampling=[{"temperature": 0}])
    (tmp_path / "store/main/predictions").mkdir(parents=True)
    (tmp_path / "store/main/predictions/odd.csv").write_text("a", "utf-8")
    ended = mixgrid("plan", path, "--store", tmp_path / "store")
    assert ended.code == 0
    assert "warning: ignored 1 foreign in the store: main/predictions/odd.csv" in ended.err
    assert "warning: temperature 0 for toy/zero-shot: 3 seeds are one and the same request" in ended.err
    found = mixgrid("plan", path, "--store", tmp_path / "store", "--json").json
    assert len(found["warnings"]) == 2
    assert found["unique_requests"] < found["requests"]


def test_the_store_is_the_option_s_or_the_manifest_s(tmp_path: Path, mixgrid: Mixgrid, answered: Grid) -> None:
    path = small_grid(tmp_path, store=answered.store.url)
    assert mixgrid("plan", path, "--json").json["done"] == 24
    assert mixgrid("plan", path, "--store", tmp_path / "empty", "--json").json["done"] == 0


def test_status_of_one_grid_and_of_a_namespace(tmp_path: Path, mixgrid: Mixgrid, answered: Grid) -> None:
    freeze(open_grid(tmp_path, seeds=[3]), {})
    small_grid(tmp_path)
    mine = mixgrid("status", answered.path, "--store", answered.store.url, "--json").json
    every = mixgrid("status", "--store", answered.store.url, "--json").json
    assert [one["run_id"] for one in mine] == [run.run_id for run in answered.runs]
    assert sorted(one["done"] for one in every) == [0, 12, 12]
    assert {"planned", "done", "pending", "failed", "unparsed", "tokens_per_s", "eta_s"} <= set(mine[0])
    text = mixgrid("status", "--store", answered.store.url)
    assert "3 runs: 24 rows done, 12 pending" in text.out
    assert "12/12 done, 0 pending, 0 failed, 0 unparsed" in text.out


def test_status_tells_who_writes_and_what_went_wrong(mixgrid: Mixgrid, answered: Grid) -> None:
    tell(answered.store, "main", "toy", "engine died over 6 rows: CUDA error\x1b[31m")
    tell(answered.store, "main", "another", "its engine died 8 times")
    with hold(answered.store, lease_folder("main", "toy"), writes("toy", "main")):
        lines = mixgrid("status", answered.path, "--store", answered.store.url).out.splitlines()
    said = [line for line in lines if "toy" in line and not line.startswith("mini")]
    assert re.fullmatch(r"writing model toy in namespace main: process \d+ on .* since .*, last sign 20.*", said[0])
    assert re.fullmatch(r"20\S+ model toy: engine died over 6 rows: CUDA error.*31m", said[1])
    assert "\x1b" not in said[1]
    assert len(said) == 2
    assert "its engine died 8 times" in mixgrid("status", "--store", answered.store.url).out


def test_reduce_prints_the_table_and_its_scores(tmp_path: Path, mixgrid: Mixgrid, answered: Grid) -> None:
    ended = mixgrid("reduce", answered.path, "--store", answered.store.url)
    assert ended.code == 0
    assert "macro_f1" in ended.out
    assert "| toy" in ended.out
    found = mixgrid("reduce", answered.path, "--store", answered.store.url, "--json").json
    assert f"reduction {found['id']}:" in ended.out
    accuracy = [s for s in found["scores"] if (s["model"], s["metric"], s["language"]) == ("toy", "accuracy", "all")]
    assert {(s["n"], s["expected"]) for s in accuracy if s["switching"] == "all"} == {(12, 12)}


def test_reduce_of_a_grid_that_was_never_run_says_so(tmp_path: Path, mixgrid: Mixgrid) -> None:
    ended = mixgrid("reduce", small_grid(tmp_path), "--store", tmp_path / "store")
    assert ended.code == 2
    assert "holds no whole snapshot" in ended.err
    assert "run the grid" in ended.err


def test_reduce_of_a_run_without_a_single_row_shows_empty_cells(tmp_path: Path, mixgrid: Mixgrid) -> None:
    """An engine that never came up leaves a frozen plan and no part."""
    grid = open_grid(tmp_path)
    write_snapshot(grid.slices[0].whole, grid.store)
    freeze(grid, {})
    ended = mixgrid("reduce", grid.path, "--store", grid.store.url, "--json")
    assert ended.code == 0
    cells = [score for score in ended.json["scores"] if score["model"] == "toy"]
    assert cells
    assert {(score["n"], score["value"]) for score in cells} == {(0, None)}


def test_report_writes_a_page_that_says_its_answers_are_canned(
    tmp_path: Path, mixgrid: Mixgrid, answered: Grid
) -> None:
    ended = mixgrid("report", answered.path, "--store", answered.store.url, "--out", tmp_path / "out")
    assert ended.code == 0
    page = Path(ended.out.strip().removeprefix("report: "))
    assert page.name == "index.html"
    assert "CANNED ANSWERS" in page.read_text("utf-8").split("</title>")[0]
    assert {"index.html"} <= {file.name for file in (tmp_path / "out").rglob("*")}
    (tmp_path / "file").write_text("", "utf-8")
    refused = mixgrid("report", answered.path, "--store", answered.store.url, "--out", tmp_path / "file")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "index.html cannot be written (" in refused.err
    files = mixgrid("report", answered.path, "--store", answered.store.url, "--json").json["files"]
    assert any(file.endswith(".csv") for file in files)
    assert any(file.endswith(".md") for file in files)


def test_plan_prints_how_answers_are_decoded_and_what_is_not_asked(tmp_path: Path, mixgrid: Mixgrid) -> None:
    path = small_grid(tmp_path, models={"toy": {**TOY, "languages": ["ro-en"]}})
    ended = mixgrid("plan", path, "--store", tmp_path / "store")
    assert "decoding toy: temperature 0.7, max_tokens 32 [satire/zero-shot]\n" in ended.out
    assert "– toy: ro (mini): a model for ro-en\n" in ended.out
    found = mixgrid("plan", path, "--store", tmp_path / "store", "--json").json
    assert found["decoding"][0]["sampling"]["temperature"] == 0.7
    assert found["absent"][0]["language"] == "ro"


def test_an_estimate_needs_neither_data_nor_engine_nor_store(tmp_path: Path, mixgrid: Mixgrid) -> None:
    path = absent_data(tmp_path, models={"toy": {**TOY, "engine": "classical"}}, store="s3://nowhere/at-all")
    ended = mixgrid("plan", path, "--estimate")
    assert (ended.code, ended.err) == (0, "")
    assert "mini/test for satire: 130 items in 5 cells (as declared, the data is not here)\n" in ended.out
    assert "mini · satire · toy · zero-shot: 5 cells × 2 seeds, 260 requests\n" in ended.out
    assert "2 runs, 5 cells, 260 requests (an estimate)\n" in ended.out
    found = mixgrid("plan", path, "--estimate", "--json").json
    assert (found["requests"], found["rows"][0]["requests"]) == (260, 260)
    refused = mixgrid("plan", path, "--estimate", "--limit", 3)
    assert refused.code == 2
    assert "an estimate is of the whole design; take --limit or --exact away" in refused.err


def test_a_store_that_holds_nothing_of_the_grid_is_named(tmp_path: Path, mixgrid: Mixgrid, answered: Grid) -> None:
    path, store, wrong = tmp_path / "manifests" / "grid.yaml", answered.store.url, str(tmp_path / "stroe")
    for verb in ("plan", "status"):
        ended = mixgrid(verb, path, "--store", wrong)
        assert f"the store {wrong} holds none of this grid's runs in namespace 'main': nothing was started" in ended.err
        assert "holds none" not in mixgrid(verb, path, "--store", store).err
    assert "holds no run in namespace 'mian'" in mixgrid("status", "--store", store, "--namespace", "mian").err
    assert not Path(wrong).exists()
