"""Long answers cut to their tags, a whole column at once: most rows of a grid end in one of a few skeletons.

    <rationament>…</rationament> Deci: <raspuns>fapt</raspuns> → <rationament></rationament><raspuns>fapt</raspuns>

Only plain answers are cut: an answer pair, before it at most one pair of reasoning (or its end alone), no other `<`,
and none of `&`, `[`, `◁`, with which a mark of thought may begin. Of these `tagged` looks at nothing but the tags and
at what stands between the last two, so where it reads a class in the skeleton, it reads the same one in the text.
Anything else is null, and is for the reader itself to read.
"""

import re

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mixgrid.languages import fold
from mixgrid.parse.base import THINK, Tags

LONGEST = 64  # bytes of one tag
CONTENT = 256  # bytes of the answer pair
BLOCK = 1 << 17  # bytes looked at at once: they stay in the cache
_NAME = r"[^\s<>/]{1,40}"
_PLAIN = re.compile(rf"(?:(?:<({_NAME})>)?</({_NAME})>)?<({_NAME})>[^<>]*</({_NAME})>")
Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]


def skeletons(texts: pa.Array, tags: Tags) -> pa.DictionaryArray:
    """The skeleton of each text that is plain; null for the others, and for null."""
    offsets, data = _buffers(texts)
    opens, closes, escapes = _marks(data)
    first = np.searchsorted(opens, offsets)
    count, escaped = np.diff(first), np.diff(np.searchsorted(escapes, offsets))
    escaped[pc.match_substring(texts, "◁").fill_null(False).to_numpy(zero_copy_only=False)] += 1
    ends = np.append(closes, len(data))[np.searchsorted(closes, opens)] + 1  # of the tag that each `<` may open
    rows = np.flatnonzero((count >= 2) & (count <= 4) & (escaped == 0))
    rows = rows[_whole_tags(opens, ends, first[rows], count[rows], offsets[rows + 1])]
    starts, stops, pieces = _pieces(opens, ends, first[rows], count[rows])
    lengths = np.zeros(len(texts), dtype=np.int64)
    lengths[rows] = np.add.reduceat(stops - starts, np.cumsum(pieces) - pieces) if len(rows) else 0
    cut = _text(_gathered(data, starts, stops), lengths).dictionary_encode()
    plain = [_PLAIN.fullmatch(text) for text in cut.dictionary.to_pylist()]
    known = np.array([match is not None and _named(match, tags) for match in plain], dtype=bool)
    indices = cut.indices.to_numpy(zero_copy_only=False)
    return pa.DictionaryArray.from_arrays(pa.array(indices, mask=~known[indices]), cut.dictionary)


def _named(match: re.Match[str], tags: Tags) -> bool:
    """Whether the tags are those of reasoning and of the answer."""
    before, after = [fold(name) for name in match.groups()[:2] if name], [fold(name) for name in match.groups()[2:]]
    return set(before) <= tags.reasoning | THINK and set(after) <= tags.answer


def _buffers(texts: pa.Array) -> tuple[Places, Bytes]:
    """Where each text starts (n + 1), and the bytes of all, from the first text on."""
    _, offsets, data = texts.buffers()
    places = np.frombuffer(offsets, dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    held: Bytes = np.frombuffer(data, dtype=np.uint8) if data is not None else np.zeros(0, dtype=np.uint8)
    return places - places[0], held[places[0] : places[-1]]


def _marks(data: Bytes) -> tuple[Places, Places, Places]:
    """Where every `<`, every `>`, and every `&` or `[` stands."""
    blocks = (data[start : start + BLOCK] for start in range(0, len(data), BLOCK))
    held = (
        (block & 0xFD == ord("<")) | (block == ord("&")) | (block == ord("[")) for block in blocks
    )  # `>` is `<` + 2
    found = [np.flatnonzero(block) for block in held]
    marks = np.concatenate([place + n * BLOCK for n, place in enumerate(found)] or [np.zeros(0, dtype=np.int64)])
    kinds = data[marks]
    return marks[kinds == ord("<")], marks[kinds == ord(">")], marks[(kinds == ord("&")) | (kinds == ord("["))]


def _whole_tags(opens: Places, ends: Places, first: Places, count: Places, stop: Places) -> npt.NDArray[np.bool_]:
    """Whether every `<` of a row is closed before the next one, soon, and within the row."""
    kept = np.ones(len(first), dtype=bool)
    for at in range(4):
        there = at < count
        tag = first[there] + at
        last = at == count[there] - 1
        following = np.where(last, stop[there], opens[np.minimum(tag + 1, len(opens) - 1)])
        kept[there] &= (ends[tag] <= following) & (ends[tag] - opens[tag] <= LONGEST)
    pair = first + count - 2
    kept &= ends[pair + 1] - opens[pair] <= CONTENT
    return kept


def _pieces(opens: Places, ends: Places, first: Places, count: Places) -> tuple[Places, Places, Places]:
    """What is kept: each tag but the last two, then those with all between them; and how many pieces a row has."""
    pieces = count - 1
    row = np.repeat(np.arange(len(first)), pieces)
    at = np.arange(len(row)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    tag = first[row] + at
    return opens[tag], ends[tag + (at == pieces[row] - 1)], pieces


def _gathered(data: Bytes, starts: Places, stops: Places) -> Bytes:
    """The bytes of some spans, one after the other."""
    lengths = stops - starts
    before = np.cumsum(lengths) - lengths
    found: Bytes = data[np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths)]
    return found


def _text(data: Bytes, lengths: Places) -> pa.Array:
    offsets = np.append(0, np.cumsum(lengths)).astype(np.int32)
    return pa.Array.from_buffers(pa.string(), len(lengths), [None, pa.py_buffer(offsets), pa.py_buffer(data)])
