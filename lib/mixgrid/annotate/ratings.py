"""Ratings in long form (item, annotator, criterion, value), the scale of each criterion, and both as numbers."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mixgrid.annotate.alpha import LEVELS
from mixgrid.annotate.base import Counts, Floats
from mixgrid.errors import UserError, allowed

FIELDS = ("item", "annotator", "criterion", "value")
MOST = 200  # categories of one criterion; more is another column, or a scale that no one has labels for
_LEVEL = re.compile(rf"(?:(?P<name>.+?)=)?(?P<level>{'|'.join(LEVELS)})(?::(?P<order>.+))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Rating:
    """One annotator's value of one criterion for one item, and the part of the data that the item is in."""

    item: str
    annotator: str
    criterion: str
    value: str
    part: str = ""


@dataclass(frozen=True, slots=True)
class Scale:
    """How a criterion's values are measured; `order` declares them, lowest first, and codes them 0, 1, 2…"""

    level: str = "nominal"
    order: tuple[str, ...] = ()

    def refusal(self, value: str) -> str:
        """Why a value is not of this scale, or ''."""
        if self.order:
            return (
                "" if value in self.order else f"{value!r} is not of the declared scale; {allowed(value, self.order)}"
            )
        if self.level == "nominal":
            return ""
        number = _number(value)
        if number is None:
            return f"{value!r} is no number; say the order of the values: --level NAME={self.level}:LOWEST,…,HIGHEST"
        return f"{value!r} is negative, which no ratio scale has" if self.level == "ratio" and number < 0 else ""

    def key(self, value: str) -> str | float:
        """What makes a category: its place in the declared order, its number, or its text."""
        if self.order:
            return float(self.order.index(value))
        return value if self.level == "nominal" else float(value)

    def name(self, key: str | float) -> str:
        """A category's name."""
        return self.order[int(key)] if self.order else key if isinstance(key, str) else f"{key:g}"


def scales(told: Sequence[str]) -> dict[str, Scale]:
    """Scales of `--level` options, `[NAME=]LEVEL[:LOWEST,…,HIGHEST]`, by criterion; '' is all the others."""
    found = {"": Scale()}
    for text in told:
        match = _LEVEL.fullmatch(text)
        order = tuple(v.strip() for v in match["order"].split(",")) if match and match["order"] else ()
        if match is None or len(set(order)) < len(order) or "" in order:
            raise UserError(
                f"--level {text!r} is not [CRITERION=]LEVEL[:LOWEST,…,HIGHEST] with each value once; "
                f"a LEVEL is one of {', '.join(LEVELS)}"
            )
        found[match["name"] or ""] = Scale(match["level"], order)
    return found


def scale_of(known: Mapping[str, Scale], criterion: str) -> Scale:
    """The scale of a criterion."""
    return known.get(criterion, known[""])


def keys_of(criterion: str, ratings: Iterable[Rating], scale: Scale) -> list[str | float]:
    """The categories of a criterion, lowest first: the declared ones, else those that there are."""
    found = {scale.key(r.value) for r in ratings} | {float(i) for i in range(len(scale.order))}
    if len(found) > MOST:
        raise UserError(
            f"criterion {criterion!r} has {len(found)} different values, more than {MOST}; is it --columns?"
        )
    numbers = {key: _number(key) for key in found}
    return sorted(found, key=lambda key: (numbers[key] is None, numbers[key] or 0.0, str(key)))


def counts_of(ratings: Sequence[Rating], keys: Sequence[str | float], scale: Scale) -> Counts:
    """Ratings of one criterion as counts by item."""
    items = {item: row for row, item in enumerate(dict.fromkeys(r.item for r in ratings))}
    column = {key: place for place, key in enumerate(keys)}
    counts = np.zeros((len(items), len(keys)))
    for r in ratings:
        counts[items[r.item], column[scale.key(r.value)]] += 1
    numbers = [key for key in keys if isinstance(key, float)]
    return Counts.of(counts, numbers, scale.level)


def codes_of(ratings: Sequence[Rating], names: Sequence[str], known: Mapping[str, Scale]) -> tuple[Floats, int]:
    """Codes (rows, names) of who rated an item by every one of these criteria, and how many did not."""
    by_who: dict[tuple[str, str], dict[str, str]] = {}
    for r in sorted(ratings, key=lambda r: (r.item, r.annotator)):
        by_who.setdefault((r.item, r.annotator), {})[r.criterion] = r.value
    whole = [row for row in by_who.values() if len(row) == len(names)]
    codes = [[code(name, scale_of(known, name), row[name]) for name in names] for row in whole]
    return np.array(codes, dtype=np.float64).reshape(len(whole), len(names)), len(by_who) - len(whole)


def code(criterion: str, scale: Scale, value: str) -> float:
    """What a value counts as in the regression: its place in the declared order, else its number."""
    number = _number(scale.key(value))
    if number is None:
        raise UserError(
            f"criterion {criterion!r}: {value!r} has no number for the regression; "
            f"say the order of the values: --level '{criterion}={scale.level}:LOWEST,…,HIGHEST'"
        )
    return number


def _number(text: str | float) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
