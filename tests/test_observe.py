"""What others see of an engine's process: GPU time that adds up, lines with ids and no text, counts in `status`."""

import io
import json
import logging
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mixgrid.actor import commit
from mixgrid.observe import METRICS, JsonLines, Meter, _values
from mixgrid.plan.frozen import freeze
from mixgrid.plan.layout import run_key
from mixgrid.plan.pending import Count
from mixgrid.plan.progress import status
from mixgrid.predict import record
from tests.helpers import NS, TOY, ask, open_grid, predictions

SAID = "<raspuns>satiră</raspuns>"
MODEL = {**TOY, "engine_args": {"answers": [SAID], "refused_share": 0.3}}


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """What mixgrid's loggers write at the level of rows."""
    ours, out = logging.getLogger("mixgrid"), io.StringIO()
    handler, before = logging.StreamHandler(out), ours.level
    handler.setFormatter(JsonLines())
    ours.addHandler(handler)
    ours.setLevel(logging.DEBUG)
    yield out
    ours.removeHandler(handler)
    ours.setLevel(before)


def read(lines: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines.getvalue().splitlines()]


def test_a_part_and_its_failed_rows_are_told_by_their_ids(tmp_path: Path, lines: io.StringIO) -> None:
    grid = open_grid(tmp_path, models={"toy": MODEL})
    (receipt,) = ask(grid)
    (part,) = (line for line in read(lines) if line["event"] == "part")
    assert (part["part"], part["rows"], part["failed"]) == (receipt.part, receipt.rows, receipt.failed)
    assert set(part["runs"]) == {run.run_id for run in grid.runs}
    assert receipt.failed
    failed = {(p.run_id, p.request_id, p.item_id, p.reason) for p in predictions(grid) if p.status == "failed"}
    rows = [line for line in read(lines) if (line["event"], line["level"]) == ("row", "INFO")]
    assert {(r["run"], r["request"], r["item"], r["reason"]) for r in rows} == failed


def test_no_line_has_a_prompt_or_an_answer(tmp_path: Path, lines: io.StringIO) -> None:
    grid = open_grid(tmp_path, models={"toy": MODEL})
    ask(grid)
    assert any(line["level"] == "DEBUG" for line in read(lines))
    assert SAID not in lines.getvalue()
    assert not any(item.text in lines.getvalue() for item in grid.slices[0].items if item.text)


def test_an_exception_is_one_line_too(lines: io.StringIO) -> None:
    try:
        raise ValueError("x")
    except ValueError:
        logging.getLogger("mixgrid.test").exception("it broke")
    (line,) = read(lines)
    assert (line["level"], line["event"]) == ("ERROR", "it broke")
    assert "ValueError: x" in line["trace"]


def test_gpu_time_adds_up_to_what_the_engine_held() -> None:
    before = time.monotonic()
    meter = Meter("toy", gpus=4)
    pieces = []
    for _ in range(5):
        time.sleep(0.01)
        pieces.append(meter.gpu_ms())
    held_ms = 4 * 1000 * (time.monotonic() - before)
    assert all(piece >= 40 for piece in pieces)
    assert sum(pieces) <= held_ms + len(pieces)
    assert Meter("toy", gpus=0).gpu_ms() == 0


def test_status_sums_cost_and_gpu_time_from_names(tmp_path: Path) -> None:
    grid = open_grid(tmp_path)
    ask(grid)
    rows = [p for p in predictions(grid) if p.run_id == grid.runs[0].run_id]
    other = open_grid(tmp_path / "other")
    paid = [replace(p, cost_usd=0.25, row_sha256="") for p in rows[:8]]
    commit(other.store, NS, {run.run_id: run for run in grid.runs}, paid, gpu_ms=7_200_000)
    (one,) = status(other.store, NS, {rows[0].run_id: 12})
    assert (one.cost_usd, one.gpu_hours) == (2.0, 2.0)
    freeze(other, {})
    record(other, {rows[0].run_id: Count(12, 8, 0)}, {rows[0].run_id: 3}, 1.0)
    ended = other.store.get_json(run_key(NS, rows[0].run_id))["ended"]
    assert (ended["cost_usd"], ended["gpu_hours"], ended["seconds"], ended["exit"]) == (2.0, 2.0, 1.0, 3)


def test_every_metric_is_fed(tmp_path: Path) -> None:
    (receipt,) = ask(open_grid(tmp_path))
    assert set(_values(receipt)) == set(METRICS)
    assert _values(receipt)["mixgrid_rows"] == receipt.rows
