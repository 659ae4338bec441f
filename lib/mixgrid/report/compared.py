"""Test rows as tables: the declared comparisons for reading, and every field of every test for programs."""

from collections.abc import Sequence
from dataclasses import fields

from mixgrid.records import Side, Test
from mixgrid.report.table import NOWHERE, Table, plain_field

CAPTION = (
    "declared comparisons: a less b in points, with the 95 % interval over clusters; p adjusted for m tests, by Holm "
    "within a declared family, by Benjamini-Hochberg against the baseline; MDE: what 80 % power would find"
)
HEADER = (
    "family", "of", "a", "b", "metric", "difference", "95 % CI", "odds ratio", "p", "adjusted p", "m", "MDE", "test",
    "outcome",
)  # fmt: skip


def comparisons(tests: Sequence[Test]) -> Table:
    """Every declared comparison under its sound test, in percent, the clearest first."""
    shown = sorted((t for t in tests if t.sound), key=lambda t: (t.family, t.p_adjusted is None, t.p_adjusted or 0.0))
    return Table("tests", "Comparisons", CAPTION, HEADER, tuple(_row(test) for test in shown), labels=5)


def every_test(tests: Sequence[Test]) -> Table:
    """All fields of all tests, unrounded, for programs; the sides' fields begin with their letter."""
    sides = [f"{side}_{f.name}" for side in ("a", "b") for f in fields(Side)]
    names = tuple(f.name for f in fields(Test) if f.name not in ("a", "b"))
    rows = []
    for test in tests:
        both = [getattr(side, f.name) for side in (test.a, test.b) for f in fields(Side)]
        rows.append(tuple(plain_field(value) for value in (*(getattr(test, name) for name in names), *both)))
    return Table("all-tests", "All tests", "unrounded", (*names, *sides), tuple(rows), labels=len(names) + len(sides))


def _row(t: Test) -> tuple[str, ...]:
    ends = NOWHERE if t.ci_low is None or t.ci_high is None else f"{100 * t.ci_low:+.1f} to {100 * t.ci_high:+.1f}"
    odds = NOWHERE if t.odds_ratio is None else f"{t.odds_ratio:.2f}"
    numbers = (_percent(t.effect), ends, odds, _p(t.p), _p(t.p_adjusted), str(t.m), _percent(t.mde))
    return (t.family, f"{t.corpus} · {t.task}", _side(t.a), _side(t.b), t.metric, *numbers, t.method, t.outcome)


def _side(side: Side) -> str:
    return f"{side.model} · {side.setting} · {side.language} × {side.switching}"


def _percent(value: float | None) -> str:
    return NOWHERE if value is None else f"{100 * value:.1f}"


def _p(value: float | None) -> str:
    return NOWHERE if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}"
