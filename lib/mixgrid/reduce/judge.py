"""The map: one part of predictions → a few bytes a row. Pure, so it runs anywhere and its result is cached.

Only what is distinct is parsed and scored: a hundred thousand rows of a satire grid hold a few hundred answers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mixgrid.metrics.base import Answer, Family
from mixgrid.records import Parsed
from mixgrid.reduce.population import Ints, Sheet, first_words, lists_as_text, words
from mixgrid.schemas import digest
from mixgrid.tasks.base import Raw, Task

VERSION = 2
FAILED = "failed: "  # begins the status of a row that failed; its reason follows
_RAW = ("text", "reasoning", "finish_reason", "status", "reason")
_IDS = ("run_id", "item_id", "request_id", "prompt_sha256", "item_hash", "row_sha256", "engine")
COLUMNS = (*_IDS, *_RAW, "order")  # of a prediction, all that reduce ever reads
EXCERPT = 160  # characters of an unparsed answer that are kept for the report


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

    def __call__(self, rows: pa.Table) -> pa.Table:
        """One judged row for each prediction; `vector` stands only where a verdict appears for the first time."""
        raw_of, firsts = _distinct(rows)
        parsed = [self._parse(row) for row in rows.select([*_RAW, "order"]).take(pa.array(firsts)).to_pylist()]
        items = self.sheet.find(rows["item_id"].to_pylist())
        verdicts, vectors = self._verdicts(items, raw_of, [answer for answer, _, _ in parsed])
        status = pa.array([status for _, status, _ in parsed], type=pa.string()).take(pa.array(raw_of))
        excerpt = pa.array([excerpt for _, _, excerpt in parsed], type=pa.string()).take(pa.array(raw_of))
        return pa.table(
            {
                "run_id": _coded(rows["run_id"]),
                "item": items,
                "request": words(rows["request_id"]),
                "prompt": words(rows["prompt_sha256"]),
                "item_hash": words(rows["item_hash"]),
                "row": first_words(rows["row_sha256"]),
                "engine": _coded(rows["engine"]),
                "status": _coded(status),
                "excerpt": _coded(excerpt),
                "cut": pc.equal(rows["finish_reason"], "length").cast(pa.int32()),
                "verdict": verdicts,
                "vector": _at_first(verdicts, vectors),
            }
        )

    def _parse(self, row: dict[str, object]) -> tuple[Answer, str, str | None]:
        """(answer, status, excerpt) of a raw answer. A failed row is failed, whatever text came with it."""
        raw = Raw(**{name: row[name] for name in _RAW})  # type: ignore[arg-type]
        order: tuple[str, ...] = tuple(row["order"])  # type: ignore[arg-type]
        if raw.status == "failed":
            return Answer("failed", order=order), FAILED + raw.reason, None
        read = self.task.parse(raw, order)
        if read.status == "ok":
            return Answer("ok", read.value, order), read.status, None
        return Answer("unparsed", order=order), read.status, _excerpt(raw, read)

    def _verdicts(self, items: Ints, raw_of: Ints, answers: Sequence[Answer]) -> tuple[Ints, npt.NDArray[np.float64]]:
        """The number of each row's verdict (-1: no such item) and the verdicts' vectors."""
        place = {answer: i for i, answer in enumerate(dict.fromkeys(answers))}
        known = np.flatnonzero(items >= 0)
        answer_of = np.array([place[a] for a in answers], dtype=np.int64)[raw_of[known]]
        facts = self.sheet.fact_of[items[known]].astype(np.int64)
        pairs, pair_of = np.unique(facts * max(len(place), 1) + answer_of, return_inverse=True)
        kinds = list(place)
        vectors = self.family.statistics(
            [self.sheet.facts[pair // len(kinds)] for pair in pairs], [kinds[pair % len(kinds)] for pair in pairs]
        )
        verdicts: Ints = np.full(len(items), -1, dtype=np.int32)
        verdicts[known] = pair_of
        return verdicts, vectors


def vectors_of(judged: pa.Table) -> tuple[Ints, npt.NDArray[np.float64]]:
    """The numbers of the verdicts that have a vector, in order of appearance, and these vectors (V, F)."""
    first = judged.filter(pc.is_valid(judged["vector"]))
    vectors = np.array(first["vector"].to_pylist(), dtype=np.float64)
    return first["verdict"].to_numpy().astype(np.int32), vectors.reshape(first.num_rows, -1)


def _at_first(verdicts: Ints, vectors: npt.NDArray[np.float64]) -> pa.Array:
    found, firsts = np.unique(verdicts, return_index=True)
    column: list[list[float] | None] = [None] * len(verdicts)
    for verdict, row in zip(found, firsts, strict=True):
        if verdict >= 0:
            column[row] = vectors[verdict].tolist()
    return pa.array(column, type=pa.list_(pa.float64()))


def _distinct(rows: pa.Table) -> tuple[Ints, Ints]:
    """The number of each row's raw answer, and the first row of each: equal in all that a parser is given."""
    code: npt.NDArray[np.int64] = np.zeros(rows.num_rows, dtype=np.int64)
    for column in (*(rows[name] for name in _RAW), lists_as_text(rows["order"])):
        encoded = _whole(column).dictionary_encode(null_encoding="encode")
        merged = code * max(len(encoded.dictionary), 1) + encoded.indices.to_numpy(zero_copy_only=False)
        _, code = np.unique(merged, return_inverse=True)
    _, firsts, raw_of = np.unique(code, return_index=True, return_inverse=True)
    return raw_of.astype(np.int32), firsts.astype(np.int32)


def _excerpt(raw: Raw, read: Parsed) -> str:
    """One line of an answer that could not be read, for the report."""
    said = " ".join(raw.text.split())
    if not said and raw.reasoning:
        said = f"(no answer; reasoning ends) {' '.join(raw.reasoning.split())[-EXCERPT:]}"
    return f"[{read.status}] {said[:EXCERPT]}{'…' if len(said) > EXCERPT else ''}"


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _coded(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return _whole(column).dictionary_encode()
