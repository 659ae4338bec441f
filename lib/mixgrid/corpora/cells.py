"""Cells of a row as text, whatever type the file gave them, and the columns or paths that they stand in."""

import math
from collections.abc import Mapping
from typing import Any

from mixgrid.corpora.base import RowError
from mixgrid.corpora.catalogue import TokenColumns
from mixgrid.records import Token

YES_NO = {"yes": True, "1": True, "true": True, "no": False, "0": False, "false": False}


def get(values: Mapping[str, Any], column: str | None) -> Any:
    """A column's value; in JSON `a.b` is b inside a, unless a column bears that very name.

    >>> get({"qas": [{"answers": [{"text": "yes"}]}, {"answers": []}]}, "qas.answers.text")
    ['yes']
    """
    if column is None or column in values:
        return values.get(column or "")
    found: Any = values
    for part in column.split("."):
        found = _step(found, part)
    return found


def _step(found: Any, part: str) -> Any:
    """One part of a path: a key of an object, a place in a list, or that key of everything in a list."""
    if isinstance(found, Mapping):
        return found.get(part)
    if not isinstance(found, list):
        return None
    if part.isdecimal():
        return found[int(part)] if int(part) < len(found) else None
    inner = [_step(each, part) for each in found]
    return [x for each in inner if each is not None for x in (each if isinstance(each, list) else [each])]


def cell(value: Any) -> str | None:
    """A cell as text. Parquet reads a column of nulls as NaN and integers beside nulls as 7.0: None and '7'."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list | dict):
        raise RowError(f"a {type(value).__name__} stands where text is wanted: {str(value)[:40]}")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return None if math.isnan(value) else str(int(value)) if value.is_integer() else repr(value)
    return str(value)


def strings(values: Mapping[str, Any], columns: list[str]) -> tuple[str, ...]:
    """One column that holds a list, or one text a column."""
    found = [get(values, column) for column in columns]
    if len(found) == 1 and isinstance(found[0], list):
        found = found[0]
    return tuple(cell(value) or "" for value in found)


def tokens(values: Mapping[str, Any], columns: TokenColumns) -> tuple[Token, ...]:
    """Words with their language tags; a sentence without a single tag (None) belongs to no language."""
    forms, tags = (_words(get(values, column)) for column in (columns.form, columns.language))
    tags = tags if get(values, columns.language) is not None else [""] * len(forms)
    if len(forms) != len(tags):
        raise RowError(f"{len(forms)} words in {columns.form!r}, but {len(tags)} tags in {columns.language!r}")
    return tuple(Token(form, columns.tags.get(tag, tag)) for form, tag in zip(forms, tags, strict=True))


def _words(value: Any) -> list[str]:
    return [cell(each) or "" for each in value] if isinstance(value, list) else (cell(value) or "").split()


def yes_no(name: str, value: Any) -> bool:
    """A flag, in any of the usual spellings."""
    text = cell(value) or ""
    if text.strip().lower() not in YES_NO:
        raise RowError(f"flag '{name}' is {text!r}; allowed in any case: {', '.join(YES_NO)}")
    return YES_NO[text.strip().lower()]
