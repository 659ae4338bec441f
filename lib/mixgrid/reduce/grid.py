"""The reduction of a grid: its runs, its declared comparisons, on the cluster where there is one."""

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from mixgrid.corpora.snapshot import load as load_items
from mixgrid.errors import UserError
from mixgrid.manifest import Manifest
from mixgrid.metrics.base import Policies
from mixgrid.plan.declared import declared
from mixgrid.plan.grid import Grid
from mixgrid.reduce import Options, Reduction, reduce
from mixgrid.reduce.prefix import taken
from mixgrid.store import Store


@dataclass(frozen=True)
class Allowed:
    """What a user lets pass: rows without a partner, and rows about another text of their item. Both are counted."""

    unmatched: bool = False
    changed_items: bool = False


def reduce_grid(grid: Grid, allowed: Allowed | None = None) -> Reduction:
    """The grid's reduction, made now or found in the store; on the Ray cluster of RAY_ADDRESS, if that is set."""
    allowed = allowed or Allowed()
    _check(grid.store)
    if on_ray := bool(os.environ.get("RAY_ADDRESS")):
        from mixgrid.pool import connect

        connect()
    languages, switching = (
        None if names is None else tuple(names) for names in (grid.manifest.languages, grid.manifest.switching)
    )
    part = taken(grid)
    notes = [note for note in (part.warning, *grid.left_out()) if note]
    options = Options(
        comparisons=declared(grid.manifest, grid.path), on_ray=on_ray, languages=languages, switching=switching,
        items=part.items, notes=notes, policies=policies(grid.manifest, Path(grid.path).parent),
        allow_unmatched=allowed.unmatched, allow_changed_items=allowed.changed_items,
    )  # fmt: skip
    return reduce(grid.store, grid.manifest.namespace, part.runs, partial(load_items, grid.store), options)


def _check(store: Store) -> None:
    try:
        store.check()
    except UserError as error:
        raise UserError(
            f"{error}. Scores and tables are written into the store: where you may only read, copy its namespace and "
            "`corpora` into a folder of yours, and name that with --store"
        ) from error


def policies(manifest: Manifest, folder: Path) -> Policies:
    """The manifest's key `metrics`; an encoder's folder lies beside the manifest, and workers have other ones."""
    plain = manifest.metrics.model_dump()
    encoder = plain.pop("bertscore")
    if encoder is not None and (beside := folder / Path(encoder["model"]).expanduser()).is_dir():
        encoder["model"] = str(beside.absolute())
    return Policies.of({**plain, "encoder": encoder})
