"""What a reduction of a sweep takes: the largest part that all models have answered whole (plan/order.py).

In flight when the money ended were long answers rather than short ones; with the rest of their units they are left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from mixgrid.budget.books import ledger_folder
from mixgrid.plan.grid import Grid
from mixgrid.plan.order import prefix
from mixgrid.plan.pending import answered, listing
from mixgrid.records import Run


@dataclass(frozen=True)
class Taken:
    """The runs and items of a grid that are scored; `items` by corpus, None: all of them."""

    runs: tuple[Run, ...]
    items: Mapping[str, frozenset[str]] | None = None
    warning: str = ""


def taken(grid: Grid) -> Taken:
    """All of a grid that is no sweep, or a finished one."""
    namespace = grid.manifest.namespace
    if next(grid.store.list(f"{ledger_folder(namespace, grid.manifest.name)}/"), None) is None:
        return Taken(grid.runs)
    parts = listing(grid.store, namespace).whole
    found = prefix(grid, {model: answered(grid.store, parts, model) for model in grid.models})
    if found.units == found.of:
        return Taken(grid.runs)
    warning = (
        f"the sweep is not finished: scored are the first {found.units} of {found.of} units (a cluster's variants in "
        f"one seed), which every model has answered whole; seeds {', '.join(map(str, found.seeds))}"
    )
    return Taken(tuple(run for run in grid.runs if run.seed in found.seeds), found.items, warning)
