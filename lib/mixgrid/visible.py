"""Text from models and data sets is hostile: what can hide, turn or forge the words around it is made visible."""

import unicodedata

_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")


def visible(text: str) -> str:
    """The text with control and direction characters spelled out: no line break, terminal code or reversal survives."""
    return "".join(_shown(char) for char in text)


def _shown(char: str) -> str:
    hidden = unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") or char in _TURNING
    return f"⟨U+{ord(char):04X}⟩" if hidden else char
