"""Languages and their combinations: names, scripts, and how their text is compared and cut into words.

A tag is one language (`ro`, `ar-dz`) or a combination of them, matrix language first (`ro-en`, `ar-dz-fr`). Prompts get
the raw text; what stands here is for comparing: answers with labels, predictions with references.

>>> language("ro-en").english
'Romanian-English'
>>> words("Ce-ți spune boss-ul?")
['ce', 'ți', 'spune', 'boss', 'ul']
"""

import difflib
import functools
import itertools
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field

from mixgrid.errors import UserError

NORMALISER = "1"
TOKENIZER = f"words-1/unicode-{unicodedata.unidata_version}"  # goes into the signature of every score that counts words

_CEDILLA = {"ş": "ș", "Ş": "Ș", "ţ": "ț", "Ţ": "Ț"}  # no Unicode form unifies them, and Turkish needs the cedilla


@dataclass(frozen=True)
class Language:
    """A language or a combination; `parts` are its language codes, the matrix language first."""

    tag: str
    english: str
    romanian: str  # the name as the satire prompts spell it
    scripts: tuple[str, ...]  # ISO 15924
    answer_words: tuple[str, ...]  # what models call an answer or a label, as a tag, in this language
    reasoning_words: tuple[str, ...]
    replaced: Mapping[str, str] = field(default_factory=dict, hash=False)  # when comparing, after NFC
    parts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """A single language is its own only part."""
        object.__setattr__(self, "parts", self.parts or (self.tag,))


_LATIN, _ARABIC, _BOTH = ("Latn",), ("Arab",), ("Arab", "Latn")

LANGUAGES: dict[str, Language] = {
    one.tag: one
    for one in (
        Language("ar", "Arabic", "arabă", _ARABIC, ("إجابة", "الإجابة", "جواب", "الجواب"), ("تفكير", "التفكير")),
        Language("ar-dz", "Algerian Arabic", "arabă algeriană", _BOTH, ("إجابة", "جواب", "jawab"), ("تفكير",)),
        Language("bn", "Bengali", "bengaleză", ("Beng", "Latn"), ("উত্তর", "uttor"), ("যুক্তি", "jukti")),
        Language("de", "German", "germană", _LATIN, ("antwort", "etikett", "klasse"), ("begründung", "überlegung")),
        Language("en", "English", "engleză", _LATIN, ("answer", "label", "response", "class"), ("reasoning",)),
        Language("fr", "French", "franceză", _LATIN, ("réponse", "étiquette", "classe"), ("raisonnement",)),
        Language("ha", "Hausa", "hausa", _LATIN, ("amsa",), ("dalili",)),
        Language("id", "Indonesian", "indoneziană", _LATIN, ("jawaban", "jawab"), ("penalaran", "alasan")),
        Language("it", "Italian", "italiană", _LATIN, ("risposta", "etichetta", "classe"), ("ragionamento",)),
        Language("jv", "Javanese", "javaneză", _LATIN, ("wangsulan", "jawaban"), ("penalaran",)),
        Language(
            "ro", "Romanian", "română", _LATIN,
            ("răspuns", "răspunsul", "etichetă", "eticheta", "clasă", "clasa"), ("raționament", "raționamentul"),
            _CEDILLA,
        ),
        Language("su", "Sundanese", "sundaneză", _LATIN, ("jawaban", "waleran"), ("alesan",)),
        Language("tr", "Turkish", "turcă", _LATIN, ("cevap", "yanıt", "etiket"), ("gerekçe",)),
    )
}  # fmt: skip


@functools.cache
def language(tag: str) -> Language:
    """The language or combination of a tag; an unknown one raises UserError with the nearest names."""
    parts = _parts(tag.split("-"))
    if not parts or len(set(parts)) < len(parts):
        pairs = [f"{one}-{other}" for one in LANGUAGES for other in LANGUAGES if one != other]
        near = difflib.get_close_matches(tag, [*LANGUAGES, *pairs], n=3)
        guess = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
        known = ", ".join(LANGUAGES)
        raise UserError(f"language {tag!r} is not known; {guess}Allowed: {known}, and combinations such as 'ro-en'")
    return LANGUAGES[tag] if len(parts) == 1 else _combined(tag, [LANGUAGES[p] for p in parts])


def _parts(pieces: list[str]) -> list[str]:
    """The codes that a tag's pieces spell, the longest code first (`ar-dz` before `ar`); none if they spell none."""
    for size in (2, 1):
        head, rest = "-".join(pieces[:size]), pieces[size:]
        if head in LANGUAGES and len(pieces) >= size:
            tail = _parts(rest)
            if tail or not rest:
                return [head, *tail]
    return []


def _combined(tag: str, parts: list[Language]) -> Language:
    def union(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(value for part in parts for value in getattr(part, name)))

    return Language(
        tag=tag,
        english="-".join(p.english for p in parts),
        romanian="-".join(p.romanian for p in parts),
        scripts=union("scripts"),
        answer_words=union("answer_words"),
        reasoning_words=union("reasoning_words"),
        replaced={old: new for part in parts for old, new in part.replaced.items()},
        parts=tuple(p.tag for p in parts),
    )


def normalise(text: str, tag: str) -> str:
    """Text as it is compared: NFC, and for Romanian the comma letters. Never for prompts, which keep the raw text."""
    table = _table(tag)
    composed = unicodedata.normalize("NFC", text)
    return unicodedata.normalize("NFC", composed.translate(table)) if table else composed


@functools.cache
def _table(tag: str) -> dict[int, str]:
    return str.maketrans(dict(language(tag).replaced))


def words(text: str) -> list[str]:
    """Lower-case words of any script: letters, marks and digits (L*, M*, N*), with ZWJ and ZWNJ inside a word.

    A word starts with a letter or digit, so that the variation selector of an emoji is not one.
    """
    lowered = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).lower())
    return _word().findall(lowered.replace("_", " "))


def word_places(text: str) -> list[tuple[int, int]]:
    """Where each word of a raw text starts and ends, in code points, by the rule of `words`."""
    return [match.span() for match in _word().finditer(text.replace("_", " "))]


# What stands for a name, an address or a link in anonymised text; it belongs to no language.
TAG = re.compile(r"<[A-Z][A-Z0-9_]*>|@[A-Z]{2,}\b")


def tags(text: str) -> tuple[str, ...]:
    """The tags of a text, in order.

    >>> tags("<PERSON> a scris pe @URL despre <GPE>.")
    ('<PERSON>', '@URL', '<GPE>')
    """
    return tuple(TAG.findall(text))


@functools.cache
def _word() -> re.Pattern[str]:
    r"""`\w` is L*, N* and the underscore; without the marks, Bengali and vocalised Arabic would be cut to pieces."""
    places = itertools.chain(range(0x300, 0x20000), range(0xE0000, 0xE0200))  # where Unicode has marks
    marks = "".join(c for c in map(chr, places) if unicodedata.category(c)[0] == "M")
    return re.compile(rf"\w[\w{marks}]*(?:[\u200c\u200d]+[\w{marks}]+)*")


# Accents of Latin, Greek and Cyrillic, and Arabic's optional vowel signs and hamza; the vowel signs of Bengali and its
# like are letters in all but name, and stay.
_ACCENT = re.compile("[\u0300-\u036f\u0640\u064b-\u065f\u0670]")


@functools.lru_cache(maxsize=1 << 14)  # a parser asks for the same few tags in each of a million answers
def fold(text: str) -> str:
    """Text for comparing labels and tag names: without case or diacritics."""
    apart = unicodedata.normalize("NFD", unicodedata.normalize("NFD", text).casefold())
    return unicodedata.normalize("NFC", _ACCENT.sub("", apart))
