"""What a task is: a benchmark with one score family, in one readable file.

A task says which items it takes, which settings it knows, in which order it shows its classes, what its templates are
given, and how an answer is read. It renders nothing itself (prompts.py does) and scores nothing (metrics/ does).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from mixgrid.parse import Raw, Tags
from mixgrid.records import Item, Parsed, Turn

__all__ = ["Raw", "Setting", "Task", "shot_settings", "transcript"]


@dataclass(frozen=True)
class Setting:
    """How the model is asked."""

    name: str
    template: str  # a file under templates/
    shots: int = 0
    shot_seed: int = 1  # draws the examples; the same for every run seed
    thinking: bool | None = None  # the model's own thinking switch; None leaves it alone


class Task(Protocol):
    """One benchmark task."""

    name: str
    settings: Mapping[str, Setting]
    classes: tuple[str, ...]  # the class names in their numeric order; empty where there are none
    score: str  # a name in metrics.FAMILIES
    parser_version: str
    tags: Tags | None  # that its answers stand in; None where they stand in something else

    def accepts(self, item: Item) -> bool:
        """Whether the item carries what this task asks about and scores."""
        ...

    def order(self, item: Item) -> tuple[str, ...]:
        """The classes or options in the order in which the prompt shows them."""
        ...

    def context(self, item: Item, order: Sequence[str], shots: Sequence[Item]) -> Mapping[str, object]:
        """What the template is rendered with."""
        ...

    def parse(self, raw: Raw, order: Sequence[str]) -> Parsed:
        """Read one raw answer. Pure; never credits a guess."""
        ...

    def gold(self, item: Item) -> str:
        """The right value, in the form that `parse` gives."""
        ...


def shot_settings(task: str, counts: Sequence[int]) -> dict[str, Setting]:
    """`0-shot`, `0-shot-reasoning` (the prompt asks for it), `0-shot-thinking` (the model's own switch), `1-shot`, …"""
    settings: dict[str, Setting] = {}
    for count in counts:
        name = f"{count}-shot"
        settings[name] = Setting(name, f"{task}/plain.jinja", count, thinking=False)
        settings[f"{name}-reasoning"] = Setting(f"{name}-reasoning", f"{task}/reasoning.jinja", count, thinking=False)
        settings[f"{name}-thinking"] = Setting(f"{name}-thinking", f"{task}/plain.jinja", count, thinking=True)
    return settings


def transcript(turns: Sequence[Turn]) -> str:
    """A dialogue for a prompt, one turn a line; numbered where turns say which one they reply to.

    A line break inside a turn is indented, so that no text can pose as another speaker's turn.

    >>> print(transcript([Turn("0", "A", "kapan?"), Turn("1", "B", "besok", reply_to="0")]))
    1. A: kapan?
    2. B (reply to 1): besok
    """
    place = {turn.turn_id: number for number, turn in enumerate(turns, start=1)}
    numbered = any(turn.reply_to is not None for turn in turns)
    lines = []
    for number, turn in enumerate(turns, start=1):
        reply = f" (reply to {place[turn.reply_to]})" if turn.reply_to is not None else ""
        said = f"{turn.speaker}{reply}: {turn.text}".replace("\n", "\n   ")
        lines.append(f"{number}. {said}" if numbered else said)
    return "\n".join(lines)
