"""The papers' own tables: MixSarc's printed cells from its confusion matrices, CS-SeLeRoSa's degradations, layouts."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from mixgrid.records import Flag, Item, Run, Score, Side, Test
from mixgrid.reduce import Options
from mixgrid.reduce.resample import Draws
from mixgrid.report.html import page
from mixgrid.report.latex import latex
from mixgrid.report.layout import Column, Layout, fill
from mixgrid.report.markdown import markdown
from mixgrid.report.papers import LAYOUTS, MIXSARC, SELEROSA, paper_tables
from mixgrid.report.table import Table
from mixgrid.store import Store
from mixgrid.tasks.implicit_meaning import LABELS
from tests.compare.test_gate import drop
from tests.metrics.golden import golden
from tests.report.test_report import score
from tests.test_reduce import Grid, answer, make_run, request_for

NAMES = {"Humor": "humorous", "Sarcasm": "sarcastic", "Offensive": "offensive", "Vulgar": "vulgar"}
PRINTED = {"acc": "Acc.", "prec": "Prec.", "rec": "Rec.", "f1": "F1"}
KINDS = {"supervised": "fine-tuning", "zero-shot": "zero-shot"}


def table(name: str, scores: list[Score], tests: list[Test] | None = None, sound: bool = False) -> Table:
    layout = next(layout for layout in LAYOUTS if layout.name == name)
    found = fill(layout, scores, tests or [], sound)
    assert found is not None
    return found


def cells(found: Table) -> dict[tuple[str, ...], dict[str, str]]:
    """Row labels → column → text."""
    columns = found.header[found.labels :]
    return {row[: found.labels]: dict(zip(columns, row[found.labels :], strict=True)) for row in found.rows}


def post(n: int, flags: dict[str, bool]) -> Item:
    return Item(
        corpus="mini", item_id=f"p{n:04}", source_id=f"p{n}", twin_id=None, cluster_id=f"p{n}", split="test",
        language="bn-en", switching="none", variant=0, text=f"post {n}",
        flags=tuple(Flag(name, flags.get(name, False)) for name in LABELS),
    )  # fmt: skip


def confusion_grid(folder: Path, rows: list[dict[str, Any]]) -> Grid:
    """Posts and predictions of some models that have just these confusion matrices: true positives first."""
    gold = {NAMES[row["label"]]: row["tp"] + row["fn"] for row in rows}
    items = [post(n, {name: n < positives for name, positives in gold.items()}) for n in range(rows[0]["n"])]
    setting = KINDS[rows[0]["kind"]]
    models = sorted({row["model"] for row in rows})
    runs = [make_run(1, model=model, setting=setting, task="implicit-meaning") for model in models]
    grid = Grid(Store.open(str(folder)), items, runs)
    grid.freeze()
    for run in runs:
        mine = {NAMES[row["label"]]: row for row in rows if row["model"] == run.model}
        said = [{name: int(_says(row, n)) for name, row in mine.items()} for n in range(len(items))]
        texts = [json.dumps({**dict.fromkeys(LABELS, 0), **labels}) for labels in said]
        grid.put([answer(run, request_for(run, i), t) for i, t in zip(items, texts, strict=True)], run)
    return grid


def _says(row: dict[str, Any], n: int) -> bool:
    positives = row["tp"] + row["fn"]
    return bool(n < row["tp"] if n < positives else n - positives < row["fp"])


@pytest.mark.parametrize("kind", ["supervised", "zero-shot"])
def test_mixsarc_confusions_give_the_printed_cells_of_table_5(tmp_path: Path, kind: str) -> None:
    known = golden("mixsarc_table5_confusions")["rows"]
    rows = [row for row in known if row["kind"] == kind]
    result = confusion_grid(tmp_path, rows).reduce(Options(draws=Draws(0)))
    found = cells(table("mixsarc-table-5", list(result.scores)))
    checked = 0
    for row in rows:
        shown = found[(row["label"], {"supervised": "Supervised", "zero-shot": "Zero-shot"}[kind], row["model"])]
        for cell, title in PRINTED.items():
            if cell not in row["mismatch_cells"]:
                assert shown[title] == f"{row['printed'][cell]:.4f}"
                checked += 1
    assert checked == sum(4 - len(row["mismatch_cells"]) for row in rows)
    assert checked >= 15


def satire(model: str, corpus: str, value: float, **changes: Any) -> Score:
    mono = {"switching": "none"} if corpus == "selerosa" else {}
    return score(model=model, corpus=corpus, value=value, **{**mono, **changes})


# Of the paper's prose: None and random macro-F1 of two models, and Table 21's Δ for them.
DEGRADED = [("gemma-3-27b", 0.499, 0.311, "-18.8"), ("gpt-5-mini", 0.713, 0.669, "-4.4")]


@pytest.mark.parametrize(("model", "original", "mixed", "delta"), DEGRADED)
def test_degradations_are_against_the_originals(model: str, original: float, mixed: float, delta: str) -> None:
    scores = [satire(model, "selerosa", original), satire(model, "cs-selerosa", mixed, switching="random")]
    shown = cells(table("cs-selerosa-table-21", scores))[("ZS", model)]
    assert shown["Δ Random"] == delta
    assert shown["None"].startswith(f"{100 * original:.1f}")
    assert shown["Δ LLM"] == "–"


def test_table_2_joins_a_model_with_its_tuned_ones_and_marks_the_best() -> None:
    scores = [
        satire("gemma", "selerosa", 0.7),
        satire("gemma", "cs-selerosa", 0.68),
        satire("llama", "cs-selerosa", 0.45, sd_over_seeds=0.152),
        satire("gemma-ft-cs", "cs-selerosa", 0.775, setting="fine-tuning"),
        satire("gemma-ft-ro", "selerosa", 0.78, setting="fine-tuning"),
    ]
    found = table("cs-selerosa-table-2", scores)
    shown = cells(found)
    assert set(shown) == {("gemma",), ("llama",)}
    assert (shown[("gemma",)]["FT CS"], shown[("gemma",)]["FT mono"]) == ("77.5 ± 1.4", "78.0 ± 1.4")
    assert shown[("llama",)]["ZS CS"] == "45.0 ± 15.2"
    assert shown[("llama",)]["ZS Gold"] == "–"
    best = {(found.rows[row][0], found.header[column]) for row, column in found.bold}
    assert best == {("gemma", title) for title in ("ZS mono", "ZS CS", "FT CS", "FT mono")}
    assert "**68.0 ± 1.4**" in markdown(found)
    assert r"\textbf{68.0 $\pm$ 1.4}" in latex(found)


def test_a_dagger_is_drawn_from_the_test_that_the_table_shows() -> None:
    scores = [satire("llama", "cs-selerosa", 0.45), satire("gemma", "cs-selerosa", 0.68)]
    about = {"corpus": "cs-selerosa", "kind": "model", "family": "baseline"}
    side = Side("llama", "zero-shot", "all", "all", 0.45, 40, 3)
    tests = [
        drop(-0.23, 0.03, **about, a=side, method="welch", sound=False, p_bh=0.2),
        drop(-0.23, 0.03, **about, a=side, p_bh=0.2),
    ]
    paper = table("cs-selerosa-table-17", scores, tests)
    assert cells(paper)[("llama",)]["ZS F1"].endswith("†")
    assert "by welch; p < 0.05, uncorrected (3 tests)" in paper.caption
    sound = table("cs-selerosa-table-17", scores, tests, sound=True)
    assert cells(sound)[("llama",)]["ZS F1"] == "45.0 ± 1.4 [50.0, 70.0]"
    assert "after correction for 3 tests" in sound.caption
    assert cells(sound)[("llama",)]["unparsed"] == "12.5"


def test_against_originals_only_a_loss_is_marked() -> None:
    scores = [satire("gemma", "cs-selerosa", 0.6, switching=m, language="ro-en") for m in ("random", "llm")]
    tests = [
        drop(effect, 0.01, corpus="cs-selerosa", kind="twin", family="baseline",
             a=Side("gemma", "zero-shot", "ro-en", method, 0.6, 40, 3))
        for method, effect in (("random", -0.1), ("llm", 0.1))
    ]  # fmt: skip
    shown = cells(table("cs-selerosa-table-19", scores, tests, sound=True))[("ZS", "gemma")]
    assert shown["Random EN"].endswith("†")
    assert not shown["LLM EN"].endswith("†")


def test_votes_stand_where_there_are_several_seeds() -> None:
    scores = [
        satire("gemma", "cs-selerosa", 0.3, metric="fpr_vote_strict", switching="random", sd_over_seeds=None),
        satire("gemma", "cs-selerosa", 0.4, metric="fpr", switching="random"),
    ]
    assert cells(table("cs-selerosa-table-22", scores))[("ZS", "gemma")]["Random FPR"] == "30.0"
    assert cells(table("cs-selerosa-table-22", scores, sound=True))[("ZS", "gemma")]["Random FPR"].startswith("40.0 ±")


def test_summaries_show_the_papers_tokenizer_and_soundly_every_script() -> None:
    about = {"task": "dialogue-summary", "corpus": "pingpong-summary", "language": "ar-dz-fr", "setting": "0-shot"}
    plain = {"sd_over_seeds": None, "ci_low": None, "ci_high": None}
    scores = [
        score(metric="rouge1_compat", value=0.22, **about, **plain),
        score(metric="rouge1", value=0.1, **about, **plain),
    ]
    assert cells(table("pingpong-table-14", scores))[("tiny", "✗")]["ROUGE1"] == "0.220"
    assert cells(table("pingpong-table-14", scores, sound=True))[("tiny", "✗")]["ROUGE1"] == "0.100"


def test_every_layout_has_a_name_of_its_own_and_covers_the_papers() -> None:
    names = [layout.name for layout in LAYOUTS]
    assert len(set(names)) == len(names)
    selerosa = {int(layout.name.rpartition("-")[2]) for layout in SELEROSA}
    assert selerosa == {2, *range(15, 25), 27, 28}
    assert [layout.name for layout in MIXSARC] == ["mixsarc-table-5"]
    pingpong = {int(name.rpartition("-")[2]) for name in names if name.startswith("pingpong")}
    assert pingpong == {5, *range(8, 20), 21}


def test_scores_without_a_cell_of_any_paper_have_no_such_table() -> None:
    assert paper_tables([score(language="xx")], []) == []


def test_an_incomplete_cell_and_one_without_value_say_so() -> None:
    where = {"setting": "zero-shot"}
    columns = (Column("F1", "satire", ("macro_f1",), where), Column("A", "satire", ("accuracy",), where))
    layout = Layout("t", "T", "c", columns)
    scores = [score(n=12, sd_over_seeds=None), score(metric="accuracy", value=None, note="n/a (1 class of 2)")]
    found = fill(layout, scores, [], False)
    assert found is not None
    assert found.rows == (("tiny", "61.2 *", "n/a (1 class of 2)"),)


def test_the_page_has_the_tables(tmp_path: Path) -> None:
    grid = Grid(Store.open(str(tmp_path)))
    grid.runs = [_as_selerosa(run) for run in grid.runs]
    grid.freeze()
    grid.fill()
    result = grid.reduce(Options(draws=Draws(0)))
    html = page(result)
    assert "CS-SeLeRoSa, Table 19" in html
    assert "<b>" in html


def _as_selerosa(run: Run) -> Run:
    return dataclasses.replace(run, corpus="cs-selerosa", run_id=f"cs.{run.run_id}")
