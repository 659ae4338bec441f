"""Two populations under one numbering of sources and clusters, so that sides from two corpora can be joined.

An original may be asked in a corpus of its own (SeLeRoSa) and its mixed rows in another (CS-SeLeRoSa): they meet by
source. Both sides of a source belong to one cluster, that of the corpus which knows the larger ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mixgrid.reduce.population import Ints, Population


@dataclass(frozen=True)
class Shared:
    """Of each item of the one population, and of the other: its source, and its cluster (-1: the other lacks it)."""

    sources: tuple[Ints, Ints]
    clusters: tuple[Ints, Ints]
    counts: tuple[int, int]  # of sources, of clusters


def shared(a: Population, b: Population) -> Shared:
    """The numbering of two populations, which may be one."""
    if a is b:
        counts = (len(a.sources.names), len(a.clusters.names))
        return Shared((a.sources.of, a.sources.of), (a.clusters.of, a.clusters.of), counts)
    names = {name: i for i, name in enumerate(sorted({*a.sources.names, *b.sources.names}))}
    sources = [_renumbered(p, names) for p in (a, b)]
    cluster = _cluster_of_source([a, b], sources, len(names))
    clusters = [cluster[own] for own in sources]
    size = int(cluster.max(initial=-1)) + 1
    return Shared((sources[0], sources[1]), (clusters[0], clusters[1]), (len(names), size))


def _renumbered(population: Population, names: dict[str, int]) -> Ints:
    numbers: Ints = np.array([names[name] for name in population.sources.names], dtype=np.int32)
    return numbers[population.sources.of]


def _cluster_of_source(populations: Sequence[Population], sources: Sequence[Ints], size: int) -> Ints:
    """The larger clusters of the two, over the sources that both have."""
    found: list[Ints] = []
    for population, own in zip(populations, sources, strict=True):
        cluster: Ints = np.full(size, -1, dtype=np.int32)
        cluster[own] = population.clusters.of
        found.append(cluster)
    both = (found[0] >= 0) & (found[1] >= 0)
    larger = min(found, key=lambda cluster: len(np.unique(cluster[both])))
    kept: Ints = np.where(both, larger, np.int32(-1))
    return kept
