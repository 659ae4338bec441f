"""The two tokenizers that ROUGE and METEOR are reported with.

`unicode` (default) is the project's own, languages.words: words of every script. `compat` is rouge-score's, which sees
a-z and 0-9 only, so that the numbers of papers that used it can be met. On code-mixed text the latter errs both ways:
an Arabic pair that shares one French word scores 1, a Bangla text against itself 0 (google/adk-python #3111).

    >>> words("ɗalibai সুখ s-a_dus <PERSON>")
    ['ɗalibai', 'সুখ', 's', 'a', 'dus', 'person']
    >>> compat("ɗalibai সুখ s-a_dus <PERSON>")
    ['alibai', 's', 'a', 'dus', 'person']

Both cut at white space before all else, so a text is its chunks' words one after the other; that makes them fast.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from mixgrid import languages
from mixgrid.errors import UserError, allowed

Tokenizer = Callable[[str], list[str]]

CHUNKS = 1 << 16  # distinct chunks remembered: some 15 MB when full

_ASCII = re.compile(r"[a-z0-9]+")


def compat(text: str) -> list[str]:
    """The tokens of rouge-score 0.1.2: lower case, runs of a-z and 0-9, no stemming."""
    return _ASCII.findall(text.lower())


def words(text: str) -> list[str]:
    """languages.words, ten times as fast: most chunks of a text have been seen before."""
    return [word for chunk in text.split() for word in _chunk(chunk)]


@lru_cache(maxsize=CHUNKS)
def _chunk(chunk: str) -> tuple[str, ...]:
    return tuple(languages.words(chunk))


TOKENIZERS: Mapping[str, Tokenizer] = {"compat": compat, "unicode": words}


def tokenizer(name: str) -> Tokenizer:
    """The tokenizer of that name."""
    if name not in TOKENIZERS:
        raise UserError(f"tokenizer: unknown name {name!r}; {allowed(name, TOKENIZERS)}")
    return TOKENIZERS[name]


def label(name: str) -> str:
    """The tokenizer as a signature shows it: what counts as a letter depends on the Unicode version."""
    return f"unicode({languages.TOKENIZER})" if name == "unicode" else name
