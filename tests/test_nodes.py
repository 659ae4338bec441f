"""Three emulated nodes: one is lost, rows kill and hang engines, the store is away; every row is there once.

And pre-flight: each kind of node is tried once, and an engine that never fits is told of at once.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from mixgrid.plan.events import events
from mixgrid.plan.grid import resolve
from mixgrid.store import Store
from tests.helpers import predictions, small_grid
from tests.raynodes import ray_nodes
from tests.servers import rclone
from tests.test_kills import Scene
from tests.test_kills import scene as scene  # noqa: PLC0414 - a fixture, used by its name

pytestmark = [pytest.mark.ray, pytest.mark.kills, pytest.mark.timeout(900)]


def test_a_node_that_is_lost_costs_what_was_in_flight_there(scene: Scene) -> None:
    scene.give(replicas=2, cpus=1)
    with ray_nodes(scene.server.env(os.environ), workers=2) as nodes:
        running = scene.start(nodes.env)
        scene.wait_for_parts(4)
        nodes.kill(0)
        output, _ = running.communicate(timeout=240)
        assert running.returncode == 0, output
    print("repeated requests:", scene.check(kills=1), file=sys.stderr)
    told = [event.text for event in events(Store.open(scene.url), "main")]
    assert len(told) == 1
    assert all(text.endswith("its process was lost: killed, out of memory, or with its node") for text in told)


def test_rows_that_kill_or_hang_and_a_minute_without_store(scene: Scene) -> None:
    """All at once, on two engines; the store comes back within what its client waits for it."""
    grid = yaml.safe_load(scene.manifest.read_text("utf-8")) | {"settings": ["zero-shot"], "seeds": [1], "sampling": []}
    scene.manifest.write_text(yaml.safe_dump(grid), "utf-8")
    deadly, hanging = (resolve(scene.manifest, scene.url).groups[0].items[n] for n in (40, 90))
    catalogue = scene.manifest.with_name("models.yaml")
    models = yaml.safe_load(catalogue.read_text("utf-8"))
    models["models"]["canned"]["engine_args"] |= {"die_on": deadly.text, "hang_on": hanging.text}
    catalogue.write_text(yaml.safe_dump(models), "utf-8")
    scene.give(replicas=2, cpus=1, hung_after_s=5, restarts=99)
    with ray_nodes(scene.server.env(os.environ), workers=2) as nodes:
        running = scene.start(nodes.env)
        scene.wait_for_parts(2)
        scene.server.kill()
        time.sleep(60)
        scene.server.start()
        output, _ = running.communicate(timeout=500)
    assert running.returncode == 0, output
    rows = predictions(resolve(scene.manifest, scene.url))
    assert len(rows) == len({row.item_id for row in rows}) == 124
    dead = {row.item_id for row in rows if row.reason == "engine_death"}
    assert dead == {deadly.item_id, hanging.item_id}
    told = [event.text for event in events(Store.open(scene.url), "main", newest=999)]
    assert sum("kills the engine: it is failed, engine_death" in text for text in told) == 2


def test_each_kind_of_node_is_tried_and_one_that_is_too_small_is_told(tmp_path: Path) -> None:
    fits = small_grid(tmp_path / "fits", resources={"toy": {"cpus": 2}})
    large = small_grid(tmp_path / "large", resources={"toy": {"cpus": 64}})
    with rclone(tmp_path) as server, ray_nodes(server.env(os.environ), workers=2, cpus=2) as nodes:

        def preflight(manifest: Path, *words: str) -> subprocess.CompletedProcess[str]:
            command = [sys.executable, "-m", "mixgrid", "preflight", str(manifest), "--store", server.url("grid")]
            return subprocess.run([*command, *words], env=nodes.env, capture_output=True, text=True, check=False)

        done = preflight(fits, "--json")
        refused = preflight(large)
    assert done.returncode == 0, done.stderr
    tried: dict[str, set[str]] = {}
    for finding in json.loads(done.stdout):
        tried.setdefault(finding["node"], set()).add(finding["check"])
        assert finding["ok"]
    assert len(tried) == 2  # the head without CPUs, and one worker for both
    assert all(checks == {"versions", "store", "models and disk"} for checks in tried.values())
    assert refused.returncode == 2
    assert "an engine needs a node with 0 GPUs and 64 CPUs" in refused.stderr
