"""Language tags by a guess, word by word among the languages of the item's combination: lingua, or word lists.

    languages:              # --tags words:lists.yaml
      id: indonesian.txt    # one word a line, beside this file
      en: [the, of, guys]

A script that only one of them is written in decides alone. A word that the source cannot decide (in no list, or in
several) is in the language of the word before it, at the start of a text of the first that is decided; a text without a
decided word is neutral.
"""

import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

from mixgrid.describe.base import NEUTRAL
from mixgrid.describe.tags import Tags, neutral_words, utterances
from mixgrid.errors import UserError, allowed
from mixgrid.languages import LANGUAGES, fold, language, word_places
from mixgrid.manifest import Frozen
from mixgrid.records import Item
from mixgrid.schemas import digest
from mixgrid.yamlfile import read_yaml

CACHED = 1 << 17  # distinct words remembered
_SCRIPTS = {"ARABIC": "Arab", "BENGALI": "Beng", "LATIN": "Latn"}  # as Unicode names letters


class _Detector(ABC):
    """What both share: each turn or text by itself, its undecided words by their neighbours."""

    def __call__(self, item: Item) -> list[Tags]:
        """The tags of each utterance. A text in one language is in that one."""
        parts = language(item.language).parts
        return [self._utterance(text, parts) for text in utterances(item)]

    def _utterance(self, text: str, parts: tuple[str, ...]) -> Tags:
        places = word_places(text)
        words = [text[start:end] for start, end in places]
        guesses = [self._told(word, parts) for word in words]
        return _settled(guesses, neutral_words(text, places))

    def _told(self, word: str, parts: tuple[str, ...]) -> str | None:
        """By its script, where only one of the languages is written in it; else by what the source says."""
        if len(parts) == 1:
            return parts[0]
        written = [part for part in parts if _script(word) in LANGUAGES[part].scripts]
        return written[0] if len(written) == 1 else self._guess(word, parts)

    @abstractmethod
    def _guess(self, word: str, parts: tuple[str, ...]) -> str | None:
        """What the source says of a word."""


@lru_cache(maxsize=CACHED)
def _script(word: str) -> str:
    """The ISO 15924 code of a word's first letter; none of a word without one, or in a script that no language has."""
    names = (unicodedata.name(char, "") for char in word if char.isalpha())
    return _SCRIPTS.get(next(names, "").partition(" ")[0], "")


def _settled(guesses: Sequence[str | None], neutral: Sequence[bool]) -> Tags:
    decided = [guess for guess, is_neutral in zip(guesses, neutral, strict=True) if guess and not is_neutral]
    last = decided[0] if decided else NEUTRAL
    tags = []
    for guess, is_neutral in zip(guesses, neutral, strict=True):
        last = guess if guess and not is_neutral else last
        tags.append(NEUTRAL if is_neutral else last)
    return tags


@dataclass(frozen=True)
class Lingua(_Detector):
    """The n-gram detector of the package lingua-language-detector (extra `describe`)."""

    @property
    def signature(self) -> str:
        """With its version, as its models come with it."""
        _lingua()
        return f"lingua-{version('lingua-language-detector')}(words)"

    def check(self, combinations: Collection[str]) -> None:
        """UserError for languages that it does not know, or knows as one."""
        for combination in sorted(combinations):
            parts = language(combination).parts
            known = [_lingua_language(part) for part in parts]
            lacking = [part for part, found in zip(parts, known, strict=True) if found is None]
            if len(parts) > 1 and (lacking or len(set(known)) < len(known)):
                why = f"does not know {', '.join(map(repr, lacking))}" if lacking else "takes two of them for one"
                raise UserError(f"--tags lingua: {combination}: lingua {why}; give word lists with --tags words:FILE")

    def _guess(self, word: str, parts: tuple[str, ...]) -> str | None:
        return _lingua_guess(word, parts)


@lru_cache(maxsize=CACHED)
def _lingua_guess(word: str, parts: tuple[str, ...]) -> str | None:
    found = _lingua_detector(parts).detect_language_of(word)
    return {_lingua_language(part): part for part in parts}.get(found)


@lru_cache(maxsize=8)
def _lingua_detector(parts: tuple[str, ...]) -> Any:
    return _lingua().LanguageDetectorBuilder.from_languages(*(_lingua_language(part) for part in parts)).build()


def _lingua_language(part: str) -> Any | None:
    """Lingua's language of a code; of a regional one (`ar-dz`) its language."""
    by_code = {found.iso_code_639_1.name.lower(): found for found in _lingua().Language.all()}
    return by_code.get(part.split("-")[0])


def _lingua() -> Any:
    try:
        return import_module("lingua")
    except ImportError as error:
        raise UserError("--tags lingua: lingua is not installed; run: pip install 'mixgrid[describe]'") from error


class _Lists(Frozen):
    languages: dict[str, str | list[str]]


@dataclass(frozen=True)
class WordLists(_Detector):
    """Lists of words, compared without case and diacritics."""

    path: str
    lists: tuple[tuple[str, frozenset[str]], ...]

    @classmethod
    def read(cls, path: str) -> "WordLists":
        """The lists that a YAML file names; UserError says which language or file is not there."""
        found = read_yaml(path, _Lists).languages
        for tag in found:
            if tag not in LANGUAGES:
                raise UserError(f"{path}: key 'languages': there is no language {tag!r}; {allowed(tag, LANGUAGES)}")
        return cls(path, tuple((tag, _words(Path(path), tag, listed)) for tag, listed in sorted(found.items())))

    @property
    def signature(self) -> str:
        """By the content of the lists; the file's place stays private."""
        return f"words-{digest([[tag, sorted(words)] for tag, words in self.lists])[:12]}"

    def check(self, combinations: Collection[str]) -> None:
        """UserError for a language without a list."""
        there = [tag for tag, _ in self.lists]
        for combination in sorted(combinations):
            for part in language(combination).parts:
                if part not in there and len(language(combination).parts) > 1:
                    raise UserError(f"{self.path}: no list for {part!r} of {combination}; there are {', '.join(there)}")

    def _guess(self, word: str, parts: tuple[str, ...]) -> str | None:
        folded = fold(word)
        found = [tag for tag, words in self.lists if tag in parts and folded in words]
        return found[0] if len(found) == 1 else None


def _words(path: Path, tag: str, listed: str | list[str]) -> frozenset[str]:
    if isinstance(listed, list):
        return frozenset(map(fold, listed))
    try:
        lines = (path.parent / listed).read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: key 'languages.{tag}': {listed!r} is no UTF-8 file beside it ({error})") from None
    return frozenset(fold(word) for word in chain.from_iterable(line.split() for line in lines))
