"""Method `random` (Krishnan et al. 2021): a share r of the words, each translated by itself; r = 0.5 in the papers.

"Primarul a inaugurat un pod." → "Primarul has inaugurated un pod."
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from mixgrid.switching.base import Chosen, Group, Reason, Share, share_of, tokens


@dataclass(frozen=True)
class Random:
    """Words drawn at random; tags are never drawn."""

    language: str
    share: Share = 0.5
    name: ClassVar[str] = "random"
    nothing: ClassVar[Reason] = "no_word"

    def groups(self, texts: Sequence[str]) -> Iterator[tuple[Group, ...]]:
        """Each word by itself."""
        for text in texts:
            yield tuple((token,) for token in tokens(text))

    def draw(self, groups: Sequence[Group], taken: Sequence[Chosen], dice: random.Random) -> Chosen | None:
        """A uniform sample of the share."""
        return share_of(groups, self.share, taken, dice)
