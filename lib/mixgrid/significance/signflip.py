"""Cluster sign-flip tests (approximate randomisation): for few clusters, where the bootstrap can't be trusted.

If two systems are alike, swapping their answers within a cluster changes nothing; the p value is the share of swaps
that give a difference as large. Exact when all swaps can be walked through, otherwise counted in random ones.
"""

from collections.abc import Iterator

import numpy as np

from mixgrid.errors import UserError
from mixgrid.significance.base import Floats, Outcome, Total, monte_carlo_error, not_testable, seed_of

EXACT_CLUSTERS = 15  # 2**14 swaps up to sign; above, random swaps
BLOCK = 4096
SLACK = 1e-11  # see `definitions`


def sign_flip_floor(clusters: int) -> float:
    """Least two-sided p of K signs: 2 / 2**K (5 clusters can't reach .05)."""
    return min(1.0, 2.0 ** (1 - clusters))


def swap_test(a: Floats, b: Floats, total: Total, names: tuple[str, str], draws: int = 10_000) -> Outcome:
    """Swap the two systems' statistics within clusters; `a`, `b` (K, F), or (K, R, F) with as many seeds on both sides.

    Right where both answered the same items. Clusters where they are equal hold no evidence and are not counted.
    """
    if a.shape != b.shape:
        raise UserError(
            f"a swap of {names[0]} and {names[1]} needs equal seeds and clusters, not {a.shape} and {b.shape}."
        )
    if not len(a):
        return not_testable("cluster-swap", "no rows")

    def metric(sums: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.asarray(total(sums), dtype=np.float64)
        return values if a.ndim == 2 else values.mean(axis=-1)

    both, gap = a.sum(axis=0) + b.sum(axis=0), (a - b).reshape(len(a), -1)
    gap = gap[np.any(gap != 0, axis=1)]

    def difference(signs: Floats) -> Floats:
        tilt = (signs @ gap).reshape(-1, *a.shape[1:])
        return metric((both + tilt) / 2) - metric((both - tilt) / 2)

    scale = float(np.abs(metric(np.stack([a.sum(axis=0), b.sum(axis=0)]))).max())
    return _flip("cluster-swap", difference, len(gap), scale, (names, draws))


def sign_test(values: Floats, scale: float, names: tuple[str, str], draws: int = 10_000) -> Outcome:
    """Flip the signs of what each cluster adds to the difference (K,); for sides that can't be swapped (twins).

    `values`: jackknife pseudo-values, or per-cluster differences; their mean is the difference.
    """
    filled = values[np.abs(values) > SLACK * scale]

    def difference(signs: Floats) -> Floats:
        return np.asarray(signs @ filled / max(1, len(values)), dtype=np.float64)

    return _flip("cluster-sign-flip", difference, len(filled), scale, (names, draws))


def _flip(method: str, difference: Total, clusters: int, scale: float, run: tuple[tuple[str, str], int]) -> Outcome:
    names, draws = run
    options: dict[str, str | int] = {"clusters_that_differ": clusters}
    if clusters == 0:
        return Outcome(method, "degenerate: no cluster differs", 0.0, p=1.0, options=options)
    observed = float(difference(np.ones((1, clusters)))[0])
    if not np.isfinite(observed):
        return not_testable(method, "the metric is undefined here")
    exact = clusters <= EXACT_CLUSTERS
    blocks = _all_signs(clusters) if exact else _random_signs(clusters, draws, seed_of(names))
    found = sum(int(np.sum(np.abs(difference(signs)) >= abs(observed) - SLACK * scale)) for signs in blocks)
    p = found / 2 ** (clusters - 1) if exact else (1 + found) / (1 + draws)
    return Outcome(
        method,
        estimate=observed,
        p=p,
        p_floor=sign_flip_floor(clusters) if exact else max(sign_flip_floor(clusters), 1 / (1 + draws)),
        p_error=None if exact else monte_carlo_error(p, draws),
        options={**options, "exact": exact} if exact else {**options, "exact": exact, "draws": draws},
    )


def _all_signs(clusters: int) -> Iterator[Floats]:
    """Every assignment of signs with the first one +: the others mirror them."""
    bits = np.arange(clusters - 1)
    for start in range(0, 2 ** (clusters - 1), BLOCK):
        numbers = np.arange(start, min(start + BLOCK, 2 ** (clusters - 1)))
        signs = np.where((numbers[:, None] >> bits) & 1, -1.0, 1.0)
        yield np.hstack([np.ones((len(numbers), 1)), signs])


def _random_signs(clusters: int, draws: int, seed: int) -> Iterator[Floats]:
    rng = np.random.default_rng(seed)
    for start in range(0, draws, BLOCK):
        yield rng.choice(np.array([-1.0, 1.0]), (min(BLOCK, draws - start), clusters))
