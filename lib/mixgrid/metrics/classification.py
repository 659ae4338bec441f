"""Single-label classification, with unparsed and failed answers kept apart from wrong ones.

The statistics of an answer are one 1 in a C × (C + 2) table: gold class × (each class, unparsed, failed). So the counts
of any slice hold its whole confusion, and every rate below is a function of them.

What an unparsed or a failed answer counts as is a named policy (`base.Policies`).
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import cast

import numpy as np

from mixgrid.metrics.base import EMPTY, Answer, Array, Metric, Policies, ratio
from mixgrid.records import Item

VERSION = 1


@dataclass(frozen=True)
class Confusion:
    """Counts under a policy: `table` (..., C, C) gold × class, and `lost` (..., C), errors that are nobody's alarm."""

    table: Array
    lost: Array

    @classmethod
    def of(cls, stats: Array, policies: Policies) -> "Confusion":
        """Fold the unparsed and failed columns in."""
        counts = table_of(stats)
        classes = counts.shape[-2]
        table, lost = counts[..., :classes], np.zeros_like(counts[..., 0])
        others = (1 - np.eye(classes)) / max(classes - 1, 1)
        for column, policy in ((classes, policies.unparsed), (classes + 1, policies.failed)):
            if policy == "labels":
                lost = lost + counts[..., column]
            elif policy == "wrong":
                table = table + counts[..., column, None] * others
        return cls(table, lost)

    @property
    def right(self) -> Array:
        """True positives of each class."""
        return cast(Array, np.diagonal(self.table, axis1=-2, axis2=-1))

    @cached_property
    def gold(self) -> Array:
        """Items of each class."""
        return cast(Array, self.table.sum(axis=-1) + self.lost)

    @property
    def named(self) -> Array:
        """Answers that name each class."""
        return cast(Array, self.table.sum(axis=-2))

    @property
    def f1(self) -> Array:
        """2 TP / (2 TP + FP + FN) of each class, 0 where that is 0 / 0."""
        return ratio(2 * self.right, self.gold + self.named, empty=0.0)


def table_of(stats: Array) -> Array:
    """Statistics (..., C·(C+2)) as counts (..., C, C+2)."""
    classes = round((1 + stats.shape[-1]) ** 0.5) - 1
    return stats.reshape(*stats.shape[:-1], classes, classes + 2)


def accuracy(stats: Array, policies: Policies) -> Array:
    """Right answers over all that count."""
    confusion = Confusion.of(stats, policies)
    return ratio(confusion.right.sum(axis=-1), confusion.gold.sum(axis=-1))


def precision(stats: Array, policies: Policies) -> Array:
    """(..., C): 0 for a class that no answer names, as sklearn's zero_division=0."""
    confusion = Confusion.of(stats, policies)
    return ratio(confusion.right, confusion.named, empty=0.0)


def recall(stats: Array, policies: Policies) -> Array:
    """(..., C): 0 for a class without items."""
    confusion = Confusion.of(stats, policies)
    return ratio(confusion.right, confusion.gold, empty=0.0)


def f1(stats: Array, policies: Policies) -> Array:
    """(..., C): 2 TP / (2 TP + FP + FN), 0 where that is 0 / 0."""
    return Confusion.of(stats, policies).f1


def macro_f1(stats: Array, policies: Policies) -> Array:
    """Unweighted mean of the classes' F1, absent classes too; NaN only where there are no rows."""
    confusion = Confusion.of(stats, policies)
    return np.where(confusion.gold.sum(axis=-1) > 0, confusion.f1.mean(axis=-1), np.nan)


def error_rate(stats: Array, gold: int, kind: str) -> Array:
    """Of the items of one class: the share answered wrong, unparsed, failed, or all three ("any").

    FPR for class 0 and FNR for class 1, where unparsed counts as an error (statistics.md §1.2); no policy enters.
    """
    row = table_of(stats)[..., gold, :]
    classes = row.shape[-1] - 2
    wrong = row[..., :classes].sum(axis=-1) - row[..., gold]
    kinds = {"wrong": wrong, "unparsed": row[..., classes], "failed": row[..., classes + 1]}
    return ratio(kinds[kind] if kind != "any" else row.sum(axis=-1) - row[..., gold], row.sum(axis=-1))


def no_answer_rate(stats: Array, column: int) -> Array:
    """Share of all rows in one of the two columns past the classes: -2 unparsed, -1 failed."""
    table = table_of(stats)
    return ratio(table[..., column].sum(axis=-1), table.sum(axis=(-2, -1)))


def missing_class(total: Array, policies: Policies) -> str:
    """Why a mean over classes must not be shown: a class without items would drag it down (cases.md 15)."""
    present = int((Confusion.of(total, policies).gold > 0).sum())
    classes = table_of(total).shape[-2]
    if present == classes:
        return ""
    return EMPTY if present == 0 else f"n/a ({present} class{'' if present == 1 else 'es'} of {classes})"


def no_items(total: Array, gold: int, name: str) -> str:
    """Why a rate of one class must not be shown."""
    return "" if table_of(total)[gold].sum() > 0 else f"n/a (no item is {name})"


def constant(stats: Array, answer: int) -> Array:
    """The statistics of a system that always answers one class."""
    table = table_of(stats)
    moved = np.zeros_like(table)
    moved[..., answer] = table.sum(axis=-1)
    return moved.reshape(stats.shape)


def majority(stats: Array) -> Array:
    """The statistics of a system that always answers the commonest class of these items; the first on a tie."""
    table = table_of(stats)
    moved = np.zeros_like(table)
    gold = table.sum(axis=-1)
    np.put_along_axis(moved, gold.argmax(axis=-1)[..., None, None], gold[..., None], axis=-1)
    return moved.reshape(stats.shape)


def random(stats: Array) -> Array:
    """The expected counts of a system that draws each class with equal chance."""
    table = table_of(stats)
    moved = np.zeros_like(table)
    moved[..., :-2] = table.sum(axis=-1, keepdims=True) / table.shape[-2]
    return moved.reshape(stats.shape)


def vote(stats: Array, rule: str) -> Array:
    """The statistics (n, F) of the vote of R runs over the same items, from theirs (R, n, F), one 1 in each vector.

    `strict`: more than half of all runs. `parseable`: more votes than any other class. Else the vote is unparsed, as a
    tie always is: nothing is drawn (statistics.md §1.2).
    """
    runs, n, width = stats.shape
    tables = table_of(stats).sum(axis=0)  # (n, C, C+2): all of an item's votes stand in the row of its gold class
    votes, gold = tables.sum(axis=1)[:, :-2], tables.sum(axis=2).argmax(axis=1)
    best = votes.max(axis=1)
    won = (best * 2 > runs) if rule == "strict" else (best > 0) & ((votes == best[:, None]).sum(axis=1) == 1)
    answer = np.where(won, votes.argmax(axis=1), votes.shape[1])
    voted = np.zeros((n, tables.shape[1], tables.shape[2]))
    voted[np.arange(n), gold, answer] = 1
    return voted.reshape(n, width)


class Classification:
    """The family of a task with the given classes, in their numeric order."""

    name = "classification"

    def __init__(self, classes: Sequence[str], policies: Policies | None = None) -> None:
        if len(classes) < 2 or {"unparsed", "failed"} & set(classes):
            raise ValueError(f"classification needs two classes or more, none called unparsed or failed: {[*classes]}")
        self.classes = tuple(classes)
        self.policies = policies or Policies()
        self.signature = f"{self.name}|v:{VERSION}|classes:{','.join(classes)}"
        self.features = tuple(f"{g}→{a}" for g in classes for a in (*classes, "unparsed", "failed"))
        self.metrics = _metrics(self.classes, self.policies)
        self.headline: tuple[str, ...] = ("macro_f1", "accuracy") + (("fpr", "fnr") if len(classes) == 2 else ())
        self.votes: Mapping[str, Callable[[Array], Array]] = {
            rule: partial(vote, rule=rule) for rule in ("strict", "parseable")
        }
        self.baselines: Mapping[str, Callable[[Array], Array]] = {
            **{f"all {name}": partial(constant, answer=i) for i, name in enumerate(classes)},
            "majority": majority,
            "random": random,
        }

    def facts(self, item: Item, gold: str) -> Hashable:
        """The gold class alone."""
        if gold not in self.classes:
            raise ValueError(f"item {item.item_id!r} of {item.corpus!r}: gold {gold!r} is not in {list(self.classes)}")
        return gold

    def statistics(self, facts: Sequence[Hashable], answers: Sequence[Answer]) -> Array:
        """One 1 for each answer, at (gold, what was answered)."""
        columns = {name: i for i, name in enumerate((*self.classes, "unparsed", "failed"))}
        stats = np.zeros((len(answers), len(self.classes), len(columns)))
        for i, (gold, answer) in enumerate(zip(facts, answers, strict=True)):
            said = answer.value if answer.verdict == "ok" else answer.verdict
            stats[i, columns[cast(str, gold)], columns[cast(str, said)]] = 1
        return stats.reshape(len(answers), -1)


def _metrics(classes: tuple[str, ...], policies: Policies) -> tuple[Metric, ...]:
    options = str(policies)
    guard = partial(missing_class, policies=policies)
    metrics = [
        Metric("accuracy", partial(accuracy, policies=policies), options=options),
        Metric("macro_f1", partial(macro_f1, policies=policies), options=options, undefined=guard),
        Metric("unparsed", partial(no_answer_rate, column=-2), lower_is_better=True),
        Metric("failed", partial(no_answer_rate, column=-1), lower_is_better=True),
    ]
    for i, name in enumerate(classes):
        absent = partial(no_items, gold=i, name=name)
        for label, of_classes in (("precision", precision), ("recall", recall), ("f1", f1)):
            total = partial(_one_class, of_classes=of_classes, gold=i, policies=policies)
            metrics.append(Metric(f"{label}_{name}", total, options=options, undefined=absent))
    for i, rate in enumerate(("fpr", "fnr") if len(classes) == 2 else ()):
        absent = partial(no_items, gold=i, name=classes[i])
        for kind, suffix in (("any", ""), ("wrong", "_wrong"), ("unparsed", "_unparsed"), ("failed", "_failed")):
            total = partial(error_rate, gold=i, kind=kind)
            named = f"{rate}{suffix}"
            metrics.append(Metric(named, total, options=f"errors:{kind}", undefined=absent, lower_is_better=True))
    return tuple(metrics)


def _one_class(stats: Array, of_classes: Callable[[Array, Policies], Array], gold: int, policies: Policies) -> Array:
    return of_classes(stats, policies)[..., gold]
