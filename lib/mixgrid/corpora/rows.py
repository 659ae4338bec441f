"""Rows of CoNLL-U, csv, tsv, JSON, JSONL and Parquet files, with every value as it stands in the file.

No type is inferred: `007`, `NA` and `None` stay what they are. Lines end at LF only, so U+2028 inside a string does not
split a row. The encoding is decided here and nowhere else.
"""

import csv
import io
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.parquet as pq

from mixgrid.corpora.base import BadRow
from mixgrid.corpora.conllu import sentences
from mixgrid.errors import UserError

FORMATS = {
    ".conllu": "conllu", ".csv": "csv", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet",
    ".tsv": "tsv",
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One row: its number in the file (from 1, a header is row 0; in JSONL the line) and its values by column."""

    number: int
    values: Mapping[str, Any]


@dataclass(frozen=True)
class FileBytes:
    """A corpus file in memory, and how to read it."""

    path: str
    data: bytes
    format: str
    quoting: str = "minimal"
    records: str = ""  # in JSON, the path to the records; each inherits the fields of what it lies in


def rows(file: FileBytes) -> Iterator[Row | BadRow]:
    """Every row, in order; UserError where the file as a whole is not what its format says."""
    if file.format == "parquet":
        return _parquet(file)
    if file.format == "json":
        return _json(file)
    if file.format == "conllu":
        return _conllu(file)
    return _jsonl(file) if file.format == "jsonl" else _csv(file)


def format_of(path: str, where: str) -> str:
    """The format that a file's ending names."""
    for ending, name in FORMATS.items():
        if path.lower().endswith(ending):
            return name
    raise UserError(
        f"{where}: the ending of {path} names no format; set `format:` to one of {sorted(set(FORMATS.values()))}"
    )


def decode(file: FileBytes) -> str:
    """The file's text: UTF-8, with or without a byte order mark."""
    try:
        return file.data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        guess = " (it looks like UTF-16)" if file.data[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
        raise UserError(f"{file.path}: not UTF-8 at byte {error.start}{guess}; save the file as UTF-8") from None


def _csv(file: FileBytes) -> Iterator[Row | BadRow]:
    """Records by RFC 4180. After a broken quotation the rest of the file cannot be trusted, so reading ends there."""
    csv.field_size_limit(sys.maxsize)  # the default refuses a long dialogue
    reader = csv.reader(
        io.StringIO(decode(file), newline=""),
        delimiter="\t" if file.format == "tsv" else ",",
        quoting=csv.QUOTE_NONE if file.quoting == "none" else csv.QUOTE_MINIMAL,
        strict=True,
    )
    number = 0
    try:
        header = next(reader, [])
        _refuse_twice(file, header)
        for number, cells in enumerate((cells for cells in reader if cells), start=1):
            if len(cells) == len(header):
                yield Row(number, dict(zip(header, cells, strict=True)))
            else:
                yield BadRow(file.path, number, f"{len(cells)} cells under {len(header)} columns")
    except csv.Error as error:
        yield BadRow(file.path, number + 1, f"not {file.format} from here on ({error}, near line {reader.line_num})")


def _conllu(file: FileBytes) -> Iterator[Row | BadRow]:
    """Sentences, numbered from 1; lines may end as in Windows."""
    for number, sentence in enumerate(sentences(decode(file).replace("\r\n", "\n")), start=1):
        yield BadRow(file.path, number, sentence) if isinstance(sentence, str) else Row(number, sentence)


def _refuse_twice(file: FileBytes, header: list[str]) -> None:
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise UserError(f"{file.path}: the header names {twice[0]!r} twice; give each column its own name")


def _jsonl(file: FileBytes) -> Iterator[Row | BadRow]:
    """Line by line: a file's text may take twice the memory of its bytes, and its lines as much again."""
    for number, line in enumerate(io.BytesIO(file.data), start=1):
        try:
            text = line.removesuffix(b"\n").decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            decode(file)  # says where, counted from the beginning of the file
            raise
        if text.strip(" \t\r"):
            yield _json_row(file, number, text)


def _json_row(file: FileBytes, number: int, line: str) -> Row | BadRow:
    try:
        value = _DECODER.decode(line)
        if not isinstance(value, dict):
            return BadRow(file.path, number, f"a JSON {type(value).__name__}, where an object is wanted")
        if "\\u" in line:  # only an escape can bring one in: UTF-8 has no form for it
            _refuse_surrogates(value)
    except (ValueError, RecursionError) as error:
        return BadRow(
            file.path, number, f"not JSON: {error}" if isinstance(error, json.JSONDecodeError) else str(error)
        )
    return Row(number, value)


def _json(file: FileBytes) -> Iterator[Row | BadRow]:
    """A JSON array of objects; one record after another, as in JSONL."""
    try:
        value = json.loads(decode(file), object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{file.path}: not JSON: {error}; for one object a line set `format: jsonl`") from None
    if not isinstance(value, list) and not file.records:
        raise UserError(f"{file.path}: a JSON {type(value).__name__}, where an array of objects is wanted")
    path = file.records.split(".") if file.records else []
    for number, record in enumerate(_records(file, value, path, {}), start=1):
        yield _json_row(file, number, json.dumps(record))


def _records(file: FileBytes, value: Any, path: list[str], above: Mapping[str, Any]) -> Iterator[Any]:
    """The records at the end of a path; a list on the way is gone through, and an empty one holds none."""
    if isinstance(value, list):
        for each in value:
            yield from _records(file, each, path, above)
    elif not path:
        yield {**above, **value} if isinstance(value, dict) else value
    elif isinstance(value, dict) and path[0] in value:
        keep = {key: field for key, field in value.items() if key != path[0] or len(path) == 1}  # siblings, no cousins
        yield from _records(file, value[path[0]], path[1:], {**above, **keep})
    else:
        raise UserError(f"{file.path}: no {path[0]!r} on the way of `records: {file.records}`; mend the path")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"key {next(n for n in names if names.count(n) > 1)!r} stands there twice")
    return values


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant)


def _refuse_surrogates(value: Mapping[str, Any]) -> None:
    for key, field in value.items():
        try:
            json.dumps([key, field], ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            code = ord(error.object[error.start])
            raise ValueError(f"{key!a} holds the lone surrogate U+{code:04X}, which is no text") from None


def _parquet(file: FileBytes) -> Iterator[Row | BadRow]:
    try:
        batches = pq.ParquetFile(io.BytesIO(file.data)).iter_batches()
        number = 0
        for batch in batches:
            for values in batch.to_pylist():
                number += 1
                yield Row(number, values)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file.path}: not a readable Parquet file ({error})") from None
