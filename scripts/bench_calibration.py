#!/usr/bin/env python3
"""Whether the tests keep their promise: type-I error and coverage, simulated in the shapes of the papers' test sets.

    .venv/bin/python scripts/bench_calibration.py [simulations, 2000 or more; default 3000]

Two systems are equal in the population, and differ on each cluster of items by chance; each answers three times.
Prints how often each test calls them different at .05, and how often intervals miss the true value, with the
Monte-Carlo error of both; the papers' tests stand below the default ones. Exit 1 where a default test misses its goal:
type-I error at most 6 %, and at least 4 % unless the test is discrete; coverage at least 93 % from 50 clusters.
"""

import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # one process a core; read once, when numpy starts
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import numpy as np
from scipy import special

from mixgrid.significance.base import Floats, Interval, Outcome, Total
from mixgrid.significance.bootstrap import FEW_CLUSTERS, Estimate, Pair, bootstrap
from mixgrid.significance.effects import design_effect
from mixgrid.significance.paired import cluster_mcnemar, mcnemar
from mixgrid.significance.population import with_seeds
from mixgrid.significance.resampling import Resampling
from mixgrid.significance.seeds import welch
from mixgrid.significance.tables import chi2_table

ALPHA, MOST, LEAST, COVERAGE = 0.05, 0.06, 0.04, 0.93
DRAWS, SEEDS, BATCH, PROCESSES = 2_000, 3, 250, 2
DISCRETE = ("cluster-swap", "cluster-mcnemar", "mcnemar")  # steps: their error may lie far below .05


def macro_f1(sums: Floats) -> Floats:
    """Macro-F1 of (right, wrong, unparsed) of class 0, then of class 1."""
    r0, w0, u0, r1, w1, u1 = np.moveaxis(sums, -1, 0)
    scale_0, scale_1 = 2 * r0 + w0 + u0 + w1, 2 * r1 + w1 + u1 + w0
    return np.asarray(r0 / np.maximum(scale_0, 1) + r1 / np.maximum(scale_1, 1), dtype=np.float64)


def accuracy(sums: Floats) -> Floats:
    """Right over all."""
    return np.asarray((sums[..., 0] + sums[..., 3]) / sums.sum(axis=-1), dtype=np.float64)


@dataclass(frozen=True)
class Shape:
    """A test set: `units` in `clusters` of uneven sizes, each asked in `variants`; spreads are on the probit scale."""

    name: str
    clusters: int
    units: int
    variants: int
    total: Total
    interaction: float = 0.3  # sd of how a cluster suits one system more than the other
    noise: float = 0.8  # sd of the same by unit; large: decoding is nearly deterministic
    leaning: float = 0.0  # the first system prefers class 1, the second class 0, as strongly


SHAPES = (
    Shape("gold: 391 items of 50 sources", 50, 391, 1, macro_f1),
    Shape("gold, two systems of opposite leanings", 50, 391, 1, macro_f1, leaning=0.3),
    Shape("gold, decoding nearly deterministic", 50, 391, 1, macro_f1, noise=6.0),
    Shape("test: 2,073 sources in 176 articles x 48 variants", 176, 2073, 48, macro_f1),
    Shape("test, strong system-by-article interaction", 176, 2073, 48, macro_f1, interaction=0.8),
    Shape("topic: n = 99", 99, 99, 1, accuracy),
    Shape("questions: 495 on 99 dialogues", 99, 495, 1, accuracy),
    Shape("few: 94 items of 12 sources", 12, 94, 1, macro_f1),
)


def members(rng: np.random.Generator, shape: Shape) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Cluster of every unit in every simulation (BATCH, units): at least one each, the rest by lognormal weights."""
    extra = shape.units - shape.clusters
    weights = rng.lognormal(0, 0.6, (BATCH, shape.clusters))
    sizes = 1 + rng.multinomial(extra, weights / weights.sum(axis=1, keepdims=True))
    return np.array([np.repeat(np.arange(shape.clusters), row) for row in sizes], dtype=np.int64)


def simulate(rng: np.random.Generator, shape: Shape) -> Floats:
    """Joint counts (clusters, BATCH, SEEDS, class, outcome of A, outcome of B); outcomes: right, wrong, unparsed."""
    of = members(rng, shape)
    gold = rng.integers(0, 2, (BATCH, shape.clusters))
    ease = 0.6 + rng.normal(0, 0.8, of.shape) + np.take_along_axis(rng.normal(0, 0.5, gold.shape), of, axis=1)
    chances = []
    for side in (1, -1):
        suits = rng.normal(0, shape.interaction, gold.shape) + side * shape.leaning * (2 * gold - 1)
        right = special.ndtr(ease + np.take_along_axis(suits, of, axis=1) + rng.normal(0, shape.noise, of.shape))
        chances.append(np.stack([right, 0.9 * (1 - right), 0.1 * (1 - right)], axis=-1))
    joint = (chances[0][..., :, None] * chances[1][..., None, :]).reshape(*of.shape, 9)
    at = (np.arange(BATCH)[:, None] * shape.clusters + of) * 2 + np.take_along_axis(gold, of, axis=1)
    out = np.empty((BATCH * shape.clusters * 2, SEEDS, 9))
    for seed in range(SEEDS):
        drawn = rng.multinomial(shape.variants, joint / joint.sum(axis=-1, keepdims=True))
        for outcome in range(9):
            out[:, seed, outcome] = np.bincount(at.ravel(), drawn[..., outcome].ravel(), len(out))
    counts = out.reshape(BATCH, shape.clusters, 2, SEEDS, 3, 3)
    return np.ascontiguousarray(counts.transpose(1, 0, 3, 2, 4, 5))


def sides(joint: Floats) -> Floats:
    """Joint counts (..., class, A, B) -> statistics of A and of B (..., 2, 6)."""
    both = np.stack([joint.sum(axis=-1), joint.sum(axis=-2)], axis=-3)
    return both.reshape(*both.shape[:-2], 6)


class Tally:
    """Rejections and misses by test."""

    def __init__(self) -> None:
        self.hits: dict[str, list[bool]] = defaultdict(list)

    def test(self, name: str, p: float | None) -> None:
        """A test of no difference where there is none; what can't be tested rejects nothing."""
        self.hits[name].append(p is not None and p < ALPHA)

    def interval(self, name: str, ends: Interval | None, truth: float) -> None:
        """An interval, and the value it is for; none at all covers nothing."""
        self.hits[name].append(ends is None or truth not in ends)


def default_tests(tally: Tally, shape: Shape, outcome: Outcome, joint: Floats) -> None:
    """What is printed by default: the pair's p and intervals, and McNemar by cluster (joint: first seed)."""
    tally.test(outcome.method, outcome.p)
    for name, ends in outcome.intervals.items():
        tally.interval(f"interval {name}", ends, 0.0)
    if shape.total is accuracy:
        b, c = discordant(joint.sum(axis=1))
        tally.test("cluster-mcnemar", cluster_mcnemar(b, c, int(joint.sum())).p)
        tally.test("plain: cluster-mcnemar mid-p", cluster_mcnemar(b, c, int(joint.sum())).other_p["mid-p"])


def discordant(joint: Floats) -> tuple[np.ndarray, np.ndarray]:
    """Rows that only A, and that only B has right, from (..., A, B)."""
    right_a, right_b, both = joint[..., 0, :].sum(-1), joint[..., :, 0].sum(-1), joint[..., 0, 0]
    return (right_a - both).astype(np.int64), (right_b - both).astype(np.int64)


def paper_tests(tally: Tally, shape: Shape, outcome: Outcome, joint: Floats) -> None:
    """What the papers print; joint: (clusters, SEEDS, class, A, B)."""
    per_seed = shape.total(sides(joint.sum(axis=0)))
    tally.test("paper: Welch over 3 seeds", welch(per_seed[:, 0].tolist(), per_seed[:, 1].tolist()).p)
    first = joint[:, 0]
    b, c = discordant(first.sum(axis=(0, 1)))
    plain = mcnemar(int(b), int(c), int(first.sum()))
    tally.test("paper: exact McNemar, rows", plain.p)
    tally.test("paper: row-level bootstrap (normal limit)", row_level(shape, first))
    if not shape.leaning:  # with it the rates do differ
        false_positives = np.array(
            [[cell.sum() - cell[0], cell[0]] for cell in (first[:, 0].sum((0, 2)), first[:, 0].sum((0, 1)))]
        )
        tally.test("paper: chi2 of FPR, rows, Yates", chi2_table(false_positives.astype(np.int64)).p)
    for name in ("shifted", "percentile", "jackknife-t"):
        if name in outcome.other_p:
            tally.test(f"plain: {name}", outcome.other_p[name])


def row_level(shape: Shape, joint: Floats) -> float | None:
    """A row-level test of the difference: the linearised variance as if rows were independent (joint: first seed)."""
    cell = np.eye(18).reshape(18, 2, 3, 3)
    one_row = sides(cell).reshape(18, 12)
    totals = joint.sum(axis=0).reshape(18)
    clusters = sides(joint).reshape(len(joint), 12)

    def difference(sums: Floats) -> Floats:
        return np.asarray(shape.total(sums[..., :6]) - shape.total(sums[..., 6:]))

    effect = design_effect(clusters, one_row.T @ (totals[:, None] * one_row), int(totals.sum()), difference)
    if effect is None or effect.design_effect == 0:
        return None
    step = np.ascontiguousarray(clusters.sum(axis=0))
    left = difference(step - clusters)
    se = float(np.sqrt(np.var(left) * (len(left) - 1) / effect.design_effect))
    return float(2 * special.ndtr(-abs(float(difference(step))) / se))


def cells(tally: Tally, estimate: Estimate, truth: float) -> None:
    """Coverage of a cell's own value."""
    tally.interval("interval of a cell, bca", estimate.interval, truth)
    tally.interval("interval of a cell, percentile", estimate.percentile, truth)


def run(shape: Shape, simulations: int) -> Tally:
    """All tests on one shape."""
    tally = Tally()
    rng = np.random.default_rng([len(shape.name), shape.clusters, shape.units])
    batches = [simulate(rng, shape) for _ in range(-(-simulations // BATCH))]
    truth = [float(shape.total(sides(sum(b.sum(axis=(0, 1, 2)) for b in batches)))[side]) for side in (0, 1)]
    for number, joint in enumerate(batches):
        statistics = sides(joint)  # (clusters, BATCH, SEEDS, 2, 6)
        flat = statistics.transpose(0, 1, 3, 2, 4).reshape(shape.clusters, BATCH * 2, SEEDS, 6)
        names = [f"{i}{side}" for i in range(BATCH) for side in "ab"]
        pairs = [Pair(f"{i}a", f"{i}b") for i in range(BATCH)]
        result = bootstrap(with_seeds(f"{shape.name} {number}", names, flat, shape.total), pairs, Resampling(DRAWS))
        for i, pair in enumerate(pairs):
            default_tests(tally, shape, result.pairs[pair], joint[:, i, 0])
            cells(tally, result.cells[pair.a], truth[0])
            paper_tests(tally, shape, result.pairs[pair], joint[:, i])
    return tally


def verdict(shape: Shape, name: str, rate: float) -> str:
    """Whether a default test or interval meets its goal; nothing is asked of the others."""
    if name.startswith(("paper", "plain")):
        return ""
    if name.startswith("interval"):
        return "" if shape.clusters < 50 else "ok" if 1 - rate >= COVERAGE else "MISSED"
    return "ok" if rate <= MOST and (rate >= LEAST or name in DISCRETE) else "MISSED"


def lines(shape: Shape, tally: Tally) -> Iterator[tuple[str, bool]]:
    """A line for each test, default ones first, and whether it misses its goal."""
    for name in sorted(tally.hits, key=lambda n: (n.startswith(("paper", "plain")), n.startswith("interval"))):
        hits = tally.hits[name]
        rate, error = float(np.mean(hits)), float(np.std(hits) / np.sqrt(len(hits)))
        said = verdict(shape, name, rate)
        covers = name.startswith("interval")
        what, value = ("coverage", 1 - rate) if covers else ("type I", rate)
        yield f"  {name:42} {what:8} {value:6.2%} ± {error:.2%}  {said}", said == "MISSED"


def main(simulations: int) -> int:
    """Print all shapes; 1 if a default test missed its goal."""
    print(f"{simulations:,} simulations a shape, {DRAWS:,} draws, {SEEDS} seeds, two equal systems, alpha {ALPHA}")
    start, missed = time.perf_counter(), 0
    with ProcessPoolExecutor(PROCESSES) as pool:
        for shape, tally in zip(SHAPES, pool.map(run, SHAPES, [simulations] * len(SHAPES)), strict=True):
            few = ", under 20: sign flips" if shape.clusters < FEW_CLUSTERS else ""
            print(f"{shape.name} ({shape.clusters} clusters{few})")
            for line, miss in lines(shape, tally):
                print(line, flush=True)
                missed += miss
    print(f"missed: {missed}; {time.perf_counter() - start:.0f} s in {PROCESSES} processes")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 3_000))
