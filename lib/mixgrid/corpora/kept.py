"""Reader `snapshot`: a corpus that lies in a store already, as `mixgrid generate` leaves it.

    path: s3://bucket/prefix/corpora/selerosa-mixed/0123456789abcdef     # this state of it
    path: ../mixgrid-store/corpora/selerosa-mixed                        # the only one that is there

Its items are taken as they are, spans and all; the entry gives no columns.
"""

from dataclasses import replace

from mixgrid.corpora.catalogue import Columns, Corpus
from mixgrid.corpora.snapshot import load
from mixgrid.errors import UserError
from mixgrid.records import Item
from mixgrid.store import Store, StoreError

_FOLDER = "/corpora/"


def read(corpus: Corpus) -> list[Item]:
    """The items of the snapshot, under the entry's name."""
    entry = corpus.entry
    if entry.columns != Columns() or entry.constants or entry.values:
        raise UserError(f"{corpus.where}: a snapshot's items are whole; leave `columns`, `constants` and `values` out")
    (path,) = (source.path for source in corpus.sources) if entry.path else (None,)
    root, found, rest = (path or "").rpartition(_FOLDER)
    name, _, digest = rest.strip("/").partition("/")
    if not found or not name or "/" in digest:
        raise UserError(f"{corpus.where}: key 'path': {path!r} is not STORE/corpora/NAME or STORE/corpora/NAME/DIGEST")
    if "://" in root and not root.startswith("s3://"):
        raise UserError(
            f"{corpus.where}: key 'path': a snapshot lies in a folder or under s3://bucket, not at {path!r}"
        )
    try:
        store = Store.open(root)
        items = load(store, name, digest or _only(corpus, store, name))
    except StoreError as error:
        raise UserError(f"{corpus.where}: {path} cannot be read: {error}") from error
    return [item if item.corpus == corpus.name else replace(item, corpus=corpus.name) for item in items]


def _only(corpus: Corpus, store: Store, name: str) -> str:
    """The one state of the corpus that the store holds."""
    there = sorted({part.key.split("/")[2] for part in store.parts(f"corpora/{name}").whole})
    if len(there) == 1:
        return there[0]
    why = (
        f"holds several states of it: {', '.join(there)}; add one of them to the path" if there else "does not hold it"
    )
    obtain = "" if there else f". {corpus.entry.obtain or 'Make it with `mixgrid generate`, or mend `path`'}"
    raise UserError(f"{corpus.where}: key 'path': the store {store.url} {why}{obtain}")
