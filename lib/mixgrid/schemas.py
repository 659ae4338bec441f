"""Frozen dataclasses as JSON, digests and Arrow tables: a record's schema is derived from its field types.

    >>> from mixgrid.records import Message
    >>> schema(Message)
    role: string not null
    content: string not null

Records go to Parquet with `to_table` and come back, validated by type, with `from_table`.
"""

import contextlib
import dataclasses
import functools
import gc
import hashlib
import json
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, TypeVar

import pyarrow as pa
import pyarrow.compute as pc


def digest(value: object) -> str:
    """SHA-256 (hex) of a value's canonical JSON: sorted keys, no spaces, raw Unicode; a record is as `plain` has it."""
    return hashlib.sha256(_canonical(value).encode("utf-8", "surrogatepass")).hexdigest()


def plain(value: Any) -> Any:
    """A record as plain JSON-able values."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return value.isoformat() if isinstance(value, datetime) else value


def _one_level(value: object) -> object:
    """A record or a time as JSON has it; the encoder goes on inside. Quicker than `plain`, and the same in the end."""
    if isinstance(value, datetime):
        return value.isoformat()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: getattr(value, name) for name in _hints(type(value))}
    raise TypeError(f"{type(value).__name__} has no canonical JSON")


_canonical = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_one_level
).encode

T = TypeVar("T")
_HINTS: dict[type[Any], dict[str, Any]] = {}

_ARROW: dict[type, pa.DataType] = {
    str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_(), datetime: pa.timestamp("us", tz="UTC"),
    Decimal: pa.decimal128(38, 12),
}  # fmt: skip


def _arrow_type(hint: Any) -> tuple[pa.DataType, bool]:
    """(Arrow type, nullable) of a field's type."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        (inner,) = (a for a in args if a is not types.NoneType)
        return _arrow_type(inner)[0], True
    if origin is Literal:
        return pa.string(), False
    if origin is tuple:
        inner, nullable = _arrow_type(args[0])
        return pa.list_(pa.field("item", inner, nullable=nullable)), False
    if dataclasses.is_dataclass(hint):
        return pa.struct(list(schema(typing.cast(type, hint)))), False
    return _ARROW[hint], False


def schema(record: type[Any]) -> pa.Schema:
    """The Arrow schema of a record type."""
    fields = [(name, *_arrow_type(hint)) for name, hint in _hints(record).items()]
    return pa.schema([pa.field(name, kind, nullable=nullable) for name, kind, nullable in fields])


def to_table(record: type[T], rows: Iterable[T]) -> pa.Table:
    """Records as a table with the record's schema."""
    rows = list(rows)
    columns = {name: _arrow(hint, [getattr(r, name) for r in rows]) for name, hint in _hints(record).items()}
    return pa.table(columns, schema=schema(record))


def _arrow(hint: Any, values: list[Any]) -> list[Any]:
    """A field's values as Arrow takes them: only records inside them need a change."""
    return [plain(value) for value in values] if _converter(hint) not in (None, tuple) else values


def from_table(record: type[T], table: pa.Table) -> list[T]:
    """A table's rows as records; a column that the schema lacks or has otherwise raises ValueError."""
    wanted = schema(record)
    if table.schema.names != wanted.names:
        raise ValueError(f"{record.__name__}: columns {table.schema.names}, expected {wanted.names}")
    hints, cast = _hints(record), table.cast(wanted)
    with _no_collection():
        columns = [_column(hint, cast[name]) for name, hint in hints.items()]
        return [record(*row) for row in zip(*columns, strict=True)]


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Python's collector would go through all records again and again while they are made; none of them is garbage."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _column(hint: Any, column: pa.ChunkedArray) -> list[Any]:
    """A column's values in a field's type. One of empty lists is soon made: items have many fields that few use."""
    if pa.types.is_list(column.type) and not column.null_count and not pc.max(pc.list_value_length(column)).as_py():
        return [()] * len(column)
    return _converted(_converter(hint), column.to_pylist())


def _converted(convert: Callable[[Any], Any] | None, column: list[Any]) -> list[Any]:
    return column if convert is None else [None if value is None else convert(value) for value in column]


@functools.cache
def _converter(hint: Any) -> Callable[[Any], Any] | None:
    """What makes of Arrow's plain value one of a field's type; None where it is one already.

    Found once a type, applied by column: a snapshot may hold 600,000 items.
    """
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        (hint,) = (a for a in typing.get_args(hint) if a is not types.NoneType)
    if typing.get_origin(hint) is tuple:
        inner = _converter(typing.get_args(hint)[0])
        return tuple if inner is None else lambda values: tuple(_converted(inner, values))
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return functools.partial(_build, hint)
    return None


def _build(record: type[Any], row: Mapping[str, Any]) -> Any:
    """A record inside another."""
    return record(*(_converted(_converter(hint), [row[name]])[0] for name, hint in _hints(record).items()))


def _hints(record: type[Any]) -> dict[str, Any]:
    """Field → type of a record class, in order; looked up once, as every row of a table asks for it."""
    if record not in _HINTS:
        hints = typing.get_type_hints(record)
        _HINTS[record] = {f.name: hints[f.name] for f in dataclasses.fields(record)}
    return _HINTS[record]
