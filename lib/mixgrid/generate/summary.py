"""A made corpus in numbers: sizes and labels by split, variants by method and language, by k, and what was rejected."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mixgrid.generate.assemble import Made
from mixgrid.generate.choose import choices, requests
from mixgrid.generate.recipe import Job
from mixgrid.languages import words
from mixgrid.records import Item

ALL = "all"


@dataclass(frozen=True)
class Size:
    """One split of the corpus, or all of it, as in Table 1 of CS-SeLeRoSa."""

    split: str
    sentences: int
    mixed: int
    labels: dict[str, int]  # of the mixed rows
    words: float  # mean, of the mixed rows


@dataclass(frozen=True)
class Cell:
    """One method and language."""

    switching: str
    language: str
    variants: int
    levels: tuple[int, ...]  # sentences with at least 1, 2, … variants
    spans: float  # mean of a variant
    share: float | None  # of the original's words that are switched, mean; None where no spans are known
    rejects: dict[str, int]  # variants that do not exist, by reason
    left: dict[str, int]  # chosen spans that stayed as they were in variants and rejects, by reason


@dataclass(frozen=True)
class Summary:
    """The corpus."""

    corpus: str
    sizes: tuple[Size, ...]
    cells: tuple[Cell, ...]
    levels: tuple[int, ...]  # over all cells: the k-level counts


@dataclass(frozen=True)
class Asking:
    """What a generation would ask of its model."""

    sentences: int
    choices: int  # variants, at most
    impossible: dict[str, int]  # variants for which nothing can be chosen, by reason
    pieces: int  # translations and rewritings that the choices need
    requests: dict[str, int]  # those that are distinct, by task
    units: dict[str, int]  # the same by what they are

    def __str__(self) -> str:
        """A few lines for a person."""
        asked = sum(self.requests.values())
        return (
            f"{self.sentences} sentences, {self.choices} variants at most ({_listed(self.impossible)})\n"
            f"{self.pieces} pieces need {asked} requests ({_listed(self.requests)}): "
            f"{1 - asked / max(self.pieces, 1):.1%} saved by sharing\nby unit: {_listed(self.units)}"
        )


def asking(job: Job) -> Asking:
    """What would be asked; nothing is."""
    found = list(choices(job))
    asked = requests(job, found)
    return Asking(
        sentences=len(job.sentences),
        choices=len(found),
        impossible=_counts(choice.why for choice in found if choice.why),
        pieces=sum(len(choice.pieces) for choice in found),
        requests={task: len(items) for task, items in asked.items()},
        units=_counts(item.category or "mixed" for items in asked.values() for item in items),
    )


def summary(made: Made, corpus: str, variants: int) -> Summary:
    """Counts of what was made; every choice is a variant or a reject, so the two sum to what was asked for."""
    mixed = [item for item in made.items if item.switching != "none"]
    cells = tuple(_cell(made, mixed, key, variants) for key in _keys(made, mixed))
    splits = [*sorted({item.split for item in made.items}), ALL]
    return Summary(
        corpus,
        tuple(_size(made.items, split) for split in splits),
        cells,
        tuple(sum(cell.levels[k] for cell in cells) for k in range(variants)),
    )


def _keys(made: Made, mixed: Iterable[Item]) -> list[tuple[str, str]]:
    found = {(item.switching, item.language) for item in mixed}
    return sorted(found | {(reject.switching, reject.language) for reject in made.rejects})


def _size(items: Sequence[Item], split: str) -> Size:
    part = [item for item in items if split in (ALL, item.split)]
    mixed = [item for item in part if item.switching != "none"]
    labels = Counter(item.label for item in mixed if item.label is not None)
    return Size(split, len(part) - len(mixed), len(mixed), dict(sorted(labels.items())), _mean(map(_length, mixed)))


def _length(item: Item) -> int:
    return len(words(item.text or ""))


def _cell(made: Made, mixed: Iterable[Item], key: tuple[str, str], variants: int) -> Cell:
    items = [item for item in mixed if (item.switching, item.language) == key]
    per_sentence = Counter(item.twin_id for item in items)
    spanned = [item for item in items if item.spans]
    return Cell(
        *key,
        variants=len(items),
        levels=tuple(sum(n >= k for n in per_sentence.values()) for k in range(1, variants + 1)),
        spans=_mean(len(item.spans) for item in items),
        share=_mean(map(_share, spanned)) if spanned else None,
        rejects=_counts(reject.reason for reject in made.rejects if (reject.switching, reject.language) == key),
        left={reason: n for (*place, reason), n in sorted(made.left.items()) if tuple(place) == key},
    )


def _share(item: Item) -> float:
    """Of the words of the original, those that were switched."""
    switched = sum(len(words(span.original)) for span in item.spans)
    kept = _length(item) - sum(len(words(span.translation)) for span in item.spans)
    return switched / max(switched + kept, 1)


def _counts(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return round(sum(found) / len(found), 4) if found else 0.0


def tables(found: Summary) -> str:
    """The summary as Markdown, for a terminal or a page."""
    labels = sorted({label for size in found.sizes for label in size.labels})
    sizes: list[list[object]] = [["split", "sentences", "mixed", *labels, "words"]]
    sizes += [
        [s.split, s.sentences, s.mixed, *(s.labels.get(label, 0) for label in labels), f"{s.words:.1f}"]
        for s in found.sizes
    ]
    ks = [f"k ≥ {k}" for k in range(1, len(found.levels) + 1)]
    cells = [["method", "language", "variants", *ks, "spans", "words switched", "rejected", "spans left"]]
    cells += [_row(cell) for cell in found.cells]
    cells.append(["all", "all", str(sum(c.variants for c in found.cells)), *map(str, found.levels), *[""] * 4])
    return f"{found.corpus}\n\n{_table(sizes)}\n\n{_table(cells)}"


def _row(cell: Cell) -> list[str]:
    share = "–" if cell.share is None else f"{cell.share:.1%}"
    rest = [_listed(cell.rejects), _listed(cell.left)]
    return [
        cell.switching,
        cell.language,
        str(cell.variants),
        *map(str, cell.levels),
        f"{cell.spans:.2f}",
        share,
        *rest,
    ]


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{n} {reason}" for reason, n in counts.items()) or "0"


def _table(rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table whose columns are aligned."""
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in texts) for i in range(len(texts[0]))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in texts
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])
