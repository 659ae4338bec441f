#!/usr/bin/env python3
"""How fast reduce resamples, as ratios to the loop that one would write first, both measured in this run.

    .venv/bin/python scripts/bench_reduce.py            # both, less than a minute on two cores
    .venv/bin/python scripts/bench_reduce.py pair       # 665,904 items x 3 seeds x 2 models, macro-F1 difference
    .venv/bin/python scripts/bench_reduce.py cells      # 400 cells x 10,000 draws x 2,073 sources

The loop is sampled, and its time multiplied; both sides start from rows in memory.
"""

import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import numpy as np
from sklearn.metrics import f1_score

from mixgrid.significance.base import Floats, Integers
from mixgrid.significance.bootstrap import Pair, bootstrap
from mixgrid.significance.population import Population, sum_by_cluster
from mixgrid.significance.resampling import Resampling

T = TypeVar("T")
DRAWS = 10_000
NAIVE_DRAWS = 3  # the loop is sampled; its time is that of one draw times DRAWS
SEEDS = 3


def macro_f1(sums: Floats) -> Floats:
    """Macro-F1 from one-hot counts: gold 0 with answer 0, 1, none; then gold 1 with answer 0, 1, none."""
    a, b, c, d, e, f = np.moveaxis(sums, -1, 0)
    scale_0, scale_1 = 2 * a + b + c + d, 2 * e + b + d + f
    return np.asarray(a / np.maximum(scale_0, 1) + e / np.maximum(scale_1, 1))


def answers(rng: np.random.Generator, gold: Integers, right: float) -> Integers:
    """Answers that are right with a chance, sometimes unparsed (-1)."""
    chance = rng.random(len(gold))
    wrong = np.where(chance > 0.99, -1, 1 - gold)
    return np.where(chance < right, gold, wrong).astype(np.int64)


def one_hot(gold: Integers, answer: Integers) -> Floats:
    """(n, 6): which of the six counts a row is."""
    return np.asarray(np.eye(6)[3 * gold + np.where(answer < 0, 2, answer)], dtype=np.float64)


def peak_gib() -> float:
    """Peak resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


@dataclass(frozen=True)
class Time:
    """Seconds of the wall, and of processor time (all threads), which other programs touch less: ratios are of it."""

    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:.1f} s ({self.cpu:.1f} s of processor time)"


def timed(work: Callable[[], T]) -> tuple[Time, T]:
    """How long it took, and the result."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return Time(time.perf_counter() - wall, time.process_time() - cpu), result


def naive_draw(gold: Integers, runs: list[Integers], rows_of: list[Integers], rng: np.random.Generator) -> float:
    """One resample as a loop would do it: gather the rows of drawn clusters, score each run with scikit-learn."""
    rows = np.concatenate([rows_of[i] for i in rng.integers(0, len(rows_of), len(rows_of))])
    scores = [f1_score(gold[rows], run[rows], labels=[0, 1], average="macro", zero_division=0) for run in runs]
    return float(np.mean(scores[:SEEDS]) - np.mean(scores[SEEDS:]))


def pair(sources: int = 13_873, variants: int = 48) -> None:
    """Two models over three seeds on 48 variants of 13,873 sentences."""
    rng = np.random.default_rng(1)
    clusters = np.repeat(np.arange(sources), variants)
    gold = rng.integers(0, 2, sources)[clusters]
    runs = [answers(rng, gold, right) for right in (0.62, 0.62, 0.62, 0.61, 0.61, 0.61)]
    before = peak_gib()

    def fast() -> Floats:
        sums = [sum_by_cluster(clusters, one_hot(gold, run), sources) for run in runs]
        population = Population("bench", ("a",) * SEEDS + ("b",) * SEEDS, np.stack(sums, axis=1), macro_f1)
        outcome = bootstrap(population, [Pair("a", "b")], Resampling(DRAWS)).pairs[Pair("a", "b")]
        return np.array([outcome.estimate, outcome.p, outcome.effects["bootstrap_sd"]])

    seconds, (estimate, p, sd) = timed(fast)
    peak = peak_gib()
    rows_of = np.split(np.arange(len(gold)), sources)
    naive, found = timed(lambda: [naive_draw(gold, runs, rows_of, rng) for _ in range(NAIVE_DRAWS)])
    loop = naive.cpu / NAIVE_DRAWS * DRAWS
    print(f"pair: {len(gold):,} items x {SEEDS} seeds x 2 models, macro-F1 difference,")
    print(f"      {DRAWS:,} draws of {sources:,} sources")
    print(f"  mixgrid {seconds} from rows to p ({estimate:+.5f}, sd {sd:.5f}, p {p:.4f})")
    print(f"  naive   {naive.cpu / NAIVE_DRAWS:.2f} s a draw, {loop:,.0f} s for all; sampled: {np.round(found, 5)}")
    print(f"  ratio   {loop / seconds.cpu:,.0f}x (goal 200x); peak {peak:.2f} GiB, {before:.2f} before (goal 2 GiB)")


def cells(count: int = 400, sources: int = 2_073) -> None:
    """All intervals of 400 cells, and each against the first."""
    rng = np.random.default_rng(2)
    chances = [0.3, 0.17, 0.03, 0.17, 0.3, 0.03]
    statistics = rng.multinomial(12, chances, size=(sources, count)).astype(np.float64)
    names = tuple(f"cell {i:03}" for i in range(count))
    population = Population("bench", names, statistics, macro_f1)
    pairs = [Pair(name, names[0]) for name in names[1:]]
    before = peak_gib()
    seconds, result = timed(lambda: bootstrap(population, pairs, Resampling(DRAWS)))
    rows = int(statistics[:, 0].sum())
    gold, answer = rng.integers(0, 2, rows), rng.integers(0, 2, rows)
    rows_of = np.array_split(np.arange(rows), sources)

    def loop() -> None:
        for _ in range(NAIVE_DRAWS):
            picked = np.concatenate([rows_of[i] for i in rng.integers(0, sources, sources)])
            f1_score(gold[picked], answer[picked], labels=[0, 1], average="macro", zero_division=0)

    naive = timed(loop)[0].cpu / NAIVE_DRAWS * DRAWS * count
    done = sum(cell.interval is not None for cell in result.cells.values())
    print(
        f"cells: {count} cells x {DRAWS:,} draws x {sources:,} sources, {done} intervals and {len(result.pairs)} tests"
    )
    print(f"  mixgrid {seconds} (goal: seconds); naive {naive:,.0f} s, sampled; ratio {naive / seconds.cpu:,.0f}x")
    print(f"  peak {peak_gib():.2f} GiB, {before:.2f} before")


PARTS: dict[str, Callable[[], None]] = {"cells": cells, "pair": pair}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
