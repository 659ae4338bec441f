"""What a batch engine must not forget: which requests it handed to the provider, with which money, under which id.

A note is written before a batch is made, again with its id, and deleted when every request of it is settled.
"""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from typing import Any

from mixgrid.budget.base import Hold
from mixgrid.store import Store


@dataclass(frozen=True)
class Asked:
    """What of a request is needed to read its answer, when nobody holds the request itself any more."""

    hold: Hold
    seeded: bool  # it named a seed
    folded: bool  # its system text went into the first user turn


@dataclass(frozen=True)
class Note:
    """One batch. `batch_id` is empty until the provider has told it."""

    asked: Mapping[str, Asked]  # by request id
    batch_id: str = ""
    name: str = field(default_factory=lambda: uuid.uuid4().hex)  # also in the batch's metadata


@dataclass(frozen=True)
class Notes:
    """The notes of one model, as objects in a folder of the store."""

    store: Store
    folder: str

    def write(self, note: Note) -> None:
        """Durable when it returns."""
        rows = [_row(request_id, asked) for request_id, asked in note.asked.items()]
        self.store.put_json(self._key(note.name), {"batch_id": note.batch_id, "asked": rows})

    def named(self, note: Note, batch_id: str) -> Note:
        """The note with the batch's id, written."""
        found = replace(note, batch_id=batch_id)
        self.write(found)
        return found

    def forget(self, note: Note) -> None:
        """Every request of it is settled."""
        self.store.delete(self._key(note.name))

    def open(self) -> Iterator[Note]:
        """What earlier processes left behind."""
        for entry in self.store.list(f"{self.folder}/"):
            document = self.store.get_json(entry.key)
            asked = dict(_asked(row) for row in document["asked"])
            yield Note(asked, document["batch_id"], entry.key.rpartition("/")[2].removesuffix(".json"))

    def _key(self, name: str) -> str:
        return f"{self.folder}/{name}.json"


def _row(request_id: str, asked: Asked) -> list[object]:
    hold = asked.hold
    return [request_id, hold.hold_id, str(hold.usd), hold.day.isoformat(), hold.wallet, asked.seeded, asked.folded]


def _asked(row: Sequence[Any]) -> tuple[str, Asked]:
    request_id, hold_id, usd, day, wallet, seeded, folded = row
    hold = Hold(hold_id, request_id, Decimal(usd), date.fromisoformat(day), wallet)
    return request_id, Asked(hold, seeded, folded)
