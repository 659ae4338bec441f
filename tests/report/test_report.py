"""Reports: right numbers, and no text of a model or a data set is obeyed by a browser, TeX or a spreadsheet."""

import csv
import dataclasses
import io
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from mixgrid.errors import UserError
from mixgrid.records import Score, Test
from mixgrid.reduce import Reduction
from mixgrid.reduce.scores import BASELINE
from mixgrid.report import FORMATS, files, report, score_table
from mixgrid.report.csv import guarded, to_csv
from mixgrid.report.html import page, title
from mixgrid.report.latex import latex
from mixgrid.report.markdown import markdown, plain
from mixgrid.report.table import Table, every_score, overview, tables
from mixgrid.schemas import to_table
from mixgrid.store import Store
from mixgrid.visible import visible

HOSTILE = '<script>alert("x")</script><img src=x onerror=alert(1)>'


def score(**changes: Any) -> Score:
    base = Score(
        corpus="mini", split="test", task="satire", model="tiny", setting="zero-shot", language="all", switching="all",
        metric="macro_f1", value=0.61234, note="", n=40, expected=40, clusters=5, seeds=(1, 2, 3),
        per_seed=(0.6, 0.61, 0.62702), sd_over_seeds=0.0141, unparsed=0.125, failed=0.05,
        signature="macro_f1|v:1|unparsed:labels", ci_low=0.5, ci_high=0.7,
    )  # fmt: skip
    return dataclasses.replace(base, **changes)


def scores() -> list[Score]:
    return [
        score(),
        score(metric="accuracy", value=0.7, sd_over_seeds=None, ci_low=None, ci_high=None),
        score(language="ro-en", switching="random", n=9, expected=10),
        score(language="ro-en", switching="phrase", value=None, note="n/a (1 class of 2)"),
        score(setting="chain-of-thought", language="all", switching="all", n=12),
        score(model=BASELINE, setting="majority", sd_over_seeds=None, unparsed=0.0, failed=0.0, seeds=(), per_seed=()),
    ]


def inputs(**changes: Any) -> dict[str, Any]:
    cell = {"corpus": "mini", "split": "test", "task": "satire", "model": "tiny", "setting": "zero-shot"}
    base: dict[str, Any] = {
        "mixgrid": "0.1.0",
        "parts": ["main/predictions/part-1.parquet"],
        "snapshots": {"run-1": "c0ffee"},
        "parsers": {"satire": "satire-1"},
        "families": {"satire": "classification|v:1"},
        "joined": {"run-1": {"rows": 41, "superseded": 1}},
        "statuses": {"run-1": {"ok": 30, "bad_format": 9, "failed: too_long": 1}},
        "engines": ["vllm-0.32-cpu"],
        "unparsed": [{**cell, "rows": 9, "top": [{"text": "[bad_format] nu știu", "rows": 9}]}],
        "warnings": [],
    }
    return {**base, **changes}


def paged(name: str, found: list[Score], about: dict[str, Any], warnings: list[str]) -> str:
    """The page of a reduction."""
    return page(Reduction(name, f"main/scores/{name}", tuple(found), (), about, tuple(warnings)))


class Tags(HTMLParser):
    """Collects every tag and every attribute that could load or run something."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.loading: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.loading += [(n, v) for n, v in attrs if n in ("src", "href", "srcset", "action") or n.startswith("on")]


def parsed(html: str) -> Tags:
    tags = Tags()
    tags.feed(html)
    return tags


def test_page_shows_scores_with_spread_interval_and_rates() -> None:
    html = paged("abc", scores(), inputs(), [])
    for text in ("61.2 ± 1.4", "50.0 to 70.0", "12.5", "5.0", "sd over seeds (n-1)", "n/a (1 class of 2)", "70.0"):
        assert text in html
    assert "macro_f1|v:1|unparsed:labels" in html
    assert "nu știu" in html


def test_page_loads_nothing() -> None:
    html = paged("abc", scores(), inputs(), ["torn"])
    tags = parsed(html)
    assert tags.loading == []
    assert not {"script", "link", "img", "iframe"} & tags.tags
    assert not re.search(r"@import|url\(", html)


@pytest.mark.parametrize("where", ["answer", "model", "setting", "warning", "engine", "signature", "corpus", "status"])
def test_page_escapes_hostile_text_wherever_it_comes_from(where: str) -> None:
    cells, about, warnings = scores(), inputs(), []
    if where in ("model", "setting", "signature", "corpus"):
        changes: dict[str, Any] = {where: HOSTILE}
        cells = [dataclasses.replace(s, **changes) for s in cells]
    elif where == "answer":
        about["unparsed"][0]["top"][0]["text"] = HOSTILE
    elif where == "engine":
        about["engines"] = [HOSTILE]
    elif where == "status":
        about["statuses"] = {HOSTILE: {HOSTILE: 1}}
    else:
        warnings = [HOSTILE]
    html = paged("abc", cells, about, warnings)
    tags = parsed(html)
    assert not {"script", "img"} & tags.tags
    assert tags.loading == []
    assert "&lt;script&gt;" in html


@pytest.mark.parametrize("engines", [["canned"], ["vllm-0.32-cpu", "canned"]])
def test_canned_answers_are_in_the_title(engines: list[str]) -> None:
    about = inputs(engines=engines)
    assert title(scores(), about).startswith("CANNED")
    html = paged("abc", scores(), about, [])
    assert "<title>CANNED" in html
    assert "made up" in html


def test_real_answers_are_not_called_canned() -> None:
    assert "CANNED" not in paged("abc", scores(), inputs(), [])


def test_incomplete_cells_are_marked_everywhere() -> None:
    table = overview(("mini", "test", "satire"), scores())
    (row,) = (row for row in table.rows if row[1] == "chain-of-thought")
    assert "12 of 40 * incomplete" in row
    assert row[3].endswith("*")
    assert "not complete" in paged("abc", scores(), inputs(), [])


def test_cells_that_do_not_exist_are_dashes() -> None:
    _, slices = tables(scores())
    (row,) = (row for row in slices.rows if row[1] == "chain-of-thought")
    assert row[-1] == "–"


def test_page_without_any_score_still_says_why() -> None:
    html = paged("abc", [], inputs(unparsed=[], engines=[]), ["run r has no frozen plan"])
    assert "no frozen plan" in html
    assert "no scores" in html


def hostile_table(cell: str) -> Table:
    return Table("t", cell, cell, ("model", "value"), ((cell, "1.0"),))


def test_latex_runs_nothing() -> None:
    text = latex(hostile_table(r"\input{/etc/passwd} $x^2$ 50% a_b & #1 ~ {"))
    assert r"\input" not in text
    assert r"\textbackslash{}input\{/etc/passwd\}" in text
    assert r"50\% a\_b \& \#1" in text
    assert r"\$x\textasciicircum{}2\$" in text


def test_markdown_cell_stays_one_cell() -> None:
    text = markdown(hostile_table("a|b\n[x](javascript:1) <b> `c`"))
    row = text.splitlines()[-1]
    assert row.startswith("| a\\|b⟨U+000A⟩\\[x\\](javascript:1) \\<b\\> \\`c\\`")
    assert len(text.splitlines()) == 5


def test_terminal_obeys_no_escape_code() -> None:
    text = plain(hostile_table("\x1b[2Jgone \u202egnp.exe"))
    assert "\x1b" not in text
    assert "⟨U+001B⟩[2Jgone ⟨U+202E⟩gnp.exe" in text


@pytest.mark.parametrize("char", ["\u200d", "ß", "আ", "é", "🙂", "\u0301"])
def test_letters_and_joiners_of_real_scripts_are_left_alone(char: str) -> None:
    assert visible(f"a{char}b") == f"a{char}b"


@pytest.mark.parametrize("cell", ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1"])
def test_guard_disarms_formulas(cell: str) -> None:
    assert guarded(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["-0.5", "+1", "1e-05", "text", "", "–"])
def test_guard_leaves_numbers_and_words(cell: str) -> None:
    assert guarded(cell) == cell


def test_csv_is_quoted_and_reads_back() -> None:
    cells = ("007", 'say "x", y\nz', "None", "=1+1")
    text = to_csv(Table("t", "", "", ("a", "b", "c", "d"), (cells,)))
    assert tuple(list(csv.reader(io.StringIO(text)))[1]) == cells
    assert text.startswith('"a","b","c","d"\n"007"')


def test_csv_of_all_scores_keeps_every_digit() -> None:
    header, row, *_ = csv.reader(io.StringIO(to_csv(every_score(scores()))))
    found = dict(zip(header, row, strict=True))
    assert float(found["value"]) == 0.61234
    assert found["seeds"] == "1 2 3"
    assert found["per_seed"] == "0.6 0.61 0.62702"


def test_score_table_is_aligned() -> None:
    lines = [line for line in score_table(scores()).splitlines() if line.startswith("|")]
    assert len({len(line) for line in lines}) == 1
    assert any("61.2 ± 1.4" in line for line in lines)


def store_reduction(store: Store) -> Reduction:
    key = store.put_table("main/scores/abc", "scores", to_table(Score, scores())).key
    tests = store.put_table("main/scores/abc", "tests", to_table(Test, ())).key
    store.put_json("main/scores/abc/inputs.json", {**inputs(), "scores": key, "tests": tests})
    return Reduction("abc", "main/scores/abc", tuple(scores()), (), inputs(), ())


def test_report_writes_store_and_folder_with_the_same_bytes(tmp_path: Path) -> None:
    store = Store.open(str(tmp_path / "store"))
    store_reduction(store)
    places = report(store, "main", "abc", tmp_path / "out")
    assert places[0] == str(tmp_path / "out" / "index.html")
    names = {e.key.removeprefix("main/reports/abc/") for e in store.list("main/reports/")}
    assert {"index.html", "tables/all-scores.csv", "tables/scores-mini-test-satire.md"} <= names
    assert {name.rpartition(".")[2] for name in names} == {"html", *FORMATS}
    for name in names:
        assert (tmp_path / "out" / name).read_bytes() == store.get(f"main/reports/abc/{name}")


def test_report_is_deterministic(tmp_path: Path) -> None:
    reduction = store_reduction(Store.open(str(tmp_path)))
    again = dataclasses.replace(reduction, scores=tuple(reversed(reduction.scores)))
    skipped = "tables/all-scores.csv"  # keeps the order of the scores table, which is itself fixed
    first, second = ({n: t for n, t in files(r) if n != skipped} for r in (reduction, again))
    assert first["tables/scores-mini-test-satire.md"] == second["tables/scores-mini-test-satire.md"]
    assert dict(files(reduction)) == dict(files(reduction))


def test_report_of_an_unknown_reduction_names_the_known_ones(tmp_path: Path) -> None:
    store = Store.open(str(tmp_path))
    store_reduction(store)
    with pytest.raises(UserError, match=r"no reduction 'abd'.*did you mean 'abc'"):
        report(store, "main", "abd")
