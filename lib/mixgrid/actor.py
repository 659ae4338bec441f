"""The engine's actor: it answers a block of work, writes the part itself, and returns a receipt, not the rows.

What it wrote survives its node. A failed write is an error, and the block is asked again.
"""

import logging
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa

from mixgrid.engines import build
from mixgrid.engines.base import Ask, EngineDied, EngineSpec
from mixgrid.observe import Meter
from mixgrid.plan.layout import predictions_folder
from mixgrid.plan.progress import COUNTED, publish
from mixgrid.records import Answer, Prediction, Progress, Receipt, Request, Run, Work
from mixgrid.schemas import from_table, to_table
from mixgrid.store import Part, Store
from mixgrid.tasks import TASKS
from mixgrid.tasks.base import Raw

log = logging.getLogger(__name__)

DEAD = 70  # exit status of an actor whose engine died; Ray starts another


class EngineActor:
    """One engine and the store, in one process. Called from several threads, so that blocks overlap in the engine."""

    def __init__(self, spec: EngineSpec, runs: Mapping[str, Run], store: Store, namespace: str) -> None:
        self._runs, self._store, self._namespace = runs, store, namespace
        self._meter = Meter(spec.model, spec.gpus)
        self._engine = build(spec)

    def __call__(self, block: pa.Table) -> pa.Table:
        """Answer a packed block of Work (all of one corpus and task), commit what was answered, give the Receipt."""
        began_ms = _now_ms()
        work = unpack(block)
        try:
            answers = self._engine.answer([self._ask(w) for w in work])
        except EngineDied as death:
            log.error("%s", death)
            os._exit(DEAD)  # a live actor around a dead engine would be given the same block for ever
        pairs = [(w, a) for w, a in zip(work, answers, strict=True) if a]  # None: not answered, so it stays pending
        rows = [p for w, a in pairs for p in predictions(self._runs, w, a, self._engine.fingerprint)]
        if not rows:
            return to_table(Receipt, [Receipt("", began_ms, _now_ms(), 0, 0, 0, 0, 0, 0)])
        receipt = commit(self._store, self._namespace, self._runs, rows, began_ms, self._meter.gpu_ms())
        self._meter.told(self._runs[rows[0].run_id], receipt, rows)
        return to_table(Receipt, [receipt])

    def _ask(self, work: Work) -> Ask:
        run = self._runs[work.targets[0].run_id]
        thinking = TASKS[run.task].settings[run.setting].thinking
        return Ask(work.request_id, work.messages, run.sampling, work.seed, thinking)


def pack(block: list[Work]) -> pa.Table:
    """A block of work as one row, which Ray Data carries whole."""
    rows = to_table(Work, block).to_struct_array().combine_chunks()
    return pa.table({"work": pa.ListArray.from_arrays([0, len(rows)], rows)})


def unpack(table: pa.Table) -> list[Work]:
    """The block in a packed row."""
    return from_table(Work, pa.Table.from_struct_array(table["work"].combine_chunks().flatten()))


def predictions(runs: Mapping[str, Run], work: Work, answer: Answer, engine: str) -> list[Prediction]:
    """One row for each (run, item) that waited for the answer; the first one paid for it."""
    now = datetime.now(UTC)
    first, *others = (_prediction(runs[t.run_id], t, answer, engine, now) for t in work.targets)
    return [first, *(replace(p, cost_usd=0.0, reused_from=first.run_id, row_sha256="") for p in others)]


def _prediction(run: Run, request: Request, answer: Answer, engine: str, now: datetime) -> Prediction:
    return Prediction(
        run_id=run.run_id, corpus=run.corpus, split=run.split, task=run.task, model=run.model, setting=run.setting,
        run_seed=run.seed, item_id=request.item_id, item_hash=request.item_hash, source_id=request.source_id,
        cluster_id=request.cluster_id, language=request.language, switching=request.switching,
        request_id=request.request_id, prompt_sha256=request.prompt_sha256, status=answer.status, reason=answer.reason,
        text=answer.text, reasoning=answer.reasoning, finish_reason=answer.finish_reason, order=request.order,
        shot_ids=request.shot_ids, seed=request.seed, seed_honoured=answer.seed_honoured,
        system_folded=answer.system_folded, run_digest=run.run_digest, prompt_tokens=answer.prompt_tokens,
        completion_tokens=answer.completion_tokens, reasoning_tokens=answer.reasoning_tokens,
        cached_tokens=answer.cached_tokens, cost_usd=answer.cost_usd, latency_s=answer.latency_s, engine=engine,
        reused_from=None, created_at=now,
    )  # fmt: skip


def commit(
    store: Store,
    namespace: str,
    runs: Mapping[str, Run],
    rows: list[Prediction],
    began_ms: int | None = None,
    gpu_ms: int = 0,
) -> Receipt:
    """Write the rows as one part, then publish its counts for each run."""
    began_ms = began_ms or _now_ms()
    run = runs[rows[0].run_id]
    part = store.put_table(predictions_folder(namespace, run), "part", to_table(Prediction, rows))
    counts = [_progress(part, run_id, [p for p in rows if p.run_id == run_id]) for run_id in {p.run_id for p in rows}]
    counts = [replace(c, gpu_ms=round(gpu_ms * c.done / len(rows))) for c in counts]
    for progress in counts:
        publish(store, namespace, progress)
    total = {f: sum(getattr(c, f) for c in counts) for f in COUNTED if f != "done"}
    return Receipt(part.key, began_ms, _now_ms(), len(rows), **total)


def _progress(part: Part, run_id: str, rows: list[Prediction]) -> Progress:
    """Counts of a part's rows of one run. Tokens count where they were spent, not where a row was copied."""
    spent = [p for p in rows if p.reused_from is None]
    return Progress(
        run_id=run_id,
        part=part.digest,
        at_ms=_now_ms(),
        done=len(rows),
        failed=sum(p.status == "failed" for p in rows),
        unparsed=sum(p.status == "ok" and not _parses(p) for p in rows),
        prompt_tokens=sum(p.prompt_tokens for p in spent),
        completion_tokens=sum(p.completion_tokens for p in spent),
        cached_tokens=sum(p.cached_tokens for p in spent),
        cost_micros=round(1e6 * sum(p.cost_usd for p in rows)),
    )


def _parses(row: Prediction) -> bool:
    raw = Raw(row.text, row.reasoning, row.finish_reason, row.status, row.reason)
    return TASKS[row.task].parse(raw, row.order).status == "ok"


def _now_ms() -> int:
    return int(time.time() * 1000)
