"""What moved between two reductions, or two models or settings of one: paired by item, tested by cluster.

    tests = compare(store, between(before, after))          # effect = after less before, slice by slice
    regressions(tests, max_drop=0.01)

Items are joined by id and content hash. Every slice of every cell is tested for the metrics that its tables show
first, so p values are corrected for all of them (Benjamini-Hochberg).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mixgrid.compare.held import Held, Key, held_cells
from mixgrid.errors import UserError, allowed
from mixgrid.metrics.base import Array, Metric
from mixgrid.records import Side, Test
from mixgrid.reduce import Reduction
from mixgrid.reduce.cells import inside, slice_names
from mixgrid.reduce.compared import corrected, row_of
from mixgrid.significance.bootstrap import Pair, bootstrap
from mixgrid.significance.population import Population, sum_by_cluster
from mixgrid.significance.resampling import Resampling
from mixgrid.store import Store

ALPHA = 0.05
Slice = tuple[str, str]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Couple:
    """A cell before and after; `kind` says what lies between."""

    kind: str
    before: Held
    after: Held


def between(store: Store, before: Reduction, after: Reduction) -> list[Couple]:
    """The cells that two reductions share."""
    old, new = held_cells(store, before), held_cells(store, after)
    shared = sorted(set(old) & set(new))
    if not shared:
        raise UserError(
            f"reductions {before.id} and {after.id} share no cell (corpus, split, task, model, setting): "
            f"{_named(old)} stand against {_named(new)}"
        )
    return [Couple("reduction", old[key], new[key]) for key in shared]


def within(store: Store, reduction: Reduction, before: str, after: str) -> list[Couple]:
    """Two models, or two settings, of one reduction, everything else alike."""
    cells = held_cells(store, reduction)
    for place, kind in ((3, "model"), (4, "setting")):
        names = {key[place] for key in cells}
        if {before, after} <= names:
            found = [
                Couple(kind, cells[key], cells[other])
                for key in cells
                if key[place] == before and (other := _with(key, place, after)) in cells
            ]
            if found:
                return found
    names = {name for key in cells for name in key[3:]}
    unknown = next((name for name in (before, after) if name not in names), before)
    raise UserError(
        f"reduction {reduction.id} has no cells of {before!r} and {after!r} that differ in model or setting alone; "
        f"{allowed(unknown, names)}"
    )


def compare(couples: Sequence[Couple], draws: int = 10_000, allow_unmatched: bool = False) -> list[Test]:
    """A test for each couple, slice and metric of the tables; items without a partner are refused unless allowed."""
    return corrected([row for couple in couples for row in _rows(couple, draws, allow_unmatched)])


def moved(tests: Sequence[Test], alpha: float = ALPHA) -> list[Test]:
    """What differs significantly, after correction."""
    return [test for test in tests if test.p_bh is not None and test.p_bh <= alpha]


def regressions(
    tests: Sequence[Test], metrics: Mapping[str, bool], max_drop: float, alpha: float = ALPHA
) -> list[Test]:
    """What got significantly worse by more than `max_drop`; `metrics` says of each whether lower is better."""
    return [
        test
        for test in moved(tests, alpha)
        if test.effect is not None and (test.effect if metrics[test.metric] else -test.effect) > max_drop
    ]


def lower_is_better(couples: Sequence[Couple]) -> dict[str, bool]:
    """Of every metric of these cells."""
    return {m.name: m.lower_is_better for couple in couples for m in couple.before.family.metrics}


def _rows(couple: Couple, draws: int, allow_unmatched: bool) -> Iterator[Test]:
    common = sorted(couple.before.items & couple.after.items)
    lost = len(couple.before.items ^ couple.after.items)
    if lost and not allow_unmatched:
        raise UserError(
            f"{' · '.join(couple.after.key)}: {lost} answered items do not join by id and content "
            f"({len(couple.before.items)} before, {len(couple.after.items)} after): finish both runs, or compare the "
            f"{len(common)} others with --allow-unmatched"
        )
    family = couple.after.family
    slices = _slices(couple.after, common)
    columns = {
        side: _columns(held, common, slices) for side, held in (("after", couple.after), ("before", couple.before))
    }
    for metric in (m for m in family.metrics if m.name in family.headline):
        population = _population(couple, columns, metric)
        pairs = {name: Pair(f"after|{'|'.join(name)}", f"before|{'|'.join(name)}") for name in slices}
        found = bootstrap(population, list(pairs.values()), Resampling(draws)).pairs
        for name, mask in slices.items():
            sides = [
                _side(couple, at, columns[at][name], metric, (name, int(mask.sum()))) for at in ("after", "before")
            ]
            yield row_of(
                found[pairs[name]], metric, (sides[0], sides[1]), couple.after.key[:3], ("compare", couple.kind, lost)
            )


def _slices(held: Held, items: Sequence[tuple[str, int]]) -> dict[Slice, Bools]:
    """Which of the items are in each slice."""
    pairs = list(zip(held.column("language", items), held.column("switching", items), strict=True))
    distinct = sorted(set(pairs))
    code = np.array([distinct.index(pair) for pair in pairs], dtype=np.int64)
    names = slice_names(distinct)
    return {n: np.isin(code, [i for i, pair in enumerate(distinct) if inside(pair, n)]) for n in names}


def _columns(held: Held, items: Sequence[tuple[str, int]], slices: Mapping[Slice, Bools]) -> dict[Slice, Array]:
    """(K, R, F) of each slice, the clusters in the order of their names."""
    names, cluster = np.unique(np.array(held.column("cluster_id", items)), return_inverse=True)
    rows = held.rows(items)
    return {
        name: np.stack(
            [sum_by_cluster(cluster[mask], rows[mask, seed], len(names)) for seed in range(rows.shape[1])], axis=1
        )
        for name, mask in slices.items()
    }


def _population(couple: Couple, columns: Mapping[str, Mapping[Slice, Array]], metric: Metric) -> Population:
    names: list[str] = []
    arrays: list[Array] = []
    refused: dict[str, str] = {}
    for side, found in columns.items():
        for name, sums in found.items():
            label = f"{side}|{'|'.join(name)}"
            names += [label] * sums.shape[1]
            arrays.append(sums)
            why = {metric.undefined(total) for total in sums.sum(axis=0)} - {""}
            refused |= {label: min(why)} if why else {}
    return Population(
        "|".join(couple.after.key[:3]), tuple(names), np.concatenate(arrays, axis=1), metric.total, refused
    )


def _side(couple: Couple, at: str, sums: Array, metric: Metric, slice_: tuple[Slice, int]) -> Side:
    held = couple.after if at == "after" else couple.before
    values = [metric.value(total)[0] for total in sums.sum(axis=0)]
    known = [v for v in values if v is not None]
    value = sum(known) / len(known) if known and len(known) == len(values) else None
    (language, switching), n = slice_
    return Side(held.key[3], held.key[4], language, switching, value, n, len(held.seeds))


def _with(key: Key, place: int, value: str) -> Key:
    model, setting = (value, key[4]) if place == 3 else (key[3], value)
    return (*key[:3], model, setting)


def _named(cells: Mapping[Key, Held]) -> str:
    return ", ".join(" · ".join(key) for key in cells) or "nothing"
