"""Kill -9 of driver, actor, Ray head and S3 server in mid-run, then the same command again.

Every (run, item) is there exactly once, and what was asked twice is at most what was in flight at the kill.
"""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
import yaml

from mixgrid.plan.grid import resolve
from mixgrid.store import Store
from tests.rayhead import BIN, RayHead, ray_head
from tests.servers import S3Server, rclone, use

pytestmark = [pytest.mark.ray, pytest.mark.kills, pytest.mark.timeout(900)]

MANIFESTS = Path(__file__).resolve().parent.parent / "manifests"
BATCH, IN_FLIGHT = 16, 2
ROWS = 124 * 2 * 3  # items × settings × seeds


@dataclass
class Scene:
    """A slow canned grid, the store it writes to, and the log of what its engine was asked."""

    manifest: Path
    server: S3Server
    url: str
    asked: Path

    def give(self, **resources: float) -> None:
        """Change what the model gets of the cluster."""
        manifest = yaml.safe_load(self.manifest.read_text("utf-8"))
        manifest["resources"]["canned"] |= resources
        self.manifest.write_text(yaml.safe_dump(manifest), "utf-8")

    def start(self, env: Mapping[str, str]) -> subprocess.Popen[str]:
        command = [str(BIN / "mixgrid"), "run", str(self.manifest), "--store", self.url]
        return subprocess.Popen(command, env=dict(env), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def again(self, env: Mapping[str, str]) -> None:
        """The same command, to its end."""
        process = self.start(env)
        output, _ = process.communicate(timeout=240)
        assert process.returncode == 0, output

    def wait_for_parts(self, count: int) -> None:
        deadline = time.monotonic() + 300
        while self.parts() < count:
            assert time.monotonic() < deadline, "no part was written"
            time.sleep(0.1)

    def parts(self) -> int:
        return len(list(self.server.root.rglob("part-*.parquet"))) if self.server.root else 0

    def check(self, kills: int) -> int:
        """Every row exactly once; gives how many requests were asked again."""
        grid = resolve(self.manifest, self.url)
        rows = [r for part in Store.open(self.url).parts("main/predictions").whole for r in _ids(self.url, part.key)]
        wanted = {(run.run_id, item.item_id) for group in grid.groups for run in group.runs for item in group.items}
        counts = Counter(rows)
        assert set(counts) == wanted
        assert len(wanted) == ROWS
        asked = Counter(self.asked.read_text("utf-8").split())
        repeated = sum(asked.values()) - len(asked)
        assert repeated <= kills * BATCH * IN_FLIGHT
        assert sum(counts.values()) - len(counts) <= repeated
        return repeated


def _ids(url: str, key: str) -> list[tuple[str, str]]:
    table = Store.open(url).read(key, ["run_id", "item_id"])
    return list(zip(table["run_id"].to_pylist(), table["item_id"].to_pylist(), strict=True))


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    catalogue = yaml.safe_load((MANIFESTS / "models.yaml").read_text("utf-8"))
    asked = tmp_path / "asked.txt"
    canned = catalogue["models"]["canned"]
    canned["engine_args"] |= {"delay_ms": 15, "log_to": str(asked)}
    canned["sampling"] = {"default": {"temperature": 0.8}}
    manifest = yaml.safe_load((MANIFESTS / "smoke.yaml").read_text("utf-8"))
    manifest |= {"models": ["canned"], "languages": None, "resources": {
        "canned": {"batch_size": BATCH, "batches_in_flight": IN_FLIGHT, "cpus": 0.5}
    }}  # fmt: skip
    folder = tmp_path / "manifests"
    folder.mkdir()
    (folder / "models.yaml").write_text(yaml.safe_dump({"models": {"canned": canned}}), "utf-8")
    (folder / "smoke.yaml").write_text(yaml.safe_dump(manifest), "utf-8")
    (folder / "corpora.yaml").write_bytes((MANIFESTS / "corpora.yaml").read_bytes())
    (folder / "samples").symlink_to(MANIFESTS / "samples")
    with rclone(tmp_path) as server:
        use(server, monkeypatch)
        yield Scene(folder / "smoke.yaml", server, server.url("grid"), asked)


def _env(head: RayHead) -> dict[str, str]:
    return {**head.env, "RAY_ADDRESS": f"127.0.0.1:{head.port}"}


def _kill_actor(_: Scene, head: RayHead) -> None:
    mine = psutil.Process(head.process.pid).children(recursive=True)  # another run's actors are none of this test's
    actors = [p for p in mine if "EngineActor" in " ".join(p.cmdline())]
    assert actors, "no actor to kill"
    for actor in actors:
        actor.kill()


def _kill_store(scene: Scene, _: RayHead) -> None:
    """Slow for a while, as one that is overloaded, then away."""
    assert scene.server.process
    scene.server.process.send_signal(signal.SIGSTOP)
    time.sleep(6)
    scene.server.process.send_signal(signal.SIGCONT)
    time.sleep(1)
    scene.server.kill()
    time.sleep(3)
    scene.server.start()


@pytest.mark.parametrize("kill", [_kill_actor, _kill_store])
def test_the_run_itself_survives_its_actor_and_its_store(scene: Scene, kill: Callable[[Scene, RayHead], None]) -> None:
    with ray_head(scene.server.env(os.environ)) as head:
        running = scene.start(_env(head))
        scene.wait_for_parts(3)
        kill(scene, head)
        output, _ = running.communicate(timeout=240)
        assert running.returncode == 0, output
        print("repeated requests:", scene.check(kills=1), file=sys.stderr)


def test_a_killed_driver_is_resumed(scene: Scene) -> None:
    with ray_head(scene.server.env(os.environ)) as head:
        running = scene.start(_env(head))
        scene.wait_for_parts(3)
        running.send_signal(signal.SIGKILL)
        running.communicate()
        there = scene.parts()
        scene.again(_env(head))
        assert 3 <= there < scene.parts()
        print("repeated requests:", scene.check(kills=1), file=sys.stderr)


def test_a_killed_head_is_resumed_on_another_cluster(scene: Scene) -> None:
    env = scene.server.env(os.environ)
    with ray_head(env) as head:
        running = scene.start(_env(head))
        scene.wait_for_parts(3)
        head.kill()
        output, _ = running.communicate(timeout=240)
        assert running.returncode != 0, output
    with ray_head(env) as other:
        scene.again(_env(other))
    print("repeated requests:", scene.check(kills=1), file=sys.stderr)


def test_ctrl_c_ends_with_130_and_lets_the_next_call_in(scene: Scene) -> None:
    """Threads wait in a Ray that was started here: whatever its end does to them, the code is Ctrl-C's."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job would inherit another
    try:
        running = scene.start({**scene.server.env(os.environ), "RAY_ADDRESS": ""})
    finally:
        signal.signal(signal.SIGINT, before)
    scene.wait_for_parts(2)
    running.send_signal(signal.SIGINT)
    output, _ = running.communicate(timeout=60)
    assert running.returncode == 130, output
    assert "interrupted; what was answered is kept" in output
    assert not list(Store.open(scene.url).list("main/leases/"))
