"""Test rows: each declared pair under the sound test, and under those that papers print; corrected by family."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from mixgrid.metrics.base import Metric
from mixgrid.records import Side, Test
from mixgrid.reduce.compat import compat_tests, discordant, right_metric
from mixgrid.reduce.resample import Draws, Resampled, pair_key, pair_of
from mixgrid.reduce.sides import Matched
from mixgrid.significance.base import Outcome, not_testable
from mixgrid.significance.bootstrap import METHOD
from mixgrid.significance.corrections import adjust


def compared(pairs: Sequence[Matched], found: Resampled, draws: Draws, allow_unmatched: bool = False) -> list[Test]:
    """Every test of the declared pairs, with what they are after correction for each other."""
    return corrected([row for pair in pairs for row in _rows(pair, found, draws, allow_unmatched)])


def _rows(pair: Matched, found: Resampled, draws: Draws, allow_unmatched: bool) -> Iterator[Test]:
    if pair.ground.unmatched and not allow_unmatched:
        why = f"{pair.ground.unmatched} rows have no partner; allow unmatched rows to test the others"
        yield _row(pair, pair.metric, not_testable(METHOD, why), sound=True)
        return
    yield _row(pair, pair.metric, _sound(pair, found), sound=True)
    by_name = {metric.name: metric for metric in pair.a.cell.family.metrics}
    for name, outcome in compat_tests(pair, draws):
        yield _row(pair, by_name[name], outcome, sound=False)


def _sound(pair: Matched, found: Resampled) -> Outcome:
    """The cluster test of the pair; with the odds ratio where rows are right or wrong."""
    results = found[pair_key(pair)]
    if pair.metric.name not in results:
        return not_testable(METHOD, "no resamples were asked for")
    outcome = results[pair.metric.name].pairs[pair_of(pair)]
    right = right_metric(pair.a.cell)
    if not pair.by_item or right is None or outcome.p is None:
        return outcome
    b, c = discordant(pair, right)
    odds = {"odds_ratio": b / c} if c else {}
    return replace(outcome, effects={**outcome.effects, **odds}, options={**outcome.options, "b": b, "c": c})


def _row(pair: Matched, metric: Metric, outcome: Outcome, sound: bool) -> Test:
    run = pair.a.cell.run
    a, b = (_side(pair, at, _value(pair, at, metric)) for at in (0, 1))
    about = (pair.declared.family, pair.kind, pair.ground.unmatched)
    return replace(row_of(outcome, metric, (a, b), (run.corpus, run.split, run.task), about), sound=sound)


def row_of(
    outcome: Outcome,
    metric: Metric,
    sides: tuple[Side, Side],
    population: tuple[str, str, str],
    about: tuple[str, str, int],
) -> Test:
    """A test's row: of (corpus, split, task), about (family, kind, rows without a partner). Not yet corrected."""
    (a, b), effects, options = sides, outcome.effects, outcome.options
    low, high = (outcome.interval.low, outcome.interval.high) if outcome.interval else (None, None)
    signature = "|".join(part for part in (outcome.signature, metric.signature) if part)
    units = options.get("clusters") or options.get("rows") or options.get("n") or options.get("n_a") or 0
    return Test(
        corpus=population[0], split=population[1], task=population[2], metric=metric.name, family=about[0],
        kind=about[1], a=a, b=b, method=outcome.method, sound=True, outcome=outcome.outcome,
        effect=None if a.value is None or b.value is None else a.value - b.value,
        ci_low=_finite(low), ci_high=_finite(high), odds_ratio=_finite(effects.get("odds_ratio")), p=outcome.p,
        mid_p=outcome.other_p.get("mid-p"), p_floor=outcome.p_floor, p_error=outcome.p_error, p_holm=None, p_bh=None,
        m=0, mde=_finite(effects.get("mde80")), units=int(units), unmatched=about[2], signature=signature,
    )  # fmt: skip


def _value(pair: Matched, at: int, metric: Metric) -> float | None:
    """The mean over seeds of a side's metric; None where a seed has none, or a reason not to show it."""
    values = [metric.value(total)[0] for total in pair.statistics(at).sum(axis=1)]
    return None if None in values else math.fsum(v for v in values if v is not None) / len(values)


def _side(pair: Matched, at: int, value: float | None) -> Side:
    place = (pair.a, pair.b)[at]
    names = {key: place.fields[key] for key in ("model", "setting", "language", "switching")}
    return Side(**names, value=value, n=pair.ground.n[at], seeds=len(place.cell.seeds))


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def corrected(tests: Sequence[Test]) -> list[Test]:
    """Holm and Benjamini-Hochberg within each family and kind of test; what has no p is not counted in m."""
    families: dict[tuple[str, str], list[int]] = defaultdict(list)
    for at, test in enumerate(tests):
        families[(test.family, "sound" if test.sound else test.method)].append(at)
    done = list(tests)
    for places in families.values():
        holm, bh = (adjust([tests[at].p for at in places], method) for method in ("holm", "bh"))
        for at, p_holm, p_bh in zip(places, holm.p, bh.p, strict=True):
            done[at] = replace(tests[at], p_holm=p_holm, p_bh=p_bh, m=holm.m)
    return done
