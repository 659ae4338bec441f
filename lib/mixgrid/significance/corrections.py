"""Corrections for many tests at once. What could not be tested is not counted, and m says how many were."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from mixgrid.errors import UserError, allowed
from mixgrid.significance.base import Floats


@dataclass(frozen=True, slots=True)
class Adjusted:
    """Adjusted p values in the order given, None where there was none; m: how many tests they are adjusted for."""

    method: str
    p: tuple[float | None, ...]
    m: int


def adjust(ps: Sequence[float | None], method: str) -> Adjusted:
    """Holm for a declared family, BH for what is explored; None and NaN are left out first and not counted in m."""
    if method not in CORRECTIONS:
        raise UserError(f"no correction for many tests is called {method!r}; {allowed(method, CORRECTIONS)}.")
    kept = [i for i, p in enumerate(ps) if p is not None and not math.isnan(p)]
    values = np.array([ps[i] for i in kept], dtype=np.float64)
    if np.any((values < 0) | (values > 1)):
        raise UserError(
            f"p values lie between 0 and 1, not {values.min():g} to {values.max():g}; check what was passed."
        )
    out: list[float | None] = [None] * len(ps)
    for i, p in zip(kept, CORRECTIONS[method](values) if kept else [], strict=True):
        out[i] = min(1.0, float(p))
    return Adjusted(method, tuple(out), len(kept))


def _bonferroni(p: Floats) -> Floats:
    return p * len(p)


def _holm(p: Floats) -> Floats:
    """Step down: the i-th smallest times m - i + 1, never less than the one before (Holm 1979)."""
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return _restore(stepped, order)


def _hommel(p: Floats) -> Floats:
    """Closed testing with Simes' test (Hommel 1988; the algorithm of Wright 1992)."""
    m = len(p)
    order = np.argsort(p, kind="stable")
    ordered = p[order]
    adjusted = np.full(m, float(np.min(m * ordered / np.arange(1, m + 1))))
    for j in range(m - 1, 1, -1):
        head, tail = ordered[: m - j + 1], ordered[m - j + 1 :]
        least = float(np.min(j * tail / np.arange(2, j + 1)))
        bound = np.append(np.minimum(j * head, least), np.full(len(tail), 0.0))
        bound[m - j + 1 :] = bound[m - j]
        adjusted = np.maximum(adjusted, bound)
    return _restore(np.maximum(adjusted, ordered), order)


def _bh(p: Floats) -> Floats:
    return np.asarray(stats.false_discovery_control(p, method="bh"), dtype=np.float64)


def _by(p: Floats) -> Floats:
    return np.asarray(stats.false_discovery_control(p, method="by"), dtype=np.float64)


def _restore(ordered: Floats, order: np.ndarray[tuple[int, ...], np.dtype[np.intp]]) -> Floats:
    out = np.empty_like(ordered)
    out[order] = ordered
    return out


CORRECTIONS: dict[str, Callable[[Floats], Floats]] = {
    "bh": _bh,  # false discovery rate; also right for the positively dependent tests that one resampling matrix gives
    "bonferroni": _bonferroni,
    "by": _by,  # false discovery rate under any dependence
    "holm": _holm,  # family-wise
    "hommel": _hommel,  # family-wise, a little stronger; needs positive dependence
}
