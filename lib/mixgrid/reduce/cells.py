"""From answers to scores: sums by cluster and slice, the value of each seed, their mean and spread.

    rows ── by (cluster, language × method) ──> (K, B, F) ── slices ──> (K, S, F) ── total ──> values

The slices of a cell are every language, every method, every pair, `all`, and `mixed`: all that is code-mixed.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mixgrid.metrics.base import Answer, Array, Family
from mixgrid.records import Run
from mixgrid.reduce.book import Book
from mixgrid.reduce.join import Answers
from mixgrid.reduce.population import Ints, Population, Sheet
from mixgrid.reduce.readings import FAILED
from mixgrid.significance.effects import second_moment

ALL, MIXED, NONE = "all", "mixed", "none"
Slice = tuple[str, str]  # language, switching


@dataclass(frozen=True)
class Slices:
    """The slices of a population's part, as sums of its basic ones (one language, one method)."""

    names: tuple[Slice, ...]
    basic_of: Ints  # of each item of the population, the number of its basic slice; -1: not in this part
    sums: npt.NDArray[np.bool_]  # (S, B)

    @classmethod
    def of(cls, population: Population, used: npt.NDArray[np.bool_]) -> "Slices":
        """The slices of the items used, widest first."""
        width = max(len(population.switching.names), 1)
        code = population.languages.of.astype(np.int64) * width + population.switching.of
        found, basic = np.unique(code[used], return_inverse=True)
        basic_of: Ints = np.full(len(population), -1, dtype=np.int32)
        basic_of[used] = basic
        pairs = [(population.languages.names[c // width], population.switching.names[c % width]) for c in found]
        names = slice_names(pairs)
        sums = np.array([[inside(pair, name) for pair in pairs] for name in names], dtype=bool)
        return cls(tuple(names), basic_of, sums.reshape(len(names), len(pairs)))

    def add_up(self, basic: Array) -> Array:
        """(..., B, F) of the basic slices as (..., S, F) of all."""
        summed: Array = np.einsum("sb,...bf->...sf", self.sums.astype(np.float64), basic)
        return summed


def slice_names(pairs: Sequence[Slice]) -> list[Slice]:
    """All slices of some (language, method) pairs. `mixed` stands beside `none` only: else it would be `all`."""
    languages, methods = sorted({p[0] for p in pairs}), sorted({p[1] for p in pairs}, key=lambda m: (m != NONE, m))
    names: list[Slice] = []
    for language in (ALL, *languages):
        own = [m for m in methods if any(inside(p, (language, m)) for p in pairs)]
        names += [(language, m) for m in (ALL, *([MIXED] if NONE in own and len(own) > 1 else []), *own)]
    return names


def inside(pair: Slice, name: Slice) -> bool:
    """Whether a basic slice is part of a slice."""
    method = name[1] == ALL or (name[1] == MIXED and pair[1] != NONE) or name[1] == pair[1]
    return method and name[0] in (ALL, pair[0])


@dataclass(frozen=True)
class Cell:
    """A corpus split × task × model × setting: its runs, one a seed, over the slices of its population.

    `statistics` is what every interval and test starts from.
    """

    population: Population
    family: Family
    book: Book
    answers: tuple[Answers, ...]  # by seed
    slices: Slices
    parser: str

    @property
    def run(self) -> Run:
        """Any of its runs, for what they share."""
        return self.answers[0].run

    @property
    def seeds(self) -> tuple[int, ...]:
        """In order."""
        return tuple(a.run.seed for a in self.answers)

    @cached_property
    def statistics(self) -> Array:
        """Sums by seed, cluster and slice: (R, K, S, F)."""
        return np.stack([self._by_cluster(a) for a in self.answers])

    @cached_property
    def rows(self) -> Array:
        """(R, S, 4): rows that answered, unparsed ones, failed ones, and the plan's."""
        return np.stack([self._rows(a) for a in self.answers])

    @cached_property
    def cut(self) -> npt.NDArray[np.int64]:
        """(S,): answers of any seed that ended at the limit of their length."""
        cut = sum(self._by_basic(a.item, a.rows.cut[:, None].astype(np.float64)) for a in self.answers)
        return np.asarray(self.slices.add_up(np.asarray(cut))[..., 0], dtype=np.int64)

    @cached_property
    def clusters(self) -> npt.NDArray[np.int64]:
        """(S,): clusters with a row of any seed."""
        size, basics = len(self.population.clusters.names), self.slices.sums.shape[1]
        filled = np.zeros((size, basics, 1))
        for answers in self.answers:
            item = answers.item[answers.answered]
            filled[self.population.clusters.of[item], self.slices.basic_of[item]] = 1
        return np.asarray((self.slices.add_up(filled)[..., 0] > 0).sum(axis=0), dtype=np.int64)

    @cached_property
    def expected(self) -> npt.NDArray[np.int64]:
        """(S,): items of the split in these languages and methods, whether planned or left out by a limit."""
        population = self.population
        in_split = population.selected & (population.splits.of == population.splits.names.index(self.run.split))
        pairs = population.languages.of.astype(np.int64) * len(population.switching.names) + population.switching.of
        used = self.slices.basic_of >= 0
        counts = np.zeros(self.slices.sums.shape[1])
        for pair, basic in {(int(p), int(b)) for p, b in zip(pairs[used], self.slices.basic_of[used], strict=True)}:
            counts[basic] = (in_split & (pairs == pair)).sum()
        return np.asarray(self.slices.sums @ counts, dtype=np.int64)

    def answered_in(self, s: int) -> npt.NDArray[np.bool_]:
        """Of each item of the population: whether it is in the slice, and every seed answered it."""
        kept = np.zeros(len(self.population), dtype=np.int32)
        for answers in self.answers:
            kept[answers.item[answers.answered]] += 1
        inside = np.r_[self.slices.sums[s], False]  # the last stands for -1, items of other parts
        return np.asarray((kept == len(self.answers)) & inside[self.slices.basic_of])

    def among(self, kept: npt.NDArray[np.bool_], clusters: tuple[Ints, int] | None = None) -> Array:
        """Sums by seed and cluster over some items of the population: (R, K, F); by other clusters where given."""
        own = clusters or (self.population.clusters.of, len(self.population.clusters.names))
        return np.stack([self._some(a, kept, *own) for a in self.answers])

    def item_vectors(self, answers: Answers, items: npt.NDArray[np.int64]) -> Array:
        """(n, F) of some items, each of which the run answered."""
        return self.book.vectors.table[answers.rows.verdict[np.searchsorted(answers.item, items)]]

    def vectors(self, answers: Answers) -> Array:
        """(n, F) of the rows that answered."""
        return self.book.vectors.table[answers.rows.verdict[answers.answered]]

    @cached_property
    def moments(self) -> Array:
        """(R, S, F, F): second moments of the rows, from which a design effect is read."""
        return np.stack([self._moments(a) for a in self.answers])

    def _moments(self, answers: Answers) -> Array:
        vectors, basic = self.vectors(answers), self.slices.basic_of[answers.item[answers.answered]]
        own = [second_moment(vectors[basic == b]).reshape(-1) for b in range(self.slices.sums.shape[1])]
        width = vectors.shape[1]
        return self.slices.add_up(np.stack(own)).reshape(-1, width, width)

    def voted(self, rule: str) -> Array:
        """(S, F): sums of the runs' vote, over the items that all of them answered."""
        common, places = _common(self.answers)
        verdicts = [a.rows.verdict[p] for a, p in zip(self.answers, places, strict=True)]
        first, which = _combinations(verdicts)
        votes = self.family.votes[rule](self.book.vectors.table[np.stack([v[first] for v in verdicts])])
        return self.slices.add_up(self._by_basic(common, votes[which]))

    def baseline(self, name: str) -> Array:
        """(S, F): sums of a trivial system over all items of any run's plan."""
        items = np.unique(np.concatenate([a.item for a in self.answers]))
        gold = gold_vectors(self.family, self.population.sheet)
        return self.family.baselines[name](
            self.slices.add_up(self._by_basic(items, gold[self.population.sheet.fact_of[items]]))
        )

    @cached_property
    def order(self) -> str:
        """Whether an item's classes or options stand in one order for all seeds."""
        _, places = _common(self.answers, planned=True)
        orders = [a.order[p] for a, p in zip(self.answers, places, strict=True)]
        return "balanced" if all(np.array_equal(o, orders[0]) for o in orders) else "per_seed"

    def item_table(self, answers: Answers) -> pa.Table:
        """One row for each planned item of a run: how it ended, and its statistics, by which any cell can be traced."""
        population, done = self.population, answers.answered
        names = {name: getattr(answers.run, name) for name in ("corpus", "split", "task", "model", "setting", "seed")}
        item = pa.array(answers.item)
        vectors = self.book.vectors.table[answers.rows.verdict[done]]
        offsets = np.r_[0, np.cumsum(done * len(self.family.features))].astype(np.int32)
        return pa.table(
            {
                "run_id": pa.DictionaryArray.from_arrays(np.zeros(len(item), dtype=np.int32), [answers.run.run_id]),
                "item_id": population.sheet.item_ids.take(item),
                "item_hash": pa.array(answers.item_hash),
                "cluster_id": population.clusters.column(answers.item),
                "language": population.languages.column(answers.item),
                "switching": population.switching.column(answers.item),
                "status": pa.array([*self.book.statuses.names, "missing"]).take(
                    pa.array(np.where(done, answers.rows.status, len(self.book.statuses.names)))
                ),
                "statistics": pa.ListArray.from_arrays(offsets, vectors.astype(np.float32).reshape(-1)),
            },
            metadata={"features": json.dumps(self.family.features, ensure_ascii=False), "run": json.dumps(names)},
        )

    def _by_cluster(self, answers: Answers) -> Array:
        item, vectors = answers.item[answers.answered], self.vectors(answers)
        clusters, basics = len(self.population.clusters.names), self.slices.sums.shape[1]
        flat = self.population.clusters.of[item].astype(np.int64) * basics + self.slices.basic_of[item]
        sums = _sums(flat, vectors, clusters * basics)
        return self.slices.add_up(sums.reshape(clusters, basics, -1))

    def _some(self, answers: Answers, kept: npt.NDArray[np.bool_], clusters: Ints, size: int) -> Array:
        mine = answers.answered & kept[answers.item]
        vectors = self.book.vectors.table[answers.rows.verdict[mine]]
        return _sums(clusters[answers.item[mine]], vectors, size)

    def _by_basic(self, item: npt.NDArray[np.int64] | Ints, vectors: Array) -> Array:
        return _sums(self.slices.basic_of[item], vectors, self.slices.sums.shape[1])

    def _rows(self, answers: Answers) -> Array:
        names = self.book.statuses.names
        failed = np.array([n.startswith(FAILED) for n in names] + [False])
        unparsed = np.array([n != "ok" and not n.startswith(FAILED) for n in names] + [False])
        status = answers.rows.status
        kinds = np.stack(
            [answers.answered, unparsed[status], failed[status], np.ones(len(status), dtype=bool)], axis=1
        ).astype(np.float64)
        return self.slices.add_up(self._by_basic(answers.item, kinds))


def gold_vectors(family: Family, sheet: Sheet) -> Array:
    """A vector for each distinct fact, of an answer that nobody gave: its gold alone matters to a baseline."""
    return family.statistics(sheet.facts, [Answer("unparsed")] * len(sheet.facts))


def _sums(groups: npt.NDArray[np.int64] | Ints, vectors: Array, size: int) -> Array:
    """Sums (size, F) of vectors (n, F) by group."""
    sums: Array = np.stack([np.bincount(groups, weights=column, minlength=size) for column in vectors.T], axis=-1)
    return sums.astype(np.float64)


def _combinations(columns: Sequence[Ints]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Rows of several columns: the first row of each distinct combination, and each row's combination."""
    code: npt.NDArray[np.int64] = np.zeros(len(columns[0]), dtype=np.int64)
    first = code
    for column in columns:
        merged = code * (int(column.max(initial=0)) + 1) + column
        _, first, code = np.unique(merged, return_index=True, return_inverse=True)
    return first, code


def _common(answers: Sequence[Answers], planned: bool = False) -> tuple[Ints, list[npt.NDArray[np.int64]]]:
    """The items that all runs answered (or planned), and their places in each run's arrays."""
    kept = [np.ones(len(a.item), dtype=bool) if planned else a.answered for a in answers]
    common = answers[0].item[kept[0]]
    for run, mask in zip(answers[1:], kept[1:], strict=True):
        common = np.intersect1d(common, run.item[mask], assume_unique=True)
    return common, [np.searchsorted(a.item, common) for a in answers]
