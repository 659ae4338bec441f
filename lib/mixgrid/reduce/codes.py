"""Columns as numbers: what is equal in them has one number, and nothing is sorted that need not be."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Rows = npt.NDArray[np.int64]
Codes = tuple[Rows, int]  # of each row a number, and how many numbers there may be
SPARE = 8  # numbers may leave so many times their count of room, before sorting them is cheaper


def whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A column in one piece."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def coded(column: pa.Array | pa.ChunkedArray) -> pa.DictionaryArray:
    """A column as numbers into its distinct values; one that came so stays so."""
    found = whole(column)
    return found if pa.types.is_dictionary(found.type) else found.dictionary_encode()


def codes_of(column: pa.Array | pa.ChunkedArray) -> Codes:
    """The number of each row's value, null's own among them, and how many numbers there may be."""
    found = coded(column)
    size = len(found.dictionary)
    indices = found.indices.fill_null(size) if found.null_count else found.indices
    return indices.to_numpy(zero_copy_only=False).astype(np.int64), size + bool(found.null_count)


def together(columns: Sequence[Codes], rows: int) -> Codes:
    """Several columns as one: equal where all of them are."""
    code, size = np.zeros(rows, dtype=np.int64), 1
    for own, count in columns:
        if count > 1:
            if size * count > SPARE * max(rows, 1):
                code, firsts = numbered(code, size)
                size = len(firsts)
            code, size = code * count + own, size * count
    return code, size


def numbered(code: Rows, size: int) -> tuple[Rows, Rows]:
    """Codes as numbers without gaps, and the first row of each number."""
    if size > SPARE * max(len(code), 1):
        _, firsts, number = np.unique(code, return_index=True, return_inverse=True)
        return number.astype(np.int64), firsts.astype(np.int64)
    first = np.full(size, -1, dtype=np.int64)
    first[code[::-1]] = np.arange(len(code) - 1, -1, -1)
    there = first >= 0
    return (np.cumsum(there) - 1)[code], first[there]


def lists_coded(column: pa.Array | pa.ChunkedArray) -> Codes:
    """Lists of texts as numbers: by their lengths, then by their texts from first to last."""
    lists = whole(column)
    values, rows = lists.flatten(), len(lists)
    lengths = lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    starts, texts = np.cumsum(lengths) - lengths, codes_of(values)
    columns = [(lengths, int(lengths.max(initial=0)) + 1)]
    for place in range(int(lengths.max(initial=0))):
        own = np.zeros(rows, dtype=np.int64)
        there = lengths > place
        own[there] = texts[0][starts[there] + place]
        columns.append((own, texts[1]))
    return together(columns, rows)
