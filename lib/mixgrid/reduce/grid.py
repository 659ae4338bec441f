"""The reduction of a grid: its runs, its declared comparisons, on the cluster where there is one."""

import os
from functools import partial

from mixgrid.corpora.snapshot import load as load_items
from mixgrid.plan.declared import declared
from mixgrid.plan.grid import Grid
from mixgrid.reduce import Options, Reduction, reduce
from mixgrid.reduce.prefix import taken


def reduce_grid(grid: Grid) -> Reduction:
    """The grid's reduction, made now or found in the store; on the Ray cluster of RAY_ADDRESS, if that is set."""
    grid.store.check()
    if on_ray := bool(os.environ.get("RAY_ADDRESS")):
        from mixgrid.pool import connect

        connect()
    languages, switching = (
        None if names is None else tuple(names) for names in (grid.manifest.languages, grid.manifest.switching)
    )
    part = taken(grid)
    options = Options(
        comparisons=declared(grid.manifest, grid.path), on_ray=on_ray, languages=languages, switching=switching,
        items=part.items, note=part.warning,
    )  # fmt: skip
    return reduce(grid.store, grid.manifest.namespace, part.runs, partial(load_items, grid.store), options)
