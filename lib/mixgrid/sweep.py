"""A sweep of paid models: the main flow in rounds, under one ledger, so that it ends balanced wherever the money ends.

    price everything → freeze the whole grid → hold the budget → as many units as the money is sure to buy for all
    models, again and again → settle

How much a round may take is told by what the rounds before it cost; the caps themselves hold whatever is told.
"""

import threading
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from mixgrid.budget.base import Purse
from mixgrid.budget.books import compact, ledger_folder, lines
from mixgrid.budget.ledger import Caps, Grant, Ledger
from mixgrid.budget.purse import LedgerPurse
from mixgrid.errors import BudgetStop, Incomplete, UserError
from mixgrid.manifest import Budget
from mixgrid.plan.costs import Costs, costs, prices
from mixgrid.plan.frozen import freeze
from mixgrid.plan.grid import Grid
from mixgrid.plan.order import Unit, only, pending_units, prefix, units
from mixgrid.plan.pending import Answered, answered, counts, listing
from mixgrid.plan.preflight import environment
from mixgrid.plan.spent import means
from mixgrid.predict import Outcome, Watch, predict, record
from mixgrid.pricing import ZERO
from mixgrid.store import Store
from mixgrid.store.lease import LeaseLost, hold

if TYPE_CHECKING:
    from ray.actor import ActorHandle

SURE = Decimal("0.85")  # of the money that is left may be planned on: means are of a sample


def caps_of(grid: Grid, budget: Budget | None) -> Caps:
    """The caps of a budget; UserError where there is none, or it names no model of the grid."""
    if budget is None:
        raise UserError(f"{grid.path}: there is no budget; add `budget: {{usd: N}}`, or give --budget-usd N")
    for model in budget.models:
        if model not in grid.models:
            known = ", ".join(grid.models)
            raise UserError(f"{grid.path}: a cap is set for model {model!r}, which the grid has not; it has {known}")
    return Caps(budget.usd, budget.day, budget.models)


def answer(grid: Grid, watch: Watch = lambda *_: None, max_failed: float = 1.0) -> Outcome:
    """Ask what the grid lacks: within its manifest's budget where it has one, else only what costs nothing."""
    if grid.manifest.budget is None:
        return predict(grid, watch, max_failed)
    return sweep(grid, caps_of(grid, grid.manifest.budget), watch, max_failed)


def sweep(grid: Grid, caps: Caps, watch: Watch = lambda *_: None, max_failed: float = 1.0) -> Outcome:
    """Ask what the grid lacks and the caps allow. BudgetStop: they ended it; Incomplete: something else did."""
    since, namespace = time.monotonic(), grid.manifest.namespace
    order = units(grid)
    priced = prices(grid)
    worst = costs(grid, priced, order)
    grid.store.check()
    freeze(grid, environment())
    folder = ledger_folder(namespace, grid.manifest.name)
    with hold(grid.store, f"{folder}/lease", f"the budget of sweep {grid.manifest.name}") as lease:
        compact(grid.store, folder, priced)
        money = Money(grid.store, folder, caps, lease.key, priced)
        trouble: Incomplete | None = None
        while lacking := pending_units(grid, order, _have(grid)):
            chosen = round_of(lacking, worst, money)
            try:
                predict(only(grid, chosen), watch, 1.0, money.purse)
            except Incomplete as error:
                _stop_if_ended(grid, money, since)
                if trouble:  # a second time: it will not pass by itself
                    raise
                trouble = error
            else:
                trouble = None
        return predict(grid, watch, max_failed, money.purse)


def _have(grid: Grid) -> dict[str, Answered]:
    parts = listing(grid.store, grid.manifest.namespace).whole
    return {model: answered(grid.store, parts, model) for model in grid.models}


def round_of(lacking: Sequence[Unit], worst: Costs, money: "Money") -> list[Unit]:
    """The next units, of one seed: all that the money left is sure to buy for all models, and at least one."""
    left, paid = money.left(), money.means()
    same_seed = [unit for unit in lacking if unit.seed == lacking[0].seed]
    spent = dict.fromkeys(left, ZERO)
    chosen: list[Unit] = []
    for unit in same_seed:
        for model in (m for m in left if m):
            cost = worst.get((unit, model))
            if cost:
                usd = min(cost.worst_usd, cost.requests * paid[model]) if model in paid else cost.worst_usd
                spent[model] += usd
                spent[""] += usd
        if chosen and any(spent[scope] > SURE * left[scope] for scope in left):
            break
        chosen.append(unit)
    return chosen


def _stop_if_ended(grid: Grid, money: "Money", since: float) -> None:
    """BudgetStop where a cap ended the round, recorded in every run's folder."""
    ended = money.ended()
    if not ended:
        return
    after = counts(grid)
    codes = {run_id: BudgetStop.exit_code if c.pending else 0 for run_id, c in after.items()}
    record(grid, after, codes, time.monotonic() - since)
    part = prefix(grid, _have(grid))
    rows = sum(c.pending for c in after.values())
    raise BudgetStop(
        f"the budget ended the sweep ({'; '.join(ended.values())}): {part.units} of {part.of} units are complete for "
        f"all models, {rows} rows are pending; what was answered is kept, and a higher budget goes on from there"
    )


@dataclass(frozen=True)
class _Held:
    """Raises where the lease on the budget has been taken from us."""

    store: Store
    key: str

    def __call__(self) -> None:
        if not self.store.exists(self.key):
            raise LeaseLost("the lease on the budget was broken while it was held; see who spends from it now")


@dataclass(frozen=True)
class SharedLedger:
    """The ledger, as every engine's process sees it: it lives in an actor at the driver."""

    handle: "ActorHandle[Ledger]"

    @classmethod
    def open(cls, store: Store, folder: str, caps: Caps, key: str) -> "SharedLedger":
        """Beside the driver, so that no other node's loss takes it away."""
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        actor = ray.remote(num_cpus=0, scheduling_strategy=here)(Ledger)
        return cls(actor.remote(store, folder, caps, _Held(store, key)))

    def grant(self, wallet: str, model: str, day: str, need: Decimal, want: Decimal) -> Grant:
        """As Ledger does."""
        grant: Grant = _got(self.handle.grant.remote(wallet, model, day, need, want))
        return grant

    def give_back(self, wallet: str, usd: Decimal, resting: bool) -> None:
        """As Ledger does."""
        _got(self.handle.give_back.remote(wallet, usd, resting))

    def alive(self, wallets: Iterable[str]) -> Mapping[str, float]:
        """As Ledger does."""
        gates: Mapping[str, float] = _got(self.handle.alive.remote(list(wallets)))
        return gates

    def gate(self, provider: str, wait_s: float) -> None:
        """As Ledger does."""
        _got(self.handle.gate.remote(provider, wait_s))

    def stop(self, why: str) -> None:
        """As Ledger does."""
        _got(self.handle.stop.remote(why))

    def ended(self) -> dict[str, str]:
        """As Ledger does."""
        found: dict[str, str] = _got(self.handle.ended.remote())
        return found


def _got(reference: Any) -> Any:
    try:
        return ray.get(reference)
    except RayError as error:
        last = str(error).strip().splitlines()[-1]
        raise Incomplete(f"the sweep's ledger does not answer ({last}); nothing more is sent") from error


@dataclass
class Money:
    """The driver's view of the ledger; its actor is started when Ray is there."""

    store: Store
    folder: str
    caps: Caps
    key: str  # of the lease on the budget
    models: Collection[str]  # that cost money
    _shared: SharedLedger | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def purse(self, model: str) -> Purse:
        """A model's access to the money."""
        with self._lock:
            self._shared = self._shared or SharedLedger.open(self.store, self.folder, self.caps, self.key)
        return LedgerPurse(self.store, self.folder, model, self._shared)

    def ended(self) -> dict[str, str]:
        """Which models a cap ended, and why; "" stands for all."""
        return self._shared.ended() if self._shared else {}

    def left(self) -> dict[str, Decimal]:
        """USD by model that it may still spend; "": all together."""
        ledger = Ledger(self.store, self.folder, self.caps)
        return ledger.left(self.models, datetime.now(UTC).date().isoformat())

    def means(self) -> Mapping[str, Decimal]:
        """USD that an answer has cost so far, by model."""
        return means(lines(self.store, self.folder))
