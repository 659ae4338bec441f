"""The main flow: manifest → plan → prompts → engine → predictions, resumed where an earlier call ended.

    hold the models' leases → freeze the runs' plans → see what is lacking and that it can be asked → all models side
    by side, as far as Ray has room: copy what other runs paid for, ask the rest → settle

Anything may be killed at any time; the same call goes on and repeats at most what was in flight.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain
from queue import SimpleQueue

from mixgrid.actor import commit
from mixgrid.budget.base import Purse
from mixgrid.corpora.snapshot import write_snapshot
from mixgrid.errors import Incomplete, MixgridError, UserError
from mixgrid.plan.events import tell
from mixgrid.plan.frozen import freeze, tell_end
from mixgrid.plan.grid import Grid
from mixgrid.plan.layout import lease_folder, writes
from mixgrid.plan.pending import Answered, Count, Pending, answered, counts, listing, pending
from mixgrid.plan.preflight import check_models, environment
from mixgrid.plan.progress import spent
from mixgrid.pool import Pool, connect, local
from mixgrid.pricing import priced
from mixgrid.records import Prediction, Receipt, Request, Run, Work
from mixgrid.schemas import from_table
from mixgrid.store import StoreError
from mixgrid.store.lease import Lease, hold

Watch = Callable[[str, int, Receipt | None], None]  # a model, the rows it lacked, a receipt (None: it starts)
Purses = Callable[[str], Purse]  # a model's access to the sweep's money; called when Ray is there


@dataclass(frozen=True)
class Outcome:
    """How a call ended, in rows of the grid that it was given."""

    planned: int
    done: int
    failed: int
    asked: int
    copied: int
    engines_started: int
    seconds: float


def predict(
    grid: Grid, watch: Watch = lambda *_: None, max_failed: float = 1.0, purses: Purses | None = None
) -> Outcome:
    """Ask everything that the grid lacks. Incomplete: rows are pending, or a run has a larger share failed.

    UserError where nothing was started: something is wrong with the input, or another writer holds a model's lease.
    """
    since, namespace = time.monotonic(), grid.manifest.namespace
    grid.store.check()
    with ExitStack() as stack:
        leases = {
            model: stack.enter_context(hold(grid.store, lease_folder(namespace, model), writes(model, namespace)))
            for model in grid.models
        }
        for part in grid.slices:
            write_snapshot(part.whole, grid.store, part.snapshot)
        freeze(grid, environment())
        parts = listing(grid.store, namespace).whole
        have = {model: answered(grid.store, parts, model) for model in grid.models}
        before = counts(grid, have)
        lacking = [m for m in grid.models if any(before[r.run_id].pending for r in grid.runs if r.model == m)]
        check_models(grid, lacking, here=local())
        if purses is None:
            _refuse_priced(grid, lacking)
        work, trouble = _answer_models(grid, lacking, have, _guarded(watch, leases), purses)
        try:
            after = counts(grid) if lacking else before
            return _settle(grid, after, work, time.monotonic() - since, max_failed)
        except (Incomplete, StoreError) as error:
            raise Incomplete("; ".join(map(str, [*trouble, error]))) from error


def _refuse_priced(grid: Grid, models: Sequence[str]) -> None:
    """UserError where a model that costs money would be asked without a budget."""
    found = [model for model in models if priced(grid.models[model])]
    if found:
        raise UserError(
            f"{grid.path}: {', '.join(found)} may cost money, and there is no budget: add `budget: {{usd: N}}`, or use "
            "`mixgrid sweep --budget-usd N`; a server of your own is declared with `price: free` in models.yaml"
        )


def _guarded(watch: Watch, leases: Mapping[str, Lease]) -> Watch:
    """The watch, called by one model at a time, each of which ends when its lease is lost."""
    one = threading.Lock()

    def guarded(model: str, rows: int, receipt: Receipt | None) -> None:
        leases[model].check()
        with one:
            watch(model, rows, receipt)

    return guarded


def _answer_models(
    grid: Grid, models: Sequence[str], have: Mapping[str, Answered], watch: Watch, purses: Purses | None
) -> tuple[tuple[int, int, int], list[MixgridError]]:
    """All models' turns: rows asked, rows copied, engines started; and what went wrong, which stops no other model."""

    def act(model: str, shared: _Shared) -> tuple[int, int]:
        try:
            return _answer_model(grid, model, have[model], shared, watch, purses)
        except MixgridError as error:  # told now: the others may take hours
            if shared.stopped.is_set():
                raise
            tell(grid.store, grid.manifest.namespace, model, str(error).removeprefix(f"model {model}: "))
            raise

    ended = _side_by_side(models, act)
    done = [end for end in ended if not isinstance(end, MixgridError)]
    trouble = [end for end in ended if isinstance(end, MixgridError)]
    work = sum(a for a, _ in done), sum(c for _, c in done), sum(a > 0 for a, _ in done)
    if trouble and not any(work) and all(isinstance(error, UserError) for error in trouble):
        raise UserError("; ".join(map(str, trouble)))
    return work, trouble


@dataclass(frozen=True)
class _Shared:
    """What the models' threads share with the main one."""

    calls: "SimpleQueue[str]" = field(default_factory=SimpleQueue)  # a model whose turn has ended; "": start Ray
    connected: "Future[None]" = field(default_factory=Future)
    stopped: threading.Event = field(default_factory=threading.Event)  # the call is over, or was interrupted
    rendering: threading.Lock = field(default_factory=threading.Lock)  # the first engine starts before the last prompt

    def ray(self) -> None:
        """Have Ray started, by the main thread: only there can it see to its own end."""
        self.calls.put("")
        self.connected.result()

    def connect(self) -> None:
        """Start Ray, once, or tell every thread why not."""
        if self.connected.done():
            return
        try:
            connect()
        except MixgridError as error:
            self.connected.set_exception(error)
        else:
            self.connected.set_result(None)


def _side_by_side(
    models: Sequence[str], act: Callable[[str, _Shared], tuple[int, int]]
) -> list[tuple[int, int] | MixgridError]:
    """Each model's turn in a thread: what Ray has no room for waits there. A daemon, so that Ctrl-C ends the call."""
    shared, ended = _Shared(), dict[str, tuple[int, int] | MixgridError]()

    def turn(model: str) -> None:
        ended[model] = MixgridError(f"model {model}: something unforeseen ended its turn; the trace is above")
        try:
            ended[model] = act(model, shared)
        except MixgridError as error:
            ended[model] = error
        finally:
            shared.calls.put(model)

    for model in models:
        threading.Thread(target=turn, args=[model], name=f"model {model}", daemon=True).start()
    waiting = set(models)
    try:
        while waiting:
            call = shared.calls.get()
            waiting.discard(call) if call else shared.connect()
    finally:
        shared.stopped.set()
    return [ended[model] for model in models]


def _answer_model(
    grid: Grid, model: str, have: Answered, shared: _Shared, watch: Watch, purses: Purses | None
) -> tuple[int, int]:
    """Copy and ask what one model's runs lack; gives the rows asked and the rows copied."""
    tally = Counter[str]()
    with shared.rendering:
        blocks = _blocks(grid, model, have, tally)
        first = next(blocks, None)  # no engine, and no Ray, where nothing is to be asked
        if first:
            shared.ray()
            runs = {run.run_id: run for run in grid.runs if run.model == model}
            entry, namespace = grid.models[model], grid.manifest.namespace
            purse = purses(model) if purses and priced(entry) else None
            pool = Pool(model, entry, grid.resources(model), runs, grid.store, namespace, purse)
            refs = [pool.put(block) for block in chain([first], blocks)]
    if first:
        watch(model, tally["asked"], None)
        for receipt in pool.answer(refs):
            watch(model, tally["asked"], receipt)
    if tally["twice"]:
        now = answered(grid.store, listing(grid.store, grid.manifest.namespace).whole, model)
        for corpus, task in _folders(grid):
            for found in _pending_of(grid, (corpus, task, model), now):
                tally["copied"] += _copied(grid, now, found)
    return tally["asked"], tally["copied"]


def _blocks(grid: Grid, model: str, have: Answered, tally: Counter[str]) -> Iterator[list[Work]]:
    """One model's pending work in blocks, copying on the way what is paid for. A block's part lies in one folder.

    A chunk asks equal requests once; what an earlier chunk or corpus asks already is counted as asked `twice`, and left
    to be copied afterwards: in two blocks it would be bought twice.
    """
    size, seen = grid.resources(model).batch_size, set[bytes]()
    for corpus, task in _folders(grid):
        waiting: list[Work] = []
        for found in _pending_of(grid, (corpus, task, model), have):
            tally["copied"] += _copied(grid, have, found)
            new = [work for request_id, work in found.work.items() if bytes.fromhex(request_id) not in seen]
            seen.update(bytes.fromhex(work.request_id) for work in new)
            tally["twice"] += len(found.work) - len(new)
            tally["asked"] += sum(len(work.targets) for work in new)
            waiting += new
            while len(waiting) > size:  # a full block is handed on at once, so that memory is bounded by a chunk
                yield waiting[:size]
                waiting = waiting[size:]
        if waiting:
            yield waiting


def _folders(grid: Grid) -> Iterable[tuple[str, str]]:
    """Each corpus and task, as its parts lie together."""
    return dict.fromkeys((run.corpus, run.task) for run in grid.runs)


def _pending_of(grid: Grid, key: tuple[str, str, str], have: Answered) -> Iterator[Pending]:
    for group in grid.groups:
        runs = [run for run in group.runs if (run.corpus, run.task, run.model) == key]
        if runs:
            yield from pending(grid, group, runs, have)


def _copied(grid: Grid, have: Answered, found: Pending) -> int:
    """Copy what a chunk need not ask; how many rows."""
    return sum(_copy(grid, have, part, requests) for part, requests in found.copies.items())


def _copy(grid: Grid, have: Answered, part: int, requests: list[Request]) -> int:
    """Write rows that another run has paid for as rows of these runs, at no cost."""
    runs = {run.run_id: run for run in grid.runs}
    wanted = {r.request_id for r in requests}
    answers = {
        p.request_id: p for p in from_table(Prediction, grid.store.read(have.parts[part])) if p.request_id in wanted
    }
    rows = [_as_row_of(runs[r.run_id], r, answers[r.request_id]) for r in requests]
    for folder in {(row.corpus, row.task) for row in rows}:
        commit(grid.store, grid.manifest.namespace, runs, [row for row in rows if (row.corpus, row.task) == folder])
    return len(rows)


def _as_row_of(run: Run, request: Request, paid: Prediction) -> Prediction:
    """Another run's answer as this run's row: what was asked and came back stays, whose row it is changes."""
    return replace(
        paid, run_id=run.run_id, corpus=run.corpus, split=run.split, task=run.task, setting=run.setting,
        run_seed=run.seed, item_id=request.item_id, item_hash=request.item_hash, source_id=request.source_id,
        cluster_id=request.cluster_id, language=request.language, switching=request.switching, order=request.order,
        shot_ids=request.shot_ids, cost_usd=0.0, reused_from=paid.reused_from or paid.run_id, row_sha256="",
    )  # fmt: skip


def _settle(
    grid: Grid, after: Mapping[str, Count], work: tuple[int, int, int], seconds: float, max_failed: float
) -> Outcome:
    """Record how the call ended in each run.json, and say so."""
    planned, done, failed = (sum(getattr(c, f) for c in after.values()) for f in ("planned", "done", "failed"))
    spoilt = [run_id for run_id, c in after.items() if c.failed > max_failed * c.planned]
    record(grid, after, {r: Incomplete.exit_code if c.pending or r in spoilt else 0 for r, c in after.items()}, seconds)
    if done < planned:
        raise Incomplete(
            f"{planned - done} of {planned} rows are pending; what was answered is kept, the same command goes on"
        )
    if spoilt:
        raise Incomplete(f"more than {max_failed:.0%} of the rows failed in: {', '.join(spoilt)}")
    return Outcome(planned, done, failed, *work, seconds)


def record(grid: Grid, after: Mapping[str, Count], codes: Mapping[str, int], seconds: float) -> None:
    """Say in each run.json how a call ended: Ray makes every failure's exit code 1."""
    for run_id, c in after.items():
        took = {"seconds": round(seconds, 1), **spent(grid.store, grid.manifest.namespace, run_id)}
        ended = {"exit": codes[run_id], **asdict(c), "ended_at": datetime.now(UTC).isoformat(), **took}
        tell_end(grid.store, grid.manifest.namespace, run_id, ended)
