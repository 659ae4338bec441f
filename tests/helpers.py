"""A small grid on disk for tests: manifest, catalogues, a tiny code-mixed corpus, and a way to answer it without Ray.

path = small_grid(tmp_path, seeds=[1, 2, 3])                    # tmp_path/manifests/grid.yaml and what it names
grid = open_grid(tmp_path)                                      # resolved, its store is tmp_path/store
ask(grid)                                                       # canned answers, committed by the real actor's code
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from mixgrid.actor import EngineActor, pack
from mixgrid.engines.base import EngineSpec
from mixgrid.plan.frozen import freeze
from mixgrid.plan.grid import Grid, resolve
from mixgrid.plan.pending import answered, listing, pending
from mixgrid.records import Prediction, Receipt, Run, Work
from mixgrid.schemas import from_table

NS = "main"
TOY: Mapping[str, Any] = {"engine": "canned", "checkpoint": "none", "context_length": 4096}
MANIFEST: Mapping[str, Any] = {
    "name": "small",
    "corpora": [{"name": "mini"}],
    "tasks": ["satire"],
    "models": ["toy"],
    "settings": ["zero-shot"],
    "seeds": [1, 2],
    "sampling": [{"temperature": 0.7, "max_tokens": 32}],
}
COLUMNS = (
    "item_id", "source_id", "twin_id", "cluster_id", "split", "language", "switching", "variant", "text", "label"
)  # fmt: skip
WORDS = ("gardul", "podul", "lacul", "drumul", "parcul", "satul")


def corpus_rows(sources: int = 6) -> list[dict[str, Any]]:
    """Each source in Romanian and mixed with English; two sources an article; one row of another split."""
    rows: list[dict[str, Any]] = []
    for n in range(sources):
        shared = {"source_id": f"s{n}", "cluster_id": f"a{n // 2}", "split": "test"}
        shared["label"] = "satire" if n % 2 else "factual"
        word = WORDS[n % len(WORDS)]
        plain = {
            "language": "ro",
            "switching": "none",
            "variant": "0",
            "text": f"Știrea {n}: primarul vopsește {word}.",
        }
        mixed = {
            "language": "ro-en",
            "switching": "random",
            "variant": "1",
            "text": f"Știrea {n}: the mayor mută {word}.",
        }
        rows += [
            {"item_id": f"s{n}-ro", "twin_id": None, **plain, **shared},
            {"item_id": f"s{n}-en", "twin_id": f"s{n}-ro", **mixed, **shared},
        ]
    return [*rows, {**rows[0], "item_id": "old", "source_id": "old", "cluster_id": "old", "split": "train"}]


def small_grid(
    folder: Path,
    *,
    models: Mapping[str, Any] | None = None,
    rows: Sequence[Mapping[str, Any]] | None = None,
    asked: Sequence[str] = ("toy",),
    **manifest: Any,
) -> Path:
    """Write the files of a grid below `folder`; keywords replace the manifest's keys. Gives the manifest's path.

    `models` adds entries to the catalogue; which of them the grid takes is the manifest's `models`, here `asked`.
    """
    place = folder / "manifests"
    place.mkdir(exist_ok=True, parents=True)
    _write(place / "grid.yaml", {**MANIFEST, "models": list(asked), **manifest})
    _write(place / "models.yaml", {"models": {"toy": dict(TOY), **(models or {})}})
    entry = {"reader": "table", "path": "mini.jsonl", "licence": "Apache-2.0", "tasks": ["satire"]}
    _write(place / "corpora.yaml", {"corpora": {"mini": {**entry, "columns": {name: name for name in COLUMNS}}}})
    lines = [json.dumps(row, ensure_ascii=False) for row in (corpus_rows() if rows is None else rows)]
    (place / "mini.jsonl").write_text("\n".join(lines), "utf-8")
    return place / "grid.yaml"


def open_grid(folder: Path, **changes: Any) -> Grid:
    """A small grid, written and resolved, with a store beside it."""
    return resolve(small_grid(folder, **changes), str(folder / "store"))


def ask(grid: Grid, at_most: int | None = None, size: int = 256) -> list[Receipt]:
    """Freeze the grid and answer up to `at_most` of its pending requests in this process, by the actor's own code."""
    freeze(grid, {})
    receipts: list[Receipt] = []
    for model, entry in grid.models.items():
        runs = {run.run_id: run for run in grid.runs if run.model == model}
        work = list(pending_work(grid, model))[:at_most]
        actor = EngineActor(EngineSpec(model, entry), runs, grid.store, grid.manifest.namespace)
        for n in range(0, len(work), size):
            receipts += from_table(Receipt, actor(pack(work[n : n + size])))
    return receipts


def pending_work(grid: Grid, model: str = "toy") -> Iterable[Work]:
    """What one model has still to be asked, copies aside."""
    have = answered(grid.store, listing(grid.store, grid.manifest.namespace).whole, model)
    for group in grid.groups:
        mine = [run for run in group.runs if run.model == model]
        for found in pending(grid, group, mine, have) if mine else ():
            yield from found.work.values()


def predictions(grid: Grid) -> list[Prediction]:
    """Every row of the grid's namespace, of whichever run."""
    parts = listing(grid.store, grid.manifest.namespace).whole
    return [row for part in parts for row in from_table(Prediction, grid.store.read(part))]


def run_of(grid: Grid, **fields: object) -> Run:
    """The only run with these fields."""
    (found,) = (run for run in grid.runs if all(getattr(run, name) == value for name, value in fields.items()))
    return found


def own_template(folder: Path, text: str = "Altfel: {{ text }}", setting: str = "zero-shot") -> str:
    """A template that hides the shipped one of a setting; gives the value for the manifest key `templates`."""
    place = folder / "manifests" / "prompts" / "satire"
    place.mkdir(parents=True, exist_ok=True)
    body = (
        "{% set version = '9' %}\n{% block user %}\n" + text + "\n{%- endblock %}\n{% block target %}x{% endblock %}\n"
    )
    (place / f"{setting}.jinja").write_text(body, "utf-8")
    return "prompts"


def _write(path: Path, value: object) -> None:
    path.write_text(yaml.safe_dump(value, allow_unicode=True, sort_keys=False), "utf-8")
