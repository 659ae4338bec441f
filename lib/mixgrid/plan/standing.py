"""The rows that stand for a run: one for each item of its frozen plan, chosen as every reader of the store must."""

from collections.abc import Collection
from typing import Any

from mixgrid.plan.frozen import frozen_ids
from mixgrid.plan.layout import predictions_folder
from mixgrid.records import Run
from mixgrid.store import Store

_IDS = ("run_id", "item_id", "request_id", "row_sha256")


def standing(store: Store, namespace: str, run: Run, columns: Collection[str]) -> dict[str, dict[str, Any] | None]:
    """Item id → those columns of its row; None where it is pending. Of several rows that with the lowest digest."""
    plan = frozen_ids(store, namespace, run)
    best: dict[str, dict[str, Any]] = {}
    for part in store.parts(predictions_folder(namespace, run), "part").whole:
        for row in store.read(part, list(dict.fromkeys((*_IDS, *columns)))).to_pylist():
            item_id = row["item_id"]
            if row["run_id"] != run.run_id or plan.get(item_id) != row["request_id"]:
                continue
            if item_id not in best or row["row_sha256"] < best[item_id]["row_sha256"]:
                best[item_id] = row
    return {item_id: best.get(item_id) for item_id in plan}
