"""The way to Ray: a local one keeps to the loopback address, and an address that is none is the user's to mend."""

import os
from pathlib import Path
from typing import Any

import pytest
import ray
from ray._private import auto_init_hook, ray_constants, services

from mixgrid.errors import Incomplete, UserError
from mixgrid.pool import connect


@pytest.fixture
def no_cluster(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray_constants, "ENABLE_RAY_CLUSTER", True)
    monkeypatch.setenv(ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR, "1")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    return monkeypatch


def test_a_local_ray_is_on_the_loopback_address_alone(no_cluster: pytest.MonkeyPatch) -> None:
    found: list[str] = []

    def init(**settings: Any) -> None:
        """As `ray.init` does with the address of its node, before it starts anything."""
        found.append(services.resolve_ip_for_localhost(settings["_node_ip_address"]))
        found.append(os.environ[ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR])

    no_cluster.setattr(ray, "init", init)
    connect()
    assert found == ["127.0.0.1", "0"]
    assert not auto_init_hook.enable_auto_connect


def test_a_ray_address_that_is_none_is_a_sentence(no_cluster: pytest.MonkeyPatch) -> None:
    no_cluster.setenv("RAY_ADDRESS", "nonsense")
    with pytest.raises(UserError, match="RAY_ADDRESS=nonsense: Invalid address format: nonsense; write host:port"):
        connect()
    assert ray_constants.ENABLE_RAY_CLUSTER


def test_a_ray_that_does_not_start_here_is_a_sentence(no_cluster: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    no_cluster.setenv("RAY_TMPDIR", str(file / "folder"))
    with pytest.raises(Incomplete, match=rf"Ray did not start .*Not a directory.*{file}/folder"):
        connect()
