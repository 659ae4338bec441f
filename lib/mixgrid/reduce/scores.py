"""Score rows: each number of a cell with what it was made from, its interval, its seeds' spread, and its signature."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, product
from typing import Any

import numpy as np

from mixgrid.metrics.base import EMPTY, Array, Metric
from mixgrid.records import Score
from mixgrid.reduce.cells import Cell
from mixgrid.reduce.resample import Draws, Resampled, column, items_key
from mixgrid.significance.bootstrap import Bootstrap, Estimate
from mixgrid.significance.effects import design_effect, gradient

BASELINE = "baseline"  # stands for the model of a trivial system; its name is the setting


def scores_of(cells: Sequence[Cell], draws: Draws, found: Resampled) -> list[Score]:
    """Every score of a grid, cell by cell, baselines after the cells that share their items."""
    scores: list[Score] = []
    for key, group in groupby(sorted(cells, key=_key), key=items_key):
        alike = list(group)
        for cell in alike:
            scores += _cell_scores(cell, found[key], draws)
        scores += _baseline_scores(max(alike, key=lambda c: int(c.expected.max(initial=0))))
    return scores


def _cell_scores(cell: Cell, found: Mapping[str, Bootstrap], draws: Draws) -> Iterator[Score]:
    totals = cell.statistics.sum(axis=1)  # (R, S, F)
    votes = {rule: cell.voted(rule) for rule in cell.family.votes} if len(cell.answers) > 1 else {}
    values = {metric.name: _by_slice(metric, totals) for metric in cell.family.metrics}
    voted = {(rule, m.name): m.values(sums) for rule, sums in votes.items() for m in _headline(cell)}
    effects = {metric.name: _effects(cell, metric, totals) for metric in _headline(cell)}
    for s in range(len(cell.slices.names)):
        blank = _blank(cell, s)
        for metric in cell.family.metrics:
            number = _over_seeds(blank, values[metric.name][s])
            more = ""
            if metric.name in effects and number["value"] is not None:
                estimate = found[metric.name].cells.get(column(cell, s)) if metric.name in found else None
                number |= _interval(estimate) | _design(blank, effects[metric.name][s])
                more = f"resamples:{draws.resamples}" if "ci_low" in number else ""
            yield replace(blank, metric=metric.name, signature=_signature(blank, cell, metric, more), **number)
        for rule, metric in product(votes, _headline(cell)):
            value, note = voted[rule, metric.name][s]
            name, signature = f"{metric.name}_vote_{rule}", _signature(blank, cell, metric, f"vote:{rule}")
            yield replace(blank, metric=name, value=value, note=note, signature=signature)


def _headline(cell: Cell) -> list[Metric]:
    return [metric for metric in cell.family.metrics if metric.name in cell.family.headline]


def _by_slice(metric: Metric, totals: Array) -> list[list[tuple[float | None, str]]]:
    """A metric of sums (R, S, F), as values and notes: by slice, of each seed."""
    seeds, slices, width = totals.shape
    flat = metric.values(np.swapaxes(totals, 0, 1).reshape(-1, width))
    return [flat[s * seeds : (s + 1) * seeds] for s in range(slices)]


def _baseline_scores(cell: Cell) -> Iterator[Score]:
    """What trivial systems would score on these items: to be read beside every score of the same slice."""
    for name in cell.family.baselines:
        sums = cell.baseline(name)
        for s in range(len(cell.slices.names)):
            n = round(float(cell.rows[:, s, 3].max()))
            blank = replace(_blank(cell, s), model=BASELINE, setting=name, seeds=(), unparsed=0.0, failed=0.0, n=n)
            for metric in _headline(cell):
                value, note = metric.value(sums[s])
                signature = f"{metric.signature}|baseline:{name}|n:{n}"
                yield replace(blank, metric=metric.name, value=value, note=note, signature=signature)


def _blank(cell: Cell, s: int) -> Score:
    """All of a slice's score but the number."""
    run, (language, switching) = cell.run, cell.slices.names[s]
    answered, unparsed, failed, _ = cell.rows[:, s].sum(axis=0)
    return Score(
        corpus=run.corpus, split=run.split, task=run.task, model=run.model, setting=run.setting, language=language,
        switching=switching, metric="", value=None, note="", n=int(cell.rows[:, s, 0].min()),
        expected=int(cell.expected[s]), clusters=int(cell.clusters[s]), seeds=cell.seeds, per_seed=(),
        sd_over_seeds=None, unparsed=_share(unparsed, answered), failed=_share(failed, answered), signature="",
    )  # fmt: skip


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole else 0.0


def _over_seeds(blank: Score, values: Sequence[tuple[float | None, str]]) -> dict[str, Any]:
    """The mean of the seeds that have a value, their sample sd (n-1), and why others have none."""
    defined = [value for value, _ in values if value is not None]
    missing = [f"seed {seed}: {note}" for seed, (_, note) in zip(blank.seeds, values, strict=True) if note]
    return {
        "value": math.fsum(defined) / len(defined) if defined else None,
        "note": "; ".join(missing) if defined else next(iter(n for _, n in values if n), EMPTY),
        "per_seed": tuple(value for value, _ in values),
        "sd_over_seeds": _sample_sd(defined),
    }


def _sample_sd(values: Sequence[float]) -> float | None:
    if len(values) < 2:
        return None
    return 0.0 if min(values) == max(values) else float(np.std(values, ddof=1))


def _interval(estimate: Estimate | None) -> dict[str, Any]:
    if estimate is None or estimate.interval is None:
        return {}
    return {"ci_low": estimate.interval.low, "ci_high": estimate.interval.high}


def _effects(cell: Cell, metric: Metric, totals: Array) -> list[list[float]]:
    """By slice, the design effects of the seeds that have one: how much less than n items the clusters are worth."""
    slopes = gradient(metric.total, totals)
    return [
        [
            found.design_effect
            for statistics, moments, slope, rows in zip(cell.statistics, cell.moments, slopes, cell.rows, strict=True)
            if (found := design_effect(statistics[:, s], moments[s], int(rows[s, 0]), slope[s])) is not None
        ]
        for s in range(len(cell.slices.names))
    ]


def _design(blank: Score, effects: Sequence[float]) -> dict[str, Any]:
    if not effects or not all(effects):
        return {}
    effect = math.fsum(effects) / len(effects)
    return {"design_effect": effect, "effective_n": blank.n / effect}


def _signature(blank: Score, cell: Cell, metric: Metric, more: str = "") -> str:
    seeds = ",".join(map(str, blank.seeds))
    parts = [metric.signature, more, f"parser:{cell.parser}", f"order:{cell.order}", f"seeds:{seeds}"]
    parts += [f"n:{blank.n}", f"clusters:{blank.clusters}"]
    return "|".join(part for part in parts if part)


def _key(cell: Cell) -> tuple[str, ...]:
    return (*items_key(cell), cell.run.model, cell.run.setting)


def incomplete(scores: Iterable[Score]) -> int:
    """How many cells (not metrics) lack rows."""
    return len(
        {(s.corpus, s.split, s.task, s.model, s.setting) for s in scores if s.model != BASELINE and s.n < s.expected}
    )
