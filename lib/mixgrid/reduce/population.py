"""The items that runs were asked about, as numbers: small enough to hold for a whole grid, and shared by every cell."""

import hashlib
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mixgrid.metrics.base import Family
from mixgrid.records import Item
from mixgrid.reduce.codes import lists_coded, numbered, whole
from mixgrid.tasks.base import Task

Ints = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]
WORD = 16  # hex digits of a word


@dataclass(frozen=True)
class Codes:
    """A column of names as numbers into the sorted names."""

    names: tuple[str, ...]
    of: Ints

    @classmethod
    def named(cls, values: Sequence[str]) -> "Codes":
        """Number the values."""
        coded = pa.array(values, pa.string()).dictionary_encode()
        names = coded.dictionary.to_pylist()
        order = sorted(range(len(names)), key=names.__getitem__)
        rank: Ints = np.empty(len(names), dtype=np.int32)
        rank[order] = np.arange(len(names), dtype=np.int32)
        return cls(tuple(names[i] for i in order), rank[coded.indices.to_numpy(zero_copy_only=False)])

    def column(self, at: Ints) -> pa.Array:
        """The names of some rows, as an Arrow dictionary."""
        return pa.DictionaryArray.from_arrays(self.of[at], pa.array(self.names, pa.string()))


@dataclass(frozen=True)
class Sheet:
    """What judging needs of the items, and all that travels to a worker."""

    item_ids: pa.Array  # sorted
    facts: tuple[Hashable, ...]  # distinct
    fact_of: Ints  # of each item

    def find(self, ids: pa.Array | pa.ChunkedArray) -> Ints:
        """The number of each item, -1 where there is none of that id."""
        found: Ints = pc.fill_null(pc.index_in(whole(ids), self.item_ids), -1).to_numpy(zero_copy_only=False)
        return found


@dataclass(frozen=True)
class Population:
    """The items of a snapshot that a task takes, sorted by id."""

    sheet: Sheet
    hashes: Words
    clusters: Codes
    sources: Codes
    languages: Codes
    switching: Codes
    splits: Codes
    selected: npt.NDArray[np.bool_]  # the items that the reduction is about

    @classmethod
    def of(
        cls, items: Iterable[Item], task: Task, family: Family, selected: Callable[[Item], bool] = lambda _: True
    ) -> "Population":
        """Number the items that the task takes; gold that the family cannot score is a ValueError."""
        taken = sorted((i for i in items if task.accepts(i)), key=lambda i: i.item_id)
        facts = [family.facts(i, task.gold(i)) for i in taken]
        place = {fact: n for n, fact in enumerate(dict.fromkeys(facts))}
        fact_of = np.fromiter((place[f] for f in facts), dtype=np.int32, count=len(facts))
        ids = pa.array([i.item_id for i in taken], type=pa.string())
        return cls(
            sheet=Sheet(ids, tuple(place), fact_of),
            hashes=words(pa.array([i.item_hash for i in taken], type=pa.string())),
            clusters=Codes.named([i.cluster_id for i in taken]),
            sources=Codes.named([i.source_id for i in taken]),
            languages=Codes.named([i.language for i in taken]),
            switching=Codes.named([i.switching for i in taken]),
            splits=Codes.named([i.split for i in taken]),
            selected=np.fromiter((selected(i) for i in taken), dtype=np.bool_, count=len(taken)),
        )

    def __len__(self) -> int:
        return len(self.hashes)


def words(digests: pa.Array | pa.ChunkedArray) -> Words:
    """64 bits of each digest, folded over all of its hex digits; any other text is hashed first, and null is "".

    Rows are always compared within one item, so 64 bits of a SHA-256 are as strict as all of them, at a tenth of the
    memory.
    """
    column = pc.fill_null(whole(digests), "").cast(pa.string())
    sizes = pc.binary_length(column).to_numpy(zero_copy_only=False)
    if len(sizes) and sizes[0] and sizes[0] % WORD == 0 and (sizes == sizes[0]).all():
        folded = _fold(column, int(sizes[0]))
        if folded is not None:
            return folded
    coded = column.dictionary_encode()
    distinct = np.fromiter((_word(text) for text in coded.dictionary.to_pylist()), dtype=np.uint64)
    found: Words = distinct[coded.indices.to_numpy(zero_copy_only=False)]
    return found


def list_words(column: pa.ChunkedArray) -> Words:
    """A word for each list of texts."""
    number, firsts = numbered(*lists_coded(column))
    return words(lists_as_text(column.take(pa.array(firsts))))[number]


def lists_as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Lists of texts as one text each, to tell them apart (with their lengths, should a text hold the separator)."""
    plain = column.cast(pa.list_(pa.string()))  # the kernel does not know lists whose items cannot be null
    sizes = pc.cast(pc.list_value_length(plain), pa.string())
    return pc.binary_join_element_wise(sizes, pc.binary_join(plain, "\x1f"), "\x1f")


def first_words(digests: pa.Array | pa.ChunkedArray) -> Words:
    """The first 16 hex digits of each digest as numbers, which sort as the digests do."""
    return words(pc.utf8_slice_codeunits(whole(digests), 0, WORD))


def _fold(column: pa.Array, size: int) -> Words | None:
    """Digests of one length, all at once; None where one of them is no digest."""
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, dtype=np.int32)[[column.offset, column.offset + len(column)]]
    try:
        raw = bytes.fromhex(memoryview(data)[ends[0] : ends[1]].tobytes().decode("ascii"))
    except ValueError:
        return None
    if len(raw) * 2 != len(column) * size:
        return None
    parts = np.frombuffer(raw, dtype=">u8").reshape(len(column), -1)
    folded: Words = np.bitwise_xor.reduce(parts, axis=1).astype(np.uint64)
    return folded


def _word(text: str) -> int:
    """The same for one text."""
    folded = _fold(pa.array([text]), len(text)) if text and len(text) % WORD == 0 else None
    if folded is not None:
        return int(folded[0])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
