"""PINGPONG's printed cells: what each table prints of the same scores, where the paper's own tables disagree.

Tables 8 and 9 cut percents off after two digits, ours round them: a cell of ours is the printed one or .01 more. The
same setting (no reasoning, no examples) stands in Tables 5, 8 and 9, and in Tables 10 to 14 and 15 to 19: here these
cells are one score, so that they cannot differ as they do in print.
"""

import math
from typing import Any

import pytest

from mixgrid.records import Score
from mixgrid.report.papers import COMBINATIONS
from mixgrid.report.table import Table
from tests.metrics.golden import golden
from tests.report.test_papers import cells, table
from tests.report.test_report import score

QA, CONSISTENCY = golden("pingpong_qa_tables"), golden("pingpong_consistency")
ITEMS = QA["n_items_recovered"]["QA_answerable"]
TAGS = {tag.split("-")[0].upper(): tag for tag in COMBINATIONS}
COLUMNS = {
    "table8_nonreasoning": (8, "0-shot", "Non-reasoning"),
    "table8_reasoning": (8, "0-shot-reasoning", "Reasoning"),
    "table9_0shot": (9, "0-shot", "0-shot"),
}
UNREACHED = {("SU", "table8_nonreasoning", 86.68), ("AR", "table8_nonreasoning", 38.37), ("JV", "table9_0shot", 18.08)}
PRINTED = [
    (row["lang"], column, row[column]) for row in QA["mismatches"] for column in COLUMNS if row.get(column) is not None
]


def count(printed: float, n: int) -> int | None:
    """How many of n were right, if the percents of any count begin with what is printed."""
    near = math.ceil(printed * n / 100 - 1e-9)
    return next((k for k in (near, near + 1) if math.floor(1e4 * k / n + 1e-9) == round(100 * printed)), None)


@pytest.mark.parametrize(("language", "column", "printed"), PRINTED)
def test_a_printed_accuracy_is_that_of_a_count(language: str, column: str, printed: float) -> None:
    n, (number, setting, title) = ITEMS[language], COLUMNS[column]
    right = count(printed, n)
    if right is None:
        assert (language, column, printed) in UNREACHED
        return
    about = {"task": "dialogue-qa", "metric": "accuracy_answerable", "language": TAGS[language], "setting": setting}
    made = score(**about, value=right / n, sd_over_seeds=None)
    (shown,) = cells(table(f"pingpong-table-{number}", [made])).values()
    cell = next(text for name, text in shown.items() if name.endswith(f" {title}") and text != "–")
    assert 0 <= float(cell) - printed < 0.0101


def summaries(language: str) -> list[Score]:
    about = {"task": "dialogue-summary", "language": language, "setting": "0-shot", "sd_over_seeds": None}
    names = (*(f"rouge{n}_compat" for n in range(1, 5)), "meteor_compat", "chrf++_sentence")
    names += tuple(f"bertscore_{part}" for part in "prf")
    return [score(metric=name, value=0.1 + at / 20, **about) for at, name in enumerate(names)]


@pytest.mark.parametrize(
    "mismatch", CONSISTENCY["cross_table_mismatches"], ids=lambda row: f"{row['lang']} {row['metric']}"
)
def test_tables_by_reasoning_and_by_examples_share_a_row(mismatch: dict[str, Any]) -> None:
    assert mismatch["table_reasoning_off"] != mismatch["table_0shot"]  # in print
    place = [name.upper() for name in COMBINATIONS].index(mismatch["lang"])
    made = summaries(list(COMBINATIONS)[place])
    by_reasoning, by_examples = (only(table(f"pingpong-table-{n + place}", made)) for n in (10, 15))
    assert by_reasoning == by_examples
    assert "–" not in by_reasoning.values()
    assert mismatch["metric"] in by_reasoning


def only(found: Table) -> dict[str, str]:
    (row,) = cells(found).values()
    return row
