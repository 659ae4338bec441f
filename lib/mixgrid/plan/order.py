"""The order in which a sweep spends its money, so that however early it ends, what was bought is a fair sample.

Whole clusters, drawn once by hash within strata (corpus, labels, domains) and taken from all strata in proportion;
every cluster's first variants before anyone's second; further seeds last. It is the same for all models, and never
depends on what was answered.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress

from mixgrid.plan.frozen import asked, item_ids, planned
from mixgrid.plan.grid import Grid, Slice
from mixgrid.plan.pending import Answered
from mixgrid.records import Item
from mixgrid.schemas import digest
from mixgrid.tasks import TASKS

DRAW = "sweep 1"  # raise the number to draw another order


@dataclass(frozen=True)
class Unit:
    """What is bought together: one cluster's items of one rank of variants, in one seed."""

    seed: int
    corpus: str
    split: str
    cluster_id: str
    rank: int  # 0: originals, and the first variant of each language and method
    items: frozenset[str]


@dataclass(frozen=True)
class Prefix:
    """The part of a sweep that every model has answered whole. None: all of it."""

    seeds: tuple[int, ...]
    items: Mapping[str, frozenset[str]] | None  # by corpus
    units: int
    of: int


def units(grid: Grid) -> tuple[Unit, ...]:
    """Every unit of the grid, in the order in which they are bought."""
    first = sorted((unit for part in grid.slices for unit in _of_slice(grid, part)), key=lambda pair: pair[0])
    return tuple(replace(unit, seed=seed) for seed in grid.manifest.seeds for _, unit in first)


def only(grid: Grid, chosen: Iterable[Unit]) -> Grid:
    """The grid that asks these units alone; they are of one seed."""
    chosen = list(chosen)
    items: dict[tuple[str, str], set[str]] = {}
    for unit in chosen:
        items.setdefault((unit.corpus, unit.split), set()).update(unit.items)
    slices = tuple(
        replace(part, items=tuple(i for i in part.items if i.item_id in items[part.corpus, part.split]))
        for part in grid.slices
        if (part.corpus, part.split) in items
    )
    tasks = [t for t in grid.manifest.tasks if any(TASKS[t].accepts(i) for part in slices for i in part.items)]
    manifest = grid.manifest.model_copy(update={"seeds": [chosen[0].seed], "tasks": tasks})
    return replace(grid, slices=slices, manifest=manifest)


def prefix(grid: Grid, have: Mapping[str, Answered]) -> Prefix:
    """The largest part, from the beginning, that is complete for all models; a seed counts whole, but the first.

    What was in flight when the money ended is left out with the rest of its unit, so that short answers, which come
    back first, are not chosen by having been short.
    """
    order = units(grid)
    lacking = _lacking(grid, have)
    done = next((n for n, unit in enumerate(order) if unit.items & lacking[unit.seed, unit.corpus]), len(order))
    per_seed = len(order) // len(grid.manifest.seeds)
    whole = done // per_seed if per_seed else 0
    if done == len(order):
        return Prefix(tuple(grid.manifest.seeds), None, done, done)
    if whole:
        return Prefix(tuple(grid.manifest.seeds[:whole]), None, whole * per_seed, len(order))
    items: dict[str, set[str]] = {part.corpus: set() for part in grid.slices}
    for unit in order[:done]:
        items[unit.corpus] |= unit.items
    return Prefix((grid.manifest.seeds[0],), {c: frozenset(i) for c, i in items.items()}, done, len(order))


def pending_units(grid: Grid, order: Sequence[Unit], have: Mapping[str, Answered]) -> list[Unit]:
    """Those of which some run lacks a row, in their order."""
    lacking = _lacking(grid, have)
    return [unit for unit in order if unit.items & lacking[unit.seed, unit.corpus]]


def _lacking(grid: Grid, have: Mapping[str, Answered]) -> dict[tuple[int, str], set[str]]:
    """Items by seed and corpus that some run still lacks."""
    found: dict[tuple[int, str], set[str]] = {(s, p.corpus): set() for s in grid.manifest.seeds for p in grid.slices}
    for group in grid.groups:
        for run in group.runs:
            there, _ = have[run.model].has(run.run_id, item_ids(group), planned(grid, group, run))
            lacking = compress(group.items, asked(grid, group, run) & ~there)
            found[run.seed, run.corpus].update(item.item_id for item in lacking)
    return found


def _of_slice(grid: Grid, part: Slice) -> Iterator[tuple[tuple[int, float, str], Unit]]:
    """A corpus's units with their places: by rank of variant, then evenly through each stratum."""
    tasks = [TASKS[name] for name in grid.manifest.tasks]
    asked = [item for item in part.items if any(task.accepts(item) for task in tasks)]
    clusters: dict[str, list[Item]] = {}
    for item in asked:
        clusters.setdefault(item.cluster_id, []).append(item)
    strata: dict[str, list[str]] = {}
    for cluster_id, items in clusters.items():
        strata.setdefault(_stratum(items), []).append(cluster_id)
    ranks = _ranks(asked)
    for stratum, members in strata.items():
        drawn = sorted(members, key=lambda c: _draw(part.corpus, c))
        start = int(_draw(part.corpus, stratum)[:8], 16) / 2**32  # else all strata of one would stand in the middle
        for n, cluster_id in enumerate(drawn):
            place = (n + start) / len(drawn)
            for rank in sorted({ranks[item.item_id] for item in clusters[cluster_id]}):
                ids = frozenset(i.item_id for i in clusters[cluster_id] if ranks[i.item_id] == rank)
                unit = Unit(0, part.corpus, part.split, cluster_id, rank, ids)
                yield (rank, place, _draw(part.corpus, cluster_id)), unit


def _stratum(items: list[Item]) -> str:
    """What a cluster is like: the labels in it and what it is about."""
    labels = {item.label for item in items if item.label} | {f.name for i in items for f in i.flags if f.value}
    return digest([sorted(labels), sorted({item.domain or item.topic or "" for item in items})])


def _draw(corpus: str, cluster_id: str) -> str:
    return digest([DRAW, corpus, cluster_id])


def _ranks(items: Iterable[Item]) -> dict[str, int]:
    """Item id → how many variants of the same source, language and method come before its own."""
    variants: dict[tuple[str, str, str], set[int]] = {}
    items = list(items)
    for item in items:
        variants.setdefault((item.source_id, item.language, item.switching), set()).add(item.variant)
    place = {group: sorted(found) for group, found in variants.items()}
    return {i.item_id: place[i.source_id, i.language, i.switching].index(i.variant) for i in items}
