"""The store: one class over a folder or `s3://bucket/prefix`, with the same meaning for both."""

import json
import re
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from mixgrid.errors import UserError
from mixgrid.store.base import Backend, Entry, NotFound, StoreError, TornError, checked, checked_prefix
from mixgrid.store.folder import FolderBackend
from mixgrid.store.parts import Part, PartListing, RangedFile, decode, encode, sort_out

_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]", re.ASCII)


@dataclass(frozen=True)
class Store:
    """Where everything persists. Only the URL travels to other processes; each opens its own client on first use.

    Reads and writes wait up to `patience_s` for an S3 server that is away, then raise StoreError.
    """

    url: str
    patience_s: float = 75.0

    @classmethod
    def open(cls, url: str) -> Self:
        """The store at a folder (made absolute, as workers have other working folders) or an s3:// URL."""
        scheme, colon, rest = url.partition("://")
        if not url or "\0" in url or (colon and scheme != "s3"):
            raise UserError(f"store {url!a} is neither a folder nor s3://bucket/prefix")
        if colon:
            return cls(_s3_url(url, rest))
        if url.startswith("s3:"):
            raise UserError(f"store {url!a} lacks slashes: write s3://bucket/prefix")
        path = Path(url).expanduser().absolute()
        try:
            is_file = path.exists() and not path.is_dir()
        except OSError as error:  # a name that is too long, a folder that may not be looked into
            raise UserError(
                f"store {url[:80]!a} cannot be looked at ({error.strerror}); name another folder"
            ) from error
        if is_file:
            raise UserError(f"store {url!a} is a file: name a folder or s3://bucket/prefix")
        return cls(str(path))

    def put(self, key: str, data: bytes) -> None:
        """Write or overwrite one object. What must never be seen half-written belongs in a part."""
        self._backend.put(checked(key), data)

    def get(self, key: str) -> bytes:
        """The object's bytes; NotFound where there is none."""
        return self._backend.get(checked(key))

    def exists(self, key: str) -> bool:
        """Whether an object has this key; a folder is none."""
        return self._size(key) is not None

    def delete(self, key: str) -> None:
        """Remove one object; a missing one is fine."""
        self._backend.delete(checked(key))

    def list(self, prefix: str = "") -> Iterator[Entry]:
        """Every object whose key begins with prefix (any beginning, not only a folder), sorted by key."""
        return self._backend.list(checked_prefix(prefix))

    def get_json(self, key: str) -> Any:
        """The document under key; StoreError names a torn one, as some servers show half-written objects."""
        try:
            return json.loads(self.get(key).decode())
        except ValueError as error:
            raise TornError(f"{key!a} in the store {self.url} is not whole JSON: {error}") from error

    def put_json(self, key: str, value: object) -> None:
        """UTF-8, sorted keys, no spaces: equal documents have equal bytes. NaN and lone surrogates are refused."""
        try:
            text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
            data = text.encode()
        except ValueError as error:
            raise StoreError(f"{key!a} cannot be JSON in UTF-8: {error}") from error
        self.put(key, data)

    def put_table(self, folder: str, stem: str, table: pa.Table) -> Part:
        """Write the table as a part named by its content; if it is there already and whole, nothing is sent."""
        data = encode(table)
        part = Part.of(folder, stem, table.num_rows, data)
        if Part.named(checked(part.key)) != part:
            raise UserError(f"part stem {stem!a} is refused: it must be a name without '/'")
        if self._size(part.key) == part.size:
            return part
        self._backend.put(part.key, data)
        if self._size(part.key) != part.size:
            raise StoreError(f"{part.key!a} in the store {self.url} is not whole after the write")
        return part

    def parts(self, folder: str, stem: str | None = None) -> PartListing:
        """The parts anywhere under folder, by one listing. With a stem, files of other names are left out."""
        return sort_out(self.list(f"{folder}/"), stem)

    def read(self, part: Part | str, columns: Sequence[str] | None = None, verify: bool = False) -> pa.Table:
        """A Parquet file's rows. With columns, only those are fetched; verify fetches all and checks the hash.

        Raises StoreError where the bytes are not what the name says or a column is missing.
        """
        key = checked(part.key if isinstance(part, Part) else part)
        if columns is None or verify:
            return decode(key, self._backend.get(key), columns)
        size = part.size if isinstance(part, Part) else self._backend.size(key)
        return decode(key, RangedFile(key, lambda start, end: self._backend.get(key, (start, end)), size), columns)

    def check(self, write: bool = True) -> None:
        """Try the store on a small object, without patience; UserError says what fails and how to mend it."""
        probe = replace(self, patience_s=0.0)
        key = f".probe/{uuid.uuid4().hex}"
        try:
            if write:
                probe.put(key, b"mixgrid")
                readable = probe.get(key) == b"mixgrid"
            found = key in {entry.key for entry in probe.list(".probe/")}
            if write:
                probe.delete(key)
        except StoreError as error:
            raise UserError(str(error)) from error
        if write and not (readable and found):
            raise UserError(f"the store {self.url} does not give back what was put into it: is it another server?")

    def _size(self, key: str) -> int | None:
        try:
            return self._backend.size(checked(key))
        except NotFound:
            return None

    @cached_property
    def _backend(self) -> Backend:
        if not self.url.startswith("s3://"):
            return FolderBackend(Path(self.url))
        from mixgrid.store.s3 import S3Backend  # boto3 takes a second to import, and a folder has no use for it

        bucket, _, prefix = self.url.removeprefix("s3://").partition("/")
        return S3Backend(bucket, prefix, self.patience_s)

    def __reduce__(self) -> tuple[type[Self], tuple[str, float]]:
        return type(self), (self.url, self.patience_s)


def _s3_url(url: str, rest: str) -> str:
    bucket, _, prefix = rest.rstrip("/").partition("/")
    if not _BUCKET.fullmatch(bucket):
        raise UserError(f"store {url!a} names no possible bucket: write s3://bucket/prefix")
    return f"s3://{bucket}/{checked(prefix)}" if prefix else f"s3://{bucket}"
