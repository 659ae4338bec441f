"""A lease has one holder at a time, on a folder, on a server with conditional writes and on one without."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mixgrid.store import Store
from mixgrid.store import lease as module
from mixgrid.store.lease import Held, LeaseLost, hold, holders
from tests.servers import S3Server, rclone, use

ROOT = Path(__file__).resolve().parents[2]
PLACE, WHAT, BEAT = "main/leases/toy", "the answers of toy", 0.1

HOLDER = """
import sys, time
from mixgrid.store import Store
from mixgrid.store import lease as module
from mixgrid.store.lease import hold
with hold(Store.open(sys.argv[1]), sys.argv[2], "it", 0.1):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture(params=["folder", "rclone", "moto"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    if request.param == "folder":
        return Store.open(str(tmp_path / "store"))
    server: S3Server = request.getfixturevalue(f"{request.param}_server")
    use(server, monkeypatch)
    return Store.open(server.url(f"lease-{tmp_path.name}"))


def flags(store: Store) -> list[str]:
    return [entry.key for entry in store.list(f"{PLACE}/")]


def pretend(store: Store, key: str, **changes: object) -> None:
    """Change what a flag says, as another machine would have written it."""
    store.put(key, json.dumps({**store.get_json(key), **changes}).encode())


def test_a_second_writer_is_told_who_holds_it_and_since_when(store: Store) -> None:
    with hold(store, PLACE, WHAT, BEAT) as lease:
        with pytest.raises(
            Held, match=rf"{WHAT}: process {os.getpid()} on .*, since 20.*within 40 s; its flag"
        ) as held:
            hold(store, PLACE, WHAT, BEAT).__enter__()
        assert held.value.exit_code == 2
        assert flags(store) == [lease.key]
        assert [(flag.pid, flag.at >= flag.since) for flag in holders(store, "main/leases")] == [(os.getpid(), True)]
        with hold(store, "main/leases/other", "others", BEAT):
            lease.check()
    assert flags(store) == []
    with hold(store, PLACE, WHAT, BEAT):
        pass


def test_a_living_holder_elsewhere_is_seen_by_its_beat(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(module, "_machine", lambda: "another")
        holder = hold(store, PLACE, WHAT, 1.0)
        lease = holder.__enter__()
    with pytest.raises(Held, match="another writer has"):
        hold(store, PLACE, WHAT, 1.0).__enter__()
    lease.check()
    holder.__exit__(None, None, None)


def test_a_dead_holder_elsewhere_is_passed_over_after_its_beats(store: Store) -> None:
    store.put(f"{PLACE}/old", b"")
    with hold(store, f"{PLACE}-x", WHAT, BEAT) as sample:
        store.put(f"{PLACE}/old", store.get(sample.key))
    pretend(store, f"{PLACE}/old", machine="another")
    since = time.monotonic()
    with hold(store, PLACE, WHAT, BEAT) as lease:
        assert time.monotonic() - since >= 4 * BEAT
        assert flags(store) == [lease.key]


def test_of_many_that_come_at_once_one_gets_it(store: Store) -> None:
    def attempt(_: int) -> bool:
        try:
            with hold(store, PLACE, WHAT, 1.0) as lease:  # a beat that is late by two is lost, as on a busy machine
                inside.append(lease.key)
                time.sleep(1.5)
                assert flags(store)
                return True
        except Held:
            return False

    inside: list[str] = []
    with ThreadPoolExecutor(6) as threads:
        assert sum(threads.map(attempt, range(6))) == 1
    assert len(inside) == 1
    assert flags(store) == []


def test_a_killed_holder_of_this_machine_is_passed_over_at_once(tmp_path: Path) -> None:
    store = Store.open(str(tmp_path / "store"))
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, store.url, PLACE], stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "lib")},
    )  # fmt: skip
    assert holder.stdout
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(Held, match=f"process {holder.pid}"):
        hold(store, PLACE, WHAT).__enter__()
    holder.send_signal(signal.SIGKILL)
    time.sleep(0.3)  # not waited for: to the system it is still there, and dead
    with hold(store, PLACE, WHAT) as lease:
        assert flags(store) == [lease.key]
    holder.wait()
    holder.stdout.close()


def test_who_lost_it_is_told(store: Store) -> None:
    with hold(store, PLACE, WHAT, BEAT) as lease:
        store.delete(lease.key)
        deadline = time.monotonic() + 20
        while not lease.lost and time.monotonic() < deadline:
            time.sleep(0.05)
        with pytest.raises(LeaseLost, match=f"lease on {WHAT} was broken"):
            lease.check()
        assert flags(store) == []


def test_a_store_that_is_away_for_a_while_costs_nobody_the_lease(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with rclone(tmp_path) as server:
        use(server, monkeypatch)
        store = Store.open(server.url("grid"))
        with hold(store, PLACE, WHAT, BEAT) as lease:
            server.kill()
            time.sleep(1.5)
            away = lease.unconfirmed_s()
            server.start()
            deadline = time.monotonic() + 20
            while lease.unconfirmed_s() > away / 2 and time.monotonic() < deadline:
                time.sleep(0.05)
            lease.check()
            assert away > 1 > lease.unconfirmed_s()
