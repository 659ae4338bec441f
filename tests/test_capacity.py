"""Room for engines: on the nodes that are there, and on those that an autoscaler may bring."""

from pathlib import Path
from typing import Any

import pytest
import ray
import yaml
from ray._private.state import state

from mixgrid import capacity
from mixgrid.capacity import Room, room

HEAD, WORKER = {"CPU": 8.0, "memory": 1e9}, {"CPU": 16.0, "GPU": 4.0}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A head and two GPU nodes, one of them dead; gives where `ray up` would leave its configuration."""
    nodes = [{"Alive": True, "Resources": HEAD}, *({"Alive": n < 1, "Resources": WORKER} for n in range(2))]
    monkeypatch.setattr(ray, "nodes", lambda: nodes)
    monkeypatch.setattr(state, "get_cluster_config", lambda: None)
    monkeypatch.setattr(capacity, "BOOTSTRAP", str(tmp_path / "bootstrap.yaml"))
    monkeypatch.delenv("RAY_USAGE_STATS_KUBERAY_IN_USE", raising=False)
    return tmp_path / "bootstrap.yaml"


@pytest.mark.parametrize(
    ("cpus", "gpus", "engines"),
    [
        (1, 1, 4),
        (1, 2, 2),
        (1, 3, 1),
        (1, 4, 1),
        (1, 8, 0),
        (5, 1, 3),
        (0.1, 4, 1),
        (1, 0, 24),
        (17, 0, 0),
        (0.1, 0, 240),
    ],
)
def test_an_engine_s_gpus_are_of_one_node(cluster: Path, cpus: float, gpus: int, engines: int) -> None:
    assert room(cpus, gpus) == Room(engines, True, "4 GPUs and 16 CPUs")


def test_the_node_types_of_ray_up_count(cluster: Path) -> None:
    types: dict[str, Any] = {
        "head": {"resources": {"CPU": 4}, "max_workers": 0},
        "gpu": {"resources": {"CPU": 32, "GPU": 8}, "max_workers": 3},
        "other": {"resources": {"CPU": 32}},
    }
    config = {"available_node_types": types, "head_node_type": "head", "max_workers": 5}
    cluster.write_text(yaml.safe_dump(config), "utf-8")
    assert room(1, 8) == Room(3, True, "8 GPUs and 32 CPUs")
    assert room(1, 16) == Room(0, True, "8 GPUs and 32 CPUs")
    assert room(4, 0).engines == 1 + 3 * 8 + 5 * 8


def test_what_kuberay_could_bring_is_not_known(cluster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_USAGE_STATS_KUBERAY_IN_USE", "1")
    assert room(1, 8) == Room(0, False, "4 GPUs and 16 CPUs")
