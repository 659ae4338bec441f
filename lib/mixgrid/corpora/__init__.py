"""Corpora: what manifests/corpora.yaml declares, read into items and kept as snapshots.

    catalogue = load_corpora("manifests/corpora.yaml")
    items = read(catalogue["satire-sample"])
    snapshot = write_snapshot(items, store)

To add a corpus, describe it in manifests/corpora.yaml. To add a reader for a layout that a column map cannot describe,
write its file here and name it in READERS.
"""

from mixgrid.corpora import kept, selerosa, table
from mixgrid.corpora.base import Reader, slice_items
from mixgrid.corpora.catalogue import Corpus, corpus, load_corpora
from mixgrid.corpora.snapshot import Snapshot, load, load_table, refuse_twice, write_snapshot
from mixgrid.errors import UserError, allowed
from mixgrid.records import Item

__all__ = [
    "READERS", "Corpus", "Reader", "Snapshot", "corpus", "load", "load_corpora", "load_table", "read", "slice_items",
    "write_snapshot",
]  # fmt: skip

READERS: dict[str, Reader] = {
    "selerosa": selerosa.read,
    "snapshot": kept.read,
    "table": table.read,
}


def read(corpus: Corpus) -> list[Item]:
    """The items of a corpus, by the reader that its entry names."""
    name = corpus.entry.reader
    if name not in READERS:
        raise UserError(f"{corpus.where}: key 'reader': there is no reader {name!r}; {allowed(name, READERS)}")
    items = READERS[name](corpus)
    refuse_twice(items, f"{corpus.where}, key 'columns.item_id'")
    return items
