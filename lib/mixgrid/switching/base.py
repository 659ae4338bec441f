"""What a switching method is: it says which pieces of a sentence may be switched, and draws some of them by a seed.

    groups = next(method.groups(["Primarul a inaugurat un pod."]))
    selections(method, "Primarul a inaugurat un pod.", groups, seeds)     # one choice, or a reason, for each seed

Methods know nothing of translators: they give places in a text. Places are code points; a piece never cuts a word, a
tag or a grapheme cluster, and clitics stay with their word (`ce-ți` is one).
"""

import random
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Protocol

from pydantic import Field

from mixgrid.errors import UserError
from mixgrid.languages import TAG, word_places

# Why there is no variant. Of a choice: no_more: fewer distinct choices than variants. Of what came back, see weave.py.
Reason = Literal[
    "duplicate", "no_more", "no_phrase", "no_subtree", "no_word", "not_translated", "single_word", "tag_lost",
    "unchanged",
]  # fmt: skip
Share = Annotated[float, Field(ge=0, le=1)]
Unit = Literal["mixed", "phrase", "sentence", "subtree", "word"]  # mixed: the whole sentence, rewritten


@dataclass(frozen=True, order=True)
class Piece:
    """A place in a sentence that is switched as a whole, and what it is to a translator."""

    start: int
    end: int
    unit: Unit


Group = tuple[Piece, ...]  # pieces that are switched together, or not at all
Chosen = tuple[Piece, ...]  # in the order of the text, none overlapping another


class Method(Protocol):
    """One way to choose what is switched. Built for one source language, with the options that a manifest gives it."""

    name: ClassVar[str]
    nothing: ClassVar[Reason]  # why a sentence has no groups

    def groups(self, texts: Sequence[str]) -> Iterator[tuple[Group, ...]]:
        """What may be switched in each text; the same for a text whatever stands beside it."""
        ...

    def draw(self, groups: Sequence[Group], taken: Sequence[Chosen], dice: random.Random) -> Chosen | None:
        """A choice that was not taken yet; None where there is none."""
        ...


def selections(method: Method, text: str, groups: Sequence[Group], seeds: Sequence[int]) -> list[Chosen | Reason]:
    """For each seed a choice unlike those before it, or why there is none."""
    found: list[Chosen | Reason] = []
    taken: list[Chosen] = []
    for seed in seeds:
        chosen = method.draw(groups, taken, random.Random(seed)) if groups else None
        if chosen:
            taken.append(chosen)
        found.append(chosen or _why(method, text, bool(groups)))
    return found


def _why(method: Method, text: str, some: bool) -> Reason:
    if len(tokens(text)) == 1:
        return "single_word"
    return "no_more" if some else method.nothing


def share_of(groups: Sequence[Group], share: float, taken: Sequence[Chosen], dice: random.Random) -> Chosen | None:
    """A uniform sample of a share of the groups, at least one unless the share is 0."""
    size = max(round(share * len(groups)), 1) if share > 0 else 0
    if not size or len(taken) >= _combinations(len(groups), size):
        return None
    while True:  # fewer are taken than there are, so each try may find a new one
        chosen = tuple(sorted(piece for group in dice.sample(groups, size) for piece in group))
        if chosen not in taken:
            return chosen


def _combinations(n: int, size: int, most: int = 1000) -> int:
    count = 1
    for i in range(min(size, n - size)):
        count = count * (n - i) // (i + 1)
        if count > most:  # no manifest asks for so many variants
            return most
    return count


_JOINED = re.compile(r"[-‐‑'’ʼ]")  # between two words without a space: a clitic, an elision, a compound
_PROTECTED = re.compile(rf"{TAG.pattern}|(?:https?://|www\.)\S+|[@#]\w+")


def protected(text: str) -> list[tuple[int, int]]:
    """The places of tags, links, mentions and hashtags: never chosen, and never cut."""
    return [match.span() for match in _PROTECTED.finditer(text)]


def tokens(text: str) -> list[Piece]:
    """The words with a letter in them, clitics joined, outside of what is protected."""
    fixed = protected(text)
    joined: list[tuple[int, int]] = []
    for start, end in word_places(text):
        if joined and start == joined[-1][1] + 1 and _JOINED.fullmatch(text[start - 1]):
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    whole = whole_clusters(text)
    places = (whole(start, end) for start, end in joined if not _meets((start, end), fixed))
    return [Piece(*place, "word") for place in places if has_letter(text[slice(*place)])]


def _meets(place: tuple[int, int], others: Sequence[tuple[int, int]]) -> bool:
    return any(place[0] < end and start < place[1] for start, end in others)


def has_letter(text: str) -> bool:
    """Whether a text has a letter of any script: figures and signs need no translation."""
    return any(unicodedata.category(c)[0] == "L" for c in text)


class whole_clusters:  # noqa: N801 (used as a function: it keeps the text's clusters)
    """Widens a place so that it cuts no grapheme cluster of the text."""

    def __init__(self, text: str) -> None:
        self._ends = [0, *(match.end() for match in _cluster().finditer(text))]
        self._known = set(self._ends)

    def __call__(self, start: int, end: int) -> tuple[int, int]:
        """The place, widened."""
        if start in self._known and end in self._known:
            return start, end
        return max(e for e in self._ends if e <= start), min(e for e in self._ends if e >= end)


@cache
def _cluster() -> Any:
    """One extended grapheme cluster, which Python's own `re` does not know."""
    try:
        import regex
    except ImportError as error:
        raise UserError("regex is not installed: switching needs `pip install 'mixgrid[switch]'`") from error
    return regex.compile(r"\X")
