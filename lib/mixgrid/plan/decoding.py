"""How each part of a grid is decoded, as a table for `mixgrid plan`, and what is odd about it."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from mixgrid.errors import UserError
from mixgrid.manifest import Manifest, ModelEntry, SamplingFields
from mixgrid.plan.cells import NO_SWITCH, Absent, runs_of
from mixgrid.records import Run, Sampling
from mixgrid.tasks import TASKS
from mixgrid.tasks.base import Setting


@dataclass(frozen=True)
class Decoding:
    """One row of the table: the sampling of a model in a task and setting."""

    model: str
    task: str
    setting: str
    sampling: Sampling

    def __str__(self) -> str:
        """The fields that are set, as a person writes them."""
        fields = {name: value for name, value in vars(self.sampling).items() if value not in (None, ())}
        return ", ".join(f"{name} {value}" for name, value in fields.items())


def sampling_of(manifest: Manifest, model: str, entry: ModelEntry, task: str, setting: Setting) -> Sampling:
    """Decoding fields: engine defaults under the model's, its task's and the manifest's, whose last entry wins."""
    sampling = Sampling()
    for _, layer in (*_of_model(entry, task, setting), *_of_manifest(manifest, model, task, setting)):
        sampling = layer.over(sampling)
    return sampling


def _of_model(entry: ModelEntry, task: str, setting: Setting) -> Iterator[tuple[str, SamplingFields]]:
    for name in ("default", task, f"{task}/thinking"):
        if name in entry.sampling and (setting.thinking or not name.endswith("/thinking")):
            yield f"sampling.{name}", entry.sampling[name]


def _of_manifest(manifest: Manifest, model: str, task: str, setting: Setting) -> Iterator[tuple[str, SamplingFields]]:
    for n, override in enumerate(manifest.sampling):
        if override.applies(model, task, setting.name):
            yield f"sampling.{n}", override


def check_room(manifest: Manifest, path: Path, models: Mapping[str, ModelEntry]) -> None:
    """UserError where an answer may be as long as a model's whole context, so that no prompt leaves it the room."""
    asked = {
        (model, task, setting.name)
        for corpus in manifest.corpora
        for task in manifest.tasks
        for model, setting, _ in runs_of(manifest, models, corpus.name, TASKS[task])
    }
    for model, task, name in sorted(asked):
        entry, setting = models[model], TASKS[task].settings[name]
        wanted = sampling_of(manifest, model, entry, task, setting).max_tokens
        if wanted >= entry.context_length:
            catalogue = f"{path.parent / 'models.yaml'}: model '{model}'"
            said = [f"{catalogue}, key 'sampling.default"]
            said += [f"{catalogue}, key '{key}" for key, layer in _of_model(entry, task, setting) if layer.max_tokens]
            own = _of_manifest(manifest, model, task, setting)
            said += [f"{path}: key '{key}" for key, layer in own if layer.max_tokens]
            raise UserError(
                f"{said[-1]}.max_tokens': {wanted} tokens for an answer to {task}/{name} leave a prompt no room in the "
                f"model's `context_length` of {entry.context_length}; lower the one or raise the other"
            )


def decoding(runs: Iterable[Run]) -> tuple[Decoding, ...]:
    """The table of some runs; seeds and corpora do not change it."""
    return tuple(dict.fromkeys(Decoding(run.model, run.task, run.setting, run.sampling) for run in runs))


def design_warnings(rows: Collection[Decoding], absent: Iterable[Absent], seeds: int) -> Iterator[str]:
    """Seeds that cannot differ, thinking that is decoded greedily, and settings that a model cannot be asked in."""
    greedy = [row for row in rows if row.sampling.temperature == 0]
    if greedy and seeds > 1:
        names = sorted({f"{row.model}/{row.setting}" for row in greedy})
        yield (
            f"temperature 0 for {', '.join(names)}: {seeds} seeds are one and the same request, "
            "asked once; a ± over them would say nothing"
        )
    thinking = sorted({f"{r.model}/{r.setting}" for r in greedy if TASKS[r.task].settings[r.setting].thinking})
    if thinking:
        yield f"temperature 0 for {', '.join(thinking)}: thinking that is decoded greedily tends to repeat without end"
    without = sorted({f"{one.model}/{one.setting}" for one in absent if one.why == NO_SWITCH})
    if without:
        yield (
            f"no thinking switch for {', '.join(without)}: these cells do not exist (–), as the model would be asked "
            "the plain prompt again; where it has a switch, name it as `thinking_switch` in models.yaml"
        )
