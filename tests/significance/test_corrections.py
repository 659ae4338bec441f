"""Corrections for many tests: the golden file, and what could not be tested is not counted."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from mixgrid.errors import UserError
from mixgrid.significance.corrections import CORRECTIONS, adjust
from tests.significance.samples import golden

GOLDEN = golden("multiple_testing")
NAMES = {"bonferroni": "bonferroni", "holm": "holm", "hommel": "hommel", "fdr_bh": "bh", "fdr_by": "by"}


def golden_rows() -> list[Any]:
    blocks = {name: GOLDEN[name] for name in ("bh1995_like_25", "small")}
    return [
        pytest.param(block["p"], block[key], name, id=f"{label}-{name}")
        for label, block in blocks.items()
        for key, name in NAMES.items()
    ]


@pytest.mark.parametrize(("ps", "row", "method"), golden_rows())
def test_corrections_are_golden(ps: list[float], row: dict[str, Any], method: str) -> None:
    adjusted = adjust(ps, method)
    assert adjusted.m == len(ps)
    assert list(adjusted.p) == pytest.approx(row["adjusted"], rel=1e-12)
    assert [p is not None and p <= 0.05 for p in adjusted.p] == row["reject"]


def test_scipys_bh_is_the_same() -> None:
    block = GOLDEN["bh1995_like_25"]
    assert list(adjust(block["p"], "bh").p) == pytest.approx(block["scipy_bh"]["adjusted"], rel=1e-12)


def test_untestable_rows_are_neither_counted_nor_spread() -> None:
    """Statsmodels' BH makes all of them NaN, its Holm counts the NaN, scipy raises (golden)."""
    theirs = GOLDEN["nan_behaviour"]
    assert theirs["statsmodels"] == {"holm": [0.03, "nan", 0.06], "fdr_bh": ["nan", "nan", "nan"]}
    assert theirs["scipy"].startswith("ValueError")
    for gap in (None, float("nan")):
        for method in CORRECTIONS:
            with_gap, without = adjust([0.01, gap, 0.04], method), adjust([0.01, 0.04], method)
            assert with_gap.m == without.m == 2
            assert with_gap.p == (without.p[0], None, without.p[1])
    first, gap_again, last = adjust([0.01, None, 0.04], "holm").p
    assert (first, last) == (0.02, 0.04)
    assert gap_again is None


def test_nothing_to_adjust() -> None:
    assert adjust([], "holm").p == ()
    assert adjust([None], "bh") == adjust([float("nan")], "bh")
    assert adjust([None], "bh").m == 0


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.sampled_from(sorted(NAMES)))
def test_equal_to_statsmodels(ps: list[float], key: str) -> None:
    theirs = multipletests(np.array(ps), method=key)[1]
    assert list(adjust(ps, NAMES[key]).p) == pytest.approx(list(theirs), abs=1e-12)


def test_wrong_names_and_values_are_refused() -> None:
    with pytest.raises(UserError, match="did you mean 'holm'"):
        adjust([0.1], "hollm")
    with pytest.raises(UserError, match="between 0 and 1"):
        adjust([1.5], "holm")
