"""The main flow: manifest → plan → prompts → engine → predictions, resumed where an earlier call ended.

    freeze the runs' plans → see what is lacking and that it can be asked → for each model: copy what other runs paid
    for, ask the rest → settle

Anything may be killed at any time; the same call goes on and repeats at most what was in flight.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import chain

from mixgrid.actor import commit
from mixgrid.corpora.snapshot import write_snapshot
from mixgrid.errors import Incomplete, MixgridError
from mixgrid.plan.frozen import freeze
from mixgrid.plan.grid import Grid
from mixgrid.plan.layout import outcome_key
from mixgrid.plan.pending import Answered, Count, Pending, answered, counts, listing, pending
from mixgrid.plan.preflight import check_models, environment
from mixgrid.pool import Pool, connect
from mixgrid.records import Prediction, Receipt, Request, Run, Work
from mixgrid.schemas import from_table
from mixgrid.store import StoreError

Watch = Callable[[str, int, Receipt | None], None]  # a model, the rows it lacked, a receipt (None: it starts)


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


def predict(grid: Grid, watch: Watch = lambda *_: None, max_failed: float = 1.0) -> Outcome:
    """Ask everything that the grid lacks. Incomplete: rows are pending, or a run has a larger share failed."""
    since = time.monotonic()
    grid.store.check()
    for part in grid.slices:
        write_snapshot(part.whole, grid.store)
    freeze(grid, environment())
    have = {
        model: answered(grid.store, listing(grid.store, grid.manifest.namespace).whole, model) for model in grid.models
    }
    before = counts(grid, have)
    lacking = [m for m in grid.models if any(before[r.run_id].pending for r in grid.runs if r.model == m)]
    check_models(grid, lacking)
    done, trouble = _answer_models(grid, lacking, have, watch)
    try:
        after = counts(grid) if lacking else before
        asked, copied = sum(a for a, _ in done), sum(c for _, c in done)
        work = asked, copied, sum(a > 0 for a, _ in done)
        return _settle(grid, after, work, time.monotonic() - since, max_failed)
    except (Incomplete, StoreError) as error:
        raise Incomplete("; ".join(map(str, [*trouble, error]))) from error


def _answer_models(
    grid: Grid, models: Iterable[str], have: Mapping[str, Answered], watch: Watch
) -> tuple[list[tuple[int, int]], list[MixgridError]]:
    """Each model's turn, and what went wrong: one that gives up does not keep the others from theirs."""
    done: list[tuple[int, int]] = []
    trouble: list[MixgridError] = []
    for model in models:
        try:
            done.append(_answer_model(grid, model, have[model], watch))
        except (Incomplete, StoreError) as error:
            trouble.append(error)
    return done, trouble


def _answer_model(grid: Grid, model: str, have: Answered, watch: Watch) -> tuple[int, int]:
    """Copy and ask what one model's runs lack; gives the rows asked and the rows copied."""
    tally = Counter[str]()
    blocks = _blocks(grid, model, have, tally)
    first = next(blocks, None)  # no engine, and no Ray, where nothing is to be asked
    if first:
        _ask(grid, model, chain([first], blocks), tally, watch)
    return tally["asked"], tally["copied"]


def _blocks(grid: Grid, model: str, have: Answered, tally: Counter[str]) -> Iterator[list[Work]]:
    """One model's pending work in blocks, copying on the way what is paid for. A block's part lies in one folder."""
    size = grid.resources(model).batch_size
    for corpus, task in dict.fromkeys((run.corpus, run.task) for run in grid.runs):
        waiting: list[Work] = []
        for found in _pending_of(grid, (corpus, task, model), have):
            tally["copied"] += sum(_copy(grid, have, n, requests) for n, requests in found.copies.items())
            tally["asked"] += sum(len(work.targets) for work in found.work.values())
            waiting += found.work.values()
            while len(waiting) > size:  # a full block is handed on at once, so that memory is bounded by a chunk
                yield waiting[:size]
                waiting = waiting[size:]
        if waiting:
            yield waiting


def _pending_of(grid: Grid, key: tuple[str, str, str], have: Answered) -> Iterator[Pending]:
    for group in grid.groups:
        runs = [run for run in group.runs if (run.corpus, run.task, run.model) == key]
        if runs:
            yield from pending(grid, group, runs, have)


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


def _ask(grid: Grid, model: str, blocks: Iterator[list[Work]], tally: Counter[str], watch: Watch) -> None:
    """Start the model's engines and let them answer the blocks."""
    connect()
    runs = {run.run_id: run for run in grid.runs if run.model == model}
    pool = Pool(model, grid.models[model], grid.resources(model), runs, grid.store, grid.manifest.namespace)
    refs = [pool.put(block) for block in blocks]
    watch(model, tally["asked"], None)
    for receipt in pool.answer(refs):
        watch(model, tally["asked"], receipt)


def _settle(
    grid: Grid, after: Mapping[str, Count], work: tuple[int, int, int], seconds: float, max_failed: float
) -> Outcome:
    """Record how the call ended in each run's folder, and say so."""
    planned, done, failed = (sum(getattr(c, f) for c in after.values()) for f in ("planned", "done", "failed"))
    spoilt = [run_id for run_id, c in after.items() if c.failed > max_failed * c.planned]
    for run_id, c in after.items():
        code = Incomplete.exit_code if c.pending or run_id in spoilt else 0
        document = {"exit": code, **asdict(c), "ended_at": datetime.now(UTC).isoformat(), "seconds": round(seconds, 1)}
        grid.store.put_json(outcome_key(grid.manifest.namespace, run_id), document)
    if done < planned:
        raise Incomplete(
            f"{planned - done} of {planned} rows are pending; what was answered is kept, the same command goes on"
        )
    if spoilt:
        raise Incomplete(f"more than {max_failed:.0%} of the rows failed in: {', '.join(spoilt)}")
    return Outcome(planned, done, failed, *work, seconds)
