"""Real data of the dialogue tasks' shapes goes the whole way by a column map: a few items asked, scored, reported.

The engine is canned; its answers fit one task each, so that half of the rows cannot be read.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from mixgrid.corpora.snapshot import write_snapshot
from mixgrid.plan.grid import Grid, resolve
from mixgrid.records import Score
from mixgrid.reduce.grid import reduce_grid
from mixgrid.report import report
from tests.helpers import NS, TOY, ask, predictions

pytestmark = pytest.mark.slow

ANSWERS = ['{"answer": "A"}', '{"summary": "Two people make a plan for the day, and agree on it in the end."}']
LIMIT = 8


def standin(place: Path, root: Path, name: str) -> dict[str, Any]:
    """The shipped catalogue's entry, its files found from anywhere."""
    entry: dict[str, Any] = yaml.safe_load((root / "manifests" / "corpora.yaml").read_text("utf-8"))["corpora"][name]
    for file in (entry, *entry.get("files", [])):
        if "path" in file:
            file["path"] = str(root / "manifests" / file["path"])
    (place / "corpora.yaml").write_text(yaml.safe_dump({"corpora": {name: entry}}), "utf-8")
    return entry


def planned(
    folder: Path, root: Path, name: str, settings: list[str], limit: int = LIMIT, answers: list[str] = ANSWERS
) -> Grid:
    """A few items of a stand-in in each setting, to be answered."""
    place = folder / "manifests"
    place.mkdir(exist_ok=True)
    tasks = standin(place, root, name)["tasks"]
    toy = {**TOY, "context_length": 100_000, "engine_args": {"answers": answers}}
    (place / "models.yaml").write_text(yaml.safe_dump({"models": {"toy": toy}}), "utf-8")
    grid = {"name": "g", "corpora": [{"name": name}], "tasks": tasks, "models": ["toy"], "settings": settings}
    (place / "grid.yaml").write_text(yaml.safe_dump({**grid, "seeds": [1], "sampling": [{"max_tokens": 64}]}), "utf-8")
    return resolve(place / "grid.yaml", str(folder / "store")).limited(limit)


def scored(grid: Grid, metric: str) -> tuple[str, Mapping[str, Score]]:
    """The grid answered and reduced: the reduction, and the metric by setting."""
    write_snapshot(grid.slices[0].whole, grid.store)
    ask(grid)
    reduction = reduce_grid(grid)
    return reduction.id, {
        one.setting: one
        for one in reduction.scores
        if (one.model, one.metric, one.language, one.switching) == ("toy", metric, "all", "all")
    }


@pytest.mark.parametrize(
    ("name", "settings", "metric"),
    [
        ("dialogsum", ["0-shot", "3-shot", "0-shot-reasoning"], "rougeL"),
        ("molweni-mrc", ["0-shot", "0-shot-reasoning"], "accuracy"),
        ("id-csqa", ["0-shot", "1-shot", "0-shot-reasoning"], "accuracy"),
    ],
)
def test_a_stand_in_is_asked_scored_and_reported(
    tmp_path: Path, root: Path, shared: Path, name: str, settings: list[str], metric: str
) -> None:
    del shared  # the shipped catalogue's paths lead there
    grid = planned(tmp_path, root, name, settings)
    reduction, scores = scored(grid, metric)
    rows = predictions(grid)
    assert {(row.setting, row.status) for row in rows} == {(setting, "ok") for setting in settings}
    assert len(rows) == LIMIT * len(settings)
    assert all(len(row.shot_ids) > 0 for row in rows if row.setting in ("1-shot", "3-shot"))
    assert set(scores) == set(settings)
    assert all(one.n == LIMIT and one.value is not None for one in scores.values())
    assert all(0 < one.unparsed < 1 for one in scores.values())
    page = report(grid.store, NS, reduction)[0]
    assert name in Path(page).read_text("utf-8")


def test_dialogues_without_gold_are_written_anew_on_their_topic(tmp_path: Path, root: Path, shared: Path) -> None:
    """molweni_dp has no gold of a scored task: what people said is nothing to be right about, and says how much."""
    del shared
    grid = planned(tmp_path, root, "molweni-dp", ["0-shot"])
    items = grid.slices[0].items
    assert len(items) == LIMIT
    assert not any(item.label or item.references or item.question or item.flags for item in items)
    one = min(items, key=lambda item: len(item.turns))
    said = [{"speaker": turn.speaker, "text": "it boots again", "reply_to": None} for turn in one.turns]
    answers = [json.dumps({"messages": said}), "I would rather not."]
    grid = planned(tmp_path, root, "molweni-dp", ["0-shot"], answers=answers)
    reduction, scores = scored(grid, "valid")
    assert [row.status for row in predictions(grid)] == ["ok"] * LIMIT
    assert scores["0-shot"].n == LIMIT
    assert scores["0-shot"].value is not None
    assert scores["0-shot"].value + scores["0-shot"].unparsed == pytest.approx(1)
    assert "molweni-dp" in Path(report(grid.store, NS, reduction)[0]).read_text("utf-8")
