"""Which criteria drive the verdict: logistic regression of it on the others, as CS-SeLeRoSa's Table 9.

One row is one annotator's ratings of one item. scikit-learn's default (C=1) shrinks the coefficients, the fit without a
penalty does not: the same ratings give .45 or .54, so both are made and named. Accuracy is in-sample.
"""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import linprog
from scipy.stats import norm

from mixgrid.annotate.base import Floats
from mixgrid.errors import UserError

PENALTIES = {"C=1": {"C": 1.0}, "none": {"C": math.inf, "tol": 1e-10}}  # the first is scikit-learn's as it comes
ITERATIONS = 1000
SEPARATION = "perfect separation of the verdicts, whole or but for ties"
EXACT = 1e-6  # above the tolerance (1e-7) that linprog keeps its bounds to; in units of the largest code


@dataclass(frozen=True, slots=True)
class Importance:
    """A fitted model, by `criteria`. Errors and p (Wald) begin with the intercept, and want no penalty."""

    criteria: tuple[str, ...]
    penalty: str  # "C=1" or "none"
    rows: int
    majority: float | None  # the accuracy of the commoner verdict alone
    outcome: str = "fitted"  # or "fitted, …: what to mind", or "not fitted: why"
    coefficients: tuple[float, ...] = ()
    intercept: float | None = None
    accuracy: float | None = None
    errors: tuple[float, ...] = ()
    p: tuple[float, ...] = ()
    pseudo_r2: float | None = None  # McFadden


def importance(criteria: Sequence[str], codes: Floats, verdict: Floats) -> list[Importance]:
    """Both fits of verdicts 0 and 1 on codes (rows, criteria); what cannot be fitted says why."""
    rows, share = len(verdict), float(verdict.mean()) if len(verdict) else None
    majority = None if share is None else max(share, 1 - share)
    blank = [Importance(tuple(criteria), name, rows, majority) for name in PENALTIES]
    if majority is None or majority == 1:
        why = "not fitted: all verdicts are the same" if rows else "not fitted: no rating is complete"
        return [replace(one, outcome=why) for one in blank]
    design = np.column_stack([np.ones(rows), codes])
    if separated(design, verdict):
        held = replace(_fit(blank[0], codes, verdict), outcome=f"fitted, but only the penalty bounds it: {SEPARATION}")
        return [held, replace(blank[1], outcome=f"not fitted: {SEPARATION}")]
    if np.linalg.matrix_rank(design) < design.shape[1]:
        why = "not fitted: a criterion is constant, or follows from the others"
        return [_fit(blank[0], codes, verdict), replace(blank[1], outcome=why)]
    return [_fit(blank[0], codes, verdict), _errors(_fit(blank[1], codes, verdict), design, verdict)]


def separated(design: Floats, verdict: Floats) -> bool:
    """Whether a plane parts the verdicts, ties allowed, so that no finite fit is the best (Albert and Anderson 1984).

    A linear program: the most that a bounded plane can have on the right side with nothing on the wrong one.
    """
    signed = design * np.where(verdict > 0, 1, -1)[:, None] / max(1.0, float(np.abs(design).max()))
    best = linprog(-signed.sum(axis=0), A_ub=-signed, b_ub=np.zeros(len(signed)), bounds=(-1, 1))
    return bool((signed @ best.x).max() > EXACT)


def _fit(model: Importance, codes: Floats, verdict: Floats) -> Importance:
    try:
        from sklearn.exceptions import ConvergenceWarning  # a second to import
        from sklearn.linear_model import LogisticRegression
    except ImportError as error:
        raise UserError("scikit-learn is not installed: --verdict needs `pip install 'mixgrid[score]'`") from error
    made = LogisticRegression(max_iter=ITERATIONS, **PENALTIES[model.penalty])
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        try:
            made.fit(codes, verdict)
        except ConvergenceWarning:
            return replace(model, outcome=f"not fitted: no convergence in {ITERATIONS} iterations")
    weights = tuple(float(w) for w in made.coef_[0])
    right = float(made.score(codes, verdict))
    return replace(model, coefficients=weights, intercept=float(made.intercept_[0]), accuracy=right)


def _errors(model: Importance, design: Floats, verdict: Floats) -> Importance:
    """Standard errors from the Fisher information, two-sided Wald p, and McFadden's share of the likelihood."""
    if model.intercept is None:
        return model
    beta = np.array([model.intercept, *model.coefficients])
    logits = design @ beta
    chance = 1 / (1 + np.exp(-logits))
    errors = np.sqrt(np.diag(np.linalg.inv(design.T * (chance * (1 - chance)) @ design)))
    share = verdict.mean()
    null = len(verdict) * (share * np.log(share) + (1 - share) * np.log(1 - share))
    likelihood = (verdict * logits - np.logaddexp(0, logits)).sum()
    p = 2 * norm.sf(np.abs(beta / errors))
    return replace(model, errors=tuple(errors.tolist()), p=tuple(p.tolist()), pseudo_r2=float(1 - likelihood / null))
