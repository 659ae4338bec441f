"""MixSarc's Table 5 has no intervals: ours, from its confusion matrices, against those found outside (golden)."""

from typing import Any

import numpy as np
import pytest

from mixgrid.significance.base import Floats
from mixgrid.significance.bootstrap import bootstrap
from mixgrid.significance.population import Population
from mixgrid.significance.resampling import Resampling
from tests.metrics.golden import golden

ROWS = {(row["label"], row["model"]): row for row in golden("mixsarc_table5_confusions")["rows"]}
KNOWN: list[dict[str, Any]] = [  # of the labels whose matrices the file has
    known for known in golden("mixsarc_table5_f1_ci") if (known["label"], known["model"]) in ROWS
]


def f1(sums: Floats) -> Floats:
    """Of the positive class, from (tp, fp, fn, tn)."""
    tp, fp, fn, _ = np.moveaxis(sums, -1, 0)
    return np.asarray(2 * tp / np.maximum(2 * tp + fp + fn, 1), dtype=np.float64)


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: f"{known['label']} {known['model']}")
def test_an_interval_over_items_is_the_one_found_outside(known: dict[str, Any]) -> None:
    row = ROWS[known["label"], known["model"]]
    counts = [row[name] for name in ("tp", "fp", "fn", "tn")]
    items = np.repeat(np.eye(4), counts, axis=0)[:, None, :]
    cell = bootstrap(Population("mixsarc", ("a",), items, f1), (), Resampling(4_000, collapse=True)).cells["a"]
    assert cell.value == pytest.approx(known["f1"], abs=5e-3 if row["mismatch_cells"] else 6e-5)
    assert cell.se == pytest.approx(known["se"], abs=6e-4)
    assert cell.percentile is not None
    assert [cell.percentile.low, cell.percentile.high] == pytest.approx(known["ci95"], abs=4e-3)
