"""chrF++ (Popović 2017) by sacrebleu: characters 1-6 and words 1-2, beta 2, in 0..100.

Two numbers that must not be mixed: `chrf++_sentence` is one score per item, and its mean is what a bootstrap of items
resamples; the corpus score is made from the counts of all items together (`total` of `sums["chrf++_corpus"]`), and is
higher or lower than that mean (sacrebleu #144). A blank text scores 0 against anything, also against a blank one.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mixgrid.metrics import texts
from mixgrid.metrics.texts import FloatArray, IntArray, Pairs, TextScores

CHAR_ORDER, WORD_ORDER, BETA = 6, 2, 2
ORDERS = CHAR_ORDER + WORD_ORDER


def score(
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    multi: str = "max",
    languages: Sequence[str] | None = None,
) -> TextScores:
    """chrF++ per item, and the corpus counts.

    Several references: the best per sentence (sacrebleu's rule, which makes the corpus counts too); `mean` averages
    the sentence scores, and has no corpus score.
    """
    pairs = Pairs.of(predictions, references, languages, multi)
    metric = texts.load("sacrebleu").CHRF(char_order=CHAR_ORDER, word_order=WORD_ORDER, beta=BETA)
    if multi == "mean":
        hypotheses, targets = pairs.flat()
        values, sums = texts.mean(total(_counts(metric, hypotheses, [targets])), pairs.starts()), {}
    else:
        rows = _counts(metric, list(pairs.predictions), pairs.ranks())
        values, sums = total(rows), {"chrf++_corpus": rows}
    return TextScores(
        {"chrf++_sentence": values},
        pairs.blanks(),
        f"chrf++({metric.get_signature() if predictions else 'no items'})|{pairs.note('characters')}",
        sums,
    )


def _counts(metric: Any, predictions: list[str], ranks: Sequence[Sequence[str | None]]) -> IntArray:
    """The counts per item by sacrebleu, which its significance tests resample too."""
    if not predictions:
        return np.zeros((0, 3 * ORDERS), dtype=np.int64)
    return np.array(metric._extract_corpus_statistics(predictions, ranks), dtype=np.int64)


def total(sums: ArrayLike) -> FloatArray:
    """chrF++ from summed counts (..., orders × (hypothesis, reference, match)): one score each, over leading axes.

    sacrebleu's formula with its effective order: orders that one side is too short for are left out.
    """
    counts = np.asarray(sums, dtype=np.float64)
    hypothesis, reference, match = counts[..., 0::3], counts[..., 1::3], counts[..., 2::3]
    there = (hypothesis > 0) & (reference > 0)
    orders = np.maximum(there.sum(axis=-1), 1)
    precision = _ratio(match, hypothesis, there) / orders
    recall = _ratio(match, reference, there) / orders
    weighted = BETA**2 * precision + recall
    score: FloatArray = 100 * ((1 + BETA**2) * precision * recall / np.where(weighted > 0, weighted, 1))
    return score


def _ratio(match: FloatArray, count: FloatArray, there: NDArray[np.bool_]) -> FloatArray:
    """The sum over orders, one after the other as sacrebleu adds them, so that the last bit agrees."""
    ratios = np.where(there, match / np.maximum(count, 1), 0.0)
    last: FloatArray = np.add.accumulate(ratios, axis=-1)[..., -1]
    return last
