"""The reduce stage: predictions in, scores and tests out, free to repeat.

    plans, parts → judge each part (cached, on Ray where it is asked for) → join → cells → scores, tests → store

Nothing of a prediction but a few numbers a row outlives its part. The reduction's id is a hash of all that went in, so
the same input is answered from the store.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from mixgrid.errors import UserError, allowed
from mixgrid.metrics import FAMILIES
from mixgrid.metrics.base import Family, Policies
from mixgrid.plan.declared import Declared
from mixgrid.records import Item, Run, Score, Test
from mixgrid.reduce.book import Book, Vectors
from mixgrid.reduce.cells import Cell, Slices
from mixgrid.reduce.compared import compared
from mixgrid.reduce.inputs import Inputs, account, gather
from mixgrid.reduce.join import Answers, Planned, check
from mixgrid.reduce.judge import Judge
from mixgrid.reduce.mapping import judged_parts
from mixgrid.reduce.population import Population
from mixgrid.reduce.resample import Draws, resample
from mixgrid.reduce.scores import incomplete, scores_of
from mixgrid.reduce.sides import matched, unmet
from mixgrid.schemas import digest, from_table, to_table
from mixgrid.store import Store, TornError
from mixgrid.tasks import TASKS
from mixgrid.tasks.base import Task

VERSION = 3  # part of every reduction's id: raise it when the same input gives other scores
Loader = Callable[[str, str], Iterable[Item]]  # (corpus, snapshot digest) → its items


@dataclass(frozen=True)
class Options:
    """What a user may choose about a reduction."""

    policies: Policies = field(default_factory=Policies)
    draws: Draws = field(default_factory=Draws)
    comparisons: tuple[Declared, ...] = ()
    allow_unmatched: bool = False  # test the rows of a comparison that have a partner, where others have none
    allow_changed_items: bool = False
    on_ray: bool = False
    languages: tuple[str, ...] | None = None  # what the scores are about, of all that was asked; None: everything
    switching: tuple[str, ...] | None = None
    items: Mapping[str, frozenset[str]] | None = None  # by corpus: of a sweep that is not finished (reduce/prefix.py)
    notes: Sequence[str] = ()  # warnings that belong to this choice
    tasks: Mapping[str, Task] = field(default_factory=lambda: TASKS)

    def takes(self, item: Item) -> bool:
        """Whether the scores are about this item."""
        spoken = self.languages is None or item.language in self.languages
        asked = self.items is None or item.item_id in self.items.get(item.corpus, ())
        return spoken and asked and (self.switching is None or item.switching in self.switching)


@dataclass(frozen=True)
class Reduction:
    """The result, as it lies in `folder`."""

    id: str
    folder: str
    scores: tuple[Score, ...]
    tests: tuple[Test, ...]
    inputs: Mapping[str, Any]
    warnings: tuple[str, ...]

    @property
    def incomplete(self) -> int:
        """Cells with fewer rows than their slice has items."""
        return incomplete(self.scores)


def reduce(
    store: Store, namespace: str, runs: Sequence[Run], items: Loader, options: Options | None = None
) -> Reduction:
    """Score the runs from what the store holds; rows that their frozen plans do not name are counted, never read."""
    options = options or Options()
    runs = _distinct(runs)
    inputs = gather(store, namespace, runs)
    inputs.warnings.extend(options.notes)
    reduction_id = _id(runs, inputs, options)
    folder = scores_folder(namespace, reduction_id)
    if not _whole(store, folder):
        cells = collect(store, namespace, runs, inputs, items, options)
        pairs = matched(cells, options.comparisons)
        found = resample(cells, pairs, options.draws)
        scores = scores_of(cells, options.draws, found)
        tests = compared(pairs, found, options.draws, options.allow_unmatched)
        inputs.warnings.extend(unmet(options.comparisons, pairs))
        _write(
            store,
            folder,
            cells,
            (scores, tests),
            {
                **account(inputs, cells, reduction_id),
                "policies": asdict(options.policies),
            },
        )
    return load(store, namespace, reduction_id, inputs.warnings)


def load(store: Store, namespace: str, reduction_id: str, warnings: Sequence[str] = ()) -> Reduction:
    """A reduction that the store holds; `warnings` of today's listing stand before those of the day it was made."""
    folder = scores_folder(namespace, reduction_id)
    if not store.exists(f"{folder}/inputs.json"):
        known = sorted(
            {e.key.split("/")[-2] for e in store.list(f"{namespace}/scores/") if e.key.endswith("inputs.json")}
        )
        raise UserError(f"the store {store.url} holds no reduction {reduction_id!r}; {allowed(reduction_id, known)}")
    try:
        inputs = store.get_json(f"{folder}/inputs.json")
        scores, tests = from_table(Score, store.read(inputs["scores"])), from_table(Test, store.read(inputs["tests"]))
        known_warnings = tuple(dict.fromkeys([*warnings, *inputs["warnings"]]))
    except (LookupError, TornError, TypeError) as error:  # NotFound is a LookupError
        raise UserError(
            f"reduction {reduction_id!r} is not whole in the store {store.url} ({error}); delete the folder "
            f"{folder!r} there, and `mixgrid reduce MANIFEST` makes it again"
        ) from error
    return Reduction(reduction_id, folder, tuple(scores), tuple(tests), inputs, known_warnings)


def collect(
    store: Store, namespace: str, runs: Sequence[Run], inputs: Inputs, items: Loader, options: Options
) -> list[Cell]:
    """Every cell with its answers: what scores, and comparisons, are made from."""
    cells: list[Cell] = []
    for (corpus, snapshot, name), group in _by(runs, lambda r: (r.corpus, r.snapshot, r.task)).items():
        task = _task(options.tasks, name)
        family = FAMILIES[task.score](task.classes, options.policies)
        population = Population.of(items(corpus, snapshot), task, family, options.takes)
        planned = Planned(population)
        judge = Judge(task, family, population.sheet, snapshot)
        for same_model in _by(group, lambda r: r.model).values():
            book = Book(Vectors(len(family.features)))
            answers = [Answers.load(store, inputs.plans[r.run_id], r, planned) for r in same_model]
            parts = inputs.parts[same_model[0].run_id]
            for judged in judged_parts(
                store, f"{namespace}/statistics/{judge.key}", parts, judge, inputs.warnings, options.on_ray
            ):
                _join(book, answers, judged, len(population))
            for answer in answers:
                answer.finish()
                check(answer, options.allow_changed_items)
            cells += _cells(population, family, book, answers, task.parser_version)
    return cells


def scores_folder(namespace: str, reduction_id: str) -> str:
    """Where a reduction's scores and inputs.json lie."""
    return f"{namespace}/scores/{reduction_id}"


def _join(book: Book, answers: Sequence[Answers], judged: pa.Table, items: int) -> None:
    named = set(judged["run_id"].combine_chunks().dictionary.to_pylist())
    mine = [a for a in answers if a.run.run_id in named]
    rows = book.rows(judged) if mine else None
    for answer in mine:
        assert rows is not None
        answer.add(judged, rows, items)


def _cells(population: Population, family: Family, book: Book, answers: Sequence[Answers], parser: str) -> list[Cell]:
    cells = []
    for group in _by(answers, lambda a: (a.run.split, a.run.setting)).values():
        seeds = sorted(group, key=lambda a: a.run.seed)
        used = np.zeros(len(population), dtype=bool)
        for answer in seeds:
            used[answer.item] = True
        if used.any():
            cells.append(Cell(population, family, book, tuple(seeds), Slices.of(population, used), parser))
    return cells


def _whole(store: Store, folder: str) -> bool:
    """Whether all that inputs.json names is there: a piece that a person deleted, as its damage asks, is made again."""
    try:
        inputs = store.get_json(f"{folder}/inputs.json")
        return {inputs["scores"], inputs["tests"], *inputs["items"]} <= {e.key for e in store.list(f"{folder}/")}
    except (LookupError, TornError, TypeError):  # NotFound is a LookupError
        return False


def _write(
    store: Store,
    folder: str,
    cells: Sequence[Cell],
    results: tuple[Sequence[Score], Sequence[Test]],
    inputs: dict[str, Any],
) -> None:
    """Items, scores, tests, then inputs.json: while that is missing, nothing is there."""
    items = [
        store.put_table(folder, "items", cell.item_table(answers)).key for cell in cells for answers in cell.answers
    ]
    scores = store.put_table(folder, "scores", to_table(Score, results[0])).key
    tests = store.put_table(folder, "tests", to_table(Test, results[1])).key
    store.put_json(f"{folder}/inputs.json", {**inputs, "scores": scores, "tests": tests, "items": items})


def _id(runs: Sequence[Run], inputs: Inputs, options: Options) -> str:
    """A hash of everything that the scores depend on."""
    tasks = [_task(options.tasks, name) for name in sorted({r.task for r in runs})]
    made_by = []
    for task in tasks:
        family = FAMILIES[task.score](task.classes, options.policies)
        made_by.append([task.name, task.parser_version, family.signature, [m.signature for m in family.metrics]])
    chosen = [str(options.policies), options.draws.resamples, options.allow_changed_items]
    chosen += [options.languages, options.switching, [c.plain for c in options.comparisons], options.allow_unmatched]
    if options.items is not None:
        chosen.append({corpus: sorted(items) for corpus, items in options.items.items()})
    return digest([VERSION, [r.run_id for r in runs], inputs.keys, made_by, chosen])[:16]


def _distinct(runs: Sequence[Run]) -> list[Run]:
    """The runs by id; two runs for one cell and seed are refused, for their mean would be of neither."""
    found = sorted({r.run_id: r for r in runs}.values(), key=lambda r: r.run_id)
    if not found:
        raise UserError("there is no run to reduce: plan or run a manifest first")
    for same in _by(found, lambda r: (r.corpus, r.split, r.task, r.model, r.setting, r.seed)).values():
        if len(same) > 1:
            raise UserError(
                f"runs {' and '.join(r.run_id for r in same)} are the same cell and seed under different plans: "
                "reduce one of them at a time"
            )
    return found


def _task(tasks: Mapping[str, Task], name: str) -> Task:
    if name not in tasks:
        raise UserError(f"a run names the task {name!r}; {allowed(name, tasks)}")
    return tasks[name]


def _by(things: Iterable[Any], key: Callable[[Any], Any]) -> dict[Any, list[Any]]:
    groups: dict[Any, list[Any]] = {}
    for thing in things:
        groups.setdefault(key(thing), []).append(thing)
    return groups
