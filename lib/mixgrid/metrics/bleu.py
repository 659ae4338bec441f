"""Corpus BLEU by sacrebleu, for translations (generation's parallel side); chrF++ beside it is chrf.py's.

BLEU is defined on a corpus. `sums["bleu_corpus"]` has each item's counts, to be added up, also resampled, and given to
`total`. `bleu_sentence` uses the effective order, without which one missing 4-gram makes a sentence 0.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mixgrid.metrics import texts
from mixgrid.metrics.texts import FloatArray, IntArray, Pairs, TextScores

MAX_ORDER = 4
WIDTH = 2 + 2 * MAX_ORDER


def score(
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    tokenize: str = "13a",
    languages: Sequence[str] | None = None,
) -> TextScores:
    """BLEU in 0..100: counts per item for the corpus score, and sentence scores. `tokenize`: a sacrebleu tokenizer."""
    pairs = Pairs.of(predictions, references, languages)
    metric = texts.load("sacrebleu").BLEU(tokenize=tokenize, force=True)
    rows = _counts(metric, pairs)
    return TextScores(
        {"bleu_sentence": _scores(rows, effective_order=True)},
        pairs.blanks(),
        f"bleu({metric.get_signature() if predictions else 'no items'})|{pairs.note(tokenize, 'all')}",
        {"bleu_corpus": rows},
    )


def total(sums: ArrayLike) -> FloatArray:
    """Corpus BLEU from summed counts (..., hypothesis length, reference length, 4 matches, 4 totals)."""
    counts = np.asarray(sums, dtype=np.int64)
    return _scores(counts.reshape(-1, WIDTH), effective_order=False).reshape(counts.shape[:-1])


def _counts(metric: Any, pairs: Pairs) -> IntArray:
    """The counts per item by sacrebleu, which its significance tests resample too."""
    if not pairs.predictions:
        return np.zeros((0, WIDTH), dtype=np.int64)
    return np.array(metric._extract_corpus_statistics(list(pairs.predictions), pairs.ranks()), dtype=np.int64)


def _scores(rows: IntArray, *, effective_order: bool) -> FloatArray:
    compute = texts.load("sacrebleu").BLEU.compute_bleu
    half = 2 + MAX_ORDER
    return np.array(
        [
            compute(row[2:half], row[half:], row[0], row[1], smooth_method="exp", effective_order=effective_order).score
            for row in rows.tolist()
        ],
        dtype=np.float64,
    )
