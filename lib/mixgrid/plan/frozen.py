"""A run's frozen plan in the store: run.json, one Request per item, and each prompt once.

What is frozen is never changed; a run that is asked for more items gets another table beside the first. Templates,
sampling and data are part of the run's id, so an edit makes another run and leaves this one traceable.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict

import pyarrow as pa

from mixgrid.plan.grid import Grid, Group
from mixgrid.plan.layout import prompts_folder, run_folder
from mixgrid.plan.requests import Rendered, chunks, prompt_of, rendered, request_of
from mixgrid.records import Prompt, Request, Run
from mixgrid.schemas import to_table
from mixgrid.store import NotFound, Store, TornError


def freeze(grid: Grid, environment: dict[str, str]) -> None:
    """Write what the grid's runs lack of their plans; where nothing is lacking, nothing is rendered."""
    for group in grid.groups:
        known = {run.run_id: set(frozen_ids(grid.store, grid.manifest.namespace, run)) for run in group.runs}
        lacking = [
            i for i in group.items if any(grid.takes(r, i) and i.item_id not in known[r.run_id] for r in group.runs)
        ]
        for run in group.runs:
            _write_run(grid, run, environment)
        for chunk in chunks(rendered(grid.prompts, group.task, group.setting, lacking, group.pool)):
            _freeze_chunk(grid, group, chunk, known)


def _freeze_chunk(grid: Grid, group: Group, chunk: Sequence[Rendered], known: dict[str, set[str]]) -> None:
    _keep_prompts(grid.store, group.runs[0], chunk)
    for run in group.runs:
        new = [a for a in chunk if grid.takes(run, a.item) and a.item.item_id not in known[run.run_id]]
        if new:
            table = to_table(Request, (request_of(run, ask) for ask in new))
            grid.store.put_table(run_folder(grid.manifest.namespace, run.run_id), "requests", table)


def _keep_prompts(store: Store, run: Run, chunk: Iterable[Rendered]) -> None:
    """Store the prompts of a chunk that are not stored yet, each once."""
    folder = prompts_folder(run)
    there: set[str] = set()
    for part in store.parts(folder, "prompts").whole:
        there.update(store.read(part, ["prompt_sha256"])["prompt_sha256"].to_pylist())
    new = {ask.prompt_sha256: prompt_of(run, ask) for ask in chunk if ask.prompt_sha256 not in there}
    if new:
        store.put_table(folder, "prompts", to_table(Prompt, new.values()))


def _write_run(grid: Grid, run: Run, environment: dict[str, str]) -> None:
    key = f"{run_folder(grid.manifest.namespace, run.run_id)}/run.json"
    if not _whole_json(grid.store, key):
        manifest = grid.manifest.model_dump(mode="json", exclude_none=True)
        entry = grid.models[run.model].model_dump(mode="json", exclude_none=True)  # models.yaml may be edited later
        document = {"run": asdict(run), "manifest": manifest, "model": entry, "environment": environment}
        grid.store.put_json(key, document)


def _whole_json(store: Store, key: str) -> bool:
    """Whether a whole document is there: a driver that was killed while it wrote may leave half of one."""
    try:
        store.get_json(key)
    except (NotFound, TornError):
        return False
    return True


def frozen(store: Store, namespace: str, run: Run, columns: Sequence[str] | None = None) -> pa.Table:
    """A run's frozen requests, one row per item; empty where nothing is frozen yet."""
    parts = store.parts(run_folder(namespace, run.run_id), "requests").whole
    names = list(columns) if columns else pa.schema(_SCHEMA).names
    tables = [store.read(part, [*names, *({"item_id"} - set(names))]) for part in parts]
    if not tables:
        return to_table(Request, []).select(names)
    table = pa.concat_tables(tables)
    return _first_of_each_item(table).select(names) if len(tables) > 1 else table.select(names)


def frozen_ids(store: Store, namespace: str, run: Run) -> dict[str, str]:
    """Item id → request id of a run's frozen plan."""
    table = frozen(store, namespace, run, ["item_id", "request_id"])
    return dict(zip(table["item_id"].to_pylist(), table["request_id"].to_pylist(), strict=True))


_SCHEMA = to_table(Request, []).schema


def _first_of_each_item(table: pa.Table) -> pa.Table:
    """Two drivers may have frozen the same item at once: the rows are equal, one is kept."""
    seen: dict[str, int] = {}
    for n, item_id in enumerate(table["item_id"].to_pylist()):
        seen.setdefault(item_id, n)
    return table if len(seen) == table.num_rows else table.take(list(seen.values()))
