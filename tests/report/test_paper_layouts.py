"""Each table of the three papers by its number: rows, columns, order, what is bold, and what stands where nothing is.

The stored text of CS-SeLeRoSa has captions and prose but no table bodies, so its columns are those that these name.
"""

from typing import Any

import pytest

from mixgrid.records import Score
from mixgrid.report.csv import to_csv
from mixgrid.report.latex import latex
from mixgrid.report.layout import fill
from mixgrid.report.markdown import markdown
from mixgrid.report.papers import LAYOUTS
from mixgrid.report.table import Table
from tests.report.test_report import score

METHODS = ("Random", "Phrase", "Dependency", "LLM")
LANGUAGES = ("EN", "DE", "FR", "IT")
PAIRS = ("ID-EN", "JV-ID-EN", "SU-ID-EN", "HA-EN", "AR-DZ-FR")
ASKED = ("ZS", "CoT", "FT")
SUMMARY = ("ROUGE1", "ROUGE2", "ROUGE3", "ROUGE4", "METEOR", "CHRF++", "BERTScore-p", "BERTScore-r", "BERTScore-f")
KINDS = ("Neg.", "Ant.", "Ent.", "Mut.", "Imp.")
RATES = ("FPR", "FNR")


def cross(*parts: tuple[str, ...]) -> tuple[str, ...]:
    """Every combination, the first changing last, joined by a space."""
    found = [""]
    for part in parts:
        found = [f"{before} {after}".strip() for before in found for after in part]
    return tuple(found)


MODEL, BY_SETTING = ("model",), ("setting", "model")
TABLES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "cs-selerosa-table-2": (MODEL, cross(ASKED, ("mono", "CS", "Gold"))),
    **{f"cs-selerosa-table-{n}": (MODEL, cross(ASKED, ("Acc.", "F1"))) for n in (15, 16, 17, 18)},
    **{f"cs-selerosa-table-{n}": (BY_SETTING, cross(METHODS, LANGUAGES)) for n in (19, 20)},
    "cs-selerosa-table-21": (BY_SETTING, ("None", *(title for m in METHODS for title in (m, f"Δ {m}")))),
    "cs-selerosa-table-22": (BY_SETTING, cross(("None", *METHODS), RATES)),
    "cs-selerosa-table-23": (BY_SETTING, cross(("RO", *LANGUAGES), RATES)),
    "cs-selerosa-table-24": (MODEL, cross(ASKED, RATES)),
    "cs-selerosa-table-27": (MODEL, ASKED),
    "cs-selerosa-table-28": (MODEL, ASKED),
    "mixsarc-table-5": (("label", "setting", "model"), ("Acc.", "Prec.", "Rec.", "F1")),
    "pingpong-table-5": (MODEL, cross(("QA", "Summary", "Topic"), PAIRS)),
    "pingpong-table-8": (MODEL, cross(PAIRS, ("Reasoning", "Non-reasoning"))),
    "pingpong-table-9": (MODEL, cross(PAIRS, ("0-shot", "1-shot"))),
    **{f"pingpong-table-{n}": (("model", "Reasoning"), SUMMARY) for n in range(10, 15)},
    **{f"pingpong-table-{n}": (("model", "N-shot"), SUMMARY) for n in range(15, 20)},
    "pingpong-table-21": (MODEL, cross(PAIRS[:3], KINDS)),
}


def everything(name: str, models: tuple[str, ...]) -> list[Score]:
    """Scores for every cell of a layout: the later a model is named, the larger, but the first has no first column."""
    layout = next(layout for layout in LAYOUTS if layout.name == name)
    made: dict[tuple[Any, ...], Score] = {}
    for at, model in enumerate(models):
        for n, column in enumerate(layout.columns):
            if at == 0 and n == 0 and len(layout.columns) > 1:
                continue
            for block in layout.blocks or [""]:
                for setting in layout.rows or [""]:
                    fields = {"corpus": "", "setting": setting, "language": "all", "switching": "all", **column.where}
                    fields |= {key: fields[key].split("|")[0] for key in ("corpus", "setting")}
                    for metric in (column.metrics[0].format(block=block), column.sound):
                        about = {**fields, "task": column.task, "model": model + column.tuned[0], "metric": metric}
                        value = 0.5 + at / 100 - n / 1000
                        made[tuple(about.values())] = score(**about, value=value, sd_over_seeds=0.01)
    return list(made.values())


def filled(name: str, models: tuple[str, ...], sound: bool = False) -> Table:
    layout = next(layout for layout in LAYOUTS if layout.name == name)
    found = fill(layout, everything(name, models), [], sound)
    assert found is not None
    return found


@pytest.mark.parametrize("name", sorted(TABLES))
def test_rows_and_columns_are_the_papers(name: str) -> None:
    labels, columns = TABLES[name]
    layout = next(layout for layout in LAYOUTS if layout.name == name)
    named = [model for group in layout.groups for model in group]
    models = (named[0], named[-1], "another")
    table = filled(name, models)
    assert table.header == (*labels, *columns)
    at = table.header.index("model")
    assert [*dict.fromkeys(row[at] for row in table.rows)] == list(models)
    first = next(row for row in table.rows if row[at] == models[0])
    if len(columns) > 1:
        assert first[len(labels)] == "–"  # the cell does not exist
    last = table.rows[-1]
    assert all("±" in cell or cell.startswith("-") for cell in last[len(labels) :])  # a difference has no sd
    sound = filled(name, models, sound=True)
    assert sound.header == (*labels, *columns, "unparsed")
    assert all("[" in cell or cell.startswith("-") for cell in sound.rows[-1][len(labels) : -1])
    assert len(markdown(table).splitlines()) == len(table.rows) + 4
    assert to_csv(table).count("\n") == len(table.rows) + 1
    assert latex(table).count(r" \\") == len(table.rows) + 1


OWN_RULES = ("21", "22", "23", "24", "27", "28", "5")  # CS-SeLeRoSa's of errors and losses, MixSarc's
COLUMNWISE = [name for name in sorted(TABLES) if name.startswith("ping") or name.rpartition("-")[2] not in OWN_RULES]


@pytest.mark.parametrize("name", COLUMNWISE)
def test_the_best_of_each_column_is_bold_within_a_setting(name: str) -> None:
    labels, columns = TABLES[name]
    table = filled(name, ("one", "two"))
    settings = len(table.rows) // 2
    assert len(table.bold) == len(columns) * settings
    assert {table.rows[row][labels.index("model")] for row, _ in table.bold} == {"two"}


def test_selerosa_tables_of_errors_have_no_bold() -> None:
    for number in (22, 23, 24, 27, 28):
        assert not filled(f"cs-selerosa-table-{number}", ("one", "two")).bold


def test_selerosa_table_21_has_the_least_loss_bold_and_the_greatest_underlined() -> None:
    table = filled("cs-selerosa-table-21", ("one", "two"))
    of_two = [at for at, row in enumerate(table.rows) if row[1] == "two"]
    for row in of_two:
        assert table.rows[row][4] == "-0.2"  # a fine-tuned one is held against that tuned on originals
        assert table.rows[row][10] == "-0.8"
        assert (row, 4) in table.bold
        assert (row, 10) in table.underlined
    assert len(table.bold) == len(table.underlined) == len(of_two) == 3
    assert "<ins>-0.8</ins>" in markdown(table)
    assert r"\underline{-0.8}" in latex(table)


def test_a_difference_that_is_there_alone_is_not_the_greatest_loss_as_well() -> None:
    (layout,) = (one for one in LAYOUTS if one.name == "cs-selerosa-table-21")
    every = everything(layout.name, ("one", "two"))
    kept = [s for s in every if s.model.startswith("two") and s.switching in ("none", "random")]
    table = fill(layout, kept, [], False)
    assert table is not None
    assert len(table.bold) == len(table.rows) > 0
    assert not table.underlined


def test_mixsarc_table_5_marks_the_best_of_a_label_whatever_the_setting() -> None:
    scores = [
        score(task="implicit-meaning", metric="f1_humorous", setting=setting, model=model, value=value)
        for model, setting, value in (("gemma-2b", "fine-tuning", 0.7), ("gpt-5.5", "zero-shot", 0.6))
    ]
    table = fill(next(layout for layout in LAYOUTS if layout.name == "mixsarc-table-5"), scores, [], False)
    assert table is not None
    assert table.bold == {(0, 6)}
    assert [row[:3] for row in table.rows] == [("Humor", "Supervised", "gemma-2b"), ("Humor", "Zero-shot", "gpt-5.5")]


def test_pingpong_reasoning_is_the_models_own_where_it_has_a_switch() -> None:
    about = {"task": "dialogue-qa", "metric": "accuracy_answerable", "language": "id-en", "switching": "all"}
    scores = [
        score(model="qwen3-4b", setting="0-shot-thinking", value=0.15, **about),
        score(model="gemma2-9b", setting="0-shot-reasoning", value=0.13, **about),
    ]
    table = fill(next(layout for layout in LAYOUTS if layout.name == "pingpong-table-8"), scores, [], False)
    assert table is not None
    assert [(row[0], row[1][:5], row[2]) for row in table.rows] == [
        ("qwen3-4b", "15.00", "–"),
        ("gemma2-9b", "13.00", "–"),
    ]


def test_pingpong_puts_regional_models_last_under_a_rule() -> None:
    table = filled("pingpong-table-5", ("allam-7b", "qwen3-8b", "gemma3-4b"))
    assert [row[0] for row in table.rows] == ["qwen3-8b", "gemma3-4b", "allam-7b"]
    assert table.rules == {2}
    assert latex(table).count(r"\midrule") == 2


def test_every_layout_has_its_test() -> None:
    assert sorted(TABLES) == sorted(layout.name for layout in LAYOUTS)
