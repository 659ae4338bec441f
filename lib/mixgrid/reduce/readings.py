"""Raw answers of a part, read: each distinct one once, however many rows hold it.

Long answers differ in what was thought, not in what was said, so where a task's answers stand in tags they are cut to
their skeletons first. What is not read as an answer there is read as it came.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mixgrid.metrics.base import Answer
from mixgrid.parse.skeleton import skeletons
from mixgrid.records import Parsed
from mixgrid.reduce.codes import Codes, Rows, codes_of, lists_coded, numbered, together, whole
from mixgrid.tasks.base import Raw, Task

FAILED = "failed: "  # begins the status of a row that failed; its reason follows
RAW = ("text", "reasoning", "finish_reason", "status", "reason")
LONG = 96  # bytes of an answer; shorter ones are told apart more quickly than cut
EXCERPT = 160  # characters of an unparsed answer that are kept for the report


@dataclass(frozen=True)
class Reading:
    """How one raw answer is read."""

    answer: Answer
    status: str
    excerpt: str | None


@dataclass
class Readings:
    """The distinct readings of some rows, and which of them each row has."""

    of: Rows  # -1: not read yet
    found: list[Reading] = field(default_factory=list)

    def put(self, rows: Rows, reading_of: Rows, found: Sequence[Reading]) -> None:
        """Some rows' readings, numbered among `found`."""
        self.of[rows] = reading_of + len(self.found)
        self.found.extend(found)

    def column(self, values: Iterable[str | None]) -> pa.Array:
        """One text a reading → one a row, as a dictionary."""
        texts = pa.array(values, pa.string()).dictionary_encode()
        return pa.DictionaryArray.from_arrays(texts.indices.take(pa.array(self.of)), texts.dictionary)


def readings(rows: pa.Table, task: Task) -> Readings:
    """How a task reads the rows of a part."""
    done = Readings(np.full(rows.num_rows, -1, dtype=np.int64))
    columns = {name: codes_of(rows[name]) for name in RAW if name != "text"}
    columns["order"] = lists_coded(rows["order"])
    if task.tags is not None and rows["text"].nbytes > LONG * rows.num_rows:
        cut = skeletons(whole(rows["text"]), task.tags)
        usable = pc.and_(cut.is_valid(), pc.equal(rows["status"], "ok")).to_numpy(zero_copy_only=False)
        plain = rows.set_column(rows.schema.get_field_index("text"), "text", cut)
        kept = {**columns, "text": codes_of(cut)}
        del kept["reasoning"]  # no plain answer is looked for in it
        _read(done, task, plain, np.flatnonzero(usable), kept, only_ok=True)
    rest = np.flatnonzero(done.of < 0)
    texts = whole(rows["text"]).take(pa.array(rest)) if len(rest) < rows.num_rows else rows["text"]
    text: Rows = np.zeros(rows.num_rows, dtype=np.int64)
    text[rest], size = codes_of(texts)
    _read(done, task, rows, rest, {**columns, "text": (text, size)})
    return done


def _read(
    done: Readings, task: Task, rows: pa.Table, mine: Rows, columns: Mapping[str, Codes], only_ok: bool = False
) -> None:
    """Read some of the rows; `only_ok` leaves those without an answer for another way."""
    code, firsts = numbered(*together([(codes[mine], size) for codes, size in columns.values()], len(mine)))
    raws = rows.select([*RAW, "order"]).take(pa.array(mine[firsts])).to_pylist()
    found = [_reading(task, raw) for raw in raws]
    kept = np.array([not only_ok or reading.status == "ok" for reading in found], dtype=bool)
    taken = kept[code]
    done.put(mine[taken], (np.cumsum(kept) - 1)[code[taken]], [r for r, k in zip(found, kept, strict=True) if k])


def _reading(task: Task, row: Mapping[str, object]) -> Reading:
    """A failed row is failed, whatever text came with it."""
    raw = Raw(**{name: row[name] for name in RAW})  # type: ignore[arg-type]
    order: tuple[str, ...] = tuple(row["order"])  # type: ignore[arg-type]
    if raw.status == "failed":
        return Reading(Answer("failed", order=order), FAILED + raw.reason, None)
    read = task.parse(raw, order)
    if read.status == "ok":
        return Reading(Answer("ok", read.value, order), read.status, None)
    return Reading(Answer("unparsed", order=order), read.status, _excerpt(raw, read))


def _excerpt(raw: Raw, read: Parsed) -> str:
    """One line of an answer that could not be read, for the report."""
    said = " ".join(raw.text.split())
    if not said and raw.reasoning:
        said = f"(no answer; reasoning ends) {' '.join(raw.reasoning.split())[-EXCERPT:]}"
    return f"[{read.status}] {said[:EXCERPT]}{'…' if len(said) > EXCERPT else ''}"
