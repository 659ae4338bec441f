"""Rows → one value for each slice, measure and level; how it was aggregated stands beside it.

    utterance   mean over all utterances (turns, sentences) of the slice
    item        mean over items; a dialogue is measured as one text of all its turns
    corpus      one value of all the slice's texts, joined in the order of their ids

A slice is a language, a switching method and a number of speakers, or all of any of them.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from mixgrid.describe.base import LEVELS, Level, Measure, Mix
from mixgrid.describe.rows import Row

ALL = "all"
Slice = tuple[str, str, str, str, int]


@dataclass(frozen=True)
class Measured:
    """One measure of one slice."""

    corpus: str
    split: str
    language: str  # "all": every language
    switching: str  # "all": every method
    speakers: int  # 0: any number
    measure: str
    level: Level
    value: float | None  # mean over `n` (utterances, items), or the one value of the corpus; None: `note` says why
    sd: float | None  # sample sd (n-1) of the means' values
    total: float | None  # their sum
    n: int  # that have a value
    undefined: int  # that have none
    note: str
    signature: str


def summarise(rows: Sequence[Row], measures: Mapping[str, Measure], signature: str) -> list[Measured]:
    """Every measure of every slice at each of its levels, sorted; what no row of a slice is about is left out."""
    slices: defaultdict[Slice, list[Row]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (row.item.corpus, row.item.item_id)):
        for key in _slices(row):
            slices[key].append(row)
    found = []
    for key, own in sorted(slices.items()):
        for (name, measure), level in product(measures.items(), ("utterance", "item", "corpus")):
            if level in LEVELS[measure.group]:
                one = _measured((key, name, level, signature), measure, own)
                found += [one] if one.n or _asked(measure, own) else []
    return found


def _slices(row: Row) -> Iterable[Slice]:
    item = row.item
    speakers = {0, item.speakers}
    for language, switching, size in product((ALL, item.language), (ALL, item.switching), sorted(speakers)):
        yield item.corpus, item.split, language, switching, size


def _asked(measure: Measure, rows: Sequence[Row]) -> bool:
    """Whether rows are about what the measure measures, so that its absence means something."""
    if measure.group in ("mixing", "corpus"):
        return any(row.item.mixes for row in rows)
    return measure.group == "dialogue" and any(row.item.speakers for row in rows)


def _measured(where: tuple[Slice, str, Level, str], measure: Measure, rows: Sequence[Row]) -> Measured:
    (corpus, split, language, switching, speakers), name, level, signature = where
    values = list(_values(name, level, measure, rows))
    there = [value for value in values if value is not None]
    mean = sum(there) / len(there) if there else None
    spread, total = None, None
    if level != "corpus" and mean is not None:
        total = sum(there)
        if len(there) > 1:
            spread = (sum((value - mean) ** 2 for value in there) / (len(there) - 1)) ** 0.5
    lacking = len(values) - len(there)
    note = f"not defined for {lacking}: {measure.undefined}" if lacking and measure.undefined else ""
    return Measured(
        corpus, split, language, switching, speakers, name, level, mean, spread, total, len(there), lacking, note,
        f"{name}|level:{level}|{signature}",
    )  # fmt: skip


def _values(name: str, level: Level, measure: Measure, rows: Sequence[Row]) -> Iterable[float | None]:
    """What the value of a slice is the mean of. Rows that the measure is not about have no part in it."""
    if level == "item":
        return (row.values[name] for row in rows if _about(measure, row))
    tagged = [row.item.mixes for row in rows if row.item.mixes]
    if level == "utterance":
        return (measure.of(mix) for mixes in tagged for mix in mixes)
    if measure.group == "corpus":
        return [measure.of(tagged)] if tagged else []
    return [measure.of(Mix.joined(mix for mixes in tagged for mix in mixes))] if tagged else []


def _about(measure: Measure, row: Row) -> bool:
    if measure.group == "mixing":
        return bool(row.item.mixes)
    return measure.group != "dialogue" or row.item.speakers > 0
