"""Translations put into a sentence, and taken out again: what happens at the seams belongs to the span.

    woven = weave("Gardul e plictisitor.", [Piece(0, 6, "word")], [Said("the fence")], "en")
    woven.text                              # "The fence e plictisitor."
    unweave(woven.text, woven.spans)        # the original, to the byte

A piece whose translation cannot stand there stays as it was, for a reason that is counted.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from mixgrid.languages import tags, words
from mixgrid.records import Span
from mixgrid.switching.base import Chosen, Reason, whole_clusters

_NOUNS_IN_CAPITALS = ("de",)  # in these languages a capital says nothing about the place in the sentence
_ADDED = set("()[]{}/|;\\*`")  # alternatives, glosses and markup, where the original has none
_END = ".,;:!?…。！？।،؛"
_START = "¿¡-–—•*"
_QUOTES = {'"': '"', "'": "'", "“": "”", "”": "”", "„": "”", "«": "»", "‘": "’", "‚": "‘", "`": "`"}


@dataclass(frozen=True)
class Said:
    """A translation, or why there is none."""

    text: str
    reason: Reason | None = None


@dataclass(frozen=True)
class Woven:
    """A mixed sentence; pieces whose translation could not be used stand there as they were, each for a reason."""

    text: str
    spans: tuple[Span, ...]
    left: tuple[Reason, ...]


def weave(text: str, pieces: Chosen, said: Sequence[Said], language: str) -> Woven:
    """The text with each piece in its translation, fitted; what has none stays as it was."""
    spans: list[Span] = []
    left: list[Reason] = []
    mixed, at = "", 0
    for piece, answer in zip(pieces, said, strict=True):
        original = text[piece.start : piece.end]
        fitted = answer if answer.reason else fit(original, answer.text, language)
        mixed += text[at : piece.start]
        if fitted.reason or not _seamless(mixed, fitted.text, text[piece.end :]):
            left.append(fitted.reason or "not_translated")
            mixed += original
        else:
            spans.append(Span(len(mixed), len(mixed) + len(fitted.text), original, fitted.text, language))
            mixed += fitted.text
        at = piece.end
    return Woven(mixed + text[at:], tuple(spans), tuple(left))


def unweave(text: str, spans: Sequence[Span]) -> str:
    """The sentence before its spans were switched."""
    for span in sorted(spans, key=lambda s: s.start, reverse=True):
        text = text[: span.start] + span.original + text[span.end :]
    return text


def fit(original: str, said: str, language: str) -> Said:
    """A translation with the original's case, punctuation and quotation marks at its ends, on as many lines.

    A capital that only a sentence's start would have is taken away, but for languages that write nouns so.
    """
    lines = [" ".join(line.split(" ")) for line in said.strip().splitlines() if line.strip()]
    if len(lines) > max(len(original.splitlines()), 1):
        return Said("", "not_translated")
    text = _case(original, _quoted(original, _ends(original, "\n".join(lines))), language)
    if tags(text) != tags(original):
        return Said("", "tag_lost")
    if not words(text) or _overgrown(original, text):
        return Said("", "not_translated")
    same = unicodedata.normalize("NFC", text) == unicodedata.normalize("NFC", original)
    return Said("", "unchanged") if same else Said(text)


def _overgrown(original: str, text: str) -> bool:
    """Whether more came back than a translation: alternatives, glosses, markup, an explanation."""
    return bool(_ADDED & set(text) - set(original)) or len(words(text)) > 4 * len(words(original)) + 4


def _ends(original: str, text: str) -> str:
    """Without the punctuation that models put around what they are asked, where the original has none."""
    if original[-1:] not in _END:
        text = text.rstrip(_END + " ")
    if original[:1] not in _START:
        text = text.lstrip(_START + " ")
    return text


def _quoted(original: str, text: str) -> str:
    """In the original's quotation marks, or without any, as the original is."""
    if len(text) > 1 and _QUOTES.get(text[0]) == text[-1] and text[0] not in original:
        text = text[1:-1].strip()
    opening = original[:1]
    if len(original) > 1 and _QUOTES.get(opening) == original[-1] and opening not in text:
        text = f"{opening}{text}{original[-1]}"
    return text


def _case(original: str, text: str, language: str) -> str:
    """In capitals, with a first capital or without, as the original is."""
    first, word = next((c for c in original if c.isalpha()), ""), re.match(r"\w+", text)
    if word is None or not first:
        return text
    head = word[0]
    if len(original) > 1 and original.isupper() and not tags(original):
        return text.upper()
    if first.isupper() and head[0].islower():
        return _title(head) + text[len(head) :]
    if first.islower() and head.istitle() and language not in _NOUNS_IN_CAPITALS and not _is_i(head, language):
        return head[0].lower() + text[1:]
    return text


def _title(head: str) -> str:
    """The first letter in capitals (`ß` and its like would grow, and stay)."""
    return head[0].upper() + head[1:] if len(head[0].upper()) == 1 else head


def _is_i(head: str, language: str) -> bool:
    """English "I", which is a capital anywhere."""
    return language == "en" and head == "I"


def _seamless(before: str, text: str, after: str) -> bool:
    """Whether the translation stays apart from its surroundings: no grapheme cluster goes over a seam."""
    whole = whole_clusters(before[-8:] + text + after[:8])
    start = len(before[-8:])
    return bool(text) and whole(start, start + len(text)) == (start, start + len(text))
