"""What drives the verdict: the golden file's three fits, and a name where there is none."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import statsmodels.api as sm
from statsmodels.tools.sm_exceptions import ConvergenceWarning, PerfectSeparationWarning

from mixgrid.annotate.base import Floats
from mixgrid.annotate.criteria import SEPARATION, importance
from mixgrid.errors import UserError

GOLDEN = json.loads((Path(__file__).parent.parent / "golden" / "logistic.json").read_text("utf-8"))
X, Y = np.array(GOLDEN["X"]), np.array(GOLDEN["y"], dtype=float)
LINE = np.arange(8.0)[:, None]
UPPER = (LINE[:, 0] > 3).astype(float)


def test_the_default_penalty_is_golden() -> None:
    found, expected = importance("abcd", X, Y)[0], GOLDEN["sklearn_default_C1"]
    assert (found.penalty, found.outcome, found.rows) == ("C=1", "fitted", 200)
    assert found.coefficients == pytest.approx(expected["coef"], rel=1e-6)
    assert found.intercept == pytest.approx(expected["intercept"], rel=1e-6)
    assert found.accuracy == expected["acc"]
    assert found.majority == max(Y.mean(), 1 - Y.mean())
    assert found.errors == found.p == ()


def test_without_a_penalty_it_is_golden_by_both_libraries() -> None:
    found, expected, other = importance("abcd", X, Y)[1], GOLDEN["sklearn_unpenalised"], GOLDEN["statsmodels_logit"]
    assert (found.penalty, found.outcome) == ("none", "fitted")
    assert found.coefficients == pytest.approx(expected["coef"], rel=1e-6)
    assert found.intercept == pytest.approx(expected["intercept"], rel=1e-6)
    assert [found.intercept, *found.coefficients] == pytest.approx(other["params"], rel=1e-6)
    assert found.errors == pytest.approx(other["bse"], rel=1e-6)
    assert found.p == pytest.approx(other["p"], rel=1e-5)
    assert found.pseudo_r2 == pytest.approx(other["pseudo_r2"], rel=1e-9)


@pytest.mark.parametrize("tie", [4.0, 3.0], ids=["whole", "but for ties"])
def test_perfect_separation_has_a_name(tie: float) -> None:
    codes = np.where(LINE == 4, tie, LINE)
    held, free = importance(["x"], codes, UPPER)
    assert held.outcome == f"fitted, but only the penalty bounds it: {SEPARATION}"
    assert held.coefficients[0] > 0
    assert (free.outcome, free.coefficients, free.accuracy) == (f"not fitted: {SEPARATION}", (), None)


def test_the_library_gives_no_error_there() -> None:
    """So the golden file says; the size that it then prints is where its iterations happened to end."""
    assert GOLDEN["perfect_separation"] == "no error"
    with pytest.warns((PerfectSeparationWarning, ConvergenceWarning)):
        assert np.isfinite(sm.Logit(UPPER, sm.add_constant(LINE)).fit(disp=False).params).all()


@pytest.mark.parametrize(
    ("codes", "verdict", "says"),
    [
        (np.ones((8, 1)), UPPER, "not fitted: a criterion is constant, or follows from the others"),
        (
            np.column_stack([LINE, 2 * LINE]),
            UPPER[::-1] * 0 + np.tile([0, 1], 4),
            "not fitted: a criterion is constant",
        ),
        (LINE, np.ones(8), "not fitted: all verdicts are the same"),
        (LINE[:0], UPPER[:0], "not fitted: no rating is complete"),
    ],
)
def test_what_cannot_be_fitted_says_why(codes: Floats, verdict: Floats, says: str) -> None:
    free = importance([f"c{i}" for i in range(codes.shape[1])], codes, verdict)[1]
    assert free.outcome.startswith(says)
    assert free.coefficients == ()


def test_a_laptop_without_scikit_learn_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    with pytest.raises(
        UserError, match=r"scikit-learn is not installed: --verdict needs `pip install 'mixgrid\[score\]'`"
    ):
        importance("abcd", X, Y)
