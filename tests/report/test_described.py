"""Tables of surveys in the papers' layouts, the page, and the pictures in it."""

import base64
import dataclasses
import re
from typing import Any

import pytest

from mixgrid.describe import MEASURES
from mixgrid.describe.base import Mix
from mixgrid.describe.rows import Described, Describer, Row, Sample
from mixgrid.describe.summary import summarise
from mixgrid.describe.tags import Spans
from mixgrid.records import Item, Span, Turn
from mixgrid.report import survey_files
from mixgrid.report.described import every_measure, survey_tables
from mixgrid.report.html import survey_page
from mixgrid.report.plots import plots, switch_lengths
from mixgrid.report.table import Table
from mixgrid.survey import Survey

HOSTILE = '<script>alert("x")</script>'
SIGNATURE = "describe-1|tags:spans|mixing-1|tok:words-1|tokens:words-1|encoder:none"


class Alternating:
    """Every other word in another language."""

    signature = "alternating"

    def check(self, combinations: object) -> None:
        """Everything is known."""

    def __call__(self, item: Item) -> list[list[str]]:
        return [["id", "en"][: len(turn.text.split())] for turn in item.turns]


def surveyed(rows: list[Row], signature: str = SIGNATURE, **changes: Any) -> Survey:
    corpora = tuple(dict.fromkeys(row.item.corpus for row in rows))
    made = Survey("abc", "main/surveys/abc", corpora, tuple(rows), tuple(summarise(rows, MEASURES, "s")), signature, ())
    return dataclasses.replace(made, **changes)


def talks() -> list[Row]:
    """Two people's dialogues of two combinations, one with a reply, and a model's."""
    turns = (Turn("0", "A", "ayo go"), Turn("1", "B", "oke deh"), Turn("2", "A", "sip nice", "0"))
    rows = []
    for corpus, language, said in (
        ("people", "id-en", turns),
        ("people", "jv-id-en", turns[:2]),
        ("by-toy", "id-en", (*turns[:2], Turn("2", "A", "done", "1"))),
    ):
        item = Item(corpus, f"{corpus}{language}", "1", None, "1", "test", language, "none", 0, turns=said)
        rows += Describer(MEASURES, Alternating())([Sample(item)])
    return rows


def sentences() -> list[Row]:
    span = Span(3, 9, "pod", "bridge", "en")
    items = [
        Item("c", "1", "1", None, "1", "test", "ro", "none", 0, text="un pod nou"),
        Item("c", "2", "1", "1", "1", "test", "ro-en", "random", 1, text="un bridge nou", spans=(span,)),
        Item("c", "3", "1", "1", "1", "test", "ro-en", "llm", 1, text="a new pod"),
    ]
    return Describer(MEASURES, Spans())([Sample(item) for item in items])


def table(found: list[Table], name: str) -> dict[tuple[str, ...], dict[str, str]]:
    (one,) = (t for t in found if t.name == name)
    return {row[: one.labels]: dict(zip(one.header[one.labels :], row[one.labels :], strict=True)) for row in one.rows}


def test_table_3_has_people_and_models_by_combination() -> None:
    found = table(survey_tables(surveyed(talks())), "pingpong-table-3")
    assert list(found) == [("id-en", "people · test"), ("id-en", "by-toy · test"), ("jv-id-en", "people · test")]
    assert found["id-en", "people · test"] == {
        "#Dialogue": "1", "Avg. turns": "3.000", "Avg. words": "6.000", "Avg. tokens": "6.000",
        "Avg. CMI (un-halved)": "1.333", "Avg. CMI (2014)": "50.000", "Avg. SPF": "1.000",
    }  # fmt: skip


def test_table_4_averages_the_combinations_and_table_20_shows_each() -> None:
    found = survey_tables(surveyed(talks()))
    four, twenty = table(found, "pingpong-table-4"), table(found, "pingpong-table-20")
    people = "people · test"
    assert four["2 speakers", "dialogues"] == {people: "2", "by-toy · test": "1"}
    assert four["2 speakers", "Total replies"] == {people: "0.5", "by-toy · test": "1.0"}  # mean of 1 and 0
    assert four["2 speakers", "Avg. degree of reply distance"] == {people: "1.000", "by-toy · test": "1.000"}
    assert twenty["2 speakers", "Total replies"] == {
        f"id-en · {people}": "1", "id-en · by-toy · test": "1", f"jv-id-en · {people}": "0",
    }  # fmt: skip
    assert twenty["2 speakers", "Avg. degree of reply distance"][f"id-en · {people}"] == "2.000"


def test_mixing_is_shown_by_language_and_method_and_what_is_not_known_is_a_dash() -> None:
    found = table(survey_tables(surveyed(sentences())), "mixing-c-test")
    assert list(found) == [("ro", "none"), ("ro-en", "llm"), ("ro-en", "random")]
    assert found["ro-en", "random"]["CMI (2014)"] == "33.33"
    assert found["ro-en", "llm"]["CMI (2014)"] == "–"
    assert found["ro-en", "llm"]["Words"] == "3.00"
    assert found["ro-en", "llm"]["n"] == "1"
    assert "Semantic preservation" not in found["ro", "none"]


def test_levels_stand_side_by_side() -> None:
    found = table(survey_tables(surveyed(sentences())), "levels-c-test")
    assert found["CMI (2014)", "0 to 100"] == {"utterance": "16.6667", "item": "16.6667", "corpus": "16.6667"}
    assert found["CMI (2016, corpus)", "from 0"]["item"] == "–"


def test_switches_are_the_runs_outside_the_commonest_language() -> None:
    assert switch_lengths(Mix.of(["a", "a", "b", "a", "c", "c"])) == [1, 2]
    assert switch_lengths(Mix.of([])) == []


@pytest.fixture(scope="module")
def drawn() -> dict[str, bytes]:
    pytest.importorskip("matplotlib")
    return dict(survey_files(surveyed([*talks(), *sentences()])))


def test_a_report_has_a_page_tables_and_pictures(drawn: dict[str, bytes]) -> None:
    assert next(iter(drawn)) == "index.html"
    assert {
        f"plots/{name}.{end}" for name in ("cmi", "switch-lengths", "reply-distances") for end in ("svg", "png")
    } < {*drawn}
    assert {"tables/pingpong-table-20.tex", "tables/mixing-c-test.md", "tables/all-measures.csv"} < {*drawn}
    assert drawn["plots/cmi.png"].startswith(b"\x89PNG")


def test_pictures_are_in_the_page_and_nothing_is_loaded(drawn: dict[str, bytes]) -> None:
    page = drawn["index.html"].decode()
    inside = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', page)
    assert [base64.b64decode(data) for data in inside] == [
        drawn[f"plots/{name}.svg"] for name in ("cmi", "switch-lengths", "reply-distances")
    ]
    assert page.count("src=") == len(inside)
    assert "http:" not in re.sub(r'src="data[^"]+"', "", page)
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in page


def test_the_same_survey_gives_the_same_bytes(drawn: dict[str, bytes]) -> None:
    assert dict(survey_files(surveyed([*talks(), *sentences()]))) == drawn


def test_hostile_names_are_text() -> None:
    made = surveyed(sentences(), corpora=(HOSTILE,), measured=(), warnings=(HOSTILE + "\x1b[2J",))
    page = survey_page(made, [Table("t", HOSTILE, HOSTILE, (HOSTILE,), ((HOSTILE,),))], [])
    assert "<script" not in page
    assert "\x1b" not in page
    assert page.count("&lt;script") > 4
    assert "No pictures" in page


def test_a_name_that_looks_like_a_formula_is_drawn_as_it_is() -> None:
    pytest.importorskip("matplotlib")
    item = Described("$x^$", "test", "1", "1", "1", "ro-en", "random", 1, 0, "", (Mix.of(["ro", "en"]),), (2,))
    assert [plot.name for plot in plots([Row(item, {"cmi": 50.0})])] == ["cmi", "switch-lengths", "reply-distances"]


def test_programs_get_every_field() -> None:
    made = surveyed(sentences())
    whole = every_measure(made)
    assert len(whole.rows) == len(made.measured)
    assert whole.header[0] == "corpus"
    assert whole.header[-1] == "signature"
