"""What is surveyed: twins from any split; dialogues that models wrote, from the store's rows."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from mixgrid.errors import UserError
from mixgrid.plan.grid import Grid, resolve
from mixgrid.records import Item
from mixgrid.survey.samples import samples_of, written
from tests.helpers import ask

SAMPLES = "dialogue-topic-sample"


def grid_of(root: Path, folder: Path, answers: list[str], **changes: Any) -> Grid:
    """A grid of written dialogues over the shipped sample, answered by the engine `canned`."""
    manifests = folder / "manifests"
    manifests.mkdir()
    for name in ("corpora.yaml", "samples"):
        (manifests / name).symlink_to(root / "manifests" / name)
    toy = {"engine": "canned", "checkpoint": "none", "context_length": 4096, "engine_args": {"answers": answers}}
    grid = {
        "name": "writing", "corpora": [{"name": SAMPLES, "split": "test"}], "tasks": ["dialogue-writing"],
        "models": ["toy"], "settings": ["0-shot"], "seeds": [1], "languages": ["id-en"], **changes,
    }  # fmt: skip
    (manifests / "models.yaml").write_text(yaml.safe_dump({"models": {"toy": toy}}), "utf-8")
    (manifests / "writing.yaml").write_text(yaml.safe_dump(grid), "utf-8")
    return resolve(manifests / "writing.yaml", str(folder / "store"))


def dialogue(*texts: str) -> str:
    return json.dumps(
        {"messages": [{"speaker": "A", "text": text, "reply_to": n or None} for n, text in enumerate(texts)]}
    )


def test_a_twin_is_found_in_whichever_split_it_is() -> None:
    def item(item_id: str, split: str, twin: str | None) -> Item:
        return Item("c", item_id, "1", twin, "1", split, "ro", "none", 0, text=f"text {item_id}")

    items = [item("1", "train", None), item("2", "test", "1"), item("3", "test", "gone")]
    assert [(s.item.item_id, s.twin) for s in samples_of(items, "test")] == [("2", "text 1"), ("3", None)]
    assert len(samples_of(items)) == 3
    with pytest.raises(UserError, match="has no split 'dev'"):
        samples_of(items, "dev")


def test_written_dialogues_are_items_on_the_topics_of_people(root: Path, tmp_path: Path) -> None:
    grid = grid_of(root, tmp_path, [dialogue("ayo berangkat", "let's go")])
    ask(grid)
    warnings: list[str] = []
    found = [sample.item for sample in written(grid, warnings)]
    people = {item.source_id: item for item in grid.slices[0].items}
    assert len(found) == len(people) > 0
    assert warnings == []
    for item in found:
        assert (item.corpus, item.item_id) == ("by-toy", f"by-toy/{item.source_id}")
        assert (item.topic, item.language) == (people[item.source_id].topic, "id-en")
        assert [(turn.speaker, turn.reply_to) for turn in item.turns] == [("A", None), ("A", "1")]


def test_what_is_pending_or_cannot_be_read_is_a_warning(root: Path, tmp_path: Path) -> None:
    grid = grid_of(root, tmp_path, ["no dialogue"], seeds=[1, 2])
    first, second = grid.runs
    warnings: list[str] = []
    assert written(grid, warnings) == []
    assert warnings == [f"by-toy-s{n}: 0 dialogues asked for, 0 pending, 0 that cannot be read" for n in (1, 2)]
    ask(grid)
    warnings.clear()
    assert written(grid, warnings) == []
    assert {run.seed for run in (first, second)} == {1, 2}
    assert warnings == [f"by-toy-s{n}: 2 dialogues asked for, 0 pending, 2 that cannot be read" for n in (1, 2)]


def test_a_grid_without_written_dialogues_is_named(root: Path, tmp_path: Path) -> None:
    grid = grid_of(root, tmp_path, ["x"], tasks=["dialogue-topic"])
    with pytest.raises(UserError, match="no run of 'dialogue-writing', whose dialogues were wanted"):
        written(grid, [])
