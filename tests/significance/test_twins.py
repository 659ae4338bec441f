"""Comparisons with the monolingual original: joined by source, what does not join is counted."""

import numpy as np
import pytest

from mixgrid.errors import UserError
from mixgrid.significance.bootstrap import Pair, bootstrap
from mixgrid.significance.population import Population
from mixgrid.significance.twins import Side, by_row, by_source
from tests.significance.samples import accuracy

ORIGINALS = Side(["s2", "s1", "s3"], np.array([[1.0, 1.0], [1.0, 0.0], [1.0, 1.0]]))
ROWS = Side(["s1", "s2", "s1", "gone"], np.array([[1.0, 1.0], [1.0, 0.0], [1.0, 1.0], [1.0, 1.0]]))


def test_variants_of_a_source_are_one_unit() -> None:
    joined = by_source(ROWS, ORIGINALS)
    assert joined.units == ("s1", "s2")
    assert joined.statistics.tolist() == [[[2.0, 2.0], [1.0, 0.0]], [[1.0, 0.0], [1.0, 1.0]]]
    assert (joined.unmatched_rows, joined.unmatched_originals) == (1, 1)


def test_row_level_gives_each_variant_a_copy_of_its_original() -> None:
    joined = by_row(ROWS, ORIGINALS, ["r0", "r1", "r2", "r3"])
    assert joined.units == ("r0", "r1", "r2")
    assert joined.statistics[:, 1].tolist() == [[1.0, 0.0], [1.0, 1.0], [1.0, 0.0]]
    assert (joined.unmatched_rows, joined.unmatched_originals) == (1, 1)


def test_second_original_of_a_source_is_refused() -> None:
    with pytest.raises(UserError, match="two originals"):
        by_source(ROWS, Side(["s1", "s1"], np.ones((2, 2))))


def test_rows_drawn_alone_make_the_interval_too_narrow() -> None:
    """24 variants of each source that are right or wrong together: the paper's row-level draw does not see it."""
    rng = np.random.default_rng(9)
    sources = [f"s{i:03}" for i in range(100)]
    originals = Side(sources, np.stack([np.ones(100), rng.random(100) < 0.7], axis=1).astype(np.float64))
    right = np.repeat(rng.random(100) < 0.6, 24)
    rows = Side([s for s in sources for _ in range(24)], np.stack([np.ones(2400), right], axis=1).astype(np.float64))
    pair = Pair("mixed", "original", swappable=False)
    errors = []
    for joined in (by_row(rows, originals, [str(i) for i in range(2400)]), by_source(rows, originals)):
        population = Population("twins", ("mixed", "original"), joined.statistics, accuracy)
        errors.append(bootstrap(population, [pair]).pairs[pair].effects["se"])
    assert errors[1] > 4 * errors[0]
