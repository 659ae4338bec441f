"""A reduction's items, as they lie in the store: what a cell answered, row by row, to be joined with another's."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mixgrid.errors import UserError, allowed
from mixgrid.metrics import FAMILIES
from mixgrid.metrics.base import Array, Family, Policies
from mixgrid.reduce import Reduction
from mixgrid.store import Store
from mixgrid.tasks import TASKS

Key = tuple[str, str, str, str, str]  # corpus, split, task, model, setting


@dataclass(frozen=True)
class Held:
    """A cell's rows, one table a seed, of items that were answered."""

    key: Key
    seeds: Mapping[int, pa.Table]
    family: Family

    @cached_property
    def places(self) -> list[dict[tuple[str, int], int]]:
        """For each seed, the row of every (item id, content hash)."""
        pairs = (zip(t["item_id"].to_pylist(), t["item_hash"].to_pylist(), strict=True) for t in self.seeds.values())
        return [{pair: row for row, pair in enumerate(found)} for found in pairs]

    @cached_property
    def items(self) -> frozenset[tuple[str, int]]:
        """What every seed answered."""
        return frozenset.intersection(*(frozenset(place) for place in self.places))

    def rows(self, items: Sequence[tuple[str, int]]) -> Array:
        """(n, R, F) of some of the items."""
        found = []
        for place, table in zip(self.places, self.seeds.values(), strict=True):
            at = np.array([place[item] for item in items], dtype=np.int64)
            found.append(_statistics(table)[at])
        return np.stack(found, axis=1)

    def column(self, name: str, items: Sequence[tuple[str, int]]) -> list[str]:
        """A column of text of some of the items."""
        table, place = next(iter(self.seeds.values())), self.places[0]
        return [str(text) for text in table[name].take(pa.array([place[item] for item in items])).to_pylist()]


def held_cells(store: Store, reduction: Reduction) -> dict[Key, Held]:
    """All cells of a reduction."""
    policies = Policies.of(reduction.inputs["policies"])
    tables: dict[Key, dict[int, pa.Table]] = defaultdict(dict)
    for item in reduction.inputs["items"]:
        table = store.read(item)
        run = json.loads(table.schema.metadata[b"run"])
        key = (run["corpus"], run["split"], run["task"], run["model"], run["setting"])
        tables[key][run["seed"]] = table.filter(pc.greater(pc.list_value_length(table["statistics"]), 0))
    return {key: Held(key, dict(sorted(t.items())), _family(key[2], t, policies)) for key, t in sorted(tables.items())}


def _family(task: str, tables: Mapping[int, pa.Table], policies: Policies) -> Family:
    if task not in TASKS:
        raise UserError(f"a reduction is about the task {task!r}; {allowed(task, TASKS)}")
    family = FAMILIES[TASKS[task].score](TASKS[task].classes, policies)
    for table in tables.values():
        if tuple(json.loads(table.schema.metadata[b"features"])) != family.features:
            raise UserError(
                f"the items of task {task!r} hold other statistics than this version makes: reduce the grid again"
            )
    return family


def _statistics(table: pa.Table) -> npt.NDArray[np.float64]:
    column = table["statistics"].combine_chunks()
    flat: npt.NDArray[np.float64] = column.flatten().to_numpy().astype(np.float64)
    return flat.reshape(table.num_rows, -1)
