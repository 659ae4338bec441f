"""What a score family is: it turns judged answers into statistics, and statistics into numbers.

The statistics of one answer are a vector of F numbers that may be added up. A metric is a function of a sum of such
vectors, over any leading axes: the same function gives a slice, a seed, a cluster resample or a whole grid at once.

    answers ── statistics ──> (n, F) ── sum over a slice ──> (F,) ── total ──> value
"""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

import numpy as np
import numpy.typing as npt

from mixgrid.metrics.bertscore import Encoder
from mixgrid.metrics.texts import RULES
from mixgrid.records import Item

Array = npt.NDArray[np.float64]
Verdict = Literal["ok", "unparsed", "failed"]
Policy = Literal["labels", "wrong", "drop"]
EMPTY = "no rows"


@dataclass(frozen=True)
class Answer:
    """One distinct answer, as its task reads it: a value only when the verdict is ok."""

    verdict: Verdict
    value: str | None = None
    order: tuple[str, ...] = ()


@dataclass(frozen=True)
class Policies:
    """What an answer without a value counts as (statistics.md §1.1: four readings of the same rows, four numbers).

    - `labels`: an error of its own class, and no false alarm of another one (sklearn's `labels=[0, 1]`); the default;
    - `wrong`: an error of its own class and a false alarm of the other (of three and more: of each in equal parts);
    - `drop`: not counted at all.

    Of texts: what several references make of an item (`max`, `mean`), and the encoder of BERTScore, which is scored
    only where one is declared.
    """

    unparsed: Policy = "labels"
    failed: Policy = "labels"
    references: str = "max"
    encoder: Encoder | None = None

    def __post_init__(self) -> None:
        """Only named policies."""
        if not {self.unparsed, self.failed} <= set(get_args(Policy)):
            raise ValueError(f"policy {self.unparsed!r}, {self.failed!r}: each is one of {', '.join(get_args(Policy))}")
        if self.references not in RULES:
            raise ValueError(f"references {self.references!r}: one of {', '.join(RULES)}")

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> "Policies":
        """The policies of a manifest, or of a reduction's account (`vars` of it, as JSON gives it back)."""
        encoder = plain.get("encoder")
        if encoder is None:
            return cls(**{**plain, "encoder": None})
        found: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in encoder.items()}
        return cls(**{**plain, "encoder": Encoder(**found)})

    def __str__(self) -> str:
        return f"unparsed:{self.unparsed}|failed:{self.failed}"


@dataclass(frozen=True)
class Metric:
    """One number of a family. `total` maps (..., F) to (...), NaN where there is nothing to divide by."""

    name: str
    total: Callable[[Array], Array]
    version: int = 1
    options: str = ""  # what a reader must know to compare it: policies, tokenizer
    undefined: Callable[[Array], str] = lambda total: ""  # why the value of this one sum must not be shown
    lower_is_better: bool = False

    @property
    def signature(self) -> str:
        """Name, version and options, in sacrebleu's style."""
        return "|".join(part for part in (self.name, f"v:{self.version}", self.options) if part)

    def value(self, total: Array) -> tuple[float | None, str]:
        """The value of one sum (F,), or None and the reason."""
        return self.values(total[None])[0]

    def values(self, totals: Array) -> list[tuple[float | None, str]]:
        """The same for each of several sums (n, F)."""
        found = np.asarray(self.total(totals)).tolist()
        return [self._shown(value, self.undefined(total)) for value, total in zip(found, totals, strict=True)]

    def _shown(self, value: float, why: str) -> tuple[float | None, str]:
        if why:
            return None, why
        return (None, "n/a (nothing to divide by)") if math.isnan(value) else (value, "")


class Family(Protocol):
    """All metrics that share one kind of statistics."""

    name: str
    features: tuple[str, ...]  # what each of the F numbers counts
    headline: tuple[str, ...]  # the metrics that a table shows first; they get intervals
    baselines: Mapping[str, Callable[[Array], Array]]  # trivial system → its statistics, from anyone's (..., F)
    votes: Mapping[str, Callable[[Array], Array]]  # tie rule → statistics of the vote, from those of the runs (R, n, F)

    @property
    def signature(self) -> str:
        """Name, version and all that the statistics depend on: part of the cache's key."""
        ...

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Everything that a sum of the statistics can say."""
        ...

    def facts(self, item: Item, gold: str) -> Hashable:
        """All of an item that its statistics depend on; items that share it are judged together."""
        ...

    def statistics(self, facts: Sequence[Hashable], answers: Sequence[Answer]) -> Array:
        """The (n, F) statistics of n pairs of an item's facts and an answer to it."""
        ...


def ratio(over: npt.ArrayLike, under: npt.ArrayLike, empty: float = np.nan) -> Array:
    """Quotient, element by element; `empty` where there is nothing to divide by."""
    over, under = np.broadcast_arrays(np.asarray(over, dtype=np.float64), np.asarray(under, dtype=np.float64))
    out: Array = np.full_like(under, empty)  # in the same order in memory: the bootstrap's is by statistic
    np.divide(over, under, out=out, where=under != 0)
    return out
