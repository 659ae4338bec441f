"""Which language each word of an item is in, as people or generation said it; detectors.py guesses it instead.

Neutral everywhere: anonymised names, addresses and @names, and words without a letter. The source stands in every
signature, because two of them give two different indices of the same text.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from mixgrid.describe.base import NEUTRAL, UntaggedError
from mixgrid.languages import TAG, language, word_places
from mixgrid.records import Item, Span

Tags = list[str]
_NO_LANGUAGE = re.compile(rf"{TAG.pattern}|@[\w.-]+|[a-z]+://\S+|www\.\S+")


class Tagger(Protocol):
    """Tells the language of every word of an item. Travels to other processes."""

    @property
    def signature(self) -> str:
        """What tells it, with its version and options."""
        ...

    def check(self, combinations: Collection[str]) -> None:
        """UserError where one of these language tags is beyond it; before anything is spent."""
        ...

    def __call__(self, item: Item) -> list[Tags]:
        """The tags of each utterance's words; UntaggedError says why there are none."""
        ...


@dataclass(frozen=True)
class Gold:
    """People's tags, that the corpus carries."""

    signature: str = "gold"

    def check(self, combinations: Collection[str]) -> None:
        """Whatever the corpus is in, the tags are its own."""

    def __call__(self, item: Item) -> list[Tags]:
        """One utterance, in the words that the corpus cuts it into."""
        if not item.tokens:
            raise UntaggedError("no gold tags")
        return [[token.language for token in item.tokens]]


@dataclass(frozen=True)
class Spans:
    """What generation replaced is in the span's language, the rest in the matrix language: exact."""

    signature: str = "spans"

    def check(self, combinations: Collection[str]) -> None:
        """Whatever the corpus is in, the spans say it."""

    def __call__(self, item: Item) -> list[Tags]:
        """One utterance. What was mixed without spans (by people, by `llm`) cannot be told apart here."""
        parts = language(item.language).parts
        if item.text is None:
            raise UntaggedError("a dialogue has no spans")
        if not item.spans and (len(parts) > 1 or item.switching != "none"):
            raise UntaggedError("mixed, but without spans")
        places = word_places(item.text)
        neutral = neutral_words(item.text, places)
        found = (_touching(item.spans, place) for place in places)
        tags = [NEUTRAL if n else s.language if s else parts[0] for n, s in zip(neutral, found, strict=True)]
        return [tags]


def _touching(spans: Sequence[Span], place: tuple[int, int]) -> Span | None:
    return next((span for span in spans if span.start < place[1] and place[0] < span.end), None)


def utterances(item: Item) -> list[str]:
    """The texts of an item: its turns, or its only text."""
    return [turn.text for turn in item.turns] if item.turns else [item.text or ""]


def neutral_words(text: str, places: Sequence[tuple[int, int]]) -> list[bool]:
    """Which of a text's words belong to no language."""
    masked = [match.span() for match in _NO_LANGUAGE.finditer(text)]
    return [
        not any(char.isalpha() for char in text[start:end]) or any(a <= start and end <= b for a, b in masked)
        for start, end in places
    ]
