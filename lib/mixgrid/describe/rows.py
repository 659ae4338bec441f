"""Items → rows: what an item's languages, words and turns measure, and what whole slices are measured from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from mixgrid.describe.base import Conversation, Group, Measure, Mix, UntaggedError
from mixgrid.describe.counting import TokenCounter
from mixgrid.describe.dialogue import reply_distances
from mixgrid.describe.semantics import SentenceEncoder, Vectors
from mixgrid.describe.tags import Tagger, utterances
from mixgrid.languages import language, words
from mixgrid.records import Item
from mixgrid.schemas import from_table, to_table

PREFIX = "measure_"  # of a measure's column


@dataclass(frozen=True)
class Sample:
    """An item to describe, and the text of its monolingual twin where it has one."""

    item: Item
    twin: str | None = None


@dataclass(frozen=True)
class Described:
    """One item of a description, and what its slice's measures need of it."""

    corpus: str
    split: str
    item_id: str
    source_id: str
    cluster_id: str
    language: str
    switching: str
    variant: int
    speakers: int  # 0: not a dialogue
    untagged: str  # why its words have no languages; "": they have
    mixes: tuple[Mix, ...]  # of each utterance
    distances: tuple[int, ...]  # of each reply, in turns


@dataclass(frozen=True)
class Row:
    """A described item with its values by measure; None where one is not defined."""

    item: Described
    values: Mapping[str, float | None]


@dataclass(frozen=True)
class Describer:
    """Measures items. Travels to other processes: models are loaded where they are used."""

    measures: Mapping[str, Measure]
    tagger: Tagger | None = None
    counter: TokenCounter = field(default_factory=TokenCounter)
    encoder: SentenceEncoder | None = None

    def __call__(self, samples: Sequence[Sample]) -> list[Row]:
        """A row a sample, in order; sentence vectors are made for all of them at once."""
        pairs = self._pairs(samples)
        return [self._row(sample.item, pair) for sample, pair in zip(samples, pairs, strict=True)]

    def _row(self, item: Item, pair: tuple[Vectors, Vectors] | None) -> Row:
        mixes, why = self._mixes(item)
        texts = utterances(item)
        subjects: dict[Group, object] = {"semantics": pair}
        if mixes:
            subjects["mixing"] = Mix.joined(mixes)
        if any(texts):
            subjects["lexical"] = [word for text in texts for word in words(text)]
        if item.turns:
            subjects["dialogue"] = Conversation(item.turns, tuple(map(self.counter, texts)))
        described = Described(
            item.corpus, item.split, item.item_id, item.source_id, item.cluster_id, item.language, item.switching,
            item.variant, len({turn.speaker for turn in item.turns}), why, tuple(mixes),
            tuple(reply_distances(item.turns)),
        )  # fmt: skip
        values = {n: m.of(subjects[m.group]) if m.group in subjects else None for n, m in self.measures.items()}
        return Row(described, values)

    def _mixes(self, item: Item) -> tuple[list[Mix], str]:
        if self.tagger is None:
            return [], "not asked for"
        try:
            parts = len(language(item.language).parts)
            return [Mix.of(tags, max(parts, 2)) for tags in self.tagger(item)], ""
        except UntaggedError as why:
            return [], str(why)

    def _pairs(self, samples: Sequence[Sample]) -> list[tuple[Vectors, Vectors] | None]:
        """Two vectors for each sample that has a twin and text on both sides; each distinct text is embedded once."""
        texts = [(s.item.text or "", s.twin or "") for s in samples]
        if self.encoder is None:
            return [None] * len(samples)
        distinct = list(dict.fromkeys(text for pair in texts if all(map(str.strip, pair)) for text in pair))
        vectors = dict(zip(distinct, self.encoder.vectors(distinct), strict=True))
        return [(vectors[a], vectors[b]) if a in vectors and b in vectors else None for a, b in texts]


def to_rows(rows: Sequence[Row]) -> pa.Table:
    """The rows as a table: the fields of Described, then a column of numbers for each measure."""
    table = to_table(Described, [row.item for row in rows])
    for name in rows[0].values if rows else ():
        column = pa.array([row.values[name] for row in rows], type=pa.float64())
        table = table.append_column(pa.field(PREFIX + name, pa.float64()), column)
    return table


def from_rows(table: pa.Table) -> list[Row]:
    """Such a table's rows."""
    names = [name for name in table.column_names if name.startswith(PREFIX)]
    columns = {name.removeprefix(PREFIX): table[name].to_pylist() for name in names}
    items = from_table(Described, table.drop_columns(names))
    return [Row(item, {name: values[at] for name, values in columns.items()}) for at, item in enumerate(items)]
