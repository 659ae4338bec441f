"""A run's frozen plan in the store: run.json, one Request per item, and each prompt once.

What is frozen is never changed; a run that is asked for more items gets another table beside the first, and how its
latest call ended is told beside what it is. Templates, sampling and data are part of the run's id, so an edit makes
another run and leaves this one traceable.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import compress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mixgrid.plan.grid import Grid, Group
from mixgrid.plan.layout import prompts_folder, run_folder, run_key
from mixgrid.plan.requests import Bools, Rendered, chunks, prompt_of, rendered, request_of
from mixgrid.records import Prompt, Request, Run
from mixgrid.schemas import to_table
from mixgrid.store import NotFound, Store, TornError


def freeze(grid: Grid, environment: dict[str, str]) -> None:
    """Write what the grid's runs lack of their plans; where nothing is lacking, nothing is rendered."""
    for group in grid.groups:
        plans = {run.run_id: planned(grid, group, run) for run in group.runs}
        lacks = {run.run_id: asked(grid, group, run) & ~valid(plans[run.run_id]) for run in group.runs}
        for run in group.runs:
            _write_run(grid, run, environment)
        places = np.flatnonzero(np.logical_or.reduce(list(lacks.values())))
        kept = _Kept(grid.store, group.runs[0]) if len(places) else None
        lacking = (group.items[n] for n in places)
        for here, chunk in chunks(places, rendered(grid.prompts, group.task, group.setting, lacking, group.pool)):
            assert kept
            kept.keep(chunk)
            _freeze_chunk(grid, chunk, [(run, lacks[run.run_id][here]) for run in group.runs])


def _freeze_chunk(grid: Grid, chunk: Sequence[Rendered], lacks: Iterable[tuple[Run, Bools]]) -> None:
    for run, lacking in lacks:
        if lacking.any():
            table = to_table(Request, [request_of(run, ask) for ask in compress(chunk, lacking)])
            grid.store.put_table(run_folder(grid.manifest.namespace, run.run_id), "requests", table)


class _Kept:
    """The prompts of one folder: what is stored, each once."""

    def __init__(self, store: Store, run: Run) -> None:
        self._store, self._run = store, run
        parts = store.parts(prompts_folder(run), "prompts").whole
        columns = [store.read(part, ["prompt_sha256"])["prompt_sha256"] for part in parts]
        self._there = [chunk for column in columns for chunk in column.chunks]

    def keep(self, asks: Sequence[Rendered]) -> None:
        """Store those that are not stored yet."""
        there = pc.is_in(_strings(a.prompt_sha256 for a in asks), pa.chunked_array(self._there, pa.string()))
        lacking = compress(asks, ~there.to_numpy(zero_copy_only=False))
        new = {ask.prompt_sha256: prompt_of(self._run, ask) for ask in lacking}
        if new:
            self._store.put_table(prompts_folder(self._run), "prompts", to_table(Prompt, new.values()))
            self._there.append(_strings(new))


def _write_run(grid: Grid, run: Run, environment: dict[str, str]) -> None:
    key = run_key(grid.manifest.namespace, run.run_id)
    if not _document(grid.store, key):
        manifest = grid.manifest.model_dump(mode="json", exclude_none=True)
        entry = grid.models[run.model].model_dump(mode="json", exclude_none=True)  # models.yaml may be edited later
        document = {"run": asdict(run), "manifest": manifest, "model": entry, "environment": environment}
        grid.store.put_json(key, {**document, "frozen_at": datetime.now(UTC).isoformat()})


def tell_end(store: Store, namespace: str, run_id: str, ended: Mapping[str, object]) -> None:
    """Say in run.json how the latest call left the run; nothing where no call has frozen it yet."""
    key = run_key(namespace, run_id)
    document = _document(store, key)
    if document:
        store.put_json(key, {**document, "ended": ended})


def _document(store: Store, key: str) -> dict[str, object]:
    """The document, if it is there and whole: a driver that was killed while it wrote may leave half of one."""
    try:
        found = store.get_json(key)
    except (NotFound, TornError):
        return {}
    return found if isinstance(found, dict) else {}


def frozen(store: Store, namespace: str, run: Run, columns: Sequence[str] | None = None) -> pa.Table:
    """A run's frozen requests, one row per item; empty where nothing is frozen yet."""
    parts = store.parts(run_folder(namespace, run.run_id), "requests").whole
    names = list(columns) if columns else pa.schema(_SCHEMA).names
    tables = [store.read(part, [*names, *({"item_id"} - set(names))]) for part in parts]
    if not tables:
        return to_table(Request, []).select(names)
    table = pa.concat_tables(tables)
    return _first_of_each_item(table).select(names) if len(tables) > 1 else table.select(names)


# By place: of each item of a group, in the group's order. So a run of 600,000 requests is a few arrays.


def item_ids(group: Group) -> pa.Array:
    """The ids of what a group asks, by place."""
    return _strings(item.item_id for item in group.items)


def asked(grid: Grid, group: Group, run: Run) -> Bools:
    """Whether a run asks each item, by place."""
    return np.fromiter((grid.takes(run, item) for item in group.items), np.bool_, len(group.items))


def planned(grid: Grid, group: Group, run: Run) -> pa.Array:
    """The ids of a run's frozen requests, by place; null where nothing is frozen yet."""
    table = frozen(grid.store, grid.manifest.namespace, run, ["item_id", "request_id"]).combine_chunks()
    return pc.take(table["request_id"], pc.index_in(item_ids(group), table["item_id"]))


def valid(ids: pa.Array) -> Bools:
    """Where an array is not null."""
    found: Bools = ids.is_valid().to_numpy(zero_copy_only=False)
    return found


def _strings(values: Iterable[str]) -> pa.Array:
    return pa.array(list(values), pa.string())


def frozen_ids(store: Store, namespace: str, run: Run) -> dict[str, str]:
    """Item id → request id of a run's frozen plan."""
    table = frozen(store, namespace, run, ["item_id", "request_id"])
    return dict(zip(table["item_id"].to_pylist(), table["request_id"].to_pylist(), strict=True))


_SCHEMA = to_table(Request, []).schema


def _first_of_each_item(table: pa.Table) -> pa.Table:
    """Two drivers may have frozen the same item at once: the rows are equal, one is kept."""
    if pc.count_distinct(table["item_id"]).as_py() == table.num_rows:
        return table
    seen: dict[str, int] = {}
    for n, item_id in enumerate(table["item_id"].to_pylist()):
        seen.setdefault(item_id, n)
    return table.take(list(seen.values()))
