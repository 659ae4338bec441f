"""Reader `table`: csv, tsv, JSON, JSONL or Parquet by the entry's declared column map.

- {"id": "007", "sentence": "Primarul a promised un pod.", "split": "test", "label": "satire"}
  columns: {item_id: id, text: sentence, split: split, label: label}
  constants: {language: ro-en, switching: random}
"""

import difflib
import sys
import typing
import unicodedata
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from functools import cache, cached_property
from typing import Any

from mixgrid.corpora.base import BadRow, RowError, settle
from mixgrid.corpora.catalogue import (
    CATEGORIES,
    SWITCHING,
    Columns,
    Corpus,
    CorpusEntry,
    Distractors,
    Scalar,
    SourceFile,
    TokenColumns,
)
from mixgrid.corpora.cells import cell, get, strings, tokens, yes_no
from mixgrid.corpora.choices import options, right
from mixgrid.corpora.nested import spans, turns
from mixgrid.corpora.rows import FileBytes, Row, format_of, rows
from mixgrid.corpora.source import fetch
from mixgrid.errors import UserError, allowed
from mixgrid.languages import language
from mixgrid.records import Flag, Item, Turn
from mixgrid.schemas import digest
from mixgrid.visible import visible

_UNIQUE = ("item_id", "question", "text")  # fields whose values are seldom another item's too


def read(corpus: Corpus) -> list[Item]:
    """The items of a corpus whose entry maps its columns."""
    _refuse_incomplete(corpus)
    items: list[Item] = []
    bad: list[BadRow] = []
    sources = corpus.sources
    for index, source in enumerate(sources):
        prefix = source.prefix or (f"{index}-" if len(sources) > 1 else "")
        _read_file(_Map(corpus, source, prefix), items, bad)
    return settle(corpus, items, bad)


@dataclass(frozen=True)
class _Map:
    """The column map as it applies to one file."""

    corpus: Corpus
    source: SourceFile
    prefix: str  # of ids made from row numbers, where several files count from 0

    @property
    def entry(self) -> CorpusEntry:
        return self.corpus.entry

    @cached_property
    def columns(self) -> Columns:
        return self.source.columns or self.corpus.entry.columns

    @cached_property
    def scalars(self) -> Mapping[Scalar, tuple[str | None, str | None, Mapping[str, str] | None]]:
        """Where each field comes from: its column, the constant without one, our spellings. Asked for in every row."""
        constants = {**self.entry.constants, **self.source.constants}
        return {
            field: (getattr(self.columns, field), constants.get(field), self.entry.values.get(field))
            for field in typing.get_args(Scalar)
        }


def _read_file(mapping: _Map, items: list[Item], bad: list[BadRow]) -> None:
    entry, path = mapping.entry, mapping.source.path
    kind = entry.format or format_of(path, mapping.corpus.where)
    seen: dict[str, None] = {}  # a set that keeps the file's order
    found = 0
    for row in rows(FileBytes(path, fetch(mapping.corpus, path), kind, entry.quoting, entry.records)):
        if isinstance(row, BadRow):
            bad.append(row)
            continue
        found += 1
        seen.update(dict.fromkeys(row.values))
        try:
            items.append(_item(mapping, row))
        except RowError as error:
            bad.append(BadRow(path, row.number, str(error)))
    if found:
        _refuse_missing(mapping, seen)


def _item(mapping: _Map, row: Row) -> Item:
    columns, values = mapping.columns, row.values
    item_id = _id(mapping, row)
    text = _text(mapping, values)
    said = _said(columns, values) if columns.dialogue else ()
    source_id = _source(mapping, values) or (_dialogue_id(said) if columns.question and said else item_id)
    label = _required(mapping, "label", values) if columns.label else _scalar(mapping, "label", values)
    choice = options(columns, values, item_id)
    return Item(
        corpus=mapping.corpus.name,
        item_id=item_id,
        source_id=source_id,
        twin_id=_identity("twin_id", _scalar(mapping, "twin_id", values)),
        cluster_id=_identity("cluster_id", _scalar(mapping, "cluster_id", values)) or source_id,
        split=_required(mapping, "split", values),
        language=_language(_required(mapping, "language", values)),
        switching=_switching(_scalar(mapping, "switching", values) or "none"),
        variant=_variant(_scalar(mapping, "variant", values) or "0"),
        text=text,
        turns=said,
        topic=_scalar(mapping, "topic", values),
        question=_required(mapping, "question", values) if columns.question else _scalar(mapping, "question", values),
        options=choice,
        category=_category(columns, _scalar(mapping, "category", values)),
        label=right(columns, values, choice, label),
        flags=tuple(Flag(name, yes_no(name, get(values, column))) for name, column in columns.flags.items()),
        references=tuple(r for r in strings(values, columns.references) if r.strip()),
        domain=_scalar(mapping, "domain", values),
        spans=spans(get(values, columns.spans), text) if columns.spans else (),
        tokens=tokens(values, columns.tokens) if columns.tokens else (),
    )


def _said(columns: Columns, values: Mapping[str, Any]) -> tuple[Turn, ...]:
    """The dialogue, by as many people as the row says, if it does: a line such as `Amount: 5` is nobody's."""
    said = turns(get(values, columns.dialogue), get(values, columns.replies))
    names = tuple(dict.fromkeys(turn.speaker for turn in said))
    told = cell(get(values, columns.speakers))
    if told and told != str(len(names)):
        raise RowError(
            f"{told} people speak, but these do in the dialogue: {', '.join(names)[:200]}; "
            "indent a line that is nobody's by three spaces"
        )
    return said


def _id(mapping: _Map, row: Row) -> str:
    if mapping.columns.item_id:
        return mapping.source.prefix + str(_identity("item_id", _required(mapping, "item_id", row.values)))
    return f"{mapping.prefix}{row.number - 1}"


def _source(mapping: _Map, values: Mapping[str, Any]) -> str | None:
    source_id = _identity("source_id", _scalar(mapping, "source_id", values))
    return mapping.source.prefix + source_id if source_id else None


def _dialogue_id(said: tuple[Turn, ...]) -> str:
    """The identity of a dialogue that the release repeats beside each of its questions, without a name."""
    return f"dialogue-{digest([astuple(turn) for turn in said])[:16]}"


def _identity(field: str, value: str | None) -> str | None:
    """An id as it stands; a blank one, or one that no terminal, file name or table could show, is refused."""
    if value is not None and not value.strip():
        raise RowError(f"{field} is blank")
    if value and not value.isprintable() and any(unicodedata.category(char) == "Cc" for char in value):
        raise RowError(f"{field} {visible(value)!r} holds a control character")
    return value


@cache
def _language(tag: str) -> str:
    """A tag that languages.py knows, alone or in a combination."""
    try:
        language(tag)
    except UserError as error:
        raise RowError(f"{error} (or map it: `values.language`)") from None
    return tag


def _category(columns: Columns, name: str | None) -> str | None:
    """The kind of a question; a text's may be any."""
    if columns.question and name is not None and name not in CATEGORIES:
        raise RowError(
            f"unknown category {name!r} of a question; {allowed(name, CATEGORIES)} (or map it: `values.category`)"
        )
    return name


def _scalar(mapping: _Map, field: Scalar, values: Mapping[str, Any]) -> str | None:
    """A field's text in our spelling, from its column or the declared constant; an empty cell is None."""
    column, constant, spellings = mapping.scalars[field]
    raw = cell(get(values, column)) if column else None
    if not raw:
        return constant
    if spellings is None:
        return raw if field in _UNIQUE else sys.intern(raw)  # the variants of a sentence share most of their fields
    if raw not in spellings:
        raise RowError(f"{field} {raw!r} is not under `values.{field}`; {allowed(raw, spellings)}")
    return spellings[raw]


def _required(mapping: _Map, field: Scalar, values: Mapping[str, Any]) -> str:
    value = _scalar(mapping, field, values)
    if value is None:
        raise RowError(f"no {field}: the cell is empty, and `constants.{field}` is not set")
    return value


def _text(mapping: _Map, values: Mapping[str, Any]) -> str | None:
    """The text as it stands; None only where the corpus has dialogues instead."""
    text = _scalar(mapping, "text", values)
    if mapping.columns.text and not (text and text.strip()):
        raise RowError("empty text")
    return text


def _switching(method: str) -> str:
    if method not in SWITCHING:
        raise RowError(
            f"unknown switching method {method!r}; {allowed(method, SWITCHING)} (or map it: `values.switching`)"
        )
    return method


def _variant(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise RowError(f"variant {text!r} is no whole number")
    return int(text)


def _declared(columns: Columns) -> dict[str, str]:
    """Every column that the map names, and the key that names it."""
    found: dict[str, str] = {}
    for field, value in columns:
        match value:
            case dict():
                names = list(value.values())
            case list():
                names = value
            case Distractors():
                names = [value.column]
            case TokenColumns():
                names = [value.form, value.language]
            case _:
                names = [value]
        found.update({name: field for name in names if name})
    return found


def _refuse_missing(mapping: _Map, seen: Mapping[str, None]) -> None:
    """A misspelt column would read as empty everywhere."""
    for column, field in _declared(mapping.columns).items():
        if column not in seen and column.partition(".")[0] not in seen:
            near = difflib.get_close_matches(column, seen, n=1)
            guess = f"did you mean {near[0]!r}? " if near else ""
            raise UserError(
                f"{mapping.corpus.where}: key 'columns.{field}': {mapping.source.path} has no column {column!r}; "
                f"{guess}Its columns: {', '.join(seen)}"
            )


def _refuse_incomplete(corpus: Corpus) -> None:
    sources = corpus.sources
    maps = [source.columns or corpus.entry.columns for source in sources]
    if not all(columns.text or columns.dialogue or columns.question for columns in maps):
        raise UserError(f"{corpus.where}: key 'columns': map `text`, `dialogue` or `question`, what is asked about")
    for field in ("split", "language"):
        given = any(field in constants for constants in (corpus.entry.constants, *(s.constants for s in sources)))
        if not given and not all(getattr(columns, field) for columns in maps):
            raise UserError(f"{corpus.where}: key 'columns': map `{field}`, or set it under `constants`")
