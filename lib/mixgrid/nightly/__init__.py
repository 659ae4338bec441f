"""The nightly job: the whole grid once more, under a date, and whether anything moved since the night before.

    one night at a time → ask the grid afresh → reduce, report → compare with the last night and a pinned baseline →
    ask what moved once more → drift → tell → delete old nights

A night that died is gone on with by the same command: everything but the verdict lies in the store.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow.compute as pc

from mixgrid.budget.books import ledger_folder
from mixgrid.budget.ledger import Caps, Ledger
from mixgrid.errors import BudgetStop, Incomplete, MixgridError, Regression, UserError, allowed
from mixgrid.nightly.drift import drifted, jumped, vanished
from mixgrid.nightly.manifest import NightManifest
from mixgrid.nightly.nights import Night, Pace, before, nights, record, retire, tonight
from mixgrid.nightly.summary import Facts, summary
from mixgrid.nightly.verdict import Verdict, judge
from mixgrid.plan.grid import Grid, resolve
from mixgrid.plan.layout import of_model
from mixgrid.plan.pending import listing
from mixgrid.predict import predict
from mixgrid.pricing import ZERO, priced
from mixgrid.records import Receipt, Test
from mixgrid.reduce import Reduction, load
from mixgrid.reduce.cells import inside
from mixgrid.reduce.grid import reduce_grid
from mixgrid.report import report
from mixgrid.store import Store
from mixgrid.store.lease import hold
from mixgrid.sweep import sweep
from mixgrid.yamlfile import read_yaml

Watch = Callable[[str, int, Receipt | None], None]


@dataclass(frozen=True)
class Job:
    """A nightly job, resolved: what it does, on which grid, in which store."""

    plan: NightManifest
    grid: Grid
    left_out: tuple[str, ...]  # paid models of the grid that no night may ask

    @property
    def store(self) -> Store:
        """Where every night lies."""
        return self.grid.store

    def asks(self, night: Night) -> Grid:
        """The grid in the night's namespace, where nothing of other nights is taken for an answer."""
        return self.grid.within(night.namespace)

    def again(self, night: Night) -> Grid:
        """The grid in the namespace of the night's second run."""
        return self.grid.within(night.second)


def open_job(path: str | Path, store_url: str | None = None) -> Job:
    """The job of a manifest; UserError where it, its grid or its baseline is not there."""
    path = Path(path)
    plan = read_yaml(path, NightManifest)
    whole = resolve(path.parent / plan.grid, store_url)
    allowed_to_pay = plan.paid.models if plan.paid else []
    for model in allowed_to_pay:
        if model not in whole.models:
            raise UserError(
                f"{path}: key 'paid.models': {plan.grid} has no model {model!r}; {allowed(model, whole.models)}"
            )
    left_out = tuple(m for m, entry in whole.models.items() if priced(entry) and m not in allowed_to_pay)
    grid = whole.of_models([m for m in whole.models if m not in left_out])
    job = Job(plan, grid, left_out)
    if plan.baseline:
        _pinned(job)
    return job


def nightly(job: Job, watch: Watch = lambda *_: None, day: str | None = None, now: datetime | None = None) -> Night:
    """Run, or go on with, the night; gives it as it ended. Held (exit 2) where another one is under way."""
    store, plan = job.store, job.plan
    store.check()
    with hold(store, f"{plan.prefix}/lease", f"the nights of {plan.prefix}"):
        known = nights(store, plan.prefix)
        night = tonight(known, plan.prefix, now or datetime.now(UTC), day)
        if night.ended:
            return night
        record(store, night)
        night, trouble = _ask(job, night, watch)
        ended = _judge(job, night, before(known, night), trouble)
        retire(store, nights(store, plan.prefix), plan.keep, plan.baseline and plan.baseline.split("/")[0])
    return ended


def outcome(night: Night) -> None:
    """Raise what the night's exit code says, for the command's end."""
    if night.exit == Incomplete.exit_code:
        raise Incomplete(f"night {night.day} is not complete; the same command goes on")
    if night.exit == BudgetStop.exit_code:
        raise BudgetStop(f"night {night.day}: the budget of the paid models ended it")
    if night.exit == Regression.exit_code:
        raise Regression(f"night {night.day}: scores got worse, and did so again in a second run")


def _ask(job: Job, night: Night, watch: Watch) -> tuple[Night, MixgridError | None]:
    """Answer the grid in the night's namespace, keeping the models' pace; what ended it early comes back."""
    pace = _Pace(watch)
    budget = job.plan.paid.usd if job.plan.paid else ZERO
    trouble = _answer(job, job.asks(night), budget, pace)
    return record(job.store, replace(night, pace=pace.added_to(night.pace))), trouble


def _answer(job: Job, grid: Grid, usd: Decimal, watch: Watch) -> MixgridError | None:
    """Free models as any grid, paid ones as a sweep of at most so many USD; what ended it early."""
    free, paid = ([m for m in grid.models if priced(grid.models[m]) is kind] for kind in (False, True))
    try:
        if free:
            predict(grid.of_models(free), watch, job.plan.max_failed)
        if paid and usd > 0:
            sweep(grid.of_models(paid), Caps(usd, None, {}), watch, job.plan.max_failed)
    except (Incomplete, BudgetStop) as error:
        return error
    return None


def _judge(job: Job, night: Night, last: Night | None, trouble: MixgridError | None) -> Night:
    """Reduce, report, compare, tell; the night's document gets its exit code last."""
    grid = job.asks(night)
    reduction = reduce_grid(grid)
    page = report(grid.store, night.namespace, reduction.id)[0]
    earlier = load(grid.store, last.namespace, last.reduction) if last else None
    models = tuple(sorted({s.model for s in reduction.scores} & set(grid.models)))
    pace = _with_cost(grid.store, night.namespace, night.pace)
    night = replace(night, reduction=reduction.id, models=models, pace=pace)
    incomplete = isinstance(trouble, Incomplete)  # where the money ended, what was answered is compared all the same
    verdicts: list[Verdict] = []
    try:
        verdicts = [] if incomplete else _verdicts(job, night, reduction, (last, earlier))
    except Incomplete as error:
        trouble = error
    jumps = job.plan.jumps
    facts = Facts(
        trouble=str(trouble or ""),
        page=page,
        left_out=job.left_out,
        verdicts=tuple(verdicts),
        jumped=tuple(jumped(earlier.scores, reduction.scores, jumps) if earlier else ()),
        drifted=tuple(drifted(last.pace, night.pace, jumps) if last else ()),
        vanished=tuple(vanished(last, night) if last else ()),
    )
    code = trouble.exit_code if trouble else 0
    night = replace(night, exit=Regression.exit_code if facts.regressed else code)
    return record(job.store, replace(night, summary=summary(night, facts)))


def _verdicts(
    job: Job, night: Night, reduction: Reduction, earlier: tuple[Night | None, Reduction | None]
) -> list[Verdict]:
    """Against the last night, and against the pinned baseline."""
    last, of_last = earlier
    sides = [(f"night {last.day}", of_last)] if last and of_last else []
    if job.plan.baseline:
        sides.append((f"baseline {job.plan.baseline}", _pinned(job)))
    bounds = job.plan.alpha, job.plan.max_drop
    return [judge(job.store, side, reduction, lambda tests: _again(job, night, tests), bounds) for side in sides]


def _again(job: Job, night: Night, tests: Sequence[Test]) -> tuple[Reduction | None, str]:
    """Ask the cells of these tests afresh, in a namespace of their own, and reduce; Incomplete where that fails."""
    left = _left(job, night)
    dear = {t.a.model for t in tests if priced(job.grid.models[t.a.model])} if left <= 0 else set()
    note = f"no money is left to ask {', '.join(sorted(dear))} again" if dear else ""
    tests = [t for t in tests if t.a.model not in dear]
    if not tests:
        return None, note
    cells = {(t.corpus, t.split, t.task, t.a.model, t.a.setting) for t in tests}
    slices = {(t.a.language, t.a.switching) for t in tests}
    grid = job.again(night).narrowed(
        lambda run: (run.corpus, run.split, run.task, run.model, run.setting) in cells,
        lambda item: any(inside((item.language, item.switching), name) for name in slices),
    )
    trouble = _answer(job, grid, left, lambda *_: None)
    if isinstance(trouble, Incomplete):
        raise Incomplete(f"the second run of what moved: {trouble}")
    return reduce_grid(grid), str(trouble or note)


def _left(job: Job, night: Night) -> Decimal:
    """USD of the night's budget that its first run has not spent, for the second."""
    if not job.plan.paid:
        return ZERO
    folder = ledger_folder(night.namespace, job.grid.manifest.name)
    ledger = Ledger(job.store, folder, Caps(job.plan.paid.usd, None, {}))
    return ledger.left(job.plan.paid.models, datetime.now(UTC).date().isoformat())[""]


def _pinned(job: Job) -> Reduction:
    assert job.plan.baseline
    namespace, _, name = job.plan.baseline.strip("/").partition("/")
    return load(job.store, namespace, name)


class _Pace:
    """Adds up what each model does while it passes the receipts on."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._receipts: dict[str, list[Receipt]] = {}

    def __call__(self, model: str, rows: int, receipt: Receipt | None) -> None:
        if receipt:
            self._receipts.setdefault(model, []).append(receipt)
        self._watch(model, rows, receipt)

    def added_to(self, pace: dict[str, Pace]) -> dict[str, Pace]:
        return {**pace, **{m: _sum(pace.get(m, Pace()), found) for m, found in self._receipts.items()}}


def _sum(pace: Pace, receipts: Sequence[Receipt]) -> Pace:
    seconds = (max(r.ended_ms for r in receipts) - min(r.began_ms for r in receipts)) / 1000
    tokens = sum(r.prompt_tokens + r.completion_tokens for r in receipts)
    return Pace(pace.tokens + tokens, pace.seconds + seconds)


def _with_cost(store: Store, namespace: str, pace: Mapping[str, Pace]) -> dict[str, Pace]:
    """The pace with what the rows of each model cost, by the rows themselves."""
    usd = dict.fromkeys(pace, 0.0)
    for model in pace:
        for part in listing(store, namespace).whole:
            if of_model(part.key, model):
                usd[model] += pc.sum(store.read(part, ["cost_usd"])["cost_usd"]).as_py() or 0.0
    return {model: replace(one, usd=usd[model]) for model, one in pace.items()}
