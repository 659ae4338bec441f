"""A paper's table as a description: which scores stand in its rows and columns, how they print, what a dagger means.

Filled twice: as the paper prints it (mean ± sd, the paper's own tests), and soundly (95 % intervals over clusters,
corrected p, the rate of unparsed answers). A cell that does not exist is “–”.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from mixgrid.records import Score, Test
from mixgrid.reduce.scores import BASELINE
from mixgrid.report.table import NOWHERE, Table

ALPHA = 0.05
TUNED = (
    "-ft-cs",
    "-ft-ro",
    "-ft",
)  # ends the name of a fine-tuned model; its row is that of the model it was made from
KEYS = ("corpus", "model", "setting", "language", "switching", "metric")


@dataclass(frozen=True)
class Column:
    """What one column shows. `where`: fields of a score, all languages and methods together unless named; a corpus or a
    setting may be one of several, `a|b`, the first that is there.
    """

    title: str
    task: str
    metrics: tuple[str, ...]  # the first that there is
    where: Mapping[str, str] = field(default_factory=dict)
    minus: Mapping[str, str] | None = None  # shown less the score with these fields changed
    percent: bool = True
    digits: int = 1
    tuned: tuple[str, ...] = ("",)  # ends of the row's model, as it is called here
    minus_tuned: tuple[str, ...] = ("",)  # and in the score that is taken away
    dagger: str = ""  # the kind of test that marks a cell
    lower: bool = False  # is better
    sound: str = ""  # the metric of the sound version, where it is another


@dataclass(frozen=True)
class Layout:
    """A table of a paper."""

    name: str
    title: str
    caption: str
    columns: tuple[Column, ...]
    rows: Mapping[str, str] = field(
        default_factory=dict
    )  # setting → its name in the table; none: rows are models alone
    blocks: Mapping[str, str] = field(default_factory=dict)  # what stands for {block} in metrics → its name there
    by_model: str = ""  # titles the settings where they stand under each model, not the models under each setting
    groups: tuple[tuple[str, ...], ...] = ()  # models in the table's order; others stand after them
    bold: str = "column"  # where the best is sought: column (of a setting), block (of all settings), row, nowhere ("")
    underline: bool = False  # the worst of what `bold` compares


@dataclass(frozen=True)
class Shown:
    """A cell's text, and the value by which it is the best."""

    text: str
    value: float | None = None
    unparsed: float | None = None


def fill(layout: Layout, scores: Sequence[Score], tests: Sequence[Test], sound: bool) -> Table | None:
    """The table, or None where the scores have none of its cells."""
    book = _Book(scores, tests, sound)
    lines: list[Line] = []
    for block, setting, model in _places(layout, book.models):
        row = [book.cell(column, model, setting, block) for column in layout.columns]
        if any(cell.value is not None for cell in row):
            lines.append(Line(layout.blocks.get(block, ""), layout.rows.get(setting, ""), model, row))
    if not lines:
        return None
    shown = _labels(layout)
    header = (*shown.values(), *(column.title for column in layout.columns), *(("unparsed",) if sound else ()))
    rows = [
        [*(getattr(line, label) for label in shown), *(cell.text for cell in line.cells)]
        + ([_unparsed(line.cells)] if sound else [])
        for line in lines
    ]
    return Table(
        f"{'sound-' if sound else ''}{layout.name}",
        f"{layout.title}{', soundly' if sound else ''}",
        _caption(layout, book, sound),
        header,
        tuple(map(tuple, rows)),
        labels=len(shown),
        bold=_marked(layout, lines, len(shown), best=True),
        underlined=_marked(layout, lines, len(shown), best=False) if layout.underline else frozenset(),
        rules=frozenset(
            at for at in range(1, len(lines)) if _parts(layout, lines[at - 1]) != _parts(layout, lines[at])
        ),
    )


@dataclass(frozen=True)
class Line:
    """A row before it is text."""

    block: str
    setting: str
    model: str
    cells: Sequence[Shown]


def _places(layout: Layout, models: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """(block, setting, model) of every row that there may be, in the table's order."""
    known = [model for group in layout.groups for model in group]
    ordered = [*(m for m in known if m in models), *(m for m in models if m not in known)]
    for block in layout.blocks or [""]:
        settings = list(layout.rows or [""])
        if layout.by_model:
            yield from ((block, setting, model) for model, setting in product(ordered, settings))
        else:
            yield from ((block, setting, model) for setting, model in product(settings, ordered))


def _labels(layout: Layout) -> dict[str, str]:
    """The row's labels, in order, with their titles."""
    setting = {"setting": layout.by_model or "setting"} if layout.rows else {}
    block = {"block": "label"} if layout.blocks else {}
    return {**block, "model": "model", **setting} if layout.by_model else {**block, **setting, "model": "model"}


def _parts(layout: Layout, line: Line) -> tuple[object, ...]:
    """What a line is drawn between: blocks, settings and groups of models."""
    group = next((at for at, models in enumerate(layout.groups) if line.model in models), len(layout.groups))
    return (line.block, "" if layout.by_model else line.setting, group)


class _Book:
    """Scores and tests by what they are about."""

    def __init__(self, scores: Sequence[Score], tests: Sequence[Test], sound: bool) -> None:
        self.sound = sound
        own = [score for score in scores if score.model != BASELINE]
        self.scores: dict[tuple[str, ...], Score] = {}
        with_originals = {score.corpus for score in own if score.switching == "none"}
        for score in own:
            key = {name: getattr(score, name) for name in KEYS}
            others = [{**key, "corpus": ""}]
            if score.switching == "all" and score.corpus not in with_originals:
                others.append({**key, "switching": "mixed"})  # all of it is mixed
            self.scores[(score.task, *key.values())] = score
            for other in others:
                self.scores.setdefault((score.task, *other.values()), score)
        self.models = sorted({_untuned(score.model) for score in own})
        self.tests = {
            (t.task, t.corpus, t.a.model, t.a.setting, t.a.language, t.a.switching, t.metric, t.kind): t
            for t in tests
            if t.sound == sound
        }

    def cell(self, column: Column, model: str, setting: str, block: str) -> Shown:
        """What stands there."""
        score = self._find(column, model, setting, block, {})
        if score is None:
            return Shown(NOWHERE)
        if score.value is None:
            return Shown(score.note)
        value, spread, interval = score.value, score.sd_over_seeds, (score.ci_low, score.ci_high)
        if column.minus is not None:
            other = self._find(replace(column, tuned=column.minus_tuned), model, setting, block, column.minus)
            if other is None or other.value is None:
                return Shown(NOWHERE)
            value, spread, interval = value - other.value, None, self._difference(score, column)
        ends = interval if self.sound else (None, None)
        text = _number(value, column) + _around(spread, ends, column) + self._dagger(score, column)
        return Shown(text + (" *" if score.n < score.expected else ""), value, score.unparsed)

    def _find(self, column: Column, model: str, setting: str, block: str, changed: Mapping[str, str]) -> Score | None:
        fields = {"corpus": "", "setting": setting, "language": "all", "switching": "all", **column.where, **changed}
        metrics = (column.sound,) if self.sound and column.sound else column.metrics
        several = (fields["corpus"].split("|"), fields["setting"].split("|"), column.tuned, metrics)
        for corpus, asked, suffix, metric in product(*several):
            own = {**fields, "corpus": corpus, "setting": asked, "model": model + suffix}
            own["metric"] = metric.format(block=block)
            found = self.scores.get((column.task, *(own[name] for name in KEYS)))
            if found is not None:
                return found
        return None

    def _test(self, score: Score, kind: str) -> Test | None:
        fields = (score.task, score.corpus, score.model, score.setting, score.language, score.switching, score.metric)
        return self.tests.get((*fields, kind))

    def _difference(self, score: Score, column: Column) -> tuple[float | None, float | None]:
        test = self._test(score, column.dagger)
        return (test.ci_low, test.ci_high) if test else (None, None)

    def _dagger(self, score: Score, column: Column) -> str:
        """Whether the test that the table shows is significant; against an original, for the worse only."""
        test = self._test(score, column.dagger) if column.dagger else None
        p = None if test is None else test.p_adjusted if self.sound else test.p
        if test is None or p is None or p >= ALPHA or (test.kind == "twin" and (test.effect or 0) >= 0):
            return ""
        return "†"


def _untuned(model: str) -> str:
    return next((model.removesuffix(end) for end in TUNED if model.endswith(end)), model)


def _number(value: float, column: Column) -> str:
    sign = "+" if column.minus is not None else ""
    return f"{value * (100 if column.percent else 1):{sign}.{column.digits}f}"


def _around(spread: float | None, ends: tuple[float | None, float | None], column: Column) -> str:
    scale = 100 if column.percent else 1
    text = "" if spread is None else f" ± {spread * scale:.{column.digits}f}"
    low, high = ends
    if low is None or high is None:
        return text
    return f"{text} [{low * scale:.{column.digits}f}, {high * scale:.{column.digits}f}]"


def _unparsed(row: Sequence[Shown]) -> str:
    """The largest share of answers that could not be read, in percent."""
    return f"{100 * max(cell.unparsed for cell in row if cell.unparsed is not None):.1f}"


def _marked(layout: Layout, lines: Sequence[Line], labels: int, best: bool) -> frozenset[tuple[int, int]]:
    """Places of the best cells (or of the worst): of each column within its lines, or of each row's differences."""
    columns = range(len(layout.columns))
    if layout.bold == "row":
        differences = [place for place in columns if layout.columns[place].minus is not None]
        compared = [[(at, place) for place in differences] for at in range(len(lines))]
    elif layout.bold:
        sets = [(line.block, "" if layout.bold == "block" else line.setting) for line in lines]
        compared = [
            [(at, place) for at, own in enumerate(sets) if own == one]
            for one in dict.fromkeys(sets)
            for place in columns
        ]
    else:
        compared = []
    found = (place for places in compared for place in _top(places, lines, layout.columns, best))
    return frozenset((at, labels + place) for at, place in found)


def _top(
    places: Sequence[tuple[int, int]], lines: Sequence[Line], columns: Sequence[Column], best: bool
) -> Iterator[tuple[int, int]]:
    values = {(at, place): v for at, place in places if (v := lines[at].cells[place].value) is not None}
    if values and (best or len(set(values.values())) > 1):  # what is best alone is not the worst as well
        lower = columns[places[0][1]].lower
        found = max(values.values()) if best != lower else min(values.values())
        yield from (place for place, value in values.items() if value == found)


def _caption(layout: Layout, book: _Book, sound: bool) -> str:
    kinds = {column.dagger for column in layout.columns} - {""}
    shown = [test for test in book.tests.values() if test.kind in kinds]
    parts = [layout.caption, "mean ± sd over seeds (n-1)", f"{NOWHERE}: no such cell"]
    if sound:
        parts.append("in brackets the 95 % interval over clusters; unparsed: the row's largest share, in %")
    if shown:
        what = " and ".join(sorted({_MEANING[test.kind] for test in shown}))
        m = max(test.m for test in shown)
        how = f"by {', '.join(sorted({test.method for test in shown}))}"
        corrected = f"p < {ALPHA} after correction for {m} tests" if sound else f"p < {ALPHA}, uncorrected ({m} tests)"
        parts.append(f"†: differs significantly from {what} ({how}; {corrected})")
    return "; ".join(parts)


_MEANING = {
    "language": "the baseline language",
    "method": "the baseline method",
    "model": "the baseline model",
    "setting": "the baseline setting",
    "twin": "the originals, for the worse",
}
