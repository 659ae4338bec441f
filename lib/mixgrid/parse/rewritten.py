"""Text that says again what another text says: a translation, a mixed sentence, between the tags that were asked for.

    <translation>"The mayor of < gpe > opened a bridge."</translation>     → The mayor of <GPE> opened a bridge.

What stands around the answer tag is explanation and goes. Quotation marks and markup around the answer go too; the tags
of anonymised text (`<PERSON>`) come back in their own spelling, and in number and order as they were, or there is no
value.
"""

import re
from collections.abc import Sequence

from mixgrid.languages import fold, tags, words
from mixgrid.parse.base import Raw, excerpt, missing, scan, visible
from mixgrid.parse.tags import last_tag
from mixgrid.records import Parsed

_QUOTES = {'"': '"', "“": "”", "”": "”", "„": "”", "«": "»", "‘": "’"}
_MARKUP = re.compile(r"(\*\*|__|\*|_|```|`)(?P<inner>.*)\1", re.DOTALL)


def rewritten(raw: Raw, names: frozenset[str], kept: Sequence[str]) -> Parsed:
    """The text in the last of the named answer tags (folded names), with the tags `kept`; else why it is none."""
    seen = visible(raw, entities=True)
    content = last_tag(seen.text, names, finished=raw.finish_reason != "length") if raw.usable else None
    if content is None:
        return missing(raw, seen, "no answer tag")
    text = mended(bare(content), kept)
    if any(_no_text(c) for c in text):
        return Parsed("bad_format", note=excerpt(f"a control character, or half of one: {text!r}"))
    if not words(text):
        return Parsed("empty", note="the answer has no word")
    if tags(text) != tuple(kept) or len(scan(text)) != sum(tag[0] == "<" for tag in kept):
        return Parsed("invalid_label", note=excerpt(f"the tags are not {' '.join(kept) or 'none'}: {text}"))
    return Parsed("ok", text)


def bare(text: str) -> str:
    """Text without blanks, pairs of quotation marks and markup around it."""
    text = text.strip()
    while match := _MARKUP.fullmatch(text):
        text = match["inner"].strip()
    while len(text) > 1 and _QUOTES.get(text[0]) == text[-1] and text[0] not in text[1:-1]:
        text = text[1:-1].strip()
    return text


def mended(text: str, kept: Sequence[str]) -> str:
    """Text whose tags are spelled as those `kept` are, whatever blanks and case a model gave them."""
    spelled = {fold(tag.strip("<>")): tag for tag in kept if tag[0] == "<"}
    for tag in reversed(scan(text)):
        if tag.name in spelled and not tag.closing and not tag.empty:
            text = text[: tag.start] + spelled[tag.name] + text[tag.end :]
    return text


def _no_text(c: str) -> bool:
    return "\ud800" <= c <= "\udfff" or (c < " " and c not in "\t\n\r") or c == "\x7f"
