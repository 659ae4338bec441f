"""PINGPONG's Figures 4 to 6 as SVG: what a way of asking changes, a line from one value to the other for each row.

A row stands only where both values are there, and means are over the models that have both, so that a model that was
asked in one way only moves nothing. Every text is escaped; the drawing loads nothing and takes the page's own colour.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from mixgrid.records import Score
from mixgrid.reduce.scores import BASELINE
from mixgrid.visible import visible

ALL = "all"
PLAIN, SHOTS, REASONING = "0-shot", ("3-shot", "1-shot"), ("0-shot-thinking", "0-shot-reasoning")
SUMMARY, TOPIC, QA = "dialogue-summary", "dialogue-topic", "dialogue-qa"
COLOURS = {SUMMARY: "#2f6fde", TOPIC: "#2e9e4f", QA: "#d03b3b"}
SHOWN = {SUMMARY: "rougeL", TOPIC: "accuracy", QA: "accuracy_answerable"}  # what Table 5 prints
CASES = {"answerable": "#2f6fde", "unanswerable": "#d03b3b"}
WIDTH, LABELS, LINE, TOP = 760, 300, 22, 56  # pixels


@dataclass(frozen=True)
class Row:
    """One line of a figure: two values, as fractions."""

    label: str
    colour: str
    before: float
    after: float


@dataclass(frozen=True)
class Figure:
    """A drawing with its caption."""

    name: str
    title: str
    caption: str
    svg: str


Found = Mapping[tuple[str, str, str, str, str], float]  # (task, metric, language, model, setting) → value


def figures(scores: Sequence[Score]) -> list[Figure]:
    """Every figure that the scores have a row of."""
    found = {
        (s.task, s.metric, s.language, s.model, s.setting): s.value
        for s in scores
        if s.value is not None and s.switching == ALL and s.model != BASELINE
    }
    whole = "in %, all languages together; summaries by ROUGE-L, topics and answerable questions by accuracy"
    mean = "mean accuracy in % over the models that were asked both ways"
    drawn = (
        ("pingpong-figure-4-shots", "PINGPONG, Figure 4 (left)", mean, _by_language(found, SHOTS), "with examples"),
        (
            "pingpong-figure-4-reasoning",
            "PINGPONG, Figure 4 (right)",
            mean,
            _by_language(found, REASONING),
            "reasoning",
        ),
        ("pingpong-figure-5", "PINGPONG, Figure 5", whole, _by_model(found, REASONING), "reasoning"),
        ("pingpong-figure-6", "PINGPONG, Figure 6", whole, _by_model(found, SHOTS), "with examples"),
    )
    return [
        Figure(name, title, f"{caption}; ○ {PLAIN}, ● {after}", svg(title, list(rows)))
        for name, title, caption, rows, after in drawn
        if rows
    ]


def _by_language(found: Found, settings: Sequence[str]) -> list[Row]:
    """Answerable and unanswerable questions of each combination, averaged over models."""
    rows = []
    for language in sorted({key[2] for key in found if key[0] == QA} - {ALL}):
        for case, colour in CASES.items():
            pairs = list(_pairs(found, (QA, f"accuracy_{case}", language), settings))
            if pairs:
                before, after = (math.fsum(values) / len(pairs) for values in zip(*(p[1:] for p in pairs), strict=True))
                rows.append(Row(f"{language}, {case} ({len(pairs)} models)", colour, before, after))
    return rows


def _by_model(found: Found, settings: Sequence[str]) -> list[Row]:
    """Each model in each task."""
    return [
        Row(f"{model}, {task.removeprefix('dialogue-')}", COLOURS[task], before, after)
        for task in COLOURS
        for model, before, after in _pairs(found, (task, SHOWN[task], ALL), settings)
    ]


def _pairs(found: Found, cell: tuple[str, str, str], settings: Sequence[str]) -> Iterator[tuple[str, float, float]]:
    """(model, value without, value with) of the models that have both; of several settings, the first there is."""
    for model in sorted({key[3] for key in found if key[:3] == cell}):
        before = found.get((*cell, model, PLAIN))
        after = next((found[(*cell, model, s)] for s in settings if (*cell, model, s) in found), None)
        if before is not None and after is not None:
            yield model, before, after


def svg(title: str, rows: Sequence[Row]) -> str:
    """The drawing: a scale of 0 to 100 %, and on it a line, from ring to dot, for each row."""
    height = TOP + LINE * len(rows) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" role="img" '
        f'aria-label={quoteattr(visible(title))} font-family="system-ui, sans-serif" font-size="12">',
        f'<text x="0" y="16" font-weight="600" fill="currentColor">{escape(visible(title))}</text>',
        *_scale(height),
        *(line for at, row in enumerate(rows) for line in _line(TOP + LINE * at + LINE // 2, row)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _scale(height: int) -> Iterable[str]:
    for percent in range(0, 101, 20):
        x = _x(percent / 100)
        yield f'<line x1="{x}" y1="{TOP - 8}" x2="{x}" y2="{height - 6}" stroke="currentColor" stroke-opacity="0.2"/>'
        yield f'<text x="{x}" y="{TOP - 14}" text-anchor="middle" fill="currentColor">{percent}</text>'


def _line(y: int, row: Row) -> Iterable[str]:
    before, after = _x(row.before), _x(row.after)
    told = f"{row.label}: {100 * row.before:.1f} → {100 * row.after:.1f}"
    yield f"<g><title>{escape(visible(told))}</title>"
    yield f'<text x="0" y="{y + 4}" fill="currentColor">{escape(visible(row.label))}</text>'
    yield f'<line x1="{before}" y1="{y}" x2="{after}" y2="{y}" stroke="{row.colour}" stroke-width="2"/>'
    yield f'<circle cx="{before}" cy="{y}" r="4" fill="none" stroke="{row.colour}" stroke-width="2"/>'
    yield f'<circle cx="{after}" cy="{y}" r="4.5" fill="{row.colour}"/></g>'


def _x(value: float) -> float:
    return round(LABELS + (WIDTH - LABELS - 16) * min(max(value, 0.0), 1.0), 1)
