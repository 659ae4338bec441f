r"""Sentences of CoNLL-U text as rows: the metadata by key, the columns as lists by name, MISC as `misc.KEY`.

    # sent_id = x-1
    # text = Das ist güzel.
    1\tDas\tder\tPRON\t_\t_\t3\tnsubj\t_\tCSID=DE
    …
    → {"sent_id": "x-1", "text": "Das ist güzel.", "form": ["Das", …], "misc.CSID": ["DE", …], …}

Words count, not the surface tokens that join several of them (lines `3-4`); empty nodes (`3.1`) are left out too.
"""

import re
from collections.abc import Iterator
from typing import Any

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
_METADATA = re.compile(r"#\s*(?P<key>[^=]+?)\s*=\s?(?P<value>.*)")
_NOT_A_WORD = re.compile(r"\d+-\d+|\d+\.\d+")


def sentences(text: str) -> Iterator[dict[str, Any] | str]:
    """Each sentence's values, or why it does not parse. A key of MISC that no word of a sentence has is not there."""
    for block in re.split(r"\n[ \t]*\n", text):
        lines = [line for line in block.split("\n") if line.strip()]
        if any(not line.startswith("#") for line in lines):
            yield _sentence(lines)


def _sentence(lines: list[str]) -> dict[str, Any] | str:
    values: dict[str, Any] = {m["key"]: m["value"] for line in lines if (m := _METADATA.fullmatch(line))}
    words = []
    for line in (line for line in lines if not line.startswith("#")):
        fields = line.split("\t")
        if len(fields) != len(COLUMNS):
            return f"{len(fields)} columns in {line[:40]!r}, where CoNLL-U has {len(COLUMNS)}"
        if not _NOT_A_WORD.fullmatch(fields[0]):
            words.append(fields)
    if [fields[0] for fields in words] != [str(number) for number in range(1, len(words) + 1)]:
        return f"its words are numbered {', '.join(fields[0] for fields in words[:5])}, …, not 1, 2, 3"
    values |= {name: [fields[at] for fields in words] for at, name in enumerate(COLUMNS[:-1])}
    return values | _misc([fields[-1] for fields in words])


def _misc(cells: list[str]) -> dict[str, list[str]]:
    """Every key of MISC with a value for each word, "" where the word has none."""
    found = [dict(pair.split("=", 1) for pair in cell.split("|") if "=" in pair) for cell in cells]
    keys = dict.fromkeys(key for word in found for key in word)
    return {f"misc.{key}": [word.get(key, "") for word in found] for key in keys}
