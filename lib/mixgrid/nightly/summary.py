"""A night in Markdown, short enough for a chat or an issue."""

from collections.abc import Iterator
from dataclasses import dataclass

from mixgrid.nightly.nights import Night
from mixgrid.nightly.verdict import Verdict, place
from mixgrid.records import Test
from mixgrid.report.markdown import escape, markdown
from mixgrid.report.table import NOWHERE, Table

SHOWN = 20  # moved cells in the table; the report has them all
ENDS = {0: "nothing got worse", 3: "not complete", 4: "the budget ended it", 5: "REGRESSION"}
HEADER = ("cell", "metric", "before", "tonight", "difference", "95 % CI", "adjusted p", "second run")


@dataclass(frozen=True)
class Facts:
    """Everything that is told of a night."""

    trouble: str
    page: str
    left_out: tuple[str, ...]
    verdicts: tuple[Verdict, ...]
    jumped: tuple[str, ...]
    drifted: tuple[str, ...]
    vanished: tuple[str, ...]

    @property
    def regressed(self) -> bool:
        """Whether a score got worse, twice."""
        return any(verdict.regressions for verdict in self.verdicts)


def summary(night: Night, facts: Facts) -> str:
    """The whole text."""
    return "\n".join(_lines(night, facts))


def _lines(night: Night, facts: Facts) -> Iterator[str]:
    yield f"# mixgrid {escape(night.prefix)}, {night.day}: {ENDS[night.exit or 0]}"
    yield f"\nreduction {night.namespace}/{night.reduction}, report: {escape(facts.page)}\n"
    if facts.trouble:
        compared = "" if facts.verdicts else " Scores were not compared; the same command goes on."
        yield f"**Not complete**: {escape(facts.trouble)}.{compared}\n"
    for verdict in facts.verdicts:
        yield from _moved(verdict)
    lists = (
        ("Rates that jumped", facts.jumped),
        ("Speed or cost that drifted", facts.drifted),
        ("Models that vanished", facts.vanished),
        ("Paid models that were not asked (no budget)", facts.left_out),
    )
    for title, sentences in lists:
        if sentences:
            yield f"**{title}**\n"
            yield from (f"- {escape(sentence)}" for sentence in sentences)
            yield ""
    if not facts.verdicts and not facts.trouble:
        yield "There is no earlier night to compare with.\n"


def _moved(verdict: Verdict) -> Iterator[str]:
    counts = (
        f"{len(verdict.moved)} of {verdict.tests} slices moved, {len(verdict.confirmed)} of them again in a second "
        f"run, {len(verdict.regressions)} for the worse" + (f"; {verdict.note}" if verdict.note else "")
    )
    if not verdict.moved:
        yield f"Against {escape(verdict.against)}: {counts}.\n"
        return
    again, worse = {place(t) for t in verdict.confirmed}, {place(t) for t in verdict.regressions}
    order = sorted(verdict.moved, key=lambda t: (place(t) not in worse, place(t) not in again, t.p_bh or 0.0))
    rows = tuple(_row(t, "worse" if place(t) in worse else "yes" if place(t) in again else "no") for t in order[:SHOWN])
    more = f"; {len(order) - SHOWN} more in the store" if len(order) > SHOWN else ""
    yield markdown(Table("moved", f"Against {verdict.against}", counts + more, HEADER, rows, labels=2))


def _row(test: Test, second: str) -> tuple[str, ...]:
    side = test.a
    cell = f"{test.corpus} · {test.task} · {side.model} · {side.setting} · {side.language} × {side.switching}"
    ends = NOWHERE if test.ci_low is None or test.ci_high is None else f"{test.ci_low:+.3f} to {test.ci_high:+.3f}"
    numbers = (_number(test.b.value, ".3f"), _number(test.a.value, ".3f"), _number(test.effect, "+.3f"))
    return (cell, test.metric, *numbers, ends, _number(test.p_bh, ".2g"), second)


def _number(value: float | None, how: str) -> str:
    return NOWHERE if value is None else format(value, how)
