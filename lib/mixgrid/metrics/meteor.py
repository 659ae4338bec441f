"""METEOR (Lavie & Agarwal 2007) by nltk: exact and stem matches, no synonyms; alpha .9, beta 3, gamma .5.

WordNet's synonyms and Porter's stems are English; nltk asks for WordNet's files only at the first word left unmatched,
so a reduction could die at its millionth row. Here the synonym stage always finds nothing, and the label says so. The
alignment is greedy and not that of the original program (nltk #2365), hence nltk's version in the label.

Porter's stemmer takes most of nltk's time; remembered stems make the same numbers five times as fast.
An item without words on one side scores 0. One word against itself scores .5: its one chunk is the whole match.
"""

from collections.abc import Callable, Sequence
from functools import cache, lru_cache, partial

import numpy as np

from mixgrid.metrics import texts, tokenizers
from mixgrid.metrics.texts import Pairs, TextScores

STEMS = 1 << 18  # distinct words whose stem is remembered: some 40 MB when full


class _NoSynonyms:
    """Stands where nltk expects WordNet."""

    def synsets(self, _word: str) -> list[object]:
        return []


class _Stemmer:
    """Porter's stemmer with a memory; `stem` is all that nltk calls."""

    def __init__(self) -> None:
        self.stem = lru_cache(maxsize=STEMS)(texts.load("nltk.stem.porter").PorterStemmer().stem)


def score(
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    tokenizer: str = "unicode",
    multi: str = "max",
    languages: Sequence[str] | None = None,
) -> TextScores:
    """METEOR in 0..1 per item; several references: the best one (nltk's rule) or the mean."""
    pairs = Pairs.of(predictions, references, languages, multi)
    words = lru_cache(maxsize=None)(tokenizers.tokenizer(tokenizer))
    single = _single()
    hypotheses, targets = pairs.flat()
    flat = np.array([single(words(r), words(h)) for h, r in zip(hypotheses, targets, strict=True)], dtype=np.float64)
    values = pairs.combined(flat)
    return TextScores(
        {"meteor": values},
        pairs.statuses(words, values),
        f"meteor(nltk-{texts.version('nltk')}, exact+stem)|{pairs.note(tokenizers.label(tokenizer))}",
    )


@cache
def _single() -> Callable[[Sequence[str], Sequence[str]], float]:
    """The score by nltk of one pair of tokenized texts, (reference, hypothesis), without its English synonyms."""
    nltk_score = texts.load("nltk.translate.meteor_score").single_meteor_score
    return partial(nltk_score, stemmer=_Stemmer(), wordnet=_NoSynonyms())
