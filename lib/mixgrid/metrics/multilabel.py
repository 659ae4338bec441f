"""Several binary labels for each item: per label, exact match, and the averages that papers mean by "F1".

The statistics of an answer are, for each label, a 1 in a 2 × 4 table (gold no/yes × no, yes, unparsed, failed), and
sums over rows. An answer that cannot be read is no all-zero row, which would earn credit on every "no"
(statistics.md §1.9). Under the policy `labels` it misses every label that holds; under `wrong` each one is wrong.
"""

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import cast

import numpy as np

from mixgrid.metrics.base import EMPTY, Answer, Array, Metric, Policies, ratio
from mixgrid.metrics.classification import Confusion, accuracy, constant, random
from mixgrid.records import Item

VERSION = 1
WIDTH = 8  # of a label's table
ROWS = ("answered", "unparsed", "failed", "exact", "gold all no", "gold all yes")
SAMPLES = ("precision", "recall", "f1", "precision zd1", "recall zd1", "f1 zd1", "jaccard")
Flags = tuple[int, ...]


class MultiLabel:
    """The family of a task with the given labels."""

    name = "multilabel"
    headline: tuple[str, ...] = ("macro_f1", "exact_match", "micro_f1")
    votes: Mapping[str, Callable[[Array], Array]] = {}

    def __init__(self, labels: Sequence[str], policies: Policies | None = None) -> None:
        if not labels:
            raise ValueError("multilabel needs one label or more")
        self.labels = tuple(labels)
        self.policies = policies or Policies()
        self.signature = f"{self.name}|v:{VERSION}|labels:{','.join(labels)}"
        per_label = tuple(
            f"{label}: {g}→{a}" for label in labels for g in ("no", "yes") for a in ("no", "yes", "unparsed", "failed")
        )
        self.features = per_label + ROWS + tuple(f"sum of row {name}" for name in SAMPLES)
        self.metrics = _metrics(self.labels, self.policies)
        self.baselines: Mapping[str, Callable[[Array], Array]] = {
            "all no": partial(trivial, says=0),
            "all yes": partial(trivial, says=1),
            "random": partial(trivial, says=None),
        }

    def facts(self, item: Item, gold: str) -> Hashable:
        """The gold flags alone."""
        return _flags(gold, self.labels)

    def statistics(self, facts: Sequence[Hashable], answers: Sequence[Answer]) -> Array:
        """One vector for each answer."""
        stats = np.zeros((len(answers), len(self.features)))
        for vector, gold, answer in zip(stats, facts, answers, strict=True):
            _fill(vector, cast(Flags, gold), answer, self.labels)
        return stats


def _flags(text: str, labels: Sequence[str]) -> Flags:
    """Flags in the order of the labels, from the JSON object that a task's parser gives."""
    found = json.loads(text)
    return tuple(int(bool(found[label])) for label in labels)


def _fill(vector: Array, gold: Flags, answer: Answer, labels: Sequence[str]) -> None:
    tables, rest = vector[: WIDTH * len(gold)].reshape(len(gold), 2, 4), vector[WIDTH * len(gold) :]
    at = np.arange(len(gold))
    rest[4], rest[5] = not any(gold), all(gold)
    if answer.verdict != "ok":
        kind = 1 if answer.verdict == "unparsed" else 2
        tables[at, gold, 1 + kind] = 1
        rest[kind] = 1
        return
    said = _flags(cast(str, answer.value), labels)
    tables[at, gold, said] = 1
    rest[0], rest[3] = 1, gold == said
    rest[6:] = [*_row_scores(gold, said, 0.0), *_row_scores(gold, said, 1.0), _jaccard(gold, said)]


def _row_scores(gold: Flags, said: Flags, empty: float) -> tuple[float, float, float]:
    """Precision, recall, F1 of one row; `empty` where one is 0 / 0, as sklearn's zero_division."""
    both = sum(g and s for g, s in zip(gold, said, strict=True))
    precision = both / sum(said) if any(said) else empty
    recall = both / sum(gold) if any(gold) else empty
    f1 = 2 * both / (sum(gold) + sum(said)) if any(gold) or any(said) else empty
    return precision, recall, f1


def _jaccard(gold: Flags, said: Flags) -> float:
    """Labels in both over labels in either; 0 where there are none, as sklearn's zero_division."""
    both, either = (sum(map(op, gold, said)) for op in (min, max))
    return both / either if either else 0.0


def labels_in(stats: Array) -> int:
    """How many labels statistics of this width are of."""
    return (int(stats.shape[-1]) - len(ROWS) - len(SAMPLES)) // WIDTH


def tables_of(stats: Array) -> Array:
    """(..., L, 8): the labels' tables, as classification knows them."""
    count = labels_in(stats)
    return stats[..., : WIDTH * count].reshape(*stats.shape[:-1], count, WIDTH)


def rest_of(stats: Array) -> Array:
    """(..., 13): what stands after the tables."""
    return stats[..., WIDTH * labels_in(stats) :]


def positives(stats: Array, policies: Policies) -> tuple[Array, Array, Array]:
    """(..., L) each: true positives, items that hold the label, answers that name it."""
    confusion = Confusion.of(tables_of(stats), policies)
    return confusion.right[..., 1], confusion.gold[..., 1], confusion.named[..., 1]


def per_label(stats: Array, policies: Policies, kind: str) -> Array:
    """(..., L): precision, recall or F1 of "yes"; 0 where that is 0 / 0."""
    right, gold, named = positives(stats, policies)
    over, under = {"precision": (right, named), "recall": (right, gold), "f1": (2 * right, gold + named)}[kind]
    return ratio(over, under, empty=0.0)


def macro(stats: Array, policies: Policies, kind: str) -> Array:
    """Unweighted mean over labels."""
    return _where_rows(stats, policies, per_label(stats, policies, kind).mean(axis=-1))


def weighted(stats: Array, policies: Policies, kind: str) -> Array:
    """Mean over labels, each by its number of items."""
    gold = positives(stats, policies)[1]
    return ratio((per_label(stats, policies, kind) * gold).sum(axis=-1), gold.sum(axis=-1))


def f1_of_means(stats: Array, policies: Policies) -> Array:
    """The other macro-F1: F1 of macro precision and macro recall (Opitz & Burst 2019)."""
    precision, recall = (macro(stats, policies, kind) for kind in ("precision", "recall"))
    return _where_rows(stats, policies, ratio(2 * precision * recall, precision + recall, empty=0.0))


def micro(stats: Array, policies: Policies, kind: str) -> Array:
    """Precision, recall or F1 of all labels' counts together."""
    right, gold, named = (part.sum(axis=-1) for part in positives(stats, policies))
    over, under = {"precision": (right, named), "recall": (right, gold), "f1": (2 * right, gold + named)}[kind]
    return _where_rows(stats, policies, ratio(over, under, empty=0.0))


def exact_match(stats: Array, policies: Policies) -> Array:
    """Rows with every label right."""
    return ratio(rest_of(stats)[..., 3], counted(stats, policies))


def hamming_loss(stats: Array, policies: Policies) -> Array:
    """Share of wrong labels; all of an answer that cannot be read."""
    right: Array = accuracy(tables_of(stats), policies).mean(axis=-1)
    return 1 - right


def sample_average(stats: Array, policies: Policies, at: int) -> Array:
    """Mean over rows of their own precision, recall or F1; 0 for an answer that cannot be read."""
    return ratio(rest_of(stats)[..., len(ROWS) + at], counted(stats, policies))


def counted(stats: Array, policies: Policies) -> Array:
    """Rows that are not dropped."""
    rest = rest_of(stats)
    kept: Array = rest[..., 0]
    for column, policy in ((1, policies.unparsed), (2, policies.failed)):
        kept = kept + (0 if policy == "drop" else rest[..., column])
    return kept


def no_answer_rate(stats: Array, column: int) -> Array:
    """Share of rows: 1 unparsed, 2 failed."""
    return ratio(rest_of(stats)[..., column], rest_of(stats)[..., :3].sum(axis=-1))


def trivial(stats: Array, says: int | None) -> Array:
    """A system that says no (0) or yes (1) to everything, or draws (None: expected counts). No sample averages."""
    tables, rest = tables_of(stats), rest_of(stats)
    moved = random(tables) if says is None else constant(tables, says)
    rows = rest[..., :3].sum(axis=-1)
    exact = rows / 2 ** labels_in(stats) if says is None else rest[..., 4 + says]
    made = np.zeros_like(rest)
    made[..., 0], made[..., 3], made[..., 4:6] = rows, exact, rest[..., 4:6]
    return np.concatenate([moved.reshape(*stats.shape[:-1], -1), made], axis=-1)


def absent(total: Array, policies: Policies, labels: Sequence[str]) -> str:
    """Why a mean over labels must not be shown."""
    if not counted(total, policies):
        return EMPTY
    missing = [name for name, n in zip(labels, positives(total, policies)[1], strict=True) if not n]
    return f"n/a (no item has {', '.join(missing)})" if missing else ""


def _where_rows(stats: Array, policies: Policies, values: Array) -> Array:
    return np.where(counted(stats, policies) > 0, values, np.nan)


def _one(stats: Array, policies: Policies, kind: str, at: int) -> Array:
    return per_label(stats, policies, kind)[..., at]


def _one_accuracy(stats: Array, policies: Policies, at: int) -> Array:
    return accuracy(tables_of(stats)[..., at, :], policies)


def _one_absent(total: Array, policies: Policies, at: int, name: str) -> str:
    return "" if positives(total, policies)[1][at] else f"n/a (no item has {name})"


def _metrics(labels: tuple[str, ...], policies: Policies) -> tuple[Metric, ...]:
    options, guard = str(policies), partial(absent, policies=policies, labels=labels)
    metrics = [
        Metric("exact_match", partial(exact_match, policies=policies), options=options),
        Metric("hamming_loss", partial(hamming_loss, policies=policies), options=options, lower_is_better=True),
        Metric("macro_f1_of_means", partial(f1_of_means, policies=policies), options=options, undefined=guard),
        Metric("unparsed", partial(no_answer_rate, column=1), lower_is_better=True),
        Metric("failed", partial(no_answer_rate, column=2), lower_is_better=True),
    ]
    for kind in ("precision", "recall", "f1"):
        mean = "mean of F1|" if kind == "f1" else ""
        macro_of = partial(macro, policies=policies, kind=kind)
        metrics.append(Metric(f"macro_{kind}", macro_of, options=mean + options, undefined=guard))
        metrics.append(Metric(f"micro_{kind}", partial(micro, policies=policies, kind=kind), options=options))
        metrics.append(Metric(f"weighted_{kind}", partial(weighted, policies=policies, kind=kind), options=options))
        for at, name in enumerate(SAMPLES):
            if name.split()[0] == kind:
                averaged = partial(sample_average, policies=policies, at=at)
                zero = "zero_division:1" if name.endswith("zd1") else "zero_division:0"
                label = f"samples_{name.replace(' ', '_')}"
                metrics.append(Metric(label, averaged, options=f"{zero}|{options}"))
    jaccard = partial(sample_average, policies=policies, at=SAMPLES.index("jaccard"))
    metrics.append(Metric("samples_jaccard", jaccard, options=options))
    for at, name in enumerate(labels):
        metrics.append(Metric(f"accuracy_{name}", partial(_one_accuracy, policies=policies, at=at), options=options))
        why = partial(_one_absent, policies=policies, at=at, name=name)
        for kind in ("precision", "recall", "f1"):
            one = partial(_one, policies=policies, kind=kind, at=at)
            metrics.append(Metric(f"{kind}_{name}", one, options=options, undefined=why))
    return tuple(metrics)
