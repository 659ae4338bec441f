"""The main flow: manifest → plan → prompts → engine → predictions, resumed where an earlier call ended.

    freeze the runs' plans → see what is lacking and that it can be asked → for each model: copy what other runs paid
    for, ask the rest → settle

Anything may be killed at any time; the same call goes on and repeats at most what was in flight.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import islice

from mixgrid.actor import commit
from mixgrid.corpora.snapshot import write_snapshot
from mixgrid.errors import Incomplete, MixgridError
from mixgrid.plan.frozen import freeze
from mixgrid.plan.grid import Grid
from mixgrid.plan.layout import run_folder
from mixgrid.plan.pending import Answered, Count, answered, counts, listing, pending
from mixgrid.plan.preflight import check_models, environment
from mixgrid.pool import answer, connect, spec_for
from mixgrid.records import Prediction, Receipt, Request, Run, Work, from_table
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
    copied = 0
    blocks: list[list[Work]] = []
    for work, copies in _pending_by_folder(grid, model, have):
        copied += sum(_copy(grid, have, n, requests) for n, requests in copies.items())
        blocks += _batches(work, grid.resources(model).batch_size)
    asked = sum(len(w.targets) for block in blocks for w in block)
    if blocks:
        _ask(grid, model, blocks, asked, watch)
    return asked, copied


def _pending_by_folder(grid: Grid, model: str, have: Answered) -> Iterator[tuple[list[Work], dict[int, list[Request]]]]:
    """Pending work of one model, a corpus and task at a time: a block is a part, and a part lies in one folder."""
    for corpus, task in dict.fromkeys((run.corpus, run.task) for run in grid.runs):
        work: list[Work] = []
        for group in grid.groups:
            runs = [r for r in group.runs if (r.corpus, r.task, r.model) == (corpus, task, model)]
            for found in pending(grid, group, runs, have) if runs else ():
                work += found.work.values()
                yield [], found.copies
        yield work, {}


def _batches(work: list[Work], size: int) -> Iterator[list[Work]]:
    rest = iter(work)
    while block := list(islice(rest, size)):
        yield block


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


def _ask(grid: Grid, model: str, blocks: list[list[Work]], rows: int, watch: Watch) -> None:
    """Start the model's engines and let them answer the blocks."""
    connect()
    watch(model, rows, None)
    resources = grid.resources(model)
    runs = {run.run_id: run for run in grid.runs if run.model == model}
    spec = spec_for(model, grid.models[model], resources, len(blocks))
    for receipt in answer(spec, resources, runs, grid.store, grid.manifest.namespace, blocks):
        watch(model, rows, receipt)


def _settle(
    grid: Grid, after: Mapping[str, Count], work: tuple[int, int, int], seconds: float, max_failed: float
) -> Outcome:
    """Record how the call ended in each run's folder, and say so."""
    planned, done, failed = (sum(getattr(c, f) for c in after.values()) for f in ("planned", "done", "failed"))
    outcome = Outcome(planned, done, failed, *work, seconds)
    spoilt = [run_id for run_id, c in after.items() if c.failed > max_failed * c.planned]
    code = Incomplete.exit_code if done < planned or spoilt else 0
    for run_id, c in after.items():
        grid.store.put_json(f"{run_folder(grid.manifest.namespace, run_id)}/outcome.json", {"exit": code, **asdict(c)})
    if done < planned:
        raise Incomplete(
            f"{planned - done} of {planned} rows are pending; what was answered is kept, the same command goes on"
        )
    if spoilt:
        raise Incomplete(f"more than {max_failed:.0%} of the rows failed in: {', '.join(spoilt)}")
    return outcome
