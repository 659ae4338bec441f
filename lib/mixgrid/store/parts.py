"""Parts: Parquet files whose name proves that they are whole.

`<stem>-<first 16 hex of the SHA-256>-<rows>-<bytes>.parquet`, so that one listing tells whole from torn, and no name
is ever used for other bytes. Some S3 servers show half-written objects; a torn part is named and never read.
"""

import hashlib
import io
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import pyarrow as pa
import pyarrow.parquet as pq

from mixgrid.store.base import Entry, StoreError, TornError

_NAME = re.compile(r"(?:.*/)?(?P<stem>[^/]+)-(?P<digest>[0-9a-f]{16})-(?P<rows>\d+)-(?P<size>\d+)\.parquet", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class Part:
    """One Parquet file, as its name describes it; size in bytes."""

    key: str
    stem: str
    digest: str
    rows: int
    size: int

    @classmethod
    def named(cls, key: str) -> Self | None:
        """What the key promises, or None where it is not a part's name."""
        match = _NAME.fullmatch(key)
        return cls(key, match["stem"], match["digest"], int(match["rows"]), int(match["size"])) if match else None

    @classmethod
    def of(cls, folder: str, stem: str, rows: int, data: bytes) -> Self:
        """The part that these bytes are."""
        digest = _digest(data)
        return cls(f"{folder}/{stem}-{digest}-{rows}-{len(data)}.parquet", stem, digest, rows, len(data))


@dataclass(frozen=True, slots=True)
class PartListing:
    """One listing, sorted out: parts to read, and the keys of torn parts and of files that are no parts."""

    whole: tuple[Part, ...]
    torn: tuple[str, ...]
    foreign: tuple[str, ...]

    def warnings(self) -> list[str]:
        """One sentence for each kind of file that was left alone, for the person at the terminal."""
        kinds = (("torn (their rows count as pending)", self.torn), ("foreign", self.foreign))
        return [f"ignored {len(keys)} {kind} in the store: {_some(keys)}" for kind, keys in kinds if keys]


def sort_out(entries: Iterable[Entry], stem: str | None) -> PartListing:
    """Whole where name and size agree. With a stem, only files named `<stem>-…` are looked at."""
    whole: list[Part] = []
    torn: list[str] = []
    foreign: list[str] = []
    for entry in entries:
        part = Part.named(entry.key)
        if stem is not None and not _belongs(entry.key, part, stem):
            continue
        if part is None:
            foreign.append(entry.key)
        elif part.size == entry.size:
            whole.append(part)
        else:
            torn.append(entry.key)
    return PartListing(tuple(whole), tuple(torn), tuple(foreign))


def encode(table: pa.Table) -> bytes:
    """The table as Parquet bytes: the same rows and schema give the same bytes under one pyarrow version."""
    sink = pa.BufferOutputStream()
    hashes = [
        field.name for field in table.schema if field.type == pa.uint64()
    ]  # all different: no use for a dictionary
    others = [name for name in table.column_names if name not in hashes] if hashes else True
    pq.write_table(table.combine_chunks(), sink, compression="zstd", use_dictionary=others)
    return bytes(sink.getvalue())


def decode(
    key: str, source: bytes | io.RawIOBase, columns: Sequence[str] | None, coded: Sequence[str] = ()
) -> pa.Table:
    """The rows of one file, all columns or only those named (in that order); TornError where it is not that file.

    `coded` columns, of few values, come as dictionaries: that is how they are stored.
    """
    part = Part.named(key)
    if part is not None and isinstance(source, bytes) and _digest(source) != part.digest:
        raise TornError(f"{key!a} does not hold the bytes that its name promises: delete it and run again")
    try:
        # not BytesIO: Arrow's threads would ask for Python's lock, and abort a process that is about to end
        stream = pa.BufferReader(source) if isinstance(source, bytes) else source
        file = pq.ParquetFile(stream, pre_buffer=True, read_dictionary=[*coded])
        _refuse_missing(key, columns or (), file.schema_arrow.names)
        table = file.read(columns=None if columns is None else list(columns))
    except (pa.ArrowException, OSError) as error:
        raise TornError(f"{key!a} is not a readable Parquet file ({error}): delete it and run again") from error
    if part is not None and table.num_rows != part.rows:
        raise TornError(f"{key!a} holds {table.num_rows} rows, its name says {part.rows}: delete it and run again")
    return table if columns is None else table.select(list(columns))


class RangedFile(io.RawIOBase):
    """A read-only file over span reads, so that Parquet fetches the footer and the columns asked for, nothing else."""

    def __init__(self, key: str, fetch: Callable[[int, int], bytes], size: int) -> None:
        super().__init__()
        self._key, self._fetch, self._size, self._at = key, fetch, size, 0

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Moves only the position; nothing is fetched."""
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def tell(self) -> int:
        """The position in bytes."""
        return self._at

    def read(self, size: int = -1) -> bytes:
        """One span read; a short answer raises, for the object is not what its name says."""
        end = self._size if size < 0 else min(self._at + size, self._size)
        if end <= self._at:
            return b""
        data = self._fetch(self._at, end)
        if len(data) != end - self._at:
            raise TornError(f"{self._key!a} is torn: of its bytes {self._at} to {end} it holds {len(data)}")
        self._at = end
        return data


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _belongs(key: str, part: Part | None, stem: str) -> bool:
    return part.stem == stem if part else key.rpartition("/")[2].startswith(f"{stem}-")


def _some(keys: Sequence[str]) -> str:
    return ", ".join(keys[:3]) + (f" and {len(keys) - 3} more" if len(keys) > 3 else "")


def _refuse_missing(key: str, columns: Sequence[str], names: Sequence[str]) -> None:
    """Parquet readers leave unknown columns out without a word."""
    missing = sorted(set(columns) - set(names))
    if missing:
        raise StoreError(f"{key!a} has no column {', '.join(missing)}; it has {', '.join(names)}")
