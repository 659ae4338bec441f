"""Three emulated nodes, one of which is lost in mid-run: the run itself goes on, and every row is there once."""

import os
import sys

import pytest

from mixgrid.plan.events import events
from mixgrid.store import Store
from tests.raynodes import ray_nodes
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
