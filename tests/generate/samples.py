"""A small generation on disk: sentences, a recipe, and a canned model that answers both tasks at once."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from mixgrid.actor import EngineActor, pack
from mixgrid.engines.base import EngineSpec
from mixgrid.generate.recipe import Job, resolve
from mixgrid.plan.frozen import freeze
from mixgrid.plan.grid import Grid
from tests.helpers import TOY, pending_work
from tests.switching.samples import SENTENCES

RECIPE: Mapping[str, Any] = {
    "name": "made",
    "corpus": "plain",
    "languages": ["en", "de"],
    "switching": {"random": {"share": 0.5}, "phrase": {}, "llm": {}},
    "model": "toy",
}
SAID = (
    "<translation>the fence</translation><mixed>The fence e mic.</mixed>", "<translation>Haus</translation>", "hm",
    "<translation>red</translation><mixed>Un bridge, <PERSON>.</mixed>", "<translation><GPE></translation>",
)  # fmt: skip
COLUMNS = ("item_id", "cluster_id", "split", "language", "text", "label")


def rows() -> list[dict[str, Any]]:
    """The hard sentences, two an article, in two splits."""
    return [
        {"item_id": f"s{n}", "cluster_id": f"a{n // 2}", "split": "train" if n % 4 == 3 else "test", "language": "ro",
         "text": text, "label": "satire" if n % 2 else "factual"}
        for n, text in enumerate(SENTENCES)
    ]  # fmt: skip


def recipe(
    folder: Path, *, sentences: list[dict[str, Any]] | None = None, toy: Mapping[str, Any] | None = None, **keys: Any
) -> Path:
    """Write a recipe with its catalogues below `folder`; keywords replace the recipe's keys, None takes one away."""
    place = folder / "manifests"
    place.mkdir(exist_ok=True, parents=True)
    given = {key: value for key, value in {**RECIPE, **keys}.items() if value is not None}
    entry_of_toy = {
        **TOY,
        "engine_args": {"answers": list(SAID)},
        "sampling": {"default": {"temperature": 0.5}},
        **(toy or {}),
    }
    entry = {"reader": "table", "path": "plain.jsonl", "licence": "Apache-2.0", "tasks": ["satire"]}
    _write(place / "made.yaml", given)
    _write(place / "models.yaml", {"models": {"toy": entry_of_toy}})
    _write(place / "corpora.yaml", {"corpora": {"plain": {**entry, "columns": {name: name for name in COLUMNS}}}})
    lines = [json.dumps(row, ensure_ascii=False) for row in (rows() if sentences is None else sentences)]
    (place / "plain.jsonl").write_text("\n".join(lines), "utf-8")
    return place / "made.yaml"


def open_job(folder: Path, **changes: Any) -> Job:
    """A small generation, written and resolved, with a store beside it."""
    return resolve(recipe(folder, **changes), str(folder / "store"))


def ask(grid: Grid, at_most: int | None = None, size: int = 64) -> None:
    """Answer what the grid lacks in this process, by the actor's own code and without Ray."""
    freeze(grid, {})
    for model, entry in grid.models.items():
        runs = {run.run_id: run for run in grid.runs if run.model == model}
        actor = EngineActor(EngineSpec(model, entry), runs, grid.store, grid.manifest.namespace)
        by_task: dict[str, list[Any]] = {}
        for work in list(pending_work(grid, model))[:at_most]:
            by_task.setdefault(runs[work.targets[0].run_id].task, []).append(work)
        for waiting in by_task.values():  # a block is of one corpus and task
            for n in range(0, len(waiting), size):
                actor(pack(waiting[n : n + size]))


def _write(path: Path, value: object) -> None:
    path.write_text(yaml.safe_dump(value, allow_unicode=True, sort_keys=False), "utf-8")
