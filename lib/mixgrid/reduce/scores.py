"""Score rows: each number of a cell with what it was made from, its interval, its seeds' spread, and its signature."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from mixgrid.metrics.base import EMPTY, Array, Metric
from mixgrid.records import Score
from mixgrid.reduce.cells import Cell
from mixgrid.significance.bootstrap import Estimate, bootstrap
from mixgrid.significance.effects import design_effect
from mixgrid.significance.population import Population
from mixgrid.significance.resampling import Resampling

BASELINE = "baseline"  # stands for the model of a trivial system; its name is the setting
Intervals = Mapping[tuple[str, str], Estimate]  # (column name of the cell's slice, metric)


@dataclass(frozen=True)
class Draws:
    """How many cluster resamples the intervals are from; 0: no intervals."""

    resamples: int = 10_000


def scores_of(cells: Sequence[Cell], draws: Draws) -> list[Score]:
    """Every score of a grid, cell by cell, baselines after the cells that share their items."""
    scores: list[Score] = []
    for _, group in groupby(sorted(cells, key=_key), key=_items_key):
        alike = list(group)
        intervals = _intervals(alike, draws) if draws.resamples else {}
        for cell in alike:
            scores += _cell_scores(cell, intervals, draws)
        scores += _baseline_scores(max(alike, key=lambda c: int(c.expected.max(initial=0))))
    return scores


def column(cell: Cell, s: int) -> str:
    """The name of a cell's slice, under which significance knows it."""
    return "|".join((cell.run.model, cell.run.setting, *cell.slices.names[s]))


def population_of(cells: Sequence[Cell], metric: Metric) -> Population:
    """The cells of one corpus split and task as columns over their shared clusters, ready for intervals and tests."""
    names, columns, refused = [], [], {}
    for cell in cells:
        for s in range(len(cell.slices.names)):
            names += [column(cell, s)] * len(cell.seeds)
            columns.append(np.moveaxis(cell.statistics[:, :, s], 0, 1))
            why = {metric.undefined(total) for total in cell.statistics[:, :, s].sum(axis=1)} - {""}
            if why:
                refused[column(cell, s)] = min(why)
    statistics = np.concatenate(columns, axis=1)
    run, filled = cells[0].run, np.any(statistics != 0, axis=(1, 2))
    name = "|".join((run.corpus, run.split, run.snapshot, run.task))
    return Population(name, tuple(names), statistics[filled], metric.total, refused)


def _intervals(cells: Sequence[Cell], draws: Draws) -> dict[tuple[str, str], Estimate]:
    """Cluster-bootstrap intervals of the headline metrics, all cells on the same draws."""
    family, found = cells[0].family, {}
    for metric in (m for m in family.metrics if m.name in family.headline):
        result = bootstrap(population_of(cells, metric), plan=Resampling(draws.resamples))
        found.update({(name, metric.name): estimate for name, estimate in result.cells.items()})
    return found


def _cell_scores(cell: Cell, intervals: Intervals, draws: Draws) -> Iterator[Score]:
    totals = cell.statistics.sum(axis=1)  # (R, S, F)
    moments = np.stack([cell.moments(a) for a in cell.answers])
    votes = {rule: cell.voted(rule) for rule in cell.family.votes} if len(cell.answers) > 1 else {}
    for s in range(len(cell.slices.names)):
        blank = _blank(cell, s)
        for metric in cell.family.metrics:
            score = _over_seeds(replace(blank, metric=metric.name), [metric.value(total[s]) for total in totals])
            if metric.name in cell.family.headline:
                estimate = intervals.get((column(cell, s), metric.name))
                score = _with_design(_with_interval(score, estimate), cell, metric, s, moments[:, s])
            yield _signed(score, cell, metric, f"resamples:{draws.resamples}" if score.ci_low is not None else "")
        for rule, sums in votes.items():
            for metric in (m for m in cell.family.metrics if m.name in cell.family.headline):
                value, note = metric.value(sums[s])
                voted = replace(blank, metric=f"{metric.name}_vote_{rule}", value=value, note=note)
                yield _signed(voted, cell, metric, f"vote:{rule}")


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


def _over_seeds(score: Score, values: Sequence[tuple[float | None, str]]) -> Score:
    """The mean of the seeds that have a value, their sample sd (n-1), and why others have none."""
    defined = [value for value, _ in values if value is not None]
    missing = [f"seed {seed}: {note}" for seed, (_, note) in zip(score.seeds, values, strict=True) if note]
    note = "; ".join(missing) if defined else next(iter(n for _, n in values if n), EMPTY)
    return replace(
        score,
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


def _items_key(cell: Cell) -> tuple[str, ...]:
    run = cell.run
    return (run.corpus, run.split, run.snapshot, run.task)


def _key(cell: Cell) -> tuple[str, ...]:
    return (*_items_key(cell), cell.run.model, cell.run.setting)


def incomplete(scores: Iterable[Score]) -> int:
    """How many cells (not metrics) lack rows."""
    return len(
        {(s.corpus, s.split, s.task, s.model, s.setting) for s in scores if s.model != BASELINE and s.n < s.expected}
    )
