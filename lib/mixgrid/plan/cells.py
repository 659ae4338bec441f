"""Which runs and cells of the product a grid has, and why the others do not exist: they show as “–”."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from mixgrid.manifest import Manifest, ModelEntry
from mixgrid.tasks.base import Setting, Task

NO_SWITCH = "no thinking switch"


@dataclass(frozen=True)
class Absent:
    """Cells that the product has and the grid does not. `all`: every setting, or every language, of those named."""

    corpus: str
    task: str
    model: str
    setting: str
    language: str
    why: str


def runs_of(
    manifest: Manifest, models: Mapping[str, ModelEntry], corpus: str, task: Task
) -> Iterator[tuple[str, Setting, int]]:
    """(model, setting, seed) of each run on a corpus.

    A setting that asks for thinking is none for a model that cannot be told to think: it would be asked the plain
    prompt a second time.
    """
    for model, entry in models.items():
        for setting in settings_of(manifest, task):
            for seed in () if lacks_switch(entry, setting) else manifest.seeds:
                if not any(r.takes_in(corpus, task.name, model, setting.name, seed) for r in manifest.leave_out):
                    yield model, setting, seed


def settings_of(manifest: Manifest, task: Task) -> list[Setting]:
    """The manifest's settings that the task knows."""
    return [task.settings[name] for name in manifest.settings if name in task.settings]


def lacks_switch(entry: ModelEntry, setting: Setting) -> bool:
    """Whether the setting wants the model's own thinking, and the model has no switch for it."""
    return setting.thinking is True and entry.thinking_switch is None


def speaks(entry: ModelEntry, language: str) -> bool:
    """Whether the model is asked in a language: a regional one only in its own."""
    return entry.languages is None or language in entry.languages


def absent(
    manifest: Manifest, models: Mapping[str, ModelEntry], corpus: str, task: Task, languages: Collection[str]
) -> Iterator[Absent]:
    """What the grid has not of one corpus and task."""
    there = {(model, setting.name) for model, setting, _ in runs_of(manifest, models, corpus, task)}
    for model, entry in models.items():
        for setting in settings_of(manifest, task):
            if (model, setting.name) not in there:
                why = NO_SWITCH if lacks_switch(entry, setting) else "the manifest leaves it out"
                yield Absent(corpus, task.name, model, setting.name, "all", why)
        if any(name == model for name, _ in there):
            for language in sorted(languages):
                if not speaks(entry, language):
                    why = f"a model for {', '.join(entry.languages or ())}"
                    yield Absent(corpus, task.name, model, "all", language, why)
