"""The size of a grid whose data or models are not at hand: `mixgrid plan --estimate`.

A corpus whose files are on this machine is counted; of another, the counts that manifests/corpora.yaml declares are
taken. Tokens are guessed by rendering each setting once with a stand-in of as many words as an item has.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from mixgrid.corpora import read
from mixgrid.corpora.base import slice_items
from mixgrid.corpora.catalogue import Corpus, load_corpora
from mixgrid.corpora.catalogue import corpus as find_corpus
from mixgrid.errors import UserError, allowed
from mixgrid.languages import words
from mixgrid.manifest import CorpusChoice, Manifest, ModelEntry
from mixgrid.plan.cells import Absent, absent, runs_of, settings_of, speaks
from mixgrid.plan.decoding import Decoding, check_room, design_warnings, sampling_of
from mixgrid.plan.names import beside, check_there, load_checked, models_of, taken
from mixgrid.plan.requests import rendered
from mixgrid.plan.summary import tokens_by_bytes
from mixgrid.prompts import Prompts
from mixgrid.records import Item, Turn
from mixgrid.tasks import TASKS
from mixgrid.tasks.base import Setting, Task


@dataclass(frozen=True)
class Cell:
    """The items of one language and method of a corpus that one task asks about."""

    language: str
    switching: str
    items: int
    words: float | None  # mean of an item's text or dialogue; None: not declared


@dataclass(frozen=True)
class Size:
    """What one task finds in one corpus."""

    corpus: str
    split: str
    task: str
    counted: bool  # from the data; else as declared
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Row:
    """One corpus, task, model and setting of the design: `requests` over all of its seeds."""

    corpus: str
    task: str
    model: str
    setting: str
    seeds: int
    cells: int
    requests: int


@dataclass(frozen=True)
class Estimate:
    """A design's size. Where nobody declared an item's words, `prompt_tokens` are those around it, with a warning."""

    runs: int
    cells: int
    requests: int
    prompt_tokens: int
    max_completion_tokens: int
    sizes: tuple[Size, ...]
    rows: tuple[Row, ...]
    absent: tuple[Absent, ...]
    decoding: tuple[Decoding, ...]
    warnings: tuple[str, ...]


def estimate(path: str | Path) -> Estimate:
    """The size of a manifest's grid, from data where it is here and from declared counts where it is not."""
    path = Path(path)
    manifest = load_checked(path)
    models = models_of(manifest, path, to_run=False)
    check_room(manifest, path, models)
    prompts = Prompts(beside(path, manifest.templates, "templates") if manifest.templates else None)
    sizes = tuple(_sizes(manifest, path))
    rows = tuple(_rows(manifest, models, sizes))
    gone = [a for s in sizes for a in absent(manifest, models, s.corpus, TASKS[s.task], {c.language for c in s.cells})]
    decoding = {
        key: _decoding(manifest, models, *key) for key in dict.fromkeys((r.model, r.task, r.setting) for r in rows)
    }
    return Estimate(
        runs=sum(row.seeds for row in rows),
        cells=sum(row.cells for row in rows),
        requests=sum(row.requests for row in rows),
        prompt_tokens=round(sum(_prompt_tokens(manifest, models, prompts, size) for size in sizes)),
        max_completion_tokens=sum(r.requests * decoding[r.model, r.task, r.setting].sampling.max_tokens for r in rows),
        sizes=sizes,
        rows=rows,
        absent=tuple(gone),
        decoding=tuple(decoding.values()),
        warnings=(*design_warnings(decoding.values(), gone, len(manifest.seeds)), *_unknown_words(sizes)),
    )


def _decoding(manifest: Manifest, models: Mapping[str, ModelEntry], model: str, task: str, setting: str) -> Decoding:
    sampling = sampling_of(manifest, model, models[model], task, TASKS[task].settings[setting])
    return Decoding(model, task, setting, sampling)


# Sizes


def _sizes(manifest: Manifest, path: Path) -> Iterator[Size]:
    catalogue = load_corpora(path.parent / "corpora.yaml")
    found = [
        size
        for choice in manifest.corpora
        for size in _corpus_sizes(manifest, path, find_corpus(catalogue, choice.name, f"{path}: key 'corpora'"), choice)
    ]
    check_there(manifest, path, {(cell.language, cell.switching) for size in found for cell in size.cells})
    for size in found:
        kept = tuple(cell for cell in size.cells if taken(manifest, (cell.language, cell.switching)))
        if kept:
            yield replace(size, cells=kept)


def _corpus_sizes(manifest: Manifest, path: Path, corpus: Corpus, choice: CorpusChoice) -> Iterator[Size]:
    here = all("://" not in file.path and Path(file.path).exists() for file in corpus.sources)
    where = f"{path}: key 'corpora': corpus '{choice.name}'"
    items = slice_items(read(corpus), choice.split, where=where) if here else []
    for name in manifest.tasks:
        cells = tuple(_counted(TASKS[name], items) if here else _declared(corpus, choice.split, name))
        if cells:
            yield Size(choice.name, choice.split, name, here, cells)


def _counted(task: Task, items: Iterable[Item]) -> Iterator[Cell]:
    number, length = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for item in items:
        if task.accepts(item):
            key = (item.language, item.switching)
            number[key] += 1
            length[key] += sum(len(words(text)) for text in (item.text or "", *(turn.text for turn in item.turns)))
    for key, items_of in number.items():
        yield Cell(*key, items_of, length[key] / items_of)


def _declared(corpus: Corpus, split: str, task: str) -> Iterator[Cell]:
    mine = [count for count in corpus.entry.counts if count.split == split]
    if not mine:
        splits = {count.split for count in corpus.entry.counts}
        raise UserError(
            f"{corpus.where}: its files are not here, and its `counts` declare no split {split!r}; "
            f"{allowed(split, splits)}. {corpus.entry.obtain}".rstrip()
        )
    for count in mine if task in corpus.entry.tasks else ():
        for language in count.languages:
            yield from (Cell(language, method, count.items, count.words) for method in count.switching)


# What is asked of them


def _rows(manifest: Manifest, models: Mapping[str, ModelEntry], sizes: Iterable[Size]) -> Iterator[Row]:
    for size in sizes:
        seeds = Counter((m, s.name) for m, s, _ in runs_of(manifest, models, size.corpus, TASKS[size.task]))
        for (model, setting), number in seeds.items():
            mine = [cell for cell in size.cells if speaks(models[model], cell.language)]
            if mine:
                requests = number * sum(cell.items for cell in mine)
                yield Row(size.corpus, size.task, model, setting, number, len(mine), requests)


def _prompt_tokens(manifest: Manifest, models: Mapping[str, ModelEntry], prompts: Prompts, size: Size) -> float:
    """Tokens of all prompts of one corpus and task, over models, settings and seeds."""
    task = TASKS[size.task]
    runs = list(runs_of(manifest, models, size.corpus, task))
    total = 0.0
    for cell in size.cells:
        for setting in settings_of(manifest, task):
            asked = sum(s is setting and speaks(models[model], cell.language) for model, s, _ in runs)
            if asked:
                total += asked * cell.items * _tokens_of_one(prompts, task, setting, cell)
    return total


def _tokens_of_one(prompts: Prompts, task: Task, setting: Setting, cell: Cell) -> int:
    """The tokens of a prompt around a stand-in of the cell's length."""
    pool = [_stand_in(cell, f"shot {n}") for n in range(setting.shots)]
    (ask,) = rendered(prompts, task, setting, [_stand_in(cell, "asked")], pool)
    return tokens_by_bytes(ask.messages)


def _stand_in(cell: Cell, name: str) -> Item:
    """An item of as many five-letter words: with the space, two tokens each, as PINGPONG's Table 3 has on average."""
    text = "vorbe " * round(cell.words or 0) + name
    options = (*(f"vorbe vorbe vorbe {n}" for n in range(4)), "No correct answer")
    return Item(
        corpus="", item_id=name, source_id=name, twin_id=None, cluster_id=name, split="", language=cell.language,
        switching=cell.switching, variant=0, text=text, turns=(Turn("0", "A", text),), topic="vorbe vorbe",
        question="vorbe " * 12, options=options, label=options[0], references=("vorbe " * 60,),
    )  # fmt: skip


def _unknown_words(sizes: Iterable[Size]) -> Iterator[str]:
    without = sorted({size.corpus for size in sizes if any(cell.words is None for cell in size.cells)})
    if without:
        names = ", ".join(without)
        yield f"prompt tokens of {names} are counted without the items: `counts` in corpora.yaml declare no `words`"
