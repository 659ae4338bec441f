"""Options named by letter or text, and free text."""

import re
from collections.abc import Sequence

from mixgrid.languages import fold, words
from mixgrid.parse.base import excerpt, refuses
from mixgrid.records import Parsed

_AROUND = " \t\n\r\"'“”„‘’«»()[]*`.,;:!"  # not signs, currencies and per cent: an option may be -5 %
_LETTER = re.compile(r"""[\s"'“”‘’«»(\[*`]*([a-z])(?:[\s"'“”‘’«»)\].:,*`]+|$)(.*)""", re.DOTALL)


def letter(content: str, options: Sequence[str]) -> Parsed:
    """The letter of the option that an answer names by letter (`C`, `(c)`), letter and text (`C. Bandung`), or text.

    A letter beside another option's text, several letters, or a text that two options share: ambiguous.
    """
    texts = [_bare(option) for option in options]
    named = {i for i, text in enumerate(texts) if text and text == _bare(content)}
    match = _LETTER.fullmatch(fold(content))
    at = ord(match[1]) - ord("a") if match else len(options)
    if match and at < len(options):
        if not _bare(match[2]):
            return Parsed("ok", chr(ord("A") + at))
        beside = {i for i, text in enumerate(texts) if text and text == _bare(match[2])}
        named |= ({at} if at in beside else {at} | beside) if beside else set()
    if len(named) == 1:
        return Parsed("ok", chr(ord("A") + named.pop()))
    letters = set(re.findall(r"\b[A-Z]\b", content)) & {chr(ord("A") + i) for i in range(len(options))}
    if named or len(letters) > 1:
        return Parsed("ambiguous", note=excerpt(content))
    return Parsed("refused" if refuses(content) else "invalid_label", note=excerpt(content))


def _bare(text: str) -> str:
    """An option's text for comparing: folded, its spaces single, without the marks around it."""
    return " ".join(fold(text).split()).strip(_AROUND)


def prose(content: str) -> Parsed:
    """Free text as it is; only text without a word, and text that begins like a refusal, is none."""
    if not words(content):
        return Parsed("empty", note="the text has no word")
    if refuses(content, only_at_start=True):
        return Parsed("refused", note=excerpt(content))
    return Parsed("ok", content.strip())
