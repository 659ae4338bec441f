"""How many engines of one shape the cluster has room for, now or once its autoscaler has done what it may."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import ray
import ray._private.state
import yaml

BOOTSTRAP = "~/ray_bootstrap_config.yaml"  # what `ray up` leaves on the head for its autoscaler


@dataclass(frozen=True)
class Room:
    """Engines that fit at the same time, all models aside."""

    engines: int
    certain: bool  # no autoscaler could bring a node that is not counted here
    largest: str  # the node that has most, for an error's sentence


def room(cpus: float, gpus: int) -> Room:
    """Room for engines that take so many CPUs and GPUs of one node each."""
    need = {name: n for name, n in (("CPU", cpus), ("GPU", float(gpus))) if n}
    alive = [dict(node["Resources"]) for node in ray.nodes() if node["Alive"]]
    declared = _declared()
    now, later = sum(_fits(node, need) for node in alive), sum(n * _fits(node, need) for node, n in declared)
    most = max([*alive, *(node for node, _ in declared)], key=lambda node: (node.get("GPU", 0), node.get("CPU", 0)))
    return Room(max(now, later), bool(declared) or not _kuberay(), _named(most))


def _fits(node: Mapping[str, float], need: Mapping[str, float]) -> int:
    return min((int(node.get(name, 0) / n + 1e-6) for name, n in need.items()), default=0)


def _named(node: Mapping[str, float]) -> str:
    return f"{node.get('GPU', 0):g} GPUs and {node.get('CPU', 0):g} CPUs"


def _declared() -> list[tuple[dict[str, float], int]]:
    """Node types that an autoscaler knows, and how many of each there may be; none where it does not tell."""
    told = ray._private.state.state.get_cluster_config()
    if told and told.node_group_configs:
        return [(dict(g.resources), g.max_count if g.max_count >= 0 else 10**6) for g in told.node_group_configs]
    file = Path(BOOTSTRAP).expanduser()
    if not file.is_file():
        return []
    config = yaml.safe_load(file.read_text("utf-8"))
    types = config["available_node_types"].items()
    most = config.get("max_workers", 0)
    head = config.get("head_node_type")
    return [(t.get("resources", {}), min(t.get("max_workers", most), most) + (name == head)) for name, t in types]


def _kuberay() -> bool:
    """Whether this is a pod of KubeRay, whose autoscaler does not tell what it could bring."""
    return os.environ.get("RAY_USAGE_STATS_KUBERAY_IN_USE") == "1"
