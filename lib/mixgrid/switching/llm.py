"""Method `llm`: the whole sentence rewritten by a model, which chooses the places itself (zero-shot, T = 0.8).

"Primarul a inaugurat un pod." → "The mayor a inaugurat un bridge." No spans are known.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from mixgrid.switching.base import Chosen, Group, Piece, Reason, tokens


@dataclass(frozen=True)
class Llm:
    """The sentence itself, as often as there are variants: they differ by the seed of the request."""

    language: str
    name: ClassVar[str] = "llm"
    nothing: ClassVar[Reason] = "no_word"

    def groups(self, texts: Sequence[str]) -> Iterator[tuple[Group, ...]]:
        """The sentence, if it has a word."""
        for text in texts:
            yield ((Piece(0, len(text), "mixed"),),) if tokens(text) else ()

    def draw(self, groups: Sequence[Group], taken: Sequence[Chosen], dice: random.Random) -> Chosen | None:
        """Always the sentence."""
        return groups[0]
