"""What is told of a night beside its scores."""

import dataclasses
from typing import Any

from mixgrid.nightly.drift import drifted, jumped, vanished
from mixgrid.nightly.manifest import Jumps
from mixgrid.nightly.nights import Night, Pace
from mixgrid.records import Score

CELL = Score(
    corpus="mini", split="test", task="satire", model="toy", setting="zero-shot", language="all", switching="all",
    metric="accuracy", value=0.5, note="", n=10, expected=10, clusters=5, seeds=(1,), per_seed=(0.5,),
    sd_over_seeds=None, unparsed=0.01, failed=0.0, signature="",
)  # fmt: skip


def cell(**changes: Any) -> Score:
    return dataclasses.replace(CELL, **changes)


def test_a_rate_that_grows_beyond_what_is_allowed_is_told_once_for_each_cell() -> None:
    earlier = [cell(), cell(metric="macro_f1"), cell(setting="chain-of-thought")]
    later = [cell(unparsed=0.2), cell(metric="macro_f1", unparsed=0.2), cell(setting="chain-of-thought", unparsed=0.03)]
    assert jumped(earlier, later, Jumps()) == ["mini · satire · toy · zero-shot · all · all: unparsed 1.0% → 20.0%"]
    assert jumped(later, earlier, Jumps()) == []
    assert jumped(earlier, [cell(failed=0.5)], Jumps(failed=0.5)) == []


def test_a_pace_or_a_cost_that_moves_either_way_is_told() -> None:
    was = {"toy": Pace(1000, 10.0, 1.0), "gone": Pace(5, 1.0)}
    assert drifted(was, {"toy": Pace(1000, 12.0, 1.2)}, Jumps()) == []
    assert drifted(was, {"toy": Pace(1000, 20.0, 1.0)}, Jumps()) == ["toy: 100 → 50 tokens/s"]
    assert drifted(was, {"toy": Pace(1000, 10.0, 0.5)}, Jumps()) == ["toy: 1.00 → 0.50 USD"]
    assert drifted({"toy": Pace()}, {"toy": Pace()}, Jumps()) == []


def test_a_model_without_rows_tonight_has_vanished() -> None:
    first, second = (Night("n", day, "", 0, "r", models) for day, models in (("1", ("a", "b")), ("2", ("b", "c"))))
    assert vanished(first, second) == ["a"]
