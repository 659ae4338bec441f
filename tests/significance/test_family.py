"""Every test of the family returns an outcome that says what it is."""

from typing import Any

import numpy as np
import pytest

from mixgrid.significance import TESTS
from mixgrid.significance.base import Outcome, is_noise, monte_carlo_error, seed_of
from mixgrid.significance.population import Population
from tests.significance.samples import accuracy

COUNTS = np.array([[2.0, 1.0], [3.0, 1.0], [2.0, 2.0]])
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "chi2": (np.array([[20, 30], [30, 20]]),),
    "cluster-bootstrap": (Population("p", ("a", "b"), np.stack([COUNTS, COUNTS[::-1]], axis=1), accuracy), "a", "b"),
    "cluster-mcnemar": (np.array([1, 2, 0]), np.array([0, 1, 3]), 20),
    "cluster-sign-flip": (np.array([0.1, 0.2, -0.1]), 1.0, ("a", "b")),
    "cluster-swap": (COUNTS, COUNTS[[1, 2, 0]], accuracy, ("a", "b")),
    "mcnemar": (3, 5, 20),
    "seed-permutation": ([0.1, 0.2], [0.3, 0.4]),
    "welch": ([0.1, 0.2], [0.3, 0.5]),
}


def test_names_are_sorted() -> None:
    assert list(TESTS) == sorted(TESTS) == list(ARGUMENTS)


@pytest.mark.parametrize("name", TESTS)
def test_outcome_is_whole(name: str) -> None:
    outcome = TESTS[name](*ARGUMENTS[name])
    assert isinstance(outcome, Outcome)
    assert outcome.outcome == "tested"
    assert outcome.testable
    assert 0 < (outcome.p or 0) <= 1
    assert outcome.estimate is not None
    assert outcome.signature.startswith(outcome.method)


@pytest.mark.parametrize("name", TESTS)
def test_same_input_same_outcome(name: str) -> None:
    assert TESTS[name](*ARGUMENTS[name]) == TESTS[name](*ARGUMENTS[name])


def test_seed_is_that_of_the_names_in_any_order() -> None:
    assert seed_of(["a", "b"]) == seed_of(["b", "a"]) != seed_of(["ab"])


def test_noise_is_relative() -> None:
    assert is_noise(4e-17, 0.3)
    assert is_noise(0.0, 0.0)
    assert not is_noise(4e-17, 1e-17)
    assert is_noise(float("nan"), 1.0)


def test_monte_carlo_error_is_binomial() -> None:
    assert monte_carlo_error(0.05, 10_000) == pytest.approx(0.00218, abs=1e-5)
