"""The pre-flight of a grid: each kind of node is tried once, and kinds that are not up yet are asked for.

    findings = preflight(grid)      # on the cluster itself, where a job's driver is

An autoscaling cluster has no GPU node until something asks for one, so a model that no node has room for is asked for
by a task of its size: the same node then takes its engine.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from mixgrid.capacity import room
from mixgrid.cluster.probe import Finding, probe
from mixgrid.errors import UserError
from mixgrid.manifest import ModelEntry
from mixgrid.plan.grid import Grid
from mixgrid.pool import connect, gpus_of

WAIT_S = 900.0  # a cloud's node, its image and its set-up commands
_NOT_A_KIND = ("memory", "object_store_memory")  # differ by a few bytes from node to node


def preflight(grid: Grid, wait_s: float = WAIT_S) -> list[Finding]:
    """What each kind of node says of itself, the ones that failed first."""
    connect()
    nodes = {_kind(node): node for node in ray.nodes() if node["Alive"]}
    there = dict(_on_nodes(grid, list(nodes.values())))
    placed = {model for node in nodes.values() for model in _fitting(grid, node["Resources"])}
    there |= dict(_asked_for(grid, [model for model in grid.models if model not in placed]))
    ready, late = ray.wait(list(there), num_returns=len(there), timeout=wait_s)
    found = [finding for answer in ray.get(ready) for finding in answer]
    found += [Finding(there[ref], "answer", False, f"none in {wait_s:.0f} s; `ray status` says why") for ref in late]
    return sorted(found, key=lambda finding: finding.ok)


def _on_nodes(grid: Grid, nodes: list[dict[str, Any]]) -> Iterator[tuple[ray.ObjectRef, str]]:
    """A task on one node of each kind; it takes nothing of the node, so that it need not wait."""
    for node in nodes:
        name, models = _name(node), _fitting(grid, node["Resources"])
        here = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        task = ray.remote(probe).options(num_cpus=0, scheduling_strategy=here)
        yield task.remote(name, grid.store, models, int(node["Resources"].get("GPU", 0))), name


def _asked_for(grid: Grid, models: list[str]) -> Iterator[tuple[ray.ObjectRef, str]]:
    """A task for each size of engine that no node has room for."""
    sizes: dict[tuple[int, float], dict[str, ModelEntry]] = {}
    for model in models:
        size = gpus_of(grid.models[model], grid.resources(model)), grid.resources(model).cpus
        sizes.setdefault(size, {})[model] = grid.models[model]
    for (gpus, cpus), entries in sizes.items():
        name, there = f"a node with {gpus} GPUs and {cpus:g} CPUs", room(cpus, gpus)
        if there.certain and not there.engines:
            raise UserError(
                f"{', '.join(entries)}: an engine needs {name}, and the largest that this cluster has or may get "
                f"has {there.largest}; set the manifest's `resources`, or add nodes"
            )
        yield ray.remote(probe).options(num_gpus=gpus, num_cpus=cpus).remote(name, grid.store, entries, gpus), name


def _fitting(grid: Grid, resources: Mapping[str, float]) -> dict[str, ModelEntry]:
    """The models whose engines a node has room for when it is empty."""
    return {
        model: entry
        for model, entry in grid.models.items()
        if resources.get("GPU", 0) >= gpus_of(entry, grid.resources(model))
        and resources.get("CPU", 0) >= grid.resources(model).cpus
    }


def _kind(node: Mapping[str, Any]) -> tuple[tuple[str, float], ...]:
    """What nodes of one type have in common: CPUs, GPUs and their make, custom resources."""
    resources = node["Resources"].items()
    return tuple(sorted((k, v) for k, v in resources if not k.startswith("node:") and k not in _NOT_A_KIND))


def _name(node: Mapping[str, Any]) -> str:
    sizes = ", ".join(f"{value:g} {name}" for name, value in _kind(node))
    return f"node {node['NodeManagerAddress']} ({sizes or 'no resources'})"
