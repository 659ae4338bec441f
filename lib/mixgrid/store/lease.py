"""One writer at a time: a lease is a folder of the store, held by the only flag in it, which its holder renews.

    with hold(store, "main/leases/toy", "the answers of model toy in namespace main") as lease:
        lease.check()                                         # LeaseLost, if somebody took the flag down

A writer raises a flag of its own, then looks: alone, it holds the lease; else it takes its flag down again. Whoever
looks last sees both, so no two can hold it, on every store that lists what is written: no conditional writes are
needed, which not every S3 server has. A flag that stops changing is its dead holder's, and whoever waits for it takes
it down. No clock is compared with another machine's.
"""

import contextlib
import json
import logging
import os
import random
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from mixgrid.errors import Incomplete, UserError
from mixgrid.store.base import NotFound, StoreError
from mixgrid.store.store import Store

log = logging.getLogger(__name__)

BEAT_S = 10.0  # a holder renews its flag this often
LOOKS = 4  # a flag that is the same so often, a beat apart, is a dead holder's; a store that is away gives no look


def _now() -> float:
    """Seconds that go on while the machine sleeps, as those of other machines do."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class Held(UserError):  # noqa: N818 - reads as what it says
    """Somebody else holds the lease; nothing was started."""


class LeaseLost(Incomplete):
    """The lease was broken while it was held: its holder stood still for too long, or somebody removed its flag."""


@dataclass(frozen=True)
class Flag:
    """What a holder says of itself."""

    what: str  # it writes
    host: str
    machine: str  # what tells that a process id is one of this machine, and so can be looked up
    pid: int
    started: str  # by the machine's own clock: process ids are used again
    since: str
    at: str  # of the last beat; for people, as nothing is concluded from it
    beat_s: float
    beat: int = 0

    def bytes(self) -> bytes:
        """As it stands in the store."""
        return json.dumps(asdict(self)).encode()


@dataclass
class Lease:
    """A lease that is held; `hold` gives it."""

    store: Store
    key: str
    what: str
    flag: Flag
    lost: bool = False
    confirmed: float = field(default_factory=_now)
    ended: threading.Event = field(default_factory=threading.Event)

    def check(self) -> None:
        """LeaseLost where this process is no longer the holder."""
        if self.lost:
            raise LeaseLost(f"the lease on {self.what} was broken while it was held; see who writes there now")

    def unconfirmed_s(self) -> float:
        """Seconds since the flag was last renewed: long where the store is away, or where this machine stood still."""
        return _now() - self.confirmed

    def renew(self) -> None:
        """Renew the flag every beat until `ended`, or until the flag is gone. The store may be away meanwhile."""
        flag = self.flag
        while not self.lost and not self.ended.wait(flag.beat_s):
            flag = replace(flag, beat=flag.beat + 1, at=_utc())
            with contextlib.suppress(StoreError):
                looked = _now()
                if not self.store.exists(self.key):
                    self.lost = True
                    continue
                self.store.put(self.key, flag.bytes())
                if _now() - looked > 2 * flag.beat_s:  # somebody may have taken it down meanwhile: it is raised again
                    self.lost = True
                    _take_down(self.store, self.key)
                else:
                    self.confirmed = _now()


@contextmanager
def hold(store: Store, folder: str, what: str, beat_s: float = BEAT_S) -> Iterator[Lease]:
    """Hold the lease of a folder. Held (exit 2) where a living writer does; a dead one is passed over after 4 beats."""
    quick = replace(store, patience_s=0.0)  # a beat that fails is followed by another one
    lease = Lease(quick, f"{folder}/{secrets.token_hex(8)}", what, _own_flag(what, beat_s))
    while not _raised(store, folder, lease):
        time.sleep(random.uniform(0.05, 0.5))  # two that came at once go apart
    thread = threading.Thread(target=lease.renew, name="lease", daemon=True)
    thread.start()
    try:
        yield lease
    finally:
        lease.ended.set()
        thread.join()
        _take_down(store, lease.key)


def _raised(store: Store, folder: str, lease: Lease) -> bool:
    """Raise the flag where no other one is; whether it was the only one then."""
    for other in _flags(store, folder):
        _pass_over_the_dead(store, other, lease.what)
    alone = False
    store.put(lease.key, lease.flag.bytes())
    try:
        alone = _flags(store, folder) == [lease.key]
    finally:
        if not alone:
            _take_down(store, lease.key)
    return alone


def _flags(store: Store, folder: str) -> list[str]:
    return [entry.key for entry in store.list(f"{folder}/")]


def _pass_over_the_dead(store: Store, key: str, what: str) -> None:
    """Take down a flag whose holder is dead; Held where it lives."""
    try:
        before = store.get(key)
        flag = _read(before)
        if flag and flag.machine == _machine():
            alive = _started(flag.pid) == flag.started
        else:
            alive = _renewed(store, key, before, flag.beat_s if flag else BEAT_S, what)
    except NotFound:  # it was taken down meanwhile
        return
    if alive:
        who = f"process {flag.pid} on {flag.host}, since {flag.since}" if flag else "an unnamed process"
        raise Held(
            f"another writer has {what}: {who}; wait for it, stop it, or write elsewhere (another namespace). One that "
            f"has ended is passed over within {LOOKS * BEAT_S:.0f} s; its flag is {key!a} in the store {store.url}"
        )
    log.warning("the writer that had %s has ended (%s); this one goes on", what, flag.host if flag else key)
    _take_down(store, key)


def _renewed(store: Store, key: str, before: bytes, beat_s: float, what: str) -> bool:
    """Whether the flag changes within the looks that a holder is given."""
    log.warning("another writer had %s; looking for %.0f s whether it still lives", what, LOOKS * beat_s)
    for _ in range(LOOKS):
        time.sleep(beat_s)
        if store.get(key) != before:
            return True
    return False


def _take_down(store: Store, key: str) -> None:
    try:
        store.delete(key)
    except StoreError as error:
        log.warning("the lease's flag stays until somebody waits for it: %s", error)


def _read(data: bytes) -> Flag | None:
    """A flag's text; None where it is half-written or foreign."""
    try:
        return Flag(**json.loads(data))
    except (ValueError, TypeError):
        return None


def holders(store: Store, folder: str) -> list[Flag]:
    """Who says that it holds a lease below a folder; a killed one may still stand there, with an old last beat."""
    found = []
    for key in _flags(store, folder):
        with contextlib.suppress(NotFound):
            found.append(_read(store.get(key)))
    return [flag for flag in found if flag]


def _utc() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _own_flag(what: str, beat_s: float) -> Flag:
    pid, now = os.getpid(), _utc()
    return Flag(what, socket.gethostname(), _machine(), pid, _started(pid), now, now, beat_s)


def _machine() -> str:
    """The boot of the machine and its space of process ids; where Linux does not tell, equal to no other."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip() + str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return secrets.token_hex(8)


def _started(pid: int) -> str:
    """When a process of this machine began, in clock ticks since boot; empty where it has ended."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if state == "Z" else fields[18]
