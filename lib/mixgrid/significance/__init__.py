"""Intervals and tests, as pure functions over arrays; they know statistics, and no task, model or file.

Paper-compatible: `welch` over seeds, `mcnemar`, `chi2`, the paired bootstrap's definitions (`definitions.py`), twins by
row. Sound, and the default: `bootstrap.bootstrap` over clusters, `cluster-mcnemar`, sign flips under 20 clusters.
"""

from collections.abc import Callable

from mixgrid.significance.base import Outcome
from mixgrid.significance.bootstrap import bootstrap_pair
from mixgrid.significance.paired import cluster_mcnemar, mcnemar
from mixgrid.significance.seeds import seed_permutation, welch
from mixgrid.significance.signflip import sign_test, swap_test
from mixgrid.significance.tables import chi2_table

TESTS: dict[str, Callable[..., Outcome]] = {
    "chi2": chi2_table,
    "cluster-bootstrap": bootstrap_pair,
    "cluster-mcnemar": cluster_mcnemar,
    "cluster-sign-flip": sign_test,
    "cluster-swap": swap_test,
    "mcnemar": mcnemar,
    "seed-permutation": seed_permutation,
    "welch": welch,
}
