"""The tests that papers print, beside the sound ones: over seeds where both sides have several, else over rows.

    several seeds           Welch's t over them
    one seed on a side      exact McNemar on right and wrong, paired bootstrap of the metric over rows
    mixed and original      paired bootstrap over rows: each mixed row beside a copy of its original ("sentence level")
    a rate of errors        chi-squared of wrong and right rows; of the seeds' vote where there are several

They take rows, or seeds, for independent, and are never what a dagger is drawn from unless a table says so.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from mixgrid.metrics.base import Array, Metric
from mixgrid.reduce.cells import Cell
from mixgrid.reduce.resample import Draws, refusal
from mixgrid.reduce.sides import Matched, Place
from mixgrid.significance.base import Outcome
from mixgrid.significance.bootstrap import bootstrap_pair
from mixgrid.significance.paired import mcnemar
from mixgrid.significance.population import Population
from mixgrid.significance.resampling import Resampling
from mixgrid.significance.seeds import welch
from mixgrid.significance.tables import chi2_table

RIGHT = ("accuracy", "exact_match")  # of one row: whether it is right
ERRORS = ("fpr", "fnr")
BY_ROW = "paired-bootstrap"
Items = npt.NDArray[np.int64]


def compat_tests(pair: Matched, draws: Draws) -> Iterator[tuple[str, Outcome]]:
    """(metric, outcome) of every test that a paper would print for the pair."""
    name = pair.metric.name
    if not min(pair.ground.n):
        return
    if min(len(pair.a.cell.seeds), len(pair.b.cell.seeds)) > 1:
        yield name, welch(*(_per_seed(pair, at) for at in (0, 1)))
    elif pair.by_item and (right := right_metric(pair.a.cell)):
        b, c = discordant(pair, right, seeds=1)
        yield right.name, mcnemar(b, c, pair.ground.n[0])
    if draws.resamples and (pair.kind == "twin" or min(len(pair.a.cell.seeds), len(pair.b.cell.seeds)) == 1):
        outcome = _by_row(pair, draws)
        if outcome:
            yield name, outcome
    if name in ERRORS:
        yield name, chi2_table(np.array([_errors(pair, at, ERRORS.index(name)) for at in (0, 1)]))


def discordant(pair: Matched, right: Metric, seeds: int | None = None) -> tuple[int, int]:
    """Items that a alone has right, and b alone; of the first seed, or summed over pairs of seeds."""
    items = np.flatnonzero(pair.kept()[0])
    b = c = 0
    for left, other in list(zip(pair.a.cell.answers, pair.b.cell.answers, strict=False))[:seeds]:
        first = _is_right(pair.a.cell.item_vectors(left, items), right)
        second = _is_right(pair.b.cell.item_vectors(other, items), right)
        b, c = b + int((first & ~second).sum()), c + int((second & ~first).sum())
    return b, c


def _is_right(vectors: Array, right: Metric) -> npt.NDArray[np.bool_]:
    return np.asarray(right.total(vectors) == 1)


def right_metric(cell: Cell) -> Metric | None:
    """The metric that says of one row whether it is right, if the family has one."""
    return next((m for m in cell.family.metrics if m.name in RIGHT), None)


def _per_seed(pair: Matched, at: int) -> list[float]:
    """The metric of each seed that has one."""
    values = pair.metric.total(pair.statistics(at).sum(axis=1))
    return [float(v) for v in values if np.isfinite(v)]


def _by_row(pair: Matched, draws: Draws) -> Outcome | None:
    """Rows drawn one by one. Methods, languages and the like have no row for a row, so they have no such test."""
    kept = pair.kept()
    items = np.flatnonzero(kept[0])
    if pair.by_item:
        partner = items
    elif pair.kind == "twin" and (found := _originals(pair, kept, items)) is not None:
        items, partner = found
    else:
        return None
    sides = [_rows(place, which) for place, which in ((pair.a, items), (pair.b, partner))]
    sides = [side[:, : min(s.shape[1] for s in sides)] for side in sides]
    names = ("a",) * sides[0].shape[1] + ("b",) * sides[1].shape[1]
    refused = {n: why for n, s in zip("ab", sides, strict=True) if (why := refusal(np.moveaxis(s, 1, 0), pair.metric))}
    label = f"{pair.column(0)} by row with {pair.column(1)}"
    rows = Population(label, names, np.concatenate(sides, axis=1), pair.metric.total, refused)
    return _as_printed(bootstrap_pair(rows, "a", "b", Resampling(draws.resamples, collapse=True)))


def _as_printed(outcome: Outcome) -> Outcome:
    """The plain shifted p and percentile interval, without the scaling for few clusters."""
    if outcome.p is None:
        return replace(outcome, method=BY_ROW)
    p = outcome.other_p.get("shifted", outcome.p)
    options = {"rows": outcome.options.get("clusters", 0), "p": "shifted", "interval": "percentile"}
    interval = outcome.intervals.get("percentile")
    return replace(outcome, method=BY_ROW, p=p, interval=interval, p_error=None, options=options)


def _rows(place: Place, items: Items) -> Array:
    """(n, R, F) of some items, one row each."""
    return np.stack([place.cell.item_vectors(answers, items) for answers in place.cell.answers], axis=1)


def _originals(pair: Matched, kept: tuple[npt.NDArray[np.bool_], ...], items: Items) -> tuple[Items, Items] | None:
    """Mixed rows and the original of each, in the order of the sides; None where a source has two originals."""
    mixed = 1 if pair.a.fields["switching"] == "none" else 0
    rows, originals = np.flatnonzero(kept[mixed]), np.flatnonzero(kept[1 - mixed])
    source, other = pair.shared.sources[mixed], pair.shared.sources[1 - mixed]
    if len(np.unique(other[originals])) < len(originals):
        return None
    order = originals[np.argsort(other[originals])]
    partner = order[np.searchsorted(other[order], source[rows])]
    return (rows, partner) if mixed == 0 else (partner, rows)


def _errors(pair: Matched, at: int, gold: int) -> tuple[int, int]:
    """Rows of a class that are wrong, and right; by the vote over seeds where there are several."""
    place = (pair.a, pair.b)[at]
    rows = np.moveaxis(_rows(place, np.flatnonzero(pair.kept()[at])), 1, 0)
    votes = place.cell.family.votes
    counts = votes["strict"](rows) if len(rows) > 1 and "strict" in votes else rows[0]
    classes = round((1 + counts.shape[-1]) ** 0.5) - 1
    row = counts.sum(axis=0).reshape(classes, classes + 2)[gold]
    return int(row.sum() - row[gold]), int(row[gold])
