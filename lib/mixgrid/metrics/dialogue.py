"""Dialogues that a model wrote: whether they can be read, and keep to the number of speakers and messages asked for.

What they are like (turns, replies, mixing) is no score, and is measured by `mixgrid describe`.
"""

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import cast

import numpy as np

from mixgrid.metrics.base import Answer, Array, Metric, Policies, ratio
from mixgrid.records import Item

VERSION = 1
TOLERANCE = 0.25  # of the number of messages asked for
FEATURES = ("valid", "unparsed", "failed", "all speakers", "length as asked", "with replies")


class Dialogue:
    """The family of a task whose answers are dialogues; it has no classes."""

    name = "dialogue"
    features: tuple[str, ...] = FEATURES
    headline: tuple[str, ...] = ("valid", "speakers_as_asked", "length_as_asked")
    votes: Mapping[str, Callable[[Array], Array]] = {}
    baselines: Mapping[str, Callable[[Array], Array]] = {}
    signature = f"dialogue|v:{VERSION}|length:±{TOLERANCE:.0%}"

    def __init__(self, classes: Sequence[str] = (), policies: Policies | None = None) -> None:
        if classes:
            raise ValueError(f"a dialogue is none of the classes {list(classes)}")
        self.metrics = (
            Metric("valid", partial(share, at=0)),
            Metric("speakers_as_asked", partial(share, at=3)),
            Metric("length_as_asked", partial(share, at=4), options=f"within {TOLERANCE:.0%}"),
            Metric("with_replies", partial(share, at=5)),
            Metric("unparsed", partial(share, at=1), lower_is_better=True),
            Metric("failed", partial(share, at=2), lower_is_better=True),
        )

    def facts(self, item: Item, gold: str) -> Hashable:
        """How many speakers and messages were asked for."""
        return len({turn.speaker for turn in item.turns}), len(item.turns)

    def statistics(self, facts: Sequence[Hashable], answers: Sequence[Answer]) -> Array:
        """One vector for each answer."""
        stats = np.zeros((len(answers), len(FEATURES)))
        for vector, fact, answer in zip(stats, facts, answers, strict=True):
            if answer.verdict != "ok":
                vector[FEATURES.index(answer.verdict)] = 1
                continue
            speakers, asked = cast(tuple[int, int], fact)
            messages = json.loads(cast(str, answer.value))
            vector[0] = 1
            vector[3] = len({message["speaker"] for message in messages}) == speakers
            vector[4] = abs(len(messages) - asked) <= TOLERANCE * asked
            vector[5] = any(message["reply_to"] is not None for message in messages)
        return stats


def share(stats: Array, at: int) -> Array:
    """Share of all rows, whatever became of them."""
    return ratio(stats[..., at], stats[..., :3].sum(axis=-1))
