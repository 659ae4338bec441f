"""The p values that papers and programs call "paired bootstrap", by name. d: observed difference; d*: resampled.

koehn              P(d* <= 0) for d > 0: one-sided (Koehn 2004)
berg-kirkpatrick   P(d* > 2d): one-sided, centred on d (Berg-Kirkpatrick et al. 2012)
shifted            P(|d* - d| >= |d|): two-sided; the default
mean-centred       P(|d* - mean d*| >= |d|): two-sided, in the manner of Riezler & Maxwell 2005
sacrebleu          P(|d*| - mean |d*| > |d|): what sacrebleu 2.6.0 computes
percentile         2 min(P(d* <= 0), P(d* >= 0)), at most 1
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mixgrid.significance.base import Floats

Hits = NDArray[np.bool_]
SLACK = 1e-11  # of the values compared: a tie in exact arithmetic stays one in floating point


def bootstrap_p(observed: float, draws: Floats, scale: float, weights: Floats | None = None) -> dict[str, float]:
    """All definitions. By draws: (1 + count) / (1 + B), except where both tails are counted alike by their doubling.

    `scale`: size of the two values, for telling ties from rounding; `weights`: chances of the draws, where these are
    all resamples there are (then the p values are exact, and nothing is added).
    """
    slack = SLACK * max(scale, abs(observed))
    chances = np.full(len(draws), 1.0) if weights is None else weights

    def chance(hits: Hits) -> float:
        found = float(chances[hits].sum())
        return found if weights is not None else (1 + found) / (1 + len(draws))

    p = {name: chance(rule(observed, draws, chances / chances.sum(), slack)) for name, rule in RULES.items()}
    p["percentile"] = min(1.0, 2 * min(chance(draws <= slack), chance(draws >= -slack)))
    return p


def _koehn(d: float, draws: Floats, chances: Floats, slack: float) -> Hits:
    return draws * (1 if d >= 0 else -1) <= slack


def _berg_kirkpatrick(d: float, draws: Floats, chances: Floats, slack: float) -> Hits:
    return draws * (1 if d >= 0 else -1) > 2 * abs(d) + slack


def _mean_centred(d: float, draws: Floats, chances: Floats, slack: float) -> Hits:
    return np.abs(draws - chances @ draws) >= abs(d) - slack


def _sacrebleu(d: float, draws: Floats, chances: Floats, slack: float) -> Hits:
    size = np.abs(draws)
    return np.asarray(size - chances @ size > abs(d) + slack)


def _shifted(d: float, draws: Floats, chances: Floats, slack: float) -> Hits:
    return np.abs(draws - d) >= abs(d) - slack


RULES: dict[str, Callable[[float, Floats, Floats, float], Hits]] = {
    "berg-kirkpatrick": _berg_kirkpatrick,
    "koehn": _koehn,
    "mean-centred": _mean_centred,
    "sacrebleu": _sacrebleu,
    "shifted": _shifted,
}
