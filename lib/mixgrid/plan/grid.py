"""A manifest with everything that it names found and checked: the last stop for bad input, before anything starts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from mixgrid.corpora import read
from mixgrid.corpora.base import slice_items
from mixgrid.corpora.catalogue import corpus as find_corpus
from mixgrid.corpora.catalogue import load_corpora
from mixgrid.corpora.snapshot import content_digest
from mixgrid.engines import APIS
from mixgrid.engines.canned import CHANGES_ANSWERS
from mixgrid.engines.checkpoints import identity
from mixgrid.errors import UserError
from mixgrid.manifest import Api, Manifest, ModelEntry, Resources
from mixgrid.plan.cells import Absent, absent, runs_of, speaks
from mixgrid.plan.declared import declared
from mixgrid.plan.decoding import check_room, sampling_of
from mixgrid.plan.names import beside, check_there, load_checked, models_of, taken
from mixgrid.plan.shown import dropped
from mixgrid.prompts import Prompts
from mixgrid.records import Item, Run, Sampling
from mixgrid.schemas import digest
from mixgrid.store import Store
from mixgrid.tasks import TASKS
from mixgrid.tasks.base import Setting, Task
from mixgrid.tasks.shots import Shots

DEFAULT_STORE = "mixgrid-store"


@dataclass(frozen=True)
class Slice:
    """The part of one corpus that a grid takes."""

    corpus: str
    snapshot: str  # the corpus's content hash
    split: str
    items: tuple[Item, ...]
    whole: tuple[Item, ...] = field(repr=False)  # every item of the corpus, of any split, for its snapshot

    def limited(self, limit: int | None) -> "Slice":
        """At most `limit` items, cluster by cluster in an order drawn by hash, so that a few are a fair sample.

        Only the last cluster taken may be cut.
        """
        if limit is None:
            return self
        order = sorted(self.items, key=lambda item: (digest([item.cluster_id]), item.item_id))
        keep = {item.item_id for item in order[:limit]}
        return replace(self, items=tuple(item for item in self.items if item.item_id in keep))


@dataclass(frozen=True)
class Group:
    """The runs that ask the same prompts: one corpus, task and setting; models and seeds differ."""

    task: Task
    setting: Setting
    runs: tuple[Run, ...]
    items: tuple[Item, ...]
    pool: tuple[Item, ...] = field(default=(), repr=False)  # where examples come from: the corpus outside the split


@dataclass(frozen=True)
class Grid:
    """A resolved manifest."""

    manifest: Manifest
    path: Path
    models: Mapping[str, ModelEntry]
    slices: tuple[Slice, ...]
    store: Store
    prompts: Prompts
    only: frozenset[str] | None = None  # ids of the runs that a part of the grid has; None: it is the whole

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """Every run of the grid: corpus × task × model × setting × seed, where the task takes items of the corpus."""
        found = tuple(self._runs())
        if self.only is not None:
            return tuple(run for run in found if run.run_id in self.only)
        for task in self.manifest.tasks:
            if not any(run.task == task for run in found):
                names = ", ".join(s.corpus for s in self.slices)
                raise UserError(
                    f"{self.path}: key 'tasks': no item of {names} can be asked by task '{task}' with these models "
                    f"and settings; {self._all_absent(task) or self._strange_labels(TASKS[task]) or self._carried()}"
                )
        return found

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The runs by prompts, so that each prompt is rendered once for all models and seeds."""
        by_prompts: dict[tuple[str, str, str, str], list[Run]] = {}
        for run in self.runs:
            by_prompts.setdefault((run.corpus, run.split, run.task, run.setting), []).append(run)
        return tuple(
            Group(task, task.settings[key[3]], tuple(runs), *self._items(key, task))
            for key, runs in by_prompts.items()
            for task in [TASKS[key[2]]]
        )

    def _all_absent(self, task: str) -> str:
        """What to do where there are items, and every cell of theirs is left out."""
        why = sorted({gone.why for gone in self.absent() if gone.task == task})
        return f"every cell is left out ({'; '.join(why)}): take that back, or name another model" if why else ""

    def _carried(self) -> str:
        """What to do where the items lack what the task asks about."""
        fields = ("text", "turns", "topic", "question", "options", "label", "flags", "references")
        carried = {s.corpus: [name for name in fields if any(getattr(i, name) for i in s.items)] for s in self.slices}
        said = "; ".join(f"items of '{name}' carry {', '.join(found) or 'nothing'}" for name, found in carried.items())
        return f"{said}: name the other columns in {self.path.parent / 'corpora.yaml'}, or a corpus of the task"

    def _strange_labels(self, task: Task) -> str:
        """What to do where a corpus has labels, and none that the task knows."""
        for part in self.slices:
            labels = sorted({item.label for item in part.items if item.label})
            if labels and task.classes and not set(labels) & set(task.classes):
                shown = ", ".join(map(repr, labels[:5])) + (", …" if len(labels) > 5 else "")
                return (
                    f"the labels of corpus '{part.corpus}' are {shown}, and the task knows {', '.join(task.classes)}: "
                    f"say under `values.label` of '{part.corpus}' in {self.path.parent / 'corpora.yaml'} which is which"
                )
        return ""

    def left_out(self) -> list[str]:
        """A sentence for each task that takes only some of a corpus's items, as for a misspelt label."""
        return [sentence for part in self.slices for task in self.manifest.tasks if (sentence := _left_out(part, task))]

    def takes(self, run: Run, item: Item) -> bool:
        """Whether the run asks the item: a regional model leaves out what is not in its languages."""
        return speaks(self.models[run.model], item.language)

    @property
    def sizes(self) -> dict[str, int]:
        """Run id → the items that the run asks."""
        return {run.run_id: sum(self.takes(run, i) for i in g.items) for g in self.groups for run in g.runs}

    def resources(self, model: str) -> Resources:
        """What the manifest gives a model of the cluster."""
        return self.manifest.resources.get(model, Resources())

    def limited(self, limit: int | None) -> "Grid":
        """The same grid, asking at most `limit` items of each corpus."""
        return replace(self, slices=tuple(s.limited(limit) for s in self.slices))

    def within(self, namespace: str) -> "Grid":
        """The same grid in another part of the store, where nothing is answered yet."""
        return replace(self, manifest=self.manifest.model_copy(update={"namespace": namespace}))

    def of_models(self, models: Sequence[str]) -> "Grid":
        """The same grid with some of its models."""
        manifest = self.manifest.model_copy(update={"models": list(models)})
        return replace(self, manifest=manifest, models={model: self.models[model] for model in models})

    def narrowed(self, runs: Callable[[Run], bool], items: Callable[[Item], bool]) -> "Grid":
        """Some of the grid's runs, asking some of their items."""
        slices = tuple(replace(s, items=tuple(item for item in s.items if items(item))) for s in self.slices)
        return replace(self, slices=slices, only=frozenset(run.run_id for run in self.runs if runs(run)))

    def _items(self, key: tuple[str, str, str, str], task: Task) -> tuple[tuple[Item, ...], tuple[Item, ...]]:
        """What a group asks, and what its examples may come from."""
        corpus, split, _, setting = key
        (part,) = (s for s in self.slices if (s.corpus, s.split) == (corpus, split))
        outside = part.whole if task.settings[setting].shots else ()
        pool = tuple(item for item in outside if item.split != split and task.accepts(item))
        return tuple(item for item in part.items if task.accepts(item)), pool

    def absent(self) -> list[Absent]:
        """The cells of the product that do not exist."""
        found: list[Absent] = []
        for part in self.slices:
            for task in (TASKS[name] for name in self.manifest.tasks):
                languages = {item.language for item in part.items if task.accepts(item)}
                found += absent(self.manifest, self.models, part.corpus, task, languages) if languages else ()
        return found

    def check_shots(self) -> None:
        """UserError where a setting shows more examples than there are; nothing has been written yet."""
        for group in self.groups:
            shots = Shots(group.setting, group.pool)
            for item in group.items if group.setting.shots else ():
                if any(self.takes(run, item) for run in group.runs):
                    shots.of(item)

    def check_shown(self) -> None:
        """UserError where a template drops what it is to show; nothing has been written yet."""
        for group in self.groups:
            first = group.items[:1]
            lost = [name for i in first for name in dropped(self.prompts, group.task, group.setting, i, group.pool)]
            if lost:
                raise UserError(
                    f"{self.path}: key 'templates': template {group.setting.template!r} never shows {lost[0]!r}, so "
                    f"all items of {group.task.name}/{group.setting.name} would be asked as if there were none; "
                    "put it into its block 'user'"
                )

    def _runs(self) -> Iterator[Run]:
        for part in self.slices:
            for task in (TASKS[name] for name in self.manifest.tasks):
                languages = {item.language for item in part.items if task.accepts(item)}
                for model, setting, seed in runs_of(self.manifest, self.models, part.corpus, task):
                    if any(speaks(self.models[model], language) for language in languages):
                        yield self._run(part, task, model, setting, seed)

    def _run(self, part: Slice, task: Task, model: str, setting: Setting, seed: int) -> Run:
        sampling = sampling_of(self.manifest, model, self.models[model], task.name, setting)
        version = self.prompts.version(setting.template)
        made_by = run_digest(self.models[model], sampling, setting)
        key = digest([part.corpus, part.split, part.snapshot, task.name, model, setting.name, seed, version, made_by])
        name = f"{part.corpus}.{task.name}.{model}.{setting.name}.s{seed}-{key[:12]}"
        return Run(
            name,
            part.corpus,
            part.split,
            part.snapshot,
            task.name,
            model,
            setting.name,
            seed,
            version,
            made_by,
            sampling,
        )


def run_digest(entry: ModelEntry, sampling: Sampling, setting: Setting) -> str:
    """Everything but prompt and seed that can change an answer: model, template, context length, decoding, engine."""
    made_by = [entry.engine, identity(entry.checkpoint), entry.revision, entry.adapter, entry.dtype, entry.quantization]
    arguments = entry.template_arguments(setting.thinking)
    asked = [entry.chat_template, arguments, entry.system_role, entry.reasoning_effort]
    own: object = (entry.api or Api()).changes_answers if entry.engine in APIS else None
    if entry.engine == "canned":
        own = {name: entry.engine_args.get(name) for name in CHANGES_ANSWERS}
    return digest([made_by, asked, entry.context_length, {**vars(sampling)}, own])[:32]


def open_store(url: str | None) -> Store:
    """The store at a URL; None, but not an empty one (an unset variable, say), means the default."""
    return Store.open(DEFAULT_STORE if url is None else url)


def resolve(path: str | Path, store_url: str | None = None, *, to_run: bool = True) -> Grid:
    """Load a manifest and find all that it names; UserError names what is not there and what is.

    `to_run` refuses models that nothing here can answer for yet.
    """
    path = Path(path)
    manifest = load_checked(path)
    declared(manifest, path)  # a comparison that cannot be made is told before anything is paid for
    models = models_of(manifest, path, to_run=to_run)
    check_room(manifest, path, models)
    store = open_store(manifest.store if store_url is None else store_url)
    prompts = Prompts(beside(path, manifest.templates, "templates") if manifest.templates else None)
    grid = Grid(manifest, path, models, tuple(_slices(manifest, path)), store, prompts)
    grid.check_shots()
    grid.check_shown()
    return grid


def _slices(manifest: Manifest, path: Path) -> Iterator[Slice]:
    """Each corpus of the manifest, read, with the languages and methods that the manifest takes of it."""
    catalogue = load_corpora(path.parent / "corpora.yaml")
    found: set[tuple[str, str]] = set()
    for choice in manifest.corpora:
        items = read(find_corpus(catalogue, choice.name, f"{path}: key 'corpora'"))
        split = slice_items(items, choice.split, where=f"{path}: key 'corpora': corpus '{choice.name}'")
        found |= {(item.language, item.switching) for item in split}
        kept = tuple(item for item in split if taken(manifest, (item.language, item.switching)))
        yield Slice(choice.name, content_digest(items), choice.split, kept, tuple(items))
    check_there(manifest, path, found)


def _left_out(part: Slice, task: str) -> str:
    """What a task does not take of a corpus of which it takes some; empty where it takes all or nothing."""
    lost = [item for item in part.items if not TASKS[task].accepts(item)]
    if not lost or len(lost) == len(part.items):
        return ""
    labels = ", ".join(sorted({repr(item.label) for item in lost})[:5])
    where = f"corpus '{part.corpus}', split '{part.split}'"
    return f"{where}: task '{task}' does not take {len(lost)} of {len(part.items)} items (labels: {labels})"
