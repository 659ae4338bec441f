"""ray_cluster.yaml, by Ray's own rules, and by what mixgrid needs of it."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import ray
import yaml
from ray.autoscaler._private.util import prepare_config, validate_config

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "ray_cluster.yaml").read_text("utf-8")


@pytest.fixture
def cluster() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(TEXT)
    return loaded


def test_ray_accepts_it(cluster: dict[str, Any]) -> None:
    validate_config(prepare_config(cluster))


def test_ray_would_refuse_a_misspelt_key(cluster: dict[str, Any]) -> None:
    cluster["max_worker"] = cluster.pop("max_workers")
    with pytest.raises(Exception, match="max_worker"):
        validate_config(prepare_config(cluster))


def test_workers_come_when_needed_and_go_again(cluster: dict[str, Any]) -> None:
    workers = {k: v for k, v in cluster["available_node_types"].items() if k != cluster["head_node_type"]}
    assert {"cpu", "gpu"} <= set(workers)
    assert {node["min_workers"] for node in workers.values()} == {0}
    assert all(0 < node["max_workers"] <= cluster["max_workers"] for node in workers.values())


def test_every_node_reaches_the_store_by_its_role_and_no_key_is_written_down(cluster: dict[str, Any]) -> None:
    for node in cluster["available_node_types"].values():
        assert node["node_config"]["IamInstanceProfile"]
    assert not re.search(r"AKIA|ASIA|secret|access_key|token", TEXT, flags=re.IGNORECASE)


def test_the_images_have_the_ray_and_the_python_of_the_project(cluster: dict[str, Any]) -> None:
    python = re.search(
        r">=3\.(\d+)", tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["requires-python"]
    )
    assert python
    images = re.findall(r"rayproject/ray:(\S+)", TEXT)
    assert images
    assert {image.split("-gpu")[0] for image in images} == {f"{ray.__version__}-py3{python[1]}"}


def test_gpu_nodes_have_80_gb_and_install_the_locked_set(cluster: dict[str, Any]) -> None:
    for name in ("gpu", "gpu8"):
        node = cluster["available_node_types"][name]
        assert node["node_config"]["InstanceType"].split(".")[0] in {"p5", "p4de"}  # H100 80 GB, A100 80 GB
        assert any("--no-deps -r" in c and "requirements-gpu.lock" in c for c in node["worker_setup_commands"])
    for command in (*cluster["head_setup_commands"], *cluster["worker_setup_commands"]):
        assert "--constraint" in command
    assert (ROOT / "requirements-gpu.lock").is_file()


def test_every_worker_may_be_a_spot_instance_and_goes_when_idle(cluster: dict[str, Any]) -> None:
    workers = {k: v for k, v in cluster["available_node_types"].items() if k != cluster["head_node_type"]}
    assert {n["node_config"]["InstanceMarketOptions"]["MarketType"] for n in workers.values()} == {"spot"}
    assert 0 < cluster["idle_timeout_minutes"] <= 30


def test_setup_installs_extras_that_exist() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    asked = {name for group in re.findall(r"/mixgrid\[([\w,]+)\]", TEXT) for name in group.split(",")}
    assert asked
    assert asked <= set(extras)


def test_the_job_server_is_not_open_to_the_network(cluster: dict[str, Any]) -> None:
    start = [line for line in cluster["head_start_ray_commands"] if "--head" in line]
    assert len(start) == 1
    assert "--dashboard-host=127.0.0.1" in start[0]
