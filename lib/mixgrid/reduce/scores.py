"""Score rows: each number of a cell with what it was made from, its interval, its seeds' spread, and its signature."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, product

import numpy as np

from mixgrid.metrics.base import EMPTY, Array, Metric
from mixgrid.records import Score
from mixgrid.reduce.cells import Cell
from mixgrid.reduce.resample import Draws, Resampled, column, items_key
from mixgrid.significance.bootstrap import Bootstrap, Estimate
from mixgrid.significance.effects import design_effect

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
    moments = np.stack([cell.moments(a) for a in cell.answers])
    votes = {rule: cell.voted(rule) for rule in cell.family.votes} if len(cell.answers) > 1 else {}
    values = {metric.name: _by_slice(metric, totals) for metric in cell.family.metrics}
    voted = {(rule, m.name): m.values(sums) for rule, sums in votes.items() for m in _headline(cell)}
    for s in range(len(cell.slices.names)):
        blank = _blank(cell, s)
        for metric in cell.family.metrics:
            score = _over_seeds(blank, metric, values[metric.name][s])
            if metric.name in cell.family.headline:
                estimate = found[metric.name].cells.get(column(cell, s)) if metric.name in found else None
                score = _with_design(_with_interval(score, estimate), cell, metric, s, moments[:, s])
            yield _signed(score, cell, metric, f"resamples:{draws.resamples}" if score.ci_low is not None else "")
        for rule, metric in product(votes, _headline(cell)):
            value, note = voted[rule, metric.name][s]
            score = replace(blank, metric=f"{metric.name}_vote_{rule}", value=value, note=note)
            yield _signed(score, cell, metric, f"vote:{rule}")


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
            blank = replace(_blank(cell, s), model=BASELINE, setting=name, seeds=(), unparsed=0.0, failed=0.0)
            for metric in (m for m in cell.family.metrics if m.name in cell.family.headline):
                value, note = metric.value(sums[s])
                made = replace(
                    blank, metric=metric.name, value=value, note=note, n=round(float(cell.rows[:, s, 3].max()))
                )
                yield replace(made, signature=f"{metric.signature}|baseline:{name}|n:{made.n}")


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


def _over_seeds(score: Score, metric: Metric, values: Sequence[tuple[float | None, str]]) -> Score:
    """The mean of the seeds that have a value, their sample sd (n-1), and why others have none."""
    defined = [value for value, _ in values if value is not None]
    missing = [f"seed {seed}: {note}" for seed, (_, note) in zip(score.seeds, values, strict=True) if note]
    note = "; ".join(missing) if defined else next(iter(n for _, n in values if n), EMPTY)
    return replace(
        score,
        metric=metric.name,
        value=math.fsum(defined) / len(defined) if defined else None,
        note=note,
        per_seed=tuple(value for value, _ in values),
        sd_over_seeds=_sample_sd(defined),
    )


def _sample_sd(values: Sequence[float]) -> float | None:
    if len(values) < 2:
        return None
    return 0.0 if min(values) == max(values) else float(np.std(values, ddof=1))


def _with_interval(score: Score, estimate: Estimate | None) -> Score:
    if estimate is None or estimate.interval is None or score.value is None:
        return score
    return replace(score, ci_low=estimate.interval.low, ci_high=estimate.interval.high)


def _with_design(score: Score, cell: Cell, metric: Metric, s: int, moments: Array) -> Score:
    """The mean of the seeds' design effects: how much less than n independent items the clusters are worth."""
    found = [
        design_effect(statistics[:, s], moment, int(rows), metric.total)
        for statistics, moment, rows in zip(cell.statistics, moments, cell.rows[:, s, 0], strict=True)
    ]
    effects = [d.design_effect for d in found if d is not None]
    if score.value is None or not effects or not all(effects):
        return score
    effect = math.fsum(effects) / len(effects)
    return replace(score, design_effect=effect, effective_n=score.n / effect)


def _signed(score: Score, cell: Cell, metric: Metric, more: str = "") -> Score:
    seeds = ",".join(map(str, score.seeds))
    parts = [metric.signature, more, f"parser:{cell.parser}", f"order:{cell.order}", f"seeds:{seeds}"]
    parts += [f"n:{score.n}", f"clusters:{score.clusters}"]
    return replace(score, signature="|".join(part for part in parts if part))


def _key(cell: Cell) -> tuple[str, ...]:
    return (*items_key(cell), cell.run.model, cell.run.setting)


def incomplete(scores: Iterable[Score]) -> int:
    """How many cells (not metrics) lack rows."""
    return len(
        {(s.corpus, s.split, s.task, s.model, s.setting) for s in scores if s.model != BASELINE and s.n < s.expected}
    )
