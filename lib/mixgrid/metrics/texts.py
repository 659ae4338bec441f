"""The shared ground of the text metrics: pairs of a prediction and its references in, one score per item out.

Nothing here is about one metric. An item without words scores 0 and keeps its place, so that rows out = rows in; its
status says why, and a cell shows how many there were:

    ok         scored
    empty      the prediction, or every reference, is blank
    no_words   there is text, but the metric's tokenizer sees no word in it (`compat` and Arabic; an answer of emoji)
    truncated  scored on its first part only, because the model behind the metric reads no further
"""

import importlib
import importlib.metadata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from mixgrid.errors import UserError, allowed
from mixgrid.languages import NORMALISER, normalise

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

RULES = ("max", "mean")  # what an item with several references gets


@dataclass(frozen=True, eq=False)
class TextScores:
    """Scores of n items.

    `values`: n floats per metric name. `sums`: for a corpus total that is not the mean of the values, the n × k counts
    that it is made of; add up (or resample and add up) the rows, then call the metric's `total`.
    """

    values: Mapping[str, FloatArray]
    statuses: tuple[str, ...]
    signature: str
    sums: Mapping[str, IntArray] = field(default_factory=dict)

    def counts(self) -> dict[str, int]:
        """How many items have each status."""
        return dict(sorted(Counter(self.statuses).items()))


@dataclass(frozen=True)
class Pairs:
    """Predictions beside their references, checked; normalised by their language where that is told."""

    predictions: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]
    normalised: bool
    rule: str = "max"  # for several references

    @classmethod
    def of(
        cls,
        predictions: Sequence[str],
        references: Sequence[Sequence[str]],
        languages: Sequence[str] | None = None,
        rule: str = "max",
    ) -> "Pairs":
        """Check the rule for several references, and the lists, item by item.

        `languages`: one tag (`ro-en`) per item; without them texts stay as they are.

        A plain string where a list belongs raises TypeError: it would be scored letter by letter (sacrebleu #121).
        """
        if isinstance(predictions, str) or isinstance(references, str):
            raise TypeError("predictions and references are lists with one entry per item, not one string")
        tags = [""] * len(predictions) if languages is None else languages
        if not len(predictions) == len(references) == len(tags):
            raise ValueError(
                f"{len(predictions)} predictions, {len(references)} lists of references and {len(tags)} languages: "
                "the three go item by item"
            )
        if not _plain(predictions, references):
            for place, (prediction, texts) in enumerate(zip(predictions, references, strict=True)):
                _check(place, prediction, texts)
        return cls(
            tuple(_compared(text, tag) for text, tag in zip(predictions, tags, strict=True)),
            tuple(tuple(_compared(text, tag) for text in texts) for texts, tag in zip(references, tags, strict=True)),
            languages is not None,
            check_rule(rule),
        )

    def flat(self) -> tuple[list[str], list[str]]:
        """Every (prediction, reference) pair: the predictions, repeated, and the references."""
        repeated = [p for p, texts in zip(self.predictions, self.references, strict=True) for _ in texts]
        return repeated, [text for texts in self.references for text in texts]

    def starts(self) -> IntArray:
        """Where each item's pairs start in `flat`."""
        lengths = [len(texts) for texts in self.references]
        return np.cumsum([0, *lengths[:-1]], dtype=np.int64) if lengths else np.zeros(0, dtype=np.int64)

    def ranks(self) -> list[list[str | None]]:
        """The references by rank, as sacrebleu wants them; None where an item has fewer."""
        most = max((len(texts) for texts in self.references), default=0)
        return [[texts[rank] if rank < len(texts) else None for texts in self.references] for rank in range(most)]

    def blanks(self) -> tuple[str, ...]:
        """`empty` or `ok` per item, for metrics that read characters."""
        rows = zip(self.predictions, self.references, strict=True)
        return tuple("empty" if blank(prediction, texts) else "ok" for prediction, texts in rows)

    def statuses(self, words: Callable[[str], list[str]], scores: FloatArray) -> tuple[str, ...]:
        """`ok`, or why there was nothing to score, per item, for metrics that read words. A score above 0 is `ok`."""
        rows = zip(self.predictions, self.references, scores.tolist(), strict=True)
        return tuple("ok" if score > 0 else _status(text, refs, words) for text, refs, score in rows)

    def combined(self, values: FloatArray) -> FloatArray:
        """One value per item, from one per pair."""
        starts = self.starts()
        return mean(values, starts) if self.rule == "mean" else values[best(values, starts)]

    def note(self, tokenizer: str, rule: str = "") -> str:
        """The end of a signature: what was done to the texts, and the rule for several references."""
        return f"tok:{tokenizer}|norm:{NORMALISER if self.normalised else 'no'}|refs:{rule or self.rule}"


def _compared(text: str, tag: str) -> str:
    return normalise(text, tag) if tag else text


def _plain(predictions: Sequence[str], references: Sequence[Sequence[str]]) -> bool:
    """Whether nothing can be wrong, looked at by kinds alone: a check of each item takes as long as scoring it."""
    lists = {*map(type, references)} <= {list, tuple} and all(references)
    return lists and {*map(type, chain(predictions, *references))} <= {str}


def _check(place: int, prediction: object, texts: object) -> None:
    if not isinstance(prediction, str):
        raise TypeError(f"prediction {place} is {type(prediction).__name__}, not str")
    if isinstance(texts, str) or not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
        raise TypeError(f"the references of item {place} are not a list of strings")
    if not texts:
        raise UserError(f"item {place} has no reference: a text metric needs at least one; drop the item or add one")


def _status(prediction: str, references: Sequence[str], words: Callable[[str], list[str]]) -> str:
    if words(prediction) and any(map(words, references)):
        return "ok"
    return "empty" if blank(prediction, references) else "no_words"


def blank(prediction: str, references: Iterable[str]) -> bool:
    """Whether one side has no visible text at all."""
    return not prediction.strip() or not any(text.strip() for text in references)


def best(values: FloatArray, starts: IntArray) -> IntArray:
    """The row of each item's best pair; on a tie the first, as rouge-score and sacrebleu take it."""
    ends = [*starts[1:], len(values)][: len(starts)]
    return np.array([int(s) + int(values[s:e].argmax()) for s, e in zip(starts, ends, strict=True)], dtype=np.int64)


def mean(values: FloatArray, starts: IntArray) -> FloatArray:
    """The mean over each item's pairs (rows)."""
    lengths = np.diff([*starts, len(values)])
    total: FloatArray = np.add.reduceat(values, starts, axis=0) if len(starts) else values
    return total / lengths.reshape(-1, *[1] * (values.ndim - 1))


def check_rule(rule: str) -> str:
    """The rule for several references, refused by name if there is none such."""
    if rule not in RULES:
        raise UserError(f"multi: unknown rule {rule!r} for several references; {allowed(rule, RULES)}")
    return rule


def load(module: str) -> ModuleType:
    """Import a package of the `score` extra, or say how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UserError(f"{module} is not installed: text metrics need `pip install 'mixgrid[score]'`") from error


def version(distribution: str) -> str:
    """The installed version of a distribution (bert-score's own `__version__` is one behind its wheel)."""
    return importlib.metadata.version(distribution)
