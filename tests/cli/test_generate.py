"""`mixgrid generate` as a person at the terminal sees it."""

from pathlib import Path
from typing import Any

import pytest

import mixgrid.generate as module
from mixgrid.corpora import load_corpora, read
from mixgrid.plan.grid import Grid
from tests.cli.conftest import Mixgrid
from tests.generate.samples import ask, recipe, rows


@pytest.fixture(autouse=True)
def no_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asking is done by the actor's code in this process."""

    def answer(grid: Grid, watch: object) -> None:
        ask(grid)

    monkeypatch.setattr(module, "answer", answer)


def test_a_dry_run_counts_and_writes_nothing(tmp_path: Path, mixgrid: Mixgrid) -> None:
    done = mixgrid("generate", recipe(tmp_path), "--store", tmp_path / "store", "--dry-run")
    assert done.code == 0
    assert f"{len(rows())} sentences, {len(rows()) * 18} variants at most" in done.out
    assert "saved by sharing" in done.out
    assert not list((tmp_path / "store").rglob("*.parquet"))
    told: Any = mixgrid("generate", recipe(tmp_path), "--store", tmp_path / "store", "--dry-run", "--json").json
    assert told["choices"] == len(rows()) * 18
    assert sum(told["requests"].values()) == sum(told["units"].values())


def test_it_ends_with_the_tables_and_an_entry_that_works(tmp_path: Path, mixgrid: Mixgrid) -> None:
    done = mixgrid("generate", recipe(tmp_path), "--store", tmp_path / "store", "--limit", 6)
    assert done.code == 0, done.err
    for header in ("| split", "| method", "k ≥ 3", "rejected"):
        assert header in done.out
    entry = done.out.partition("put this into corpora.yaml:\n\n")[2]
    (tmp_path / "corpora.yaml").write_text("corpora:\n" + entry, "utf-8")
    assert {item.switching for item in read(load_corpora(tmp_path / "corpora.yaml")["made"])} > {"none", "random"}


def test_json_has_the_snapshot_and_the_summary(tmp_path: Path, mixgrid: Mixgrid) -> None:
    told: Any = mixgrid("generate", recipe(tmp_path), "--store", tmp_path / "store", "--json").json
    assert told["snapshot"]["items"] == told["summary"]["sizes"][-1]["mixed"] + len(rows())
    assert told["entry"].startswith("  made:\n")


def test_bad_input_is_one_sentence_and_exit_2(tmp_path: Path, mixgrid: Mixgrid) -> None:
    done = mixgrid("generate", recipe(tmp_path, languages=["xx"]), "--store", tmp_path / "store")
    assert done.code == 2
    assert done.err.startswith("mixgrid: ")
    assert "key 'languages'" in done.err
    assert "Traceback" not in done.err
    assert mixgrid("generate", tmp_path / "no.yaml").code == 2
