"""What the tests of this folder share: the golden files, metrics over counts, and all resamples of a few clusters."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mixgrid.significance.base import Floats

GOLDEN = Path(__file__).parent.parent / "golden"


def golden(name: str) -> Any:
    return json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))


def macro_f1(sums: Floats) -> Floats:
    """Macro-F1 of TP0, FP0, FN0, TP1, FP1, FN1; an absent class counts 0."""
    hits, wrong = sums[..., [0, 3]], sums[..., [1, 4]] + sums[..., [2, 5]]
    scale = 2 * hits + wrong
    return np.asarray(np.divide(2 * hits, scale, out=np.zeros_like(scale), where=scale > 0).mean(axis=-1))


def accuracy(sums: Floats) -> Floats:
    """Right answers over rows, the last two of the golden statistics."""
    return np.asarray(sums[..., -1] / sums[..., -2])


def one_hot_f1(sums: Floats) -> Floats:
    """Macro-F1 of one-hot cells: gold 0 with answer 0, 1, none; then gold 1 with answer 0, 1, none."""
    a, b, c, d, e, f = np.moveaxis(sums, -1, 0)
    return macro_f1(np.stack([a, d, b + c, e, b, d + f], axis=-1))


def every_resample(clusters: int) -> tuple[Floats, Floats]:
    """All multinomial resamples of a few clusters, and their chances."""
    counts = np.array(list(_compositions(clusters, clusters)), dtype=np.float64)
    ways = [math.factorial(clusters) / math.prod(math.factorial(int(x)) for x in row) for row in counts]
    return counts, np.array(ways) / clusters**clusters


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _compositions(total - first, parts - 1):
            yield (first, *rest)
