"""What judged rows say, each thing once: a grid of six million rows needs 28 bytes of each beside this."""

from collections import Counter
from dataclasses import dataclass, field
from typing import cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mixgrid.metrics.base import Array
from mixgrid.reduce.judge import vectors_of
from mixgrid.reduce.population import Ints, Words

_MOST_EXCERPTS = 200_000  # distinct unparsed answers that are told apart


@dataclass
class Names:
    """Texts as numbers, each kept once; past `limit` of them, the rest are one."""

    limit: int = 1 << 30
    names: list[str] = field(default_factory=list)
    place: dict[str, int] = field(default_factory=dict)

    def number(self, column: pa.ChunkedArray) -> Ints:
        """The number of each row's text, -1 for null."""
        coded = column.combine_chunks()
        of = np.array([*(self._number(text) for text in coded.dictionary.to_pylist()), -1], dtype=np.int32)
        numbered: Ints = of[pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False)]
        return numbered

    def _number(self, text: str) -> int:
        if text not in self.place and len(self.names) >= self.limit:
            text = "(others)"
        found = self.place.setdefault(text, len(self.names))
        if found == len(self.names):
            self.names.append(text)
        return found

    def counts(self, numbers: Ints) -> Counter[str]:
        """How often each text stands in some rows."""
        found, counts = np.unique(numbers[numbers >= 0], return_counts=True)
        return Counter({self.names[i]: int(n) for i, n in zip(found, counts, strict=True)})


@dataclass
class Vectors:
    """Vectors as numbers, each kept once."""

    width: int  # F
    place: dict[bytes, int] = field(default_factory=dict)
    rows: list[Array] = field(default_factory=list)

    def number(self, vector: Array) -> int:
        """The number of one vector."""
        found = self.place.setdefault(vector.tobytes(), len(self.rows))
        if found == len(self.rows):
            self.rows.append(vector)
        return found

    @property
    def table(self) -> Array:
        """All of them, (V, F)."""
        return np.array(self.rows, dtype=np.float64).reshape(len(self.rows), self.width)


@dataclass
class Book:
    """What the rows of one population say, each thing once."""

    vectors: Vectors
    statuses: Names = field(default_factory=Names)
    engines: Names = field(default_factory=Names)
    excerpts: Names = field(default_factory=lambda: Names(limit=_MOST_EXCERPTS))

    def rows(self, judged: pa.Table) -> "Rows":
        """A part's rows with the book's numbers."""
        own, vectors = vectors_of(judged)
        of: Ints = np.full(int(own.max(initial=-1)) + 2, -1, dtype=np.int32)  # the last stands for -1, no verdict
        for number, vector in zip(own, vectors, strict=True):
            of[number] = self.vectors.number(vector)
        return Rows(
            verdict=of[numbers(judged, "verdict")],
            status=self.statuses.number(judged["status"]),
            engine=self.engines.number(judged["engine"]),
            excerpt=self.excerpts.number(judged["excerpt"]),
            cut=numbers(judged, "cut").astype(np.int32),
            row=numbers(judged, "row").astype(np.uint64),
        )


@dataclass
class Rows:
    """What is kept of some rows: 28 bytes of each."""

    verdict: Ints  # -1: no row yet
    status: Ints
    engine: Ints
    excerpt: Ints  # -1: it was read
    cut: Ints  # 1: it ended at the limit of its length
    row: Words

    @classmethod
    def none(cls, n: int) -> "Rows":
        """No row at any of n places."""
        verdict, status, engine, excerpt = (np.full(n, -1, dtype=np.int32) for _ in range(4))
        return cls(verdict, status, engine, excerpt, np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.uint64))

    def put(self, at: npt.NDArray[np.int64], rows: "Rows", taken: npt.NDArray[np.int64]) -> None:
        """Let some of the rows stand at these places."""
        for name, column in vars(self).items():
            column[at] = getattr(rows, name)[taken]


def numbers(table: pa.Table, name: str) -> npt.NDArray[np.int64]:
    """A column of numbers, in the type that it has."""
    return cast("npt.NDArray[np.int64]", table[name].to_numpy())
