"""Multiple choice: accuracy by category of question, and how much the place of an option draws answers to it.

The statistics of an answer: a 1 in category × (right, wrong, unparsed, failed), one at the right option's place, and
one at the chosen option's. Nobody is credited 1/k for an answer that cannot be read.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import cast

import numpy as np

from mixgrid.metrics.base import EMPTY, Answer, Array, Metric, Policies, ratio
from mixgrid.records import Item

VERSION = 1
PLACES = 8  # options that are told apart by place; any further one counts as the last
ANSWERABLE = "answerable"
CATEGORIES = (ANSWERABLE, "antonym", "entity-swap", "impossible-condition", "mutual-exclusion", "negation", "other")
OUTCOMES = ("right", "wrong", "unparsed", "failed")
UNANSWERABLE = tuple(name for name in CATEGORIES if name != ANSWERABLE)


class Choice:
    """The family of a task whose answers are options of their items; it has no classes."""

    name = "choice"
    headline: tuple[str, ...] = ("accuracy", "accuracy_answerable", "accuracy_unanswerable")
    votes: Mapping[str, Callable[[Array], Array]] = {}
    signature = f"choice|v:{VERSION}|categories:{','.join(CATEGORIES)}"

    def __init__(self, classes: Sequence[str] = (), policies: Policies | None = None) -> None:
        if classes:
            raise ValueError(f"choice takes its options from the items, not the classes {list(classes)}")
        self.policies = policies or Policies()
        places = tuple(f"{kind} at {i + 1}" for kind in ("gold", "chosen") for i in range(PLACES))
        chance = ("sum of 1 over options",)
        self.features = tuple(f"{c}: {o}" for c in CATEGORIES for o in OUTCOMES) + places + chance
        self.metrics = _metrics(self.policies)
        self.baselines: Mapping[str, Callable[[Array], Array]] = {}

    def facts(self, item: Item, gold: str) -> Hashable:
        """The right option's text, the number of options, and the category of the question."""
        if gold not in item.options:
            raise ValueError(f"item {item.item_id!r} of {item.corpus!r}: gold {gold!r} is none of its options")
        category = item.category or ANSWERABLE
        return gold, len(item.options), category if category in CATEGORIES else "other"

    def statistics(self, facts: Sequence[Hashable], answers: Sequence[Answer]) -> Array:
        """One vector for each answer."""
        stats = np.zeros((len(answers), len(self.features)))
        for vector, fact, answer in zip(stats, facts, answers, strict=True):
            gold, options, category = cast(tuple[str, int, str], fact)
            outcome = ("right" if answer.value == gold else "wrong") if answer.verdict == "ok" else answer.verdict
            table, places = (
                vector[: len(CATEGORIES) * 4].reshape(-1, 4),
                vector[len(CATEGORIES) * 4 : -1].reshape(2, -1),
            )
            table[CATEGORIES.index(category), OUTCOMES.index(outcome)] = 1
            places[0, _place(gold, answer.order)] = 1
            if answer.verdict == "ok":
                places[1, _place(cast(str, answer.value), answer.order)] = 1
            vector[-1] = 1 / options
        return stats


def _place(option: str, order: Sequence[str]) -> int:
    return min(order.index(option), PLACES - 1)


def table_of(stats: Array) -> Array:
    """(..., categories, 4)."""
    return stats[..., : len(CATEGORIES) * 4].reshape(*stats.shape[:-1], len(CATEGORIES), 4)


def places_of(stats: Array) -> Array:
    """(..., 2, places): gold, chosen."""
    return stats[..., len(CATEGORIES) * 4 : -1].reshape(*stats.shape[:-1], 2, PLACES)


def accuracy(stats: Array, policies: Policies, categories: Sequence[str] = CATEGORIES) -> Array:
    """Right answers over all that count, in some categories."""
    table = table_of(stats)[..., [CATEGORIES.index(c) for c in categories], :].sum(axis=-2)
    kept = [True, True, policies.unparsed != "drop", policies.failed != "drop"]
    return ratio(table[..., 0], table[..., kept].sum(axis=-1))


def no_answer_rate(stats: Array, column: int) -> Array:
    """Share of all rows: 2 unparsed, 3 failed."""
    table = table_of(stats).sum(axis=-2)
    return ratio(table[..., column], table.sum(axis=-1))


def chance(stats: Array) -> Array:
    """What drawing an option would score on these questions."""
    return ratio(stats[..., -1], table_of(stats).sum(axis=(-2, -1)))


def place_share(stats: Array, kind: int, place: int) -> Array:
    """Share of right (0) or chosen (1) options that stood at a place."""
    counts = places_of(stats)[..., kind, :]
    return ratio(counts[..., place], counts.sum(axis=-1))


def place_bias(stats: Array) -> Array:
    """Total variation between where right options stood and where chosen ones did: 0 none, 1 all."""
    places = places_of(stats)
    shares = ratio(places, places.sum(axis=-1, keepdims=True))
    return cast(Array, np.abs(shares[..., 0, :] - shares[..., 1, :]).sum(axis=-1) / 2)


def _nobody(total: Array, categories: Sequence[str], name: str) -> str:
    asked = table_of(total)[[CATEGORIES.index(c) for c in categories]].sum()
    return "" if asked else EMPTY if not table_of(total).sum() else f"n/a (no question is {name})"


def _metrics(policies: Policies) -> tuple[Metric, ...]:
    options = str(policies)
    groups = {"answerable": (ANSWERABLE,), "unanswerable": UNANSWERABLE, **{c: (c,) for c in UNANSWERABLE}}
    metrics = [
        Metric("accuracy", partial(accuracy, policies=policies), options=options),
        Metric("unparsed", partial(no_answer_rate, column=2), lower_is_better=True),
        Metric("failed", partial(no_answer_rate, column=3), lower_is_better=True),
        Metric("chance", chance),
        Metric("place_bias", place_bias, options="total variation", lower_is_better=True),
    ]
    for name, categories in groups.items():
        of_group = partial(accuracy, policies=policies, categories=categories)
        why = partial(_nobody, categories=categories, name=name)
        metrics.append(Metric(f"accuracy_{name}", of_group, options=options, undefined=why))
    for place in range(PLACES):
        metrics.append(Metric(f"gold_at_{place + 1}", partial(place_share, kind=0, place=place)))
        metrics.append(Metric(f"chosen_at_{place + 1}", partial(place_share, kind=1, place=place)))
    return tuple(metrics)
