"""What both kinds of store share: errors, the rule for keys, and the five calls that a backend answers."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from mixgrid.errors import MixgridError, UserError

HIDDEN = ".mixgrid-tmp-"  # files that the folder store is still writing; never listed, so never a key


class StoreError(MixgridError):
    """The store could not do what was asked, after the retries that make sense."""


class TornError(StoreError):
    """What is there is not whole: a write that was cut off, on a server that shows such things."""


class NotFound(StoreError, LookupError):  # noqa: N818 - reads as what it says
    """No object has that key."""


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """One line of a listing; size in bytes."""

    key: str
    size: int


class Backend(Protocol):
    """A flat map from checked keys to bytes. Every failure is a StoreError; a missing key is NotFound."""

    def put(self, key: str, data: bytes) -> None:
        """Write or overwrite one object."""

    def get(self, key: str, span: tuple[int, int] | None = None) -> bytes:
        """The whole object, or the bytes from span[0] up to, not including, span[1]."""

    def size(self, key: str) -> int:
        """Bytes of the object."""

    def delete(self, key: str) -> None:
        """Remove the object; a missing one is fine."""

    def list(self, prefix: str) -> Iterator[Entry]:
        """Every object whose key begins with prefix, sorted by key."""


# Control characters break S3's XML listings; lone surrogates have no UTF-8 form.
_NEVER = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


def checked(key: str) -> str:
    """The key itself, or UserError where some kind of store could not hold it or would mix it up with another."""
    parts = key.split("/")
    if not all(parts) or {".", ".."} & set(parts) or _NEVER.search(key) or parts[-1].startswith(HIDDEN):
        raise UserError(
            f"store key {key!a} is refused: a key is a relative path without empty, '.' or '..' parts, "
            "leading or trailing '/', control characters or lone surrogates; rename what it is made from"
        )
    return key


def checked_prefix(prefix: str) -> str:
    """The prefix itself, or UserError where no key can begin with it; it may be empty or end inside a name."""
    checked(prefix + "x")
    return prefix
