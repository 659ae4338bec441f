"""ROUGE-1/2/3/4/L/Lsum (Lin 2004, W04-1013), as rouge-score 0.1.2 computes them, without its slowness.

ROUGE asks of two words only whether they are equal. So words that are not ASCII get ASCII names, and the native code of
rouge-score-rs scores any tokenizer's words at its own speed. Where that package is absent, or disagrees with
rouge-score on the canary below, rouge-score itself scores the same names.

A text without words, or with fewer than n words for ROUGE-n, scores 0. Nothing is truncated. Lsum splits at newlines
only; it costs more than all others together, and between two single lines it equals L, so there L is taken.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from operator import itemgetter
from typing import Protocol

import numpy as np

from mixgrid.errors import UserError
from mixgrid.metrics import texts, tokenizers
from mixgrid.metrics.texts import FloatArray, Pairs, TextScores

Triple = tuple[float, float, float]  # precision, recall, F1

TYPES = ("rouge1", "rouge2", "rouge3", "rouge4", "rougeL", "rougeLsum")
PARTS = ("p", "r", "f")  # precision, recall, F1: `rouge1_f` is what tables call ROUGE-1
ZEROS = "0000000"  # starts the names of words; case and NFC leave digits alone
CHUNK = (
    64  # pairs at a time: a tuple for each type, of few enough that Python's collector stays asleep (a third faster)
)

CANARY = (
    ("a b c d e f\ng h i", "g h\na b c x d"),
    ("The cat was found under the bed.", "the cat was under the bed"),
    ("a b\nb a", "b\na\nb a b"),
    ("a", ""),
    ("1 2 3 1 2 4 1 2 5 6 7 8", "1 2 4\n\n5 7 8 1 2 3"),
)


class Scorer(Protocol):
    """What rouge-score and rouge-score-rs share."""

    def score(self, target: str, prediction: str) -> Mapping[str, Triple]:
        """(precision, recall, F1) per type."""
        ...


@dataclass(frozen=True)
class Backend:
    """A scorer of all types, one of all but Lsum, and their name and version for the signature."""

    full: Scorer
    short: Scorer
    name: str


def score(
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    tokenizer: str = "unicode",
    multi: str = "max",
    languages: Sequence[str] | None = None,
) -> TextScores:
    """Precision, recall and F1 in 0..1 per item and type.

    Several references: `max` takes, per type, the reference of the best F1 with its precision and recall (rouge-score's
    `score_multi`); `mean` averages each of the three.
    """
    pairs = Pairs.of(predictions, references, languages, multi)
    chosen = backend()
    hypotheses, targets = pairs.flat()
    encode = _encoding(tokenizer, {*hypotheses, *targets})
    flat = _flat(chosen, list(map(encode, targets)), list(map(encode, hypotheses)))
    values = _combine(flat, pairs, multi)
    return TextScores(
        {f"{name}_{part}": values[:, i, j] for i, name in enumerate(TYPES) for j, part in enumerate(PARTS)},
        pairs.statuses(tokenizers.tokenizer(tokenizer), values[:, 0, 2]),
        f"rouge({chosen.name})|stem:no|{pairs.note(tokenizers.label(tokenizer))}",
    )


def _encoding(tokenizer: str, distinct: Collection[str]) -> Callable[[str], str]:
    """What makes of a text one that rouge-score's own tokenizer cuts into as many words, equal where ours are equal."""
    words = tokenizers.tokenizer(tokenizer)
    if tokenizer == "compat":
        return str
    prefix = ZEROS
    while any(prefix in text for text in distinct):
        prefix += "0"
    return _Named(words, prefix).__getitem__


class _Named(dict[str, str]):
    """Text → the same lines, in ASCII. No text holds the names' prefix, so no name is a word of any text."""

    def __init__(self, words: tokenizers.Tokenizer, prefix: str) -> None:
        super().__init__()
        self._chunks = _Chunks(words, prefix)

    def __missing__(self, text: str) -> str:
        if text.isascii():
            return text  # both tokenizers cut ASCII the same way
        name = self._chunks.__getitem__
        self[text] = encoded = "\n".join([" ".join(map(name, line.split())) for line in text.split("\n")])
        return encoded


class _Chunks(dict[str, str]):
    """A chunk between white space → its words, those that are not ASCII by their names."""

    def __init__(self, words: tokenizers.Tokenizer, prefix: str) -> None:
        super().__init__()
        self._words = words
        self._prefix = prefix
        self._names: dict[str, str] = {}

    def __missing__(self, chunk: str) -> str:
        self[chunk] = encoded = " ".join(w if w.isascii() else self._name(w) for w in self._words(chunk))
        return encoded

    def _name(self, word: str) -> str:
        return self._names.setdefault(word, f"{self._prefix}x{len(self._names)}")


def _flat(chosen: Backend, targets: list[str], predictions: list[str]) -> FloatArray:
    """Pairs × types × (p, r, f)."""
    values = np.zeros((len(targets), len(TYPES), len(PARTS)))
    lined = np.array(
        ["\n" in target.strip() or "\n" in text.strip() for target, text in zip(targets, predictions, strict=True)],
        dtype=bool,
    )
    for scorer, types, rows in ((chosen.full, TYPES, lined), (chosen.short, TYPES[:-1], ~lined)):
        places = np.flatnonzero(rows)
        for start in range(0, len(places), CHUNK):
            part = places[start : start + CHUNK]
            scored = _batch(scorer, [targets[i] for i in part], [predictions[i] for i in part])
            values[part, : len(types)] = _array(scored, types)
    values[~lined, TYPES.index("rougeLsum")] = values[~lined, TYPES.index("rougeL")]
    return values


def _batch(scorer: Scorer, targets: list[str], predictions: list[str]) -> Sequence[Mapping[str, Triple]]:
    """Pair by pair; the native scorer does it without the GIL, on the cores that RAYON_NUM_THREADS allows."""
    native: Callable[..., Sequence[Mapping[str, Triple]]] | None = getattr(scorer, "score_batch", None)
    if native is not None:
        return native(targets, predictions)
    return [scorer.score(target, prediction) for target, prediction in zip(targets, predictions, strict=True)]


def _array(scored: Sequence[Mapping[str, Triple]], types: Sequence[str]) -> FloatArray:
    numbers = chain.from_iterable(chain.from_iterable(map(itemgetter(*types), scored)))
    shape = (len(scored), len(types), len(PARTS))
    return np.fromiter(numbers, dtype=np.float64, count=math.prod(shape)).reshape(shape)


def _combine(flat: FloatArray, pairs: Pairs, multi: str) -> FloatArray:
    """Items × types × (p, r, f), from one row per pair."""
    starts = pairs.starts()
    if len(flat) == len(starts):
        return flat
    if multi == "mean":
        return texts.mean(flat, starts)
    chosen = [flat[texts.best(flat[:, i, 2], starts), i] for i in range(len(TYPES))]
    return np.stack(chosen, axis=1)


@cache
def backend() -> Backend:
    """rouge-score-rs if it is there and gives rouge-score's numbers to the last bit, else rouge-score."""
    slow = reference()
    try:
        fast = native()
    except UserError:
        return slow
    targets, predictions = [target for target, _ in CANARY], [prediction for _, prediction in CANARY]
    same = np.array_equal(_flat(fast, targets, predictions), _flat(slow, targets, predictions))
    return fast if same else slow


def native() -> Backend:
    """The fast scorer: single author, beta; hence the canary."""
    return _backend("rouge_score_rs.rouge_scorer", "rouge-score-rs")


def reference() -> Backend:
    """The scorer that papers report."""
    return _backend("rouge_score.rouge_scorer", "rouge-score")


def _backend(module: str, distribution: str) -> Backend:
    scorer = texts.load(module).RougeScorer
    return Backend(scorer([*TYPES]), scorer([*TYPES[:-1]]), f"{distribution}-{texts.version(distribution)}")
