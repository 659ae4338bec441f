"""Method `phrase` (Salaam et al. 2022): keyphrases by multi-rake, a uniform sample of them translated as phrases.

"Primarul a inaugurat un pod nou." → "Primarul a inaugurat un new bridge."

RAKE gives phrases in lower case and without places. A phrase is a longest run of words that are no stop words, so its
places are found by the same rule on the text itself: never inside a word, nor inside a longer phrase. A phrase that
stands there twice is switched in both places.
"""

import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field

from mixgrid.errors import UserError
from mixgrid.languages import language, word_places
from mixgrid.switching.base import (
    Chosen,
    Group,
    Piece,
    Reason,
    Share,
    Unit,
    has_letter,
    protected,
    share_of,
    tokens,
    whole_clusters,
)


@dataclass(frozen=True)
class Phrase:
    """Keyphrases drawn at random; `stopwords` names a file, a word a line, for a language that multi-rake lacks."""

    language: str
    share: Share = 0.5
    max_words: Annotated[int, Field(ge=1)] = 3
    stopwords: str | None = None
    name: ClassVar[str] = "phrase"
    nothing: ClassVar[Reason] = "no_phrase"

    def __post_init__(self) -> None:
        """A language without stop words is refused before anything starts."""
        self._rake()

    def groups(self, texts: Sequence[str]) -> Iterator[tuple[Group, ...]]:
        """Each keyphrase with all its places."""
        rake = self._rake()
        for text in texts:
            yield keyphrases(text, rake.stopwords.__contains__, lambda masked: {p for p, _ in rake.apply(masked)})

    def draw(self, groups: Sequence[Group], taken: Sequence[Chosen], dice: random.Random) -> Chosen | None:
        """A uniform sample of the phrases."""
        return share_of(groups, self.share, taken, dice)

    def _rake(self) -> Any:
        return _rake(language(self.language).parts[0], self.max_words, self.stopwords)


@cache
def _rake(code: str, max_words: int, stopwords: str | None) -> Any:
    try:
        from multi_rake import Rake
        from multi_rake.stopwords import STOPWORDS
    except ImportError as error:
        raise UserError("multi_rake is not installed: method 'phrase' needs `pip install 'mixgrid[switch]'`") from error
    if stopwords:
        return Rake(max_words=max_words, stopwords=_read(stopwords))
    if code not in STOPWORDS:
        raise UserError(
            f"method 'phrase': multi-rake has no stop words for {code!r}; give `stopwords: FILE` (a word a line), or "
            f"leave the method out. It has: {', '.join(sorted(STOPWORDS))}"
        )
    return Rake(max_words=max_words, stopwords=_respelled(STOPWORDS[code], code))


def _respelled(found: Iterable[str], code: str) -> frozenset[str]:
    """The words in old and new letters: multi-rake has Romanian's with cedillas, texts have either."""
    pairs = language(code).replaced.items()
    to_new, to_old = ({ord(old): new for old, new in pairs}, {ord(new): old for old, new in pairs})
    return frozenset(word.translate(table) for word in found for table in ({}, to_new, to_old))


def _read(path: str) -> frozenset[str]:
    try:
        found = frozenset(Path(path).read_text("utf-8").lower().split())
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"method 'phrase': stopwords {path!r} is no UTF-8 file ({error})") from None
    if not found:
        raise UserError(f"method 'phrase': stopwords {path!r} is empty; without stop words every sentence is a phrase")
    return found


def keyphrases(text: str, stops: Callable[[str], bool], rake: Callable[[str], set[str]]) -> tuple[Group, ...]:
    """The phrases that `rake` finds, each with its places; whatever is no word ends one, a line break too."""
    masked = _masked(text)
    wanted, whole = rake(masked), whole_clusters(text)
    places: dict[str, list[Piece]] = {}
    for run in _runs(masked, stops):
        start, end = run[0][0], run[-1][1]
        key = " ".join(text[s:e].lower() for s, e in run)
        if key in wanted and has_letter(key) and whole(start, end) == (start, end):
            unit: Unit = "phrase" if len(run) > 1 else "word"
            places.setdefault(key, []).append(Piece(start, end, unit))
    return tuple(tuple(found) for found in places.values())


def _masked(text: str) -> str:
    """The text with a full stop, which ends a phrase, for everything but words and the spaces between them."""
    kept = bytearray(len(text))
    for start, end in (*word_places(text), *((t.start, t.end) for t in tokens(text))):
        kept[start:end] = b"\1" * (end - start)
    for start, end in protected(text):
        kept[start:end] = bytes(end - start)
    return "".join(c if keep or c in " \t\u00a0" else "." for c, keep in zip(text, kept, strict=True))


def _runs(masked: str, stops: Callable[[str], bool]) -> Iterator[list[tuple[int, int]]]:
    """The longest runs of words that are no stop words, as places."""
    run: list[tuple[int, int]] = []
    for word in re.finditer(r"\.|[^.\s]+", masked):
        if word[0] != "." and not stops(word[0].lower()):
            run.append(word.span())
        elif run:
            yield run
            run = []
    if run:
        yield run
