"""What descriptions are made of: how the languages of a text mix, and what a measure is.

    text ── tagger ──> one language a word ── Mix ──> measures, for an utterance, an item or a whole corpus

A value that is not defined (burstiness of a text in one language) is None, never 0 and never NaN.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any, Literal

from mixgrid.records import Turn

NEUTRAL = ""  # the tag of a word that belongs to no language: a number, an anonymised name, an address

Level = Literal["utterance", "item", "corpus"]
Group = Literal["mixing", "corpus", "lexical", "dialogue", "semantics"]
LEVELS: dict[Group, tuple[Level, ...]] = {
    "mixing": ("utterance", "item", "corpus"),  # of a Mix: each utterance, the item's joined, all of the slice joined
    "corpus": ("corpus",),  # of the mixes of all items
    "lexical": ("item",),  # of the item's words
    "dialogue": ("item",),  # of a Conversation
    "semantics": ("item",),  # of two vectors: the item's and its twin's
}


@dataclass(frozen=True)
class Mix:
    """The languages of a text as runs: words of one language in a row, whatever neutral words stand between them.

    N of the formulas is `tagged`, n is `words`, P is `switches`, k is `parts`.
    """

    languages: tuple[str, ...]  # of each run; neighbours differ
    lengths: tuple[int, ...]  # words of each run
    words: int  # neutral ones too
    adjacent: int  # switches between two words with none between them
    parts: int  # languages that the text may be in, at least those that it is in

    @classmethod
    def of(cls, tags: Sequence[str], parts: int = 2) -> "Mix":
        """From one tag a word."""
        runs = [(tag, sum(1 for _ in run)) for tag, run in groupby(tag for tag in tags if tag != NEUTRAL)]
        adjacent = sum(NEUTRAL not in (a, b) and a != b for a, b in pairwise(tags))
        seen = len({tag for tag, _ in runs})
        return cls(tuple(t for t, _ in runs), tuple(n for _, n in runs), len(tags), adjacent, max(parts, seen))

    @classmethod
    def joined(cls, mixes: Iterable["Mix"]) -> "Mix":
        """Texts one after the other, as if they were one; words on both sides of a border are not adjacent."""
        languages: list[str] = []
        lengths: list[int] = []
        words = adjacent = parts = 0
        for mix in mixes:
            merged = bool(languages and mix.languages and languages[-1] == mix.languages[0])
            if merged:
                lengths[-1] += mix.lengths[0]
            languages += mix.languages[merged:]
            lengths += mix.lengths[merged:]
            words, adjacent, parts = words + mix.words, adjacent + mix.adjacent, max(parts, mix.parts)
        return cls(tuple(languages), tuple(lengths), words, adjacent, max(parts, len(set(languages))))

    @property
    def counts(self) -> Counter[str]:
        """Words of each language."""
        found: Counter[str] = Counter()
        for tag, length in zip(self.languages, self.lengths, strict=True):
            found[tag] += length
        return found

    @property
    def tagged(self) -> int:
        """Words that belong to a language."""
        return sum(self.lengths)

    @property
    def dominant(self) -> int:
        """Words of the commonest language."""
        return max(self.counts.values(), default=0)

    @property
    def switches(self) -> int:
        """Times the language changes from one tagged word to the next."""
        return max(len(self.languages) - 1, 0)

    @property
    def matrix(self) -> str:
        """The commonest language, of several the first in the alphabet; none where no word is tagged."""
        counts = self.counts
        return min(counts, key=lambda tag: (-counts[tag], tag), default=NEUTRAL)


@dataclass(frozen=True)
class Conversation:
    """A dialogue with the sizes of its turns."""

    turns: tuple[Turn, ...]
    tokens: tuple[int, ...]  # of each turn, by the tokenizer that the signature names


@dataclass(frozen=True)
class Measure:
    """One number of a text. `of` takes what its group is about (LEVELS) and gives None where it is not defined."""

    of: Callable[[Any], float | None]
    group: Group
    title: str
    unit: str  # the range, or what is counted
    undefined: str = ""  # when there is no value


class UntaggedError(ValueError):
    """The words of an item cannot be given languages; the message says why."""
