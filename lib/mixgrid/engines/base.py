"""What an engine is: something that answers prompts, one answer for each, in any order of work.

An engine never raises for one bad row: it answers with `status="failed"` and a reason. What it raises is trouble with
the engine or the transport itself, and the rows it was asked stay pending.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from mixgrid.records import FailReason, Message, Outcome, Sampling


@dataclass(frozen=True)
class Ask:
    """One request, as an engine sees it."""

    request_id: str
    messages: tuple[Message, ...]
    sampling: Sampling
    seed: int | None
    thinking: bool | None = None


@dataclass(frozen=True)
class Answer:
    """What came back for one request."""

    text: str = ""
    reasoning: str | None = None
    status: Outcome = "ok"
    reason: FailReason = ""
    finish_reason: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float = 0.0
    latency_s: float = 0.0
    seed_honoured: bool | None = None
    system_folded: bool = False


class Engine(Protocol):
    """A loaded engine; it lives in one process and may be asked by several callers at once."""

    fingerprint: str

    async def answer(self, asks: Sequence[Ask]) -> list[Answer]:
        """The answers, in the order of `asks`."""
        ...

    def close(self) -> None:
        """Free what the engine holds."""
        ...
