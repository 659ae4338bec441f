"""What a manifest names, looked up: tasks, settings, models, selectors. UserError says what is there instead."""

import re
from collections.abc import Collection
from pathlib import Path

from mixgrid.engines import APIS, ENGINES, PLANNED
from mixgrid.engines.vllm import CHANGES_ANSWERS
from mixgrid.errors import UserError, allowed
from mixgrid.manifest import Api, Manifest, ModelEntry, load, load_models, model_entry
from mixgrid.tasks import TASKS

Cell = tuple[str, str]  # a language and a switching method
_VARIABLE = re.compile("[A-Z][A-Z0-9]{0,31}(_[A-Z0-9]{1,31})+")


def load_checked(path: Path) -> Manifest:
    """The manifest of a file, all of whose tasks and settings are known."""
    manifest = load(path)
    _check_tasks(manifest, path)
    return manifest


def models_of(manifest: Manifest, path: Path, *, to_run: bool = True) -> dict[str, ModelEntry]:
    """The manifest's models in the catalogue beside it; `to_run` refuses those that nothing here can answer for yet.

    What selects among models is checked after them: a misspelt model is not the fault of its right name elsewhere.
    """
    file = path.parent / "models.yaml"
    catalogue = load_models(file)
    found = {name: model_entry(catalogue, name, f"{path}: key 'models'") for name in manifest.models}
    for name, entry in found.items():
        check_entry(entry, f"{file}: model '{name}'")
        if to_run and (why := unanswered(entry)):
            raise UserError(
                f"{file}: model '{name}', {why}; leave it out of the grid: `mixgrid plan` sizes it all the same"
            )
    _check_selectors(manifest, path)
    return found


def check_entry(entry: ModelEntry, where: str) -> None:
    """UserError where an entry's engine or a task that it samples for is unknown, or engine_args change answers."""
    if entry.engine not in (*ENGINES, *PLANNED):
        raise UserError(f"{where}, key 'engine': no engine {entry.engine!r}; {allowed(entry.engine, ENGINES)}")
    keys = ["default", *TASKS, *(f"{task}/thinking" for task in TASKS)]
    for key in entry.sampling:
        if key not in keys:
            raise UserError(f"{where}, key 'sampling': nothing is sampled for {key!r}; {allowed(key, keys)}")
    _check_api(entry, where)
    for key in sorted(set(entry.engine_args) & set(CHANGES_ANSWERS)) if entry.engine == "vllm" else ():
        place = CHANGES_ANSWERS[key]
        raise UserError(
            f"{where}, key 'engine_args': {key!r} can change answers, and old ones would be taken for those with it; "
            + (f"set the model's key '{place}' instead" if place else "leave it out")
        )


def _check_api(entry: ModelEntry, where: str) -> None:
    """Refuse what no server would be asked with, and a key in the place of its variable's name, unprinted."""
    if entry.engine not in APIS:
        if entry.api:
            raise UserError(f"{where}, key 'api': engine '{entry.engine}' asks no server; leave the key out")
        return
    if entry.engine_args:
        raise UserError(f"{where}, key 'engine_args': engine '{entry.engine}' takes none; see 'api' in the README")
    api = entry.api or Api()
    if api.key_env is not None and not _VARIABLE.fullmatch(api.key_env):
        raise UserError(
            f"{where}, key 'api.key_env': that is no name of an environment variable; "
            "write one such as OPENAI_API_KEY, and never the key itself (if it was the key, revoke it)"
        )
    if not re.fullmatch(r"https?://[^/@\s]+(/\S*)?", api.url):
        raise UserError(f"{where}, key 'api.url': write http(s)://host/path, without a name or password in it")


def unanswered(entry: ModelEntry) -> str:
    """Why nothing here can answer for a model yet; else empty. Without its adapter the bare model would."""
    if entry.engine in PLANNED:
        return f"key 'engine': '{entry.engine}' is not part of this version of mixgrid"
    return f"key 'adapter': no engine of this version loads {entry.adapter!r}" if entry.adapter else ""


def beside(path: Path, name: str, key: str) -> Path:
    """A folder that the manifest names, from the manifest's own place."""
    folder = path.parent / Path(name).expanduser()
    if not folder.is_dir():
        raise UserError(f"{path}: key '{key}': there is no folder {str(folder)!r}")
    return folder


def taken(manifest: Manifest, cell: Cell) -> bool:
    """Whether the grid takes the items of a cell."""
    wanted = (manifest.languages, manifest.switching)
    return all(names is None or value in names for names, value in zip(wanted, cell, strict=True))


def check_there(manifest: Manifest, path: Path, cells: Collection[Cell]) -> None:
    """UserError where the manifest takes a language or a method that is in none of its corpora, or no cell of any."""
    for place, (key, wanted) in enumerate((("languages", manifest.languages), ("switching", manifest.switching))):
        there = {cell[place] for cell in cells}
        for value in wanted or ():
            if value not in there:
                raise UserError(f"{path}: key '{key}': {value!r} is in none of the corpora; {allowed(value, there)}")
    if not any(taken(manifest, cell) for cell in cells):
        there_are = ", ".join(f"{language}/{method}" for language, method in sorted(cells))
        raise UserError(
            f"{path}: keys 'languages' and 'switching': no item is in one of {', '.join(manifest.languages or ())} "
            f"and mixed by one of {', '.join(manifest.switching or ())}; there are {there_are}"
        )


def _check_tasks(manifest: Manifest, path: Path) -> None:
    """Refuse tasks and settings that nothing answers to, and tasks that know none of the settings."""
    for task in manifest.tasks:
        if task not in TASKS:
            raise UserError(f"{path}: key 'tasks': there is no task {task!r}; {allowed(task, TASKS)}")
        if not set(manifest.settings) & set(TASKS[task].settings):
            raise UserError(
                f"{path}: key 'settings': task '{task}' has none of {', '.join(manifest.settings)}; "
                f"{_nearest(manifest.settings[0], TASKS[task].settings)}"
            )
    settings = {s for task in manifest.tasks for s in TASKS[task].settings}
    for setting in manifest.settings:
        if setting not in settings:
            raise UserError(f"{path}: key 'settings': no task here has {setting!r}; {_nearest(setting, settings)}")


def _nearest(setting: str, known: Collection[str]) -> str:
    """The end of the sentence; `zero-shot` of one task is the `0-shot` of another, and not its `1-shot`."""
    digits = setting
    for number, word in enumerate(("zero", "one", "two", "three")):
        digits = digits.replace(word, str(number))
    return allowed(digits if digits in known else setting, known)


def _check_selectors(manifest: Manifest, path: Path) -> None:
    """Refuse resources, sampling and exceptions for what is not in the grid."""
    used = [("resources", model, manifest.models) for model in manifest.resources]
    for n, override in enumerate(manifest.sampling):
        for key, names in (("model", manifest.models), ("task", manifest.tasks), ("setting", manifest.settings)):
            used += [(f"sampling.{n}.{key}", value, names) for value in [getattr(override, key)] if value is not None]
    corpora, seeds = [choice.name for choice in manifest.corpora], [str(seed) for seed in manifest.seeds]
    for n, rule in enumerate(manifest.leave_out):
        lists = {"corpora": corpora, "tasks": manifest.tasks, "models": manifest.models, "settings": manifest.settings}
        for key, names in (*lists.items(), ("seeds", seeds)):
            used += [(f"leave_out.{n}.{key}", str(value), names) for value in getattr(rule, key) or ()]
    for place, value, names in used:
        if value not in names:
            raise UserError(f"{path}: key '{place}': {value!r} is not in this grid; {allowed(value, names)}")
