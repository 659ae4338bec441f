"""Class names in an answer, by their spellings."""

from collections.abc import Iterable, Mapping
from functools import lru_cache

from mixgrid.languages import fold, words
from mixgrid.parse.base import excerpt, refuses
from mixgrid.records import Parsed


def aliases(names: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """A lookup from an alias's words to its class; an alias of two classes raises ValueError."""
    lookup: dict[str, str] = {}
    for name, spellings in names.items():
        for spelling in spellings:
            if lookup.setdefault(spelled(spelling), name) != name:
                raise ValueError(f"alias {spelling!r} names both {lookup[spelled(spelling)]!r} and {name!r}")
    return lookup


@lru_cache(maxsize=1 << 12)
def spelled(text: str) -> str:
    """The words of a text, folded: case, accents, punctuation and emoji make no other class of it.

    >>> spelled(" **Science / Technology**. ")
    'science technology'
    """
    return " ".join(words(fold(text)))


def label(content: str, lookup: Mapping[str, str]) -> Parsed:
    """The class whose alias the content is. Never part of it, never the closest one."""
    text = spelled(content)
    if text in lookup:
        return Parsed("ok", lookup[text])
    mentioned = sorted({name for alias, name in lookup.items() if f" {alias} " in f" {text} "})
    if len(mentioned) > 1:
        return Parsed("ambiguous", note=f"{excerpt(content)} names {', '.join(mentioned)}")
    if not text:
        return Parsed("empty", note="the answer is empty")
    return Parsed("refused" if refuses(content) else "invalid_label", note=excerpt(content))
