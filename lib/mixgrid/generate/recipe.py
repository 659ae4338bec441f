"""A generation's manifest, resolved: the sentences, the methods, the model, the store. The last stop for bad input.

job = resolve("manifests/generate.yaml")     # UserError: file, key, value, what would be right; nothing has started
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from pydantic import Field

from mixgrid import switching
from mixgrid.corpora import read, slice_items
from mixgrid.corpora.catalogue import Corpus, load_corpora
from mixgrid.corpora.catalogue import corpus as find_corpus
from mixgrid.corpora.snapshot import content_digest
from mixgrid.errors import UserError, allowed
from mixgrid.languages import language
from mixgrid.manifest import (
    Budget,
    CorpusChoice,
    Frozen,
    LeaveOut,
    Manifest,
    ModelEntry,
    Name,
    Resources,
    SamplingFields,
    SamplingOverride,
    Seed,
)
from mixgrid.plan.cells import speaks
from mixgrid.plan.decoding import check_room
from mixgrid.plan.grid import Grid, Slice, open_store
from mixgrid.plan.names import beside, models_of
from mixgrid.prompts import Prompts
from mixgrid.records import Item
from mixgrid.store import Store
from mixgrid.switching.base import Method
from mixgrid.yamlfile import read_yaml

MADE = "made"  # the split of what is asked of the model: none of the corpus's own
WARM = SamplingFields(temperature=0.8)  # the paper's, for whole sentences; under the model's own and the manifest's
_FILES = ("parser", "stopwords")  # options that may name something beside the manifest

Option = bool | int | float | str


class Recipe(Frozen):
    """What is made, of which corpus, how and by whom."""

    name: Name  # of the corpus that is made
    corpus: Name
    splits: Annotated[list[str], Field(min_length=1)] | None = None  # None: all
    source: str | None = None  # the language of its sentences; needed only where the corpus has several
    languages: Annotated[list[str], Field(min_length=1)]  # to be mixed in, one at a time
    switching: Annotated[dict[str, dict[str, Option]], Field(min_length=1)]  # the methods and their options
    variants: Annotated[int, Field(ge=1, le=100)] = 3  # at most, for each sentence, language and method
    seed: Seed = 1
    model: str  # translates, and rewrites for the method `llm`
    sampling: list[SamplingOverride] = Field(default_factory=list)
    resources: Resources = Resources()
    budget: Budget | None = None
    templates: str | None = None
    store: str | None = None
    namespace: Name = "main"


@dataclass(frozen=True)
class Job:
    """A resolved recipe."""

    recipe: Recipe
    path: Path
    corpus: Corpus
    sentences: tuple[Item, ...]
    methods: Mapping[str, Method]
    models: Mapping[str, ModelEntry]
    store: Store
    prompts: Prompts

    def limited(self, limit: int | None) -> "Job":
        """The same of at most `limit` sentences, whole clusters first."""
        part = Slice(self.corpus.name, "", MADE, self.sentences, ()).limited(limit)
        return replace(self, sentences=part.items)

    def mixed(self, target: str) -> str:
        """The tag of the sentences' language mixed with another."""
        return f"{self.sentences[0].language}-{target}"

    def grid(self, asked: Mapping[str, Sequence[Item]]) -> Grid:
        """The grid that asks the model for these items, by task."""
        slices = tuple(
            Slice(asking(self.recipe, task), content_digest(items), MADE, tuple(items), tuple(items))
            for task, items in asked.items()
        )
        grid = Grid(grid_manifest(self.recipe, list(asked)), self.path, self.models, slices, self.store, self.prompts)
        grid.check_shown()
        return grid


def asking(recipe: Recipe, task: str) -> str:
    """The corpus of what the model is asked under a task."""
    return f"{recipe.name}.{task}"


def grid_manifest(recipe: Recipe, tasks: Sequence[str]) -> Manifest:
    """The recipe as a manifest of the main flow: each task asks its own corpus, once."""
    return Manifest(
        name=recipe.name,
        corpora=[CorpusChoice(name=asking(recipe, task), split=MADE) for task in tasks],
        tasks=list(tasks),
        models=[recipe.model],
        settings=["zero-shot"],
        seeds=[recipe.seed],
        leave_out=[LeaveOut(corpora=[asking(recipe, a)], tasks=[b]) for a in tasks for b in tasks if a != b],
        sampling=recipe.sampling,
        namespace=recipe.namespace,
        resources={recipe.model: recipe.resources},
        budget=recipe.budget,
    )


def resolve(path: str | Path, store_url: str | None = None) -> Job:
    """Load a recipe and find all that it names; UserError names what is not there and what is."""
    return resolved(read_yaml(path, Recipe), Path(path), store_url)


def resolved(recipe: Recipe, path: Path, store_url: str | None = None) -> Job:
    """All that a recipe names, from the place of its file."""
    corpus = find_corpus(load_corpora(path.parent / "corpora.yaml"), recipe.corpus, f"{path}: key 'corpus'")
    sentences = _sentences(recipe, path, read(corpus))
    models = _models(recipe, path, sentences[0].language)
    return Job(
        recipe=recipe,
        path=path,
        corpus=corpus,
        sentences=sentences,
        methods=_methods(recipe, path, sentences[0].language),
        models=models,
        store=open_store(recipe.store if store_url is None else store_url),
        prompts=Prompts(beside(path, recipe.templates, "templates") if recipe.templates else None),
    )


def _sentences(recipe: Recipe, path: Path, items: list[Item]) -> tuple[Item, ...]:
    """The corpus's sentences of one language, that are not mixed yet."""
    if recipe.splits:
        where = f"{path}: key 'splits': corpus '{recipe.corpus}'"
        items = [item for split in dict.fromkeys(recipe.splits) for item in slice_items(items, split, where=where)]
    plain = [item for item in items if item.switching == "none" and item.text and item.text.strip()]
    there = sorted({item.language for item in plain if len(language(item.language).parts) == 1})
    source = recipe.source or (there[0] if len(there) == 1 else "")
    if source not in there:
        said = f"{source!r} is not" if source else "say which of several languages is"
        raise UserError(
            f"{path}: key 'source': {said} the language of unmixed sentences in '{recipe.corpus}'; "
            f"{allowed(source, there)}"
        )
    return tuple(item for item in plain if item.language == source)


def _methods(recipe: Recipe, path: Path, source: str) -> dict[str, Method]:
    """The methods in the order of the manifest."""
    return {
        name: switching.build(name, source, _beside(path, options), f"{path}: key 'switching'")
        for name, options in recipe.switching.items()
    }


def _beside(path: Path, options: Mapping[str, Option]) -> dict[str, Option]:
    """The options; a file or folder that lies beside the manifest by its own path."""
    found = {name: path.parent / str(value) for name, value in options.items() if name in _FILES}
    return {**options, **{name: str(place.absolute()) for name, place in found.items() if place.exists()}}


def _models(recipe: Recipe, path: Path, source: str) -> dict[str, ModelEntry]:
    """The model, with what the method `llm` samples by; it must know all the languages."""
    tasks = [task for task, needed in _needs(recipe).items() if needed]
    manifest = grid_manifest(recipe, tasks)
    ((name, entry),) = models_of(manifest, path).items()
    entry = entry.model_copy(update={"sampling": {"code-mixing": WARM, **entry.sampling}})
    check_room(manifest, path, {name: entry})
    for target in recipe.languages:
        try:
            known = speaks(entry, language(f"{source}-{target}").tag)
        except UserError as error:
            raise UserError(f"{path}: key 'languages': {target!r} cannot be mixed into {source!r}: {error}") from None
        if not known:
            raise UserError(f"{path}: key 'model': {name!r} is a model for {', '.join(entry.languages or ())} only")
        if recipe.languages.count(target) > 1 or target == source:
            raise UserError(f"{path}: key 'languages': {target!r} stands there twice, or is the source; take it away")
    return {name: entry}


def _needs(recipe: Recipe) -> dict[str, bool]:
    return {"code-mixing": "llm" in recipe.switching, "translation": set(recipe.switching) != {"llm"}}
