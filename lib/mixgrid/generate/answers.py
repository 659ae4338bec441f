"""What the model said, by what it was asked: a text, or why there is none."""

from mixgrid.errors import Incomplete
from mixgrid.plan.frozen import frozen_ids
from mixgrid.plan.grid import Grid
from mixgrid.plan.layout import predictions_folder
from mixgrid.records import Run
from mixgrid.switching.weave import Said
from mixgrid.tasks import TASKS
from mixgrid.tasks.base import Raw

_RAW = ("text", "reasoning", "finish_reason", "status", "reason")
_COLUMNS = ("run_id", "item_id", "request_id", "row_sha256", "order", *_RAW)


def answers(grid: Grid) -> dict[str, Said]:
    """Item id → what came back, of every run of the grid; Incomplete where something did not come back yet."""
    found: dict[str, Said] = {}
    for run in grid.runs:
        found |= _of_run(grid, run)
    return found


def _of_run(grid: Grid, run: Run) -> dict[str, Said]:
    """Of several rows for one request that with the lowest digest stands, as in every other reading of the store."""
    namespace = grid.manifest.namespace
    plan = frozen_ids(grid.store, namespace, run)
    best: dict[str, tuple[str, Said]] = {}
    for part in grid.store.parts(predictions_folder(namespace, run), "part").whole:
        for row in grid.store.read(part, _COLUMNS).to_pylist():
            item_id, sha = row["item_id"], row["row_sha256"]
            if row["run_id"] != run.run_id or plan.get(item_id) != row["request_id"]:
                continue
            if item_id not in best or sha < best[item_id][0]:
                best[item_id] = (sha, _read(run, row))
    if lacking := len(plan) - len(best):
        raise Incomplete(f"run {run.run_id}: {lacking} of {len(plan)} rows are pending; the same command goes on")
    return {item_id: said for item_id, (_, said) in best.items()}


def _read(run: Run, row: dict[str, object]) -> Said:
    raw = Raw(**{name: row[name] for name in _RAW})  # type: ignore[arg-type]
    parsed = TASKS[run.task].parse(raw, tuple(row["order"]))  # type: ignore[arg-type]
    if parsed.value is not None:
        return Said(parsed.value)
    return Said("", "tag_lost" if parsed.status == "invalid_label" else "not_translated")
