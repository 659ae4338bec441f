"""The map: one part of predictions → a few bytes a row. Pure, so it runs anywhere and its result is cached.

Only what is distinct is parsed and scored: a hundred thousand rows of a satire grid hold a few hundred answers.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mixgrid.metrics.base import Family
from mixgrid.reduce.codes import coded, numbered, whole
from mixgrid.reduce.population import Ints, Sheet, first_words, words
from mixgrid.reduce.readings import RAW, Readings, readings
from mixgrid.schemas import digest
from mixgrid.tasks.base import Task

VERSION = 2
_IDS = ("run_id", "item_id", "request_id", "prompt_sha256", "item_hash", "row_sha256", "engine")
COLUMNS = (*_IDS, *RAW, "order")  # of a prediction, all that reduce ever reads
FEW = ("run_id", "engine", "finish_reason", "status", "reason")  # of those, columns of few values


@dataclass(frozen=True)
class Judge:
    """Everything that a worker needs to judge a part."""

    task: Task
    family: Family
    sheet: Sheet
    snapshot: str

    @property
    def key(self) -> str:
        """What the judgement depends on besides the part's own bytes."""
        return digest([VERSION, self.task.name, self.task.parser_version, self.family.signature, self.snapshot])[:32]

    @property
    def embeds(self) -> bool:
        """Whether it runs an encoder, which belongs on a GPU."""
        return any("bertscore" in feature for feature in self.family.features)

    def __call__(self, rows: pa.Table) -> pa.Table:
        """One judged row for each prediction; `vector` stands only where a verdict appears for the first time."""
        read = readings(rows, self.task)
        items = self.sheet.find(rows["item_id"])
        verdicts, vectors = self._verdicts(items, read)
        return pa.table(
            {
                "run_id": coded(rows["run_id"]),
                "item": items,
                "request": words(rows["request_id"]),
                "prompt": words(rows["prompt_sha256"]),
                "item_hash": words(rows["item_hash"]),
                "row": first_words(rows["row_sha256"]),
                "engine": coded(rows["engine"]),
                "status": read.column(one.status for one in read.found),
                "excerpt": read.column(one.excerpt for one in read.found),
                "cut": pc.equal(rows["finish_reason"], "length").cast(pa.int32()),
                "verdict": verdicts,
                "vector": _at_first(verdicts, vectors),
            }
        )

    def _verdicts(self, items: Ints, read: Readings) -> tuple[Ints, npt.NDArray[np.float64]]:
        """The number of each row's verdict (-1: no such item) and the verdicts' vectors."""
        place = {answer: i for i, answer in enumerate(dict.fromkeys(one.answer for one in read.found))}
        known, kinds = np.flatnonzero(items >= 0), list(place)
        answer_of = np.array([place[one.answer] for one in read.found], dtype=np.int64)[read.of[known]]
        pairs = self.sheet.fact_of[items[known]].astype(np.int64) * max(len(kinds), 1) + answer_of
        pair_of, firsts = numbered(pairs, len(self.sheet.facts) * max(len(kinds), 1))
        vectors = self.family.statistics(
            [self.sheet.facts[pair // len(kinds)] for pair in pairs[firsts]],
            [kinds[pair % len(kinds)] for pair in pairs[firsts]],
        )
        verdicts: Ints = np.full(len(items), -1, dtype=np.int32)
        verdicts[known] = pair_of
        return verdicts, vectors


def vectors_of(judged: pa.Table) -> tuple[Ints, npt.NDArray[np.float64]]:
    """The numbers of the verdicts that have a vector, in order of appearance, and these vectors (V, F)."""
    first = judged.filter(pc.is_valid(judged["vector"]))
    vectors = whole(first["vector"]).flatten().to_numpy()
    return first["verdict"].to_numpy().astype(np.int32), vectors.reshape(first.num_rows, -1 if first.num_rows else 0)


def _at_first(verdicts: Ints, vectors: npt.NDArray[np.float64]) -> pa.Array:
    """A list column with each verdict's vector in the first of its rows."""
    _, firsts = numbered(verdicts.astype(np.int64) + 1, len(vectors) + 1)
    rows = np.sort(firsts[verdicts[firsts] >= 0])
    size = vectors.shape[1] if vectors.ndim == 2 else 0
    offsets, there = np.zeros(len(verdicts) + 1, dtype=np.int32), np.zeros(len(verdicts), dtype=bool)
    there[rows] = True
    offsets[1:] = np.cumsum(there) * size
    return pa.ListArray.from_arrays(offsets, vectors[verdicts[rows]].reshape(-1), mask=pa.array(~there))
