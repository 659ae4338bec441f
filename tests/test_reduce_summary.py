"""Summary runs through reduce: every answer is scored once, in its part, and the cells add them up."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mixgrid.metrics import chrf, rouge
from mixgrid.metrics.texts import TextScores
from mixgrid.records import Item, Turn
from mixgrid.reduce import Options
from mixgrid.reduce.resample import Draws
from mixgrid.report import score_table
from mixgrid.store import Store
from tests.test_reduce import Grid, answer, find, make_run, request_for

SAID = ("Ani pergi ke pasar.", "Budi makan nasi", "kucing tidur", "hujan turun di kota")
REFERENCES = (("Ani ke pasar.", "Ani pergi"), ("Budi makan siang",), ("anjing lari",), ("hujan deras di kota",))


def item(n: int) -> Item:
    return Item(
        corpus="mini", item_id=f"d{n}", source_id=f"d{n}", twin_id=None, cluster_id=f"d{n}", split="test",
        language="id-en", switching="llm", variant=0, turns=(Turn("0", "A", f"halo {n}"),), topic="x",
        references=REFERENCES[n],
    )  # fmt: skip


@pytest.fixture
def grid(tmp_path: Path) -> Grid:
    runs = [make_run(1, task="dialogue-summary", setting="0-shot")]
    grid = Grid(Store.open(str(tmp_path / "store")), [item(n) for n in range(4)], runs)
    grid.freeze()
    return grid


def test_a_summary_run_gets_its_scores_with_intervals(grid: Grid) -> None:
    run = grid.runs[0]
    texts = [json.dumps({"summary": text}) for text in SAID[:3]] + ["no JSON"]
    rows = [answer(run, request_for(run, i), text) for i, text in zip(grid.items, texts, strict=True)]
    grid.put(rows[:2])
    grid.put(rows[2:])
    result = grid.reduce(Options(draws=Draws(200)))
    said, tags = [*SAID[:3], ""], ["id-en"] * 4
    expected = rouge.score(said, REFERENCES, languages=tags).values["rougeL_f"]
    score = find(result.scores, "rougeL", task="dialogue-summary")
    assert score.value == pytest.approx(expected.mean())
    assert (score.n, score.unparsed, score.failed) == (4, 0.25, 0.0)
    assert score.ci_low is not None
    assert score.ci_high is not None
    assert score.ci_low < expected.mean() < score.ci_high
    counts = chrf.score(said, REFERENCES, languages=tags).sums["chrf++_corpus"].sum(axis=0)
    assert find(result.scores, "chrf++_corpus", task="dialogue-summary").value == pytest.approx(
        float(chrf.total(counts)) / 100
    )
    assert "rougeL" in score_table(result.scores)


def test_cached_parts_are_not_scored_again(grid: Grid, monkeypatch: pytest.MonkeyPatch) -> None:
    run = grid.runs[0]
    rows = [answer(run, request_for(run, i), json.dumps({"summary": t})) for i, t in zip(grid.items, SAID, strict=True)]
    grid.put(rows)
    first = grid.reduce(Options(draws=Draws(0)))
    for entry in list(grid.store.list("main/scores/")):
        grid.store.delete(entry.key)
    calls: list[int] = []
    own = rouge.score

    def counted(said: Sequence[str], references: Sequence[Sequence[str]], **named: Any) -> TextScores:
        calls.append(len(said))
        return own(said, references, **named)

    monkeypatch.setattr(rouge, "score", counted)
    assert grid.reduce(Options(draws=Draws(0))).scores == first.scores
    assert all(n == 2 for n in calls)  # the signature's probe alone
