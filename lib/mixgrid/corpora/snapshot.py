"""Immutable snapshots of corpora in the store, addressed by the content of their items.

    corpora/<corpus>/<first 16 of the digest>/items-<chunk>-of-<chunks>-….parquet

The digest does not depend on the order of the rows. Chunks are named by number, and a snapshot is whole when a listing
shows every one of them, so a write that was cut off is never read and the next one completes it.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from mixgrid.errors import UserError
from mixgrid.records import Item
from mixgrid.schemas import digest, from_table, to_table
from mixgrid.store import Part, Store

CHUNK_ROWS = 20_000
_STEM = re.compile(r"items-(\d{5})-of-(\d{5})")


@dataclass(frozen=True)
class Snapshot:
    """One state of a corpus in the store."""

    corpus: str
    digest: str
    items: int

    @property
    def folder(self) -> str:
        """Where its parts lie."""
        return _folder(self.corpus, self.digest)


def content_digest(items: Sequence[Item]) -> str:
    """SHA-256 over the digests of all items, sorted by item id; UserError names ids that two items share."""
    ordered = sorted(items, key=lambda item: item.item_id)
    refuse_twice(ordered, f"corpus '{ordered[0].corpus}'" if ordered else "")
    whole = hashlib.sha256()
    for item in ordered:
        whole.update(digest(item).encode())
    return whole.hexdigest()


def write_snapshot(items: Sequence[Item], store: Store, known: str | None = None) -> Snapshot:
    """Write the items of one corpus, unless the store holds these very items; `known`: their digest, if it is."""
    (corpus,) = {item.corpus for item in items}
    snapshot = Snapshot(corpus, known or content_digest(items), len(items))
    if not _parts(store, snapshot.folder):
        ordered = sorted(items, key=lambda item: (item.split, item.item_id))
        starts = range(0, len(ordered), CHUNK_ROWS)
        for number, start in enumerate(starts):
            chunk = to_table(Item, ordered[start : start + CHUNK_ROWS])
            store.put_table(snapshot.folder, f"items-{number:05}-of-{len(starts):05}", chunk)
    return snapshot


def load_table(store: Store, corpus: str, digest: str, split: str | None = None) -> pa.Table:
    """A snapshot's rows, of one split or all; the digest may be cut to its first 16 digits."""
    parts = _parts(store, _folder(corpus, digest))
    if not parts:
        raise UserError(
            f"the store {store.url} holds no whole snapshot {digest[:16]} of corpus '{corpus}'; "
            "run the grid where the corpus can be read: that writes it"
        )
    tables = [store.read(part) for part in parts]
    if split is not None:
        tables = [table.filter(pc.equal(table["split"], split)) for table in tables]
    return pa.concat_tables(tables)


def load(store: Store, corpus: str, digest: str, split: str | None = None) -> list[Item]:
    """A snapshot's items, of one split or all, in the order of (split, item id)."""
    return from_table(Item, load_table(store, corpus, digest, split))


def _folder(corpus: str, digest: str) -> str:
    return f"corpora/{corpus}/{digest[:16]}"


def _parts(store: Store, folder: str) -> list[Part]:
    """One part for each chunk of a whole snapshot; none where a chunk is missing.

    Two library versions may have written the same chunk as other bytes: the first by name is as good as any.
    """
    chunks: dict[tuple[int, int], Part] = {}
    for part in sorted(store.parts(folder).whole):
        match = _STEM.fullmatch(part.stem)
        if match:
            chunks.setdefault((int(match[2]), int(match[1])), part)
    for count in sorted({count for count, _ in chunks}):
        if all((count, number) in chunks for number in range(count)):
            return [chunks[count, number] for number in range(count)]
    return []


def refuse_twice(items: Iterable[Item], where: str) -> None:
    """UserError where items share an id; `where`: the place that declares them."""
    ids = [item.item_id for item in items]
    if len(set(ids)) < len(ids):
        twice = [item_id for item_id, n in Counter(ids).items() if n > 1]
        raise UserError(
            f"{where}: {len(twice)} item ids stand there more than once: "
            f"{', '.join(repr(i) for i in twice[:5])}; map `item_id` to a column whose values are unique, "
            "or give files that count from the same number a `prefix` each"
        )
