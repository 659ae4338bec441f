"""Lexical diversity: how much a text repeats its words (lexicalrichness 0.5.1 gives the same values).

A text without a word has none. Words are `languages.words`: lower case, of every script.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

VERSION = 1
THRESHOLD = 0.72  # of MTLD
WINDOW = 25  # of MATTR, in words
SIGNATURE = f"lexical-{VERSION}(mtld:{THRESHOLD}, mattr:{WINDOW})"


def count(words: Sequence[str]) -> float:
    """Words of the text, of a dialogue in all turns."""
    return float(len(words))


def ttr(words: Sequence[str]) -> float | None:
    """Types over tokens; falls with the length of the text."""
    return len(set(words)) / len(words) if words else None


def mattr(words: Sequence[str], window: int = WINDOW) -> float | None:
    """Mean type-token ratio of every window of so many words; of a shorter text, its own."""
    if len(words) <= window:
        return ttr(words)
    held = Counter(words[:window])
    total = len(held)
    for leaves, enters in zip(words, words[window:], strict=False):
        held[enters] += 1
        held[leaves] -= 1
        if not held[leaves]:
            del held[leaves]
        total += len(held)
    return total / (window * (len(words) - window + 1))


def mtld(words: Sequence[str], threshold: float = THRESHOLD) -> float | None:
    """Mean length of stretches whose type-token ratio is above the threshold, both ways (McCarthy & Jarvis 2010).

    A text that never repeats a word gets its own length: of short texts this says little.
    """
    if not words:
        return None
    return (_one_way(words, threshold) + _one_way(reversed(words), threshold)) / 2


def _one_way(words: Iterable[str], threshold: float) -> float:
    factors, size, total, ratio = 0.0, 0, 0, 1.0
    types: set[str] = set()
    for word in words:
        types.add(word)
        size, total = size + 1, total + 1
        ratio = len(types) / size
        if ratio <= threshold:
            factors, size, types = factors + 1, 0, set()
    if size:
        factors += (1 - ratio) / (1 - threshold)
    return total / factors if factors else float(total)
