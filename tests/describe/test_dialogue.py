"""The shape of dialogues against the golden values (statistics.md §1.16), and of Molweni's real ones."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixgrid.describe import MEASURES, dialogue
from mixgrid.describe.base import Conversation
from mixgrid.records import Turn
from tests.metrics.golden import golden

FILE = golden("dialogue_stats")


def conversation(rows: list[Any]) -> Conversation:
    """From the golden file's (speaker, tokens, replied-to place)."""
    turns = [Turn(str(n), who, "x", None if to is None else str(to)) for n, (who, _, to) in enumerate(rows)]
    return Conversation(tuple(turns), tuple(size for _, size, _ in rows))


@pytest.mark.parametrize("name", ["d1", "d2"])
def test_golden_values(name: str) -> None:
    case = FILE[name]
    said = conversation(case["turn_list"])
    found = {
        "length_variance_ddof0": dialogue.length_variance(said),
        "length_variance_ddof1": dialogue.length_variance_sample(said),
        "total_replies": dialogue.replies(said),
        "mean_reply_distance_0_if_none": dialogue.reply_distance(said),
        "imbalance_max_over_min": dialogue.imbalance(said),
        "imbalance_max_over_mean": dialogue.imbalance_mean(said),
        "turns": dialogue.turns(said),
        "speakers": dialogue.speakers(said),
        "consecutive_same_speaker": dialogue.consecutive(said),
    }
    assert found == {key: pytest.approx(case[key]) for key in found}


def test_the_mean_over_dialogues_counts_those_without_replies_as_zero() -> None:
    both = [dialogue.reply_distance(conversation(FILE[name]["turn_list"])) for name in ("d1", "d2")]
    assert sum(both) / 2 == pytest.approx(FILE["corpus_avg_reply_distance"])


def test_degenerate_dialogues() -> None:
    alone = conversation([["A", 3, None]])
    assert dialogue.imbalance(alone) is None
    assert dialogue.imbalance_mean(alone) is None
    assert dialogue.length_variance_sample(alone) is None
    assert (dialogue.length_variance(alone), dialogue.reply_distance(alone), dialogue.consecutive(alone)) == (0, 0, 0)


@given(st.lists(st.tuples(st.sampled_from("ABC"), st.integers(0, 9), st.none()), min_size=1, max_size=20))
def test_ranges(rows: list[Any]) -> None:
    said = conversation(rows)
    for name, measure in MEASURES.items():
        value = measure.of(said) if measure.group == "dialogue" else 0
        assert value is None or value >= 0, name
    ratio, mean = dialogue.imbalance(said), dialogue.imbalance_mean(said)
    assert (ratio is None) == (mean is None) == (len({who for who, _, _ in rows}) == 1)
    assert ratio is None or mean is None or 1 <= mean <= ratio + 1e-9
    assert dialogue.consecutive(said) == sum(a[0] == b[0] for a, b in pairwise(rows))
