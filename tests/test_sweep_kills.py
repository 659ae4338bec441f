"""2,000 requests to a server of which a fifth goes wrong, under a cap, with five kill -9 of the driver.

Every item is answered once, no answer that was booked is bought again, the ledger's total is the server's own bill, and
at no instant of the server's clock did what it billed, with what it was working on, pass the cap. And a small one of it
with the store on a real S3 server.
"""

import os
import random
import secrets
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pytest

from mixgrid.budget.base import Attempt
from mixgrid.budget.books import accounts, attempts_folder, ledger_folder
from mixgrid.plan.grid import Grid, resolve
from mixgrid.pricing import ZERO
from mixgrid.records import Prediction
from mixgrid.schemas import from_table
from mixgrid.store import Store
from tests.faultserver import FaultServer, Plan, fault_server
from tests.helpers import corpus_rows, small_grid
from tests.rayhead import BIN, RayHead, ray_head

pytestmark = [pytest.mark.ray, pytest.mark.kills, pytest.mark.slow, pytest.mark.timeout(1500)]

FAULTS = {
    "429": 0.04, "500": 0.02, "503": 0.02, "early_reset": 0.02, "reset": 0.02, "half": 0.02, "garbage": 0.01,
    "wrong_usage": 0.01, "no_usage": 0.01, "empty": 0.01, "eats": 0.01, "duplicate_id": 0.01,
}  # fmt: skip
SOURCES, TINY, BIG = 500, Decimal("0.08"), Decimal("2.5")
SOME = Decimal("0.15")
FEW = Decimal("0.3")  # for 80 requests, of which those in flight at the kill stay reserved, with what was granted
BATCH, IN_FLIGHT = 32, 4


@dataclass
class Scene:
    """The grid, the server and the cluster of one test, and the commands that were killed."""

    manifest: Path
    store: str
    server: FaultServer
    head: RayHead

    def start(self, usd: Decimal) -> subprocess.Popen[str]:
        command = [str(BIN / "mixgrid"), "sweep", str(self.manifest), "--store", self.store]
        env = {**self.head.env, "RAY_ADDRESS": f"127.0.0.1:{self.head.port}"}
        return subprocess.Popen(
            [*command, "--budget-usd", str(usd)], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def killed(self, usd: Decimal, answers: int, chance: random.Random) -> None:
        """Start, kill at a random moment after so many more answers."""
        wanted = self.answers() + answers
        self.killed_once(usd, lambda: self.answers() >= wanted, chance)

    def killed_once(self, usd: Decimal, so_far: Callable[[], bool], chance: random.Random) -> None:
        """Start, kill at a random moment after something has happened."""
        running = self.start(usd)
        deadline = time.monotonic() + 240
        while not so_far() and running.poll() is None:
            assert time.monotonic() < deadline, "nothing was asked"
            time.sleep(0.05)
        time.sleep(chance.uniform(0, 1.0))
        running.send_signal(signal.SIGKILL)
        output, _ = running.communicate()
        assert running.returncode == -signal.SIGKILL, output

    def ended(self, usd: Decimal, code: int) -> str:
        """To its end, which is this one."""
        running = self.start(usd)
        output, _ = running.communicate(timeout=600)
        assert running.returncode == code, output
        return output

    def answers(self) -> int:
        return sum(self.server.state().answers.values())

    def attempts(self) -> list[Attempt]:
        store = Store.open(self.store)
        parts = store.parts(attempts_folder(ledger_folder("main", "small"), "m"), "attempts").whole
        found = {a.attempt_id: a for part in parts for a in from_table(Attempt, store.read(part))}
        return list(found.values())

    def committed(self) -> Decimal:
        books = accounts(Store.open(self.store), ledger_folder("main", "small"))
        return sum((a.committed for a in books.values()), ZERO)


@contextmanager
def scene(
    folder: Path,
    key: str,
    store: str,
    sources: int = SOURCES,
    seeds: Sequence[int] = (1, 2),
    engine: str = "openai",
    faults: Mapping[str, float] = FAULTS,
    **limits: int,
) -> Iterator[Scene]:
    plan = Plan(faults=dict(faults), latency_s=0.4, retry_after="ms", batch_polls=6)
    with fault_server(plan) as server, ray_head({**os.environ, "TEST_API_KEY": key}) as head:
        api = {"url": server.url, "key_env": "TEST_API_KEY", "poll_s": 1, **limits}
        model = {"engine": engine, "checkpoint": "m", "context_length": 4096, "price": {"input": 1, "output": 4}}
        manifest = small_grid(
            folder, models={"m": {**model, "api": api}}, asked=["m"], rows=corpus_rows(sources), seeds=list(seeds),
            resources={"m": {"gpus": 0, "batch_size": BATCH, "batches_in_flight": IN_FLIGHT}},
        )  # fmt: skip
        yield Scene(manifest, store, server, head)


def test_five_kills_lose_nothing_double_nothing_and_never_pass_a_cap(tmp_path: Path) -> None:
    chance, key = random.Random(7), f"sk-{secrets.token_hex(16)}"
    with scene(tmp_path, key, str(tmp_path / "store")) as one:
        for _ in range(2):
            one.killed(TINY, 60, chance)
        said = one.ended(TINY, code=4)
        assert "the budget ended the sweep" in said
        _within(one, TINY)
        for _ in range(3):
            one.killed(BIG, 250, chance)
        one.ended(BIG, code=0)
        _within(one, BIG)
        grid = resolve(one.manifest, one.store)
        _everything_once(grid, 2000)
        _nothing_bought_twice(one, 2000)
        _the_ledger_s_total_is_the_server_s(one, 1900)
        _the_key_is_nowhere(one, key)
        _tell(one)


def test_sixty_four_at_a_time_and_two_kills_pass_no_cap(tmp_path: Path) -> None:
    """Nothing but the cap and the kills slows it down, so the last money is asked for by many at once."""
    chance, key = random.Random(11), f"sk-{secrets.token_hex(16)}"
    with scene(
        tmp_path, key, str(tmp_path / "store"), sources=500, seeds=[1], faults={}, requests_per_minute=60_000
    ) as one:
        for _ in range(2):
            one.killed(SOME, 200, chance)
        one.ended(SOME, code=4)
        _within(one, SOME)
        assert one.server.state().most_at_once > 48
        one.ended(BIG, code=0)
        _within(one, BIG)
        _everything_once(resolve(one.manifest, one.store), 1000)
        _nothing_bought_twice(one, 1000)
        _tell(one)


def test_with_its_ledger_on_s3_a_sweep_that_was_killed_goes_on_and_is_billed_as_the_server_says(
    tmp_path: Path, s3_store_url: str
) -> None:
    chance, key = random.Random(3), f"sk-{secrets.token_hex(16)}"
    with scene(tmp_path, key, s3_store_url, sources=40, seeds=[1]) as one:
        one.killed(FEW, 20, chance)
        one.ended(FEW, code=0)
        _within(one, FEW)
        _everything_once(resolve(one.manifest, one.store), 80)
        _nothing_bought_twice(one, 80)
        _the_ledger_s_total_is_the_server_s(one, 70)
        _the_key_is_nowhere(one, key)
        _tell(one)


def test_a_batch_is_waited_for_by_the_next_sweep_when_the_one_that_sent_it_was_killed(tmp_path: Path) -> None:
    chance, key = random.Random(5), f"sk-{secrets.token_hex(16)}"
    with scene(tmp_path, key, str(tmp_path / "store"), sources=10, seeds=[1], engine="openai-batch") as one:
        one.killed_once(FEW, lambda: one.server.state().statuses["batch"] == 1, chance)
        assert not one.attempts()
        one.ended(FEW, code=0)
        _within(one, FEW)
        _everything_once(resolve(one.manifest, one.store), 20)
        _nothing_bought_twice(one, 20)
        _the_ledger_s_total_is_the_server_s(one, 19)
        assert one.server.state().statuses["batch"] == 1
        assert set(one.server.state().answers.values()) == {1}


def _within(one: Scene, cap: Decimal) -> None:
    state = one.server.state()
    assert Decimal(state.most_exposed) / 10**12 <= cap
    assert one.committed() <= cap


def _everything_once(grid: Grid, count: int) -> None:
    parts = grid.store.parts("main/predictions").whole
    rows = [(p.run_id, p.item_id) for part in parts for p in from_table(Prediction, grid.store.read(part))]
    wanted = {(run.run_id, item.item_id) for group in grid.groups for run in group.runs for item in group.items}
    assert len(wanted) == count
    assert set(rows) == wanted
    assert len(rows) == len(wanted)


def _nothing_bought_twice(one: Scene, count: int) -> None:
    """Each request has one booked answer; whatever else the server answered was never heard of, or held no answer."""
    bought = Counter(a.request_id for a in one.attempts() if a.ending == "settled" and a.answer)
    assert len(bought) == count
    assert {r: n for r, n in bought.items() if n > 1} == {}


def _the_ledger_s_total_is_the_server_s(one: Scene, most: int) -> None:
    """Of what was settled by price: id for id, so to the last digit."""
    bills = Counter((i, usd) for i, _, usd, _ in one.server.state().bills)
    known = [a for a in one.attempts() if a.ending == "settled" and a.known_by == "priced"]
    booked = Counter((a.response_id, int((a.billed_usd or ZERO) * 10**12)) for a in known)
    assert len(known) > most
    assert booked - bills == Counter()


def _the_key_is_nowhere(one: Scene, key: str) -> None:
    """In no object of the store, no log of the cluster, no file of the grid."""
    store = Store.open(one.store)
    for entry in store.list():
        text = str(store.read(entry.key).to_pylist()) if entry.key.endswith(".parquet") else store.get(entry.key)
        assert key not in (text if isinstance(text, str) else text.decode("utf-8", "replace")), entry.key
    for file in [*one.head.log.parent.rglob("*"), *one.manifest.parent.iterdir()]:
        if file.is_file() and not file.is_symlink():
            assert key.encode() not in file.read_bytes(), file


def _tell(one: Scene) -> None:
    """The figures, for `pytest -s`."""
    state, attempts = one.server.state(), one.attempts()
    endings = Counter(a.ending for a in attempts)
    settled = sum((a.billed_usd or ZERO for a in attempts if a.ending == "settled"), ZERO)
    print(
        f"server: {sum(state.answers.values())} answers billed {state.billed / 1e12:.6f} USD, at most "
        f"{state.most_exposed / 1e12:.6f} exposed; ledger: {dict(endings)}, settled {settled:.6f}, "
        f"committed {one.committed():.6f} USD",
        file=sys.stderr,
    )
