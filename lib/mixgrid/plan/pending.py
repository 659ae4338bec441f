"""What the store already holds, and so what is pending: frozen plans anti-joined with rows on (run, item, request).

have = answered(store, listing(store, namespace).whole, model)      # ids alone; no text is read
for lacking in pending(grid, group, runs, have): lacking.copies, lacking.work
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mixgrid.errors import MixgridError
from mixgrid.plan.frozen import asked, item_ids, planned, valid
from mixgrid.plan.grid import Grid, Group
from mixgrid.plan.layout import of_model, predictions_root
from mixgrid.plan.requests import Bools, Places, Rendered, chunks, rendered, request_of
from mixgrid.records import Request, Run, Work
from mixgrid.store import Part, PartListing, Store, TornError

log = logging.getLogger(__name__)

_NAME = pa.dictionary(pa.int32(), pa.string())  # kept once, however often it stands there
_ROWS = pa.schema({"run_id": _NAME, "item_id": pa.string(), "request_id": pa.string(), "status": _NAME})
READERS = 8  # parts that are read at a time: an S3 server takes longer to answer than a part to decode


@dataclass(frozen=True)
class Answered:
    """The rows that a namespace holds for one model, by id. Two million of them are a hundred megabytes or two."""

    parts: Sequence[Part]
    rows: pa.Table = field(default_factory=_ROWS.empty_table, repr=False)  # in the order of the parts
    sizes: Sequence[int] = field(default=(), repr=False)  # rows of each part; none of a file that only looks like one

    def has(self, run_id: str, items: pa.Array, requests: pa.Array) -> tuple[Bools, Bools]:
        """By place: whether the row for the item's request is there, and whether it says `failed` (final)."""
        mine = self.rows.filter(pc.equal(self.rows["run_id"], run_id)).combine_chunks()
        found = pc.index_in(_pairs(items, requests), _pairs(mine["item_id"], mine["request_id"]))
        failed = pc.equal(pc.take(mine["status"], found), "failed").fill_null(False)
        return valid(found), failed.to_numpy(zero_copy_only=False)

    def part_of(self, requests: pa.Array) -> Places:
        """By place: the index of a part in which some row answers the request; -1 where there is none."""
        row = pc.index_in(requests, self.rows["request_id"])
        part = np.searchsorted(np.cumsum(self.sizes), row.fill_null(0).to_numpy(), side="right")
        return np.where(valid(row), part, -1)


@dataclass
class Pending:
    """What a chunk of the grid lacks: rows to copy from parts, and work for the engine in prefix order."""

    copies: dict[int, list[Request]] = field(default_factory=dict)  # index of a part → the requests it answers
    work: dict[str, Work] = field(default_factory=dict)


@dataclass(frozen=True)
class Count:
    """How far one run is, counted from the rows themselves."""

    planned: int
    done: int
    failed: int

    @property
    def pending(self) -> int:
        """Rows that are not there yet."""
        return self.planned - self.done


def listing(store: Store, namespace: str) -> PartListing:
    """Every part of predictions in a namespace; torn and foreign files are named beside them."""
    return store.parts(predictions_root(namespace))


def answered(store: Store, parts: Sequence[Part], model: str) -> Answered:
    """The index of a model's rows. A file that only looks like a part is named, and what it might hold is pending."""
    mine = [part for part in parts if of_model(part.key, model)]
    with ThreadPoolExecutor(READERS) as pool:
        tables = list(pool.map(lambda part: _ids(store, part), mine))
    rows = pa.concat_tables([_ROWS.empty_table(), *tables]).unify_dictionaries().combine_chunks()
    return Answered(mine, rows, [table.num_rows for table in tables])


def _ids(store: Store, part: Part) -> pa.Table:
    try:
        return store.read(part, _ROWS.names).cast(_ROWS)
    except TornError as error:
        log.warning("%s", error)
        return _ROWS.empty_table()


def counts(grid: Grid, have: Mapping[str, Answered] | None = None) -> dict[str, Count]:
    """Each run's count over the items that the grid asks; without an index, the store is read anew."""
    parts = listing(grid.store, grid.manifest.namespace).whole if have is None else ()
    have = have or {model: answered(grid.store, parts, model) for model in grid.models}
    return {run.run_id: _count(grid, g, run, have[run.model]) for g in grid.groups for run in g.runs}


def _count(grid: Grid, group: Group, run: Run, have: Answered) -> Count:
    mine = asked(grid, group, run)
    done, failed = have.has(run.run_id, item_ids(group), planned(grid, group, run))
    return Count(int(mine.sum()), int((mine & done).sum()), int((mine & failed).sum()))


def pending(grid: Grid, group: Group, runs: Sequence[Run], have: Answered) -> Iterator[Pending]:
    """What some runs of a group lack, in chunks; only what is lacking is rendered."""
    lacking = [_Lacking.of(grid, group, run, have) for run in runs]
    places = np.flatnonzero(np.logical_or.reduce([valid(one.requests) for one in lacking]))
    items = (group.items[n] for n in places)
    for here, chunk in chunks(places, rendered(grid.prompts, group.task, group.setting, items, group.pool)):
        yield _sorted_out(chunk, [one.at(here) for one in lacking])


@dataclass(frozen=True)
class _Lacking:
    """What a run still lacks, by place: request ids, null where it is there; the part that answers it, or -1."""

    run: Run
    requests: pa.Array
    parts: Places

    @classmethod
    def of(cls, grid: Grid, group: Group, run: Run, have: Answered) -> "_Lacking":
        plan = planned(grid, group, run)
        there, _ = have.has(run.run_id, item_ids(group), plan)
        requests = pc.if_else(pa.array(asked(grid, group, run) & ~there), plan, None)
        return cls(run, requests, have.part_of(requests))

    def at(self, places: Places) -> tuple[Run, list[str | None], list[int]]:
        """Of some places."""
        return self.run, self.requests.take(pa.array(places)).to_pylist(), self.parts[places].tolist()


def _sorted_out(
    chunk: Sequence[Rendered], lacking: Sequence[tuple[Run, Sequence[str | None], Sequence[int]]]
) -> Pending:
    """Prompts in the order of their text, a prompt's seeds side by side: shared prefixes meet in the engine's cache."""
    found = Pending()
    for n in sorted(range(len(chunk)), key=lambda n: [m.content for m in chunk[n].messages]):
        for run, requests, parts in lacking:
            request_id = requests[n]
            if request_id is None:
                continue
            request = _as_frozen(run, chunk[n], request_id)
            if parts[n] >= 0:
                found.copies.setdefault(parts[n], []).append(request)
            else:
                old = found.work.get(request_id)
                targets = (*old.targets, request) if old else (request,)
                found.work[request_id] = Work(request_id, chunk[n].messages, request.seed, targets)
    return found


def _as_frozen(run: Run, ask: Rendered, request_id: str) -> Request:
    request = request_of(run, ask)
    if request.request_id != request_id:
        raise MixgridError(
            f"run {run.run_id}: item {ask.item.item_id!r} is asked otherwise than its frozen plan says; the task's "
            f"code changed under template version {run.template_version}: raise the template's version"
        )
    return request


def _pairs(items: pa.Array, requests: pa.Array) -> pa.Array:
    """Items and requests as one key; null where there is no request."""
    return pc.binary_join_element_wise(items, requests, "\0")
