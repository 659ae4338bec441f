"""What the store already holds, and so what is pending: frozen plans anti-joined with rows on (run, item, request).

have = answered(store, listing(store, namespace).whole, model)      # ids alone; no text is read
for lacking in pending(grid, group, runs, have): lacking.copies, lacking.work
"""

import hashlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mixgrid.errors import MixgridError
from mixgrid.plan.frozen import frozen_ids
from mixgrid.plan.grid import Grid, Group
from mixgrid.plan.layout import of_model, predictions_root
from mixgrid.plan.requests import Rendered, chunks, rendered, request_of
from mixgrid.records import Request, Run, Work
from mixgrid.store import Part, PartListing, Store, TornError

log = logging.getLogger(__name__)

_COLUMNS = ["run_id", "item_id", "request_id", "status"]


@dataclass
class Answered:
    """The rows that a namespace holds for one model, by id."""

    parts: list[Part]
    done: dict[bytes, bool] = field(default_factory=dict)  # key of (run, item, request) → failed
    source: dict[bytes, int] = field(default_factory=dict)  # request → index of a part that answers it

    def has(self, run_id: str, item_id: str, request_id: str) -> bool:
        """Whether this very row is there."""
        return _key(run_id, item_id, request_id) in self.done

    def failed(self, run_id: str, item_id: str, request_id: str) -> bool:
        """Whether the row is there and says that the request failed for good."""
        return self.done.get(_key(run_id, item_id, request_id), False)

    def part_of(self, request_id: str) -> int | None:
        """The index of a part in which some row answers the request."""
        return self.source.get(bytes.fromhex(request_id))


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
    found = Answered([part for part in parts if of_model(part.key, model)])
    for n, part in enumerate(found.parts):
        try:
            columns = store.read(part, _COLUMNS).to_pydict()
        except TornError as error:
            log.warning("%s", error)
            continue
        for run_id, item_id, request_id, status in zip(*(columns[name] for name in _COLUMNS), strict=True):
            found.done[_key(run_id, item_id, request_id)] = status == "failed"
            found.source.setdefault(bytes.fromhex(request_id), n)
    return found


def counts(grid: Grid, have: Mapping[str, Answered] | None = None) -> dict[str, Count]:
    """Each run's count over the items that the grid asks; without an index, the store is read anew."""
    parts = listing(grid.store, grid.manifest.namespace).whole if have is None else ()
    have = have or {model: answered(grid.store, parts, model) for model in grid.models}
    return {run.run_id: _count(grid, g, run, have[run.model]) for g in grid.groups for run in g.runs}


def _count(grid: Grid, group: Group, run: Run, have: Answered) -> Count:
    asked = {item.item_id for item in group.items if grid.takes(run, item)}
    plan = [(i, r) for i, r in frozen_ids(grid.store, grid.manifest.namespace, run).items() if i in asked]
    done = sum(have.has(run.run_id, i, r) for i, r in plan)
    return Count(len(asked), done, sum(have.failed(run.run_id, i, r) for i, r in plan))


def pending(grid: Grid, group: Group, runs: Sequence[Run], have: Answered) -> Iterator[Pending]:
    """What some runs of a group lack, in chunks; only what is lacking is rendered."""
    lacking = {run.run_id: _lacking(grid, group, run, have) for run in runs}
    items = [i for i in group.items if any(i.item_id in lacking[run.run_id] for run in runs)]
    for chunk in chunks(rendered(grid.prompts, group.task, group.setting, items, group.pool)):
        yield _sorted_out(runs, chunk, lacking, have)


def _lacking(grid: Grid, group: Group, run: Run, have: Answered) -> dict[str, str]:
    """Item id → request id of what the run still lacks."""
    asked = {i.item_id for i in group.items if grid.takes(run, i)}
    plan = frozen_ids(grid.store, grid.manifest.namespace, run).items()
    return {i: r for i, r in plan if i in asked and not have.has(run.run_id, i, r)}


def _sorted_out(
    runs: Sequence[Run], chunk: Sequence[Rendered], lacking: Mapping[str, Mapping[str, str]], have: Answered
) -> Pending:
    """Prompts in the order of their text, a prompt's seeds side by side: shared prefixes meet in the engine's cache."""
    found = Pending()
    for ask in sorted(chunk, key=lambda a: [m.content for m in a.messages]):
        for run in runs:
            if ask.item.item_id in lacking[run.run_id]:
                request = _as_frozen(run, ask, lacking[run.run_id][ask.item.item_id])
                part = have.part_of(request.request_id)
                if part is not None:
                    found.copies.setdefault(part, []).append(request)
                else:
                    old = found.work.get(request.request_id)
                    targets = (*old.targets, request) if old else (request,)
                    found.work[request.request_id] = Work(request.request_id, ask.messages, request.seed, targets)
    return found


def _as_frozen(run: Run, ask: Rendered, request_id: str) -> Request:
    request = request_of(run, ask)
    if request.request_id != request_id:
        raise MixgridError(
            f"run {run.run_id}: item {ask.item.item_id!r} is asked otherwise than its frozen plan says; the task's "
            f"code changed under template version {run.template_version}: raise the template's version"
        )
    return request


def _key(*names: str) -> bytes:
    return hashlib.blake2b("\0".join(names).encode(), digest_size=16).digest()
