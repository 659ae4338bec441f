"""A folder as a store: each write is whole or absent, whoever is killed."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mixgrid.store.base import HIDDEN, Entry, NotFound, StoreError


@dataclass(frozen=True)
class FolderBackend:
    """Keys are paths under root."""

    root: Path

    def put(self, key: str, data: bytes) -> None:
        """Hidden file in the same folder, fsync, rename: a reader sees the old bytes or the new ones."""
        target = self.root / key
        hidden = target.parent / f"{HIDDEN}{os.getpid()}-{secrets.token_hex(6)}"
        with self._named("write", key):
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                with hidden.open("xb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                hidden.replace(target)
            except OSError:
                hidden.unlink(missing_ok=True)
                raise

    def get(self, key: str, span: tuple[int, int] | None = None) -> bytes:
        """The file's bytes, or a span of them."""
        with self._named("read", key), (self.root / key).open("rb") as file:
            if span is None:
                return file.read()
            file.seek(span[0])
            return file.read(span[1] - span[0])

    def size(self, key: str) -> int:
        """Bytes of the file; a folder is no object."""
        path = self.root / key
        with self._named("look up", key):
            if path.is_dir():
                raise FileNotFoundError
            return path.stat().st_size

    def delete(self, key: str) -> None:
        """Remove the file; its folders stay."""
        with self._named("delete", key):
            (self.root / key).unlink(missing_ok=True)

    def list(self, prefix: str) -> Iterator[Entry]:
        """Walks the folder that the prefix ends in; a file that goes away meanwhile is left out."""
        start = self.root / prefix.rpartition("/")[0]
        with self._named("list", prefix):
            keys = sorted(self._keys(start, prefix)) if start.is_dir() else []
        for key in keys:
            try:
                yield Entry(key, self.size(key))
            except NotFound:
                continue

    def _keys(self, start: Path, prefix: str) -> Iterator[str]:
        for folder, _, names in os.walk(start, onerror=_raise):
            for name in names:
                key = (Path(folder) / name).relative_to(self.root).as_posix()
                if key.startswith(prefix) and not name.startswith(HIDDEN):
                    yield key

    @contextmanager
    def _named(self, verb: str, key: str) -> Iterator[None]:
        """Turns the system's errors into ours, with the key and the way out in the sentence."""
        try:
            yield
        except OSError as error:
            if isinstance(error, FileNotFoundError) and verb in ("read", "look up"):
                raise NotFound(f"{key!a} is not in the store {self.root}") from error
            raise StoreError(
                f"cannot {verb} {key!a} in the store {self.root}: {error.strerror or error}; "
                "check that the folder is a writable folder on a disk with room, or name another with --store"
            ) from error


def _raise(error: OSError) -> None:
    """os.walk hides what it cannot read; a hidden folder would look like pending work."""
    if not isinstance(error, FileNotFoundError):
        raise error
