"""What a task is: a benchmark with one score family, in one readable file.

A task says which items it takes, which settings it knows, in which order it shows its classes, what its templates are
given, and how an answer is read. It renders nothing itself (prompts.py does) and scores nothing (metrics/ does).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from mixgrid.parse import Raw
from mixgrid.records import Item, Parsed

__all__ = ["Raw", "Setting", "Task"]


@dataclass(frozen=True)
class Setting:
    """How the model is asked."""

    name: str
    template: str  # a file under templates/
    shots: int = 0
    thinking: bool | None = None  # the model's own thinking switch; None leaves it alone


class Task(Protocol):
    """One benchmark task."""

    name: str
    settings: Mapping[str, Setting]
    classes: tuple[str, ...]  # the class names in their numeric order; empty where there are none
    score: str  # a name in metrics.FAMILIES
    parser_version: str

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
