"""What a corpus reader is, what it does with rows that do not parse, and slices of what it read."""

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from mixgrid.corpora.catalogue import Corpus
from mixgrid.errors import UserError, allowed
from mixgrid.records import Item

log = logging.getLogger(__name__)


class Reader(Protocol):
    """Reads a corpus whole. Every row becomes an item or is named; nothing is guessed."""

    def __call__(self, corpus: Corpus) -> list[Item]:
        """The items, in the order of the files. UserError where the corpus cannot be read or is empty."""
        ...


class RowError(ValueError):
    """One row does not parse; the message says why."""


@dataclass(frozen=True)
class BadRow:
    """A row that does not parse: its number counts from 1, a header is row 0."""

    file: str
    number: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file.rpartition('/')[2]} row {self.number}: {self.reason}"


def settle(corpus: Corpus, items: list[Item], bad: Sequence[BadRow]) -> list[Item]:
    """The items, once the rows that did not parse are refused, or named in the log where the entry says `skip`."""
    first = "; ".join(str(row) for row in bad[:5]) + (f"; and {len(bad) - 5} more" if len(bad) > 5 else "")
    count = f"{len(bad)} of {len(items) + len(bad)} rows do not parse"
    if bad and corpus.entry.bad_rows == "refuse":
        remedy = "mend the file, or leave such rows out with `bad_rows: skip`"
        raise UserError(f"{corpus.where}: {count}: {first}. Next: {remedy}")
    if bad:
        log.warning("corpus %s: %s and are left out: %s", corpus.name, count, first)
    if not items:
        files = ", ".join(file.path for file in corpus.sources)
        raise UserError(f"{corpus.where} is empty: no row in {files}; name a file that holds items")
    return items


def slice_items(
    items: Sequence[Item],
    split: str,
    languages: Sequence[str] | None = None,
    switching: Sequence[str] | None = None,
    where: str | None = None,
) -> list[Item]:
    """The items of a split, of the languages and switching methods named (None: all of them).

    UserError where the split, or one of those languages or methods in it, is not in the corpus at all. A language
    that only some methods have is no error: that cell is empty. `where`: the file and key that want it.
    """
    name = where or f"corpus '{items[0].corpus if items else '?'}'"
    part = [item for item in items if item.split == split]
    if not part:
        raise UserError(f"{name} has no split {split!r}; {allowed(split, {item.split for item in items})}")
    _known(f"{name}, split '{split}'", "language", languages, {item.language for item in part})
    _known(f"{name}, split '{split}'", "switching method", switching, {item.switching for item in part})
    return [
        item
        for item in part
        if (languages is None or item.language in languages) and (switching is None or item.switching in switching)
    ]


def _known(where: str, what: str, wanted: Sequence[str] | None, there: Collection[str]) -> None:
    for value in wanted or ():
        if value not in there:
            raise UserError(f"{where} has no {what} {value!r}; {allowed(value, there)}")
