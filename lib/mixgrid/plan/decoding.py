"""How each part of a grid is decoded, as a table for `mixgrid plan`, and what is odd about it."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from mixgrid.plan.cells import NO_SWITCH, Absent
from mixgrid.records import Run, Sampling
from mixgrid.tasks import TASKS


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
