"""Answers in XML-like tags: `<raspuns>satiră</raspuns>`."""

from collections.abc import Mapping

from mixgrid.parse.base import Raw, Tags, missing, scan, visible
from mixgrid.parse.labels import label
from mixgrid.records import Parsed


def tagged(raw: Raw, tags: Tags, lookup: Mapping[str, str]) -> Parsed:
    """The class that the last answer tag names."""
    seen = visible(raw, tags, entities=True)
    content = last_tag(seen.text, tags.answer, finished=raw.finish_reason != "length") if raw.usable else None
    return missing(raw, seen, "no answer tag") if content is None else label(content, lookup)


def last_tag(text: str, names: frozenset[str], finished: bool = True) -> str | None:
    """What the last complete pair of the named tags holds; failing that, what follows an open one, if all is there."""
    pairs, opened = tag_pairs(text, names)
    if not pairs and opened is not None and finished:
        return opened.split("</", 1)[0]  # a misspelt closing tag ends it too
    return pairs[-1] if pairs else None


def tag_pairs(text: str, names: frozenset[str]) -> tuple[list[str], str | None]:
    """What every complete pair of the named tags holds, and what follows one that stays open.

    Names are compared folded, and a pair may mix them (`<raspuns>…</answer>`).
    """
    pairs: list[str] = []
    opened: int | None = None
    for tag in scan(text):
        if tag.name not in names:
            continue
        if tag.empty:
            pairs.append("")
        elif not tag.closing:
            opened = tag.end
        elif opened is not None:
            pairs.append(text[opened : tag.start])
            opened = None
    return pairs, None if opened is None else text[opened:]
