"""What the model said, by what it was asked: a text, or why there is none."""

from typing import Any

from mixgrid.errors import Incomplete
from mixgrid.plan.grid import Grid
from mixgrid.plan.standing import standing
from mixgrid.records import Run
from mixgrid.switching.weave import Said
from mixgrid.tasks import TASKS
from mixgrid.tasks.base import Raw

_RAW = ("text", "reasoning", "finish_reason", "status", "reason")


def answers(grid: Grid) -> dict[str, Said]:
    """Item id → what came back, of every run of the grid; Incomplete where something did not come back yet."""
    found: dict[str, Said] = {}
    for run in grid.runs:
        found |= _of_run(grid, run)
    return found


def _of_run(grid: Grid, run: Run) -> dict[str, Said]:
    rows = standing(grid.store, grid.manifest.namespace, run, ("order", *_RAW))
    lacking = sum(row is None for row in rows.values())
    if lacking:
        raise Incomplete(f"run {run.run_id}: {lacking} of {len(rows)} rows are pending; the same command goes on")
    return {item_id: _read(run, row) for item_id, row in rows.items() if row is not None}


def _read(run: Run, row: dict[str, Any]) -> Said:
    raw = Raw(**{name: row[name] for name in _RAW})
    parsed = TASKS[run.task].parse(raw, tuple(row["order"]))
    if parsed.value is not None:
        return Said(parsed.value)
    return Said("", "tag_lost" if parsed.status == "invalid_label" else "not_translated")
