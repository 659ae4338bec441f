"""The default test: every cell's interval and every declared pair's difference, from one cluster bootstrap.

    population = Population("satire test, ro-en", cells=("a", "a", "b", "b"), statistics=..., total=macro_f1)
    result = bootstrap(population, [Pair("a", "b")])
    result.cells["a"].interval, result.pairs[Pair("a", "b")].p

P values and intervals are read off the draws with the small-sample scaling of `intervals.Scaling`; the plain ones are
in `other_p`. Under 20 clusters the p value is that of a cluster sign-flip test, and the method says so.
A counted p can't be under `p_floor`: raise `draws` where Holm or BH multiply it by many.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from mixgrid.errors import UserError, allowed
from mixgrid.significance.base import TESTED, Floats, Interval, Outcome, is_noise, monte_carlo_error, not_testable
from mixgrid.significance.definitions import bootstrap_p
from mixgrid.significance.effects import mde_from_error
from mixgrid.significance.intervals import Scaling, bca, jackknife_error, percentile, scaling, shifted
from mixgrid.significance.population import Population
from mixgrid.significance.resampling import Resampling, all_draws, leave_one_out, prepare
from mixgrid.significance.signflip import sign_test, swap_test

METHOD = "cluster-bootstrap"
FEW_CLUSTERS = 20  # below: sign flips instead of the bootstrap's p
LOST_DRAWS = 0.01  # a metric undefined in more of the draws than this has no interval


@dataclass(frozen=True, slots=True)
class Pair:
    """A declared comparison, a less b. `swappable`: both answered the same items (not so for a twin: 1 row to many)."""

    a: str
    b: str
    swappable: bool = True


@dataclass(frozen=True, slots=True)
class Estimate:
    """A cell's value with its uncertainty over clusters (`se`, intervals) and, apart from it, over seeds (sd, n-1)."""

    cell: str
    outcome: str  # "tested", or why there is no interval
    value: float | None
    clusters: int  # that have rows in the cell
    per_seed: tuple[float, ...]
    sd_over_seeds: float | None
    se: float | None = None
    interval: Interval | None = None  # BCa
    percentile: Interval | None = None


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """What one population gave."""

    cells: dict[str, Estimate]
    pairs: dict[Pair, Outcome]


@dataclass(frozen=True, slots=True)
class _Run:
    """A population with its draws; S cells, B draws, K clusters."""

    population: Population
    plan: Resampling
    place: dict[str, int]
    columns: Floats  # (C,) metric by column
    values: Floats  # (S,)
    draws: Floats  # (B, S)
    left_out: Floats  # (K, S)


@dataclass(frozen=True, slots=True)
class _Sample:
    """One number under the bootstrap: a cell's value or a pair's difference."""

    value: float
    scale: float  # size of the values, to tell rounding from variation
    clusters: int
    draws: Floats  # sorted, finite
    left_out: Floats
    refusal: str  # why there is no interval; "" if there is one


def bootstrap(population: Population, pairs: Sequence[Pair] = (), plan: Resampling | None = None) -> Bootstrap:
    """Intervals for all cells and tests for the declared pairs, all from the same draws."""
    return bootstraps([population], [pairs], plan)[0]


def bootstraps(
    populations: Sequence[Population], pairs: Sequence[Sequence[Pair]], plan: Resampling | None = None
) -> list[Bootstrap]:
    """The same of several metrics of one population, which is drawn once; each metric has pairs of its own."""
    for population, own in zip(populations, pairs, strict=True):
        _check(population, own)
    runs = _runs(populations, plan or Resampling())
    return [_result(run, own) for run, own in zip(runs, pairs, strict=True)]


def _check(population: Population, pairs: Sequence[Pair]) -> None:
    for cell in (cell for pair in pairs for cell in (pair.a, pair.b)):
        if cell not in population.cells:
            known = allowed(cell, population.names)
            raise UserError(
                f"a comparison names the cell {cell!r}, which population {population.name!r} lacks; {known}."
            )


def _result(run: _Run, pairs: Sequence[Pair]) -> Bootstrap:
    cells = {name: _estimate(run, name) for name in run.population.names}
    return Bootstrap(cells, {pair: _compare(run, pair) for pair in pairs})


def _runs(populations: Sequence[Population], plan: Resampling) -> list[_Run]:
    if len(populations[0].statistics) < 2:
        return [_run(population, plan, None) for population in populations]
    drawn = all_draws(populations, prepare(populations[0], plan), plan)
    return [_run(population, plan, draws) for population, draws in zip(populations, drawn, strict=True)]


def _run(population: Population, plan: Resampling, draws: Floats | None) -> _Run:
    place = {name: i for i, name in enumerate(population.names)}
    columns = population.values(population.statistics.sum(axis=0))
    if draws is None:
        none = np.empty((0, len(place)))
        return _Run(population, plan, place, columns, population.by_cell(columns), none, none)
    return _Run(population, plan, place, columns, population.by_cell(columns), draws, leave_one_out(population))


def _sample(run: _Run, cells: tuple[str, ...]) -> _Sample:
    """One cell, or the first less the second, over the clusters that have rows in either."""
    at, signs = [run.place[cell] for cell in cells], np.array([1.0, -1.0][: len(cells)])
    columns = [i for cell in cells for i in run.population.columns(cell)]
    filled = np.any(run.population.statistics[:, columns] != 0, axis=(1, 2))
    value, scale = float(run.values[at] @ signs), float(np.abs(run.values[at]).max())
    draws = run.draws[:, at] @ signs
    finite = np.sort(draws[np.isfinite(draws)])
    left_out = run.left_out[:, at][filled[: len(run.left_out)]] @ signs
    refusal = next((run.population.refused[cell] for cell in cells if cell in run.population.refused), "")
    refusal = refusal or _refusal(value, int(filled.sum()), len(finite), len(draws))
    return _Sample(value, scale, int(filled.sum()), finite, left_out[np.isfinite(left_out)], refusal)


def _refusal(value: float, clusters: int, finite: int, draws: int) -> str:
    """Why nothing can be said about a value, if so."""
    if clusters == 0:
        return "no rows"
    if not np.isfinite(value):
        return "the metric is undefined here"
    if clusters == 1:
        return "one cluster"
    lost = 1 - finite / draws
    return f"the metric is undefined in {lost:.0%} of the resamples" if lost > LOST_DRAWS else ""


def _intervals(sample: _Sample) -> dict[str, Interval]:
    """Of a value that stands alone."""
    draws, z = sample.draws, scaling(sample.draws, sample.left_out).z()
    return {"bca": bca(draws, sample.value, sample.left_out, z), "percentile": percentile(draws, z)}


def _varies(sample: _Sample) -> bool:
    """Whether leaving out a cluster changes the value by more than rounding."""
    return not is_noise(float(np.ptp(sample.left_out)), sample.scale)


def _estimate(run: _Run, cell: str) -> Estimate:
    """A cell's row; a value with no variation between clusters has no interval, not one of no width."""
    sample = _sample(run, (cell,))
    per_seed = tuple(float(v) for v in run.columns[run.population.columns(cell)])
    sd = float(np.std(per_seed, ddof=1)) if len(per_seed) > 1 else None
    value = sample.value if np.isfinite(sample.value) else None
    row = Estimate(cell, f"not testable: {sample.refusal}", value, sample.clusters, per_seed, sd)
    if sample.refusal:
        return row
    if not _varies(sample):
        return replace(row, outcome="degenerate: no variation between clusters")
    ends, se = _intervals(sample), jackknife_error(sample.left_out)
    return replace(row, outcome=TESTED, se=se, interval=ends["bca"], percentile=ends["percentile"])


def _compare(run: _Run, pair: Pair) -> Outcome:
    """A pair's outcome: by bootstrap from 20 clusters that vary, by sign flips otherwise."""
    sample = _sample(run, (pair.a, pair.b))
    if sample.refusal:
        return not_testable(METHOD, sample.refusal, sample.value if np.isfinite(sample.value) else None)
    if sample.clusters < FEW_CLUSTERS or not _varies(sample):
        return _by_signs(run, pair, sample)
    return _by_draws(sample)


def _about(sample: _Sample) -> Outcome:
    """What every compared pair carries, whichever test gives its p. The interval is the one that agrees with p."""
    se, z = jackknife_error(sample.left_out), scaling(sample.draws, sample.left_out).z()
    ends = {**_intervals(sample), "shifted": shifted(sample.draws, sample.value, z)}
    effects = {"se": se, "bootstrap_sd": float(np.std(sample.draws, ddof=1)), "mde80": mde_from_error(se)}
    return Outcome(METHOD, estimate=sample.value, interval=ends["shifted"], effects=effects, intervals=ends)


def _by_draws(sample: _Sample) -> Outcome:
    draws, scale = len(sample.draws), scaling(sample.draws, sample.left_out)
    others = bootstrap_p(sample.value, sample.draws, sample.scale)
    about = _about(sample)
    far = abs(sample.value) / about.effects["se"]
    return replace(
        about,
        p=scale.p(others["shifted"]),
        p_floor=scale.p(1 / (1 + draws)),
        p_error=_scaled_error(scale, others["shifted"], draws),
        other_p={**others, "jackknife-t": float(2 * special.stdtr(sample.clusters - 1, -far))},
        options={"clusters": sample.clusters, "draws": draws, "p": "shifted-scaled", "interval": "shifted-scaled"},
    )


def _scaled_error(scale: Scaling, p: float, draws: int) -> float:
    """Monte-Carlo error of a scaled p: that of the counted one, times the slope of the scaling."""
    error = monte_carlo_error(p, draws)
    low, high = max(p - error, 1 / (1 + draws)), min(p + error, 1.0)
    return (scale.p(high) - scale.p(low)) / (high - low) * error if high > low else error


def _by_signs(run: _Run, pair: Pair, sample: _Sample) -> Outcome:
    """Sign flips: swaps where the sides can be swapped, else signs of each cluster's pseudo-value."""
    left, right = (run.population.columns(cell) for cell in (pair.a, pair.b))
    names, draws = (pair.a, pair.b), run.plan.draws
    if pair.swappable and len(left) == len(right):
        statistics = run.population.statistics
        flipped = swap_test(statistics[:, left], statistics[:, right], run.population.total, names, draws)
    else:
        pseudo = sample.clusters * sample.value - (sample.clusters - 1) * sample.left_out
        flipped = sign_test(pseudo, sample.scale, names, draws)
    about = _about(sample)
    options = {**flipped.options, "clusters": sample.clusters, "interval": "shifted-scaled"}
    varies = _varies(sample)
    return replace(
        flipped,
        estimate=sample.value,
        interval=about.interval if varies else None,
        intervals=about.intervals if varies else {},
        effects=about.effects,
        other_p=bootstrap_p(sample.value, sample.draws, sample.scale) if varies else {},
        options=options,
    )


def bootstrap_pair(population: Population, a: str, b: str, plan: Resampling | None = None) -> Outcome:
    """One pair alone, on the draws that it has in the whole population."""
    pair = Pair(a, b)
    return bootstrap(population.only((a, b)), [pair], plan).pairs[pair]
