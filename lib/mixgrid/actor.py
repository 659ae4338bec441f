"""The engine's actor: it answers a block of work, writes the part itself, and returns a receipt, not the rows.

What it wrote survives its node. A failed write is an error, and the block is asked again.
"""

import logging
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa

from mixgrid.engines import APIS, build
from mixgrid.engines.base import Ask, Counting, EngineDied, EngineSpec, GaveUp
from mixgrid.engines.notes import Notes
from mixgrid.observe import Meter
from mixgrid.plan.events import tell
from mixgrid.plan.layout import batches_folder, predictions_folder
from mixgrid.plan.progress import COUNTED, publish
from mixgrid.records import Answer, Message, Prediction, Progress, Receipt, Request, Run, Sampling, Work
from mixgrid.schemas import digest, from_table, to_table
from mixgrid.store import Part, Store
from mixgrid.suspects import Book, Piece, Suspects
from mixgrid.tasks import TASKS
from mixgrid.tasks.base import Raw
from mixgrid.watchdog import Turns, end_process, watch

log = logging.getLogger(__name__)

PATIENCE_S = 1800.0  # without a finished row, until an engine counts as hung
ALIVE = Message("user", "1")  # what an engine is asked to see that it lives, before a row is said to kill it


class EngineActor:
    """One engine and the store, in one process. Called from several threads, so that blocks overlap in the engine."""

    def __init__(
        self,
        spec: EngineSpec,
        runs: Mapping[str, Run],
        store: Store,
        namespace: str,
        book: Book | None = None,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._runs, self._store, self._namespace, self._model = runs, store, namespace, spec.model
        self._book, self._who, self._turns = book or Suspects(restarts=0), secrets.token_hex(8), Turns()
        self._meter, self._client = Meter(spec.model, spec.gpus), spec.entry.engine in APIS
        notes = Notes(store, batches_folder(namespace, spec.model))
        self._loaded, says = False, f"no row was finished for {patience_s:.0f} s"
        watch(self._turns, self._moved, patience_s, lambda: self._end(says, stacks=True))
        if give_up := self._book.starts():
            raise GaveUp(give_up, ())
        with self._turns.turn(alone=False):  # an engine that does not end to load hangs as well
            self._engine = build(replace(spec, notes=notes))
        self._loaded = True

    def _moved(self) -> int:
        """What changes with each finished row; and all the time, with an engine that does not count them."""
        if not self._loaded:
            return 0
        return self._engine.finished if isinstance(self._engine, Counting) else time.monotonic_ns()

    def __call__(self, block: pa.Table) -> pa.Table:
        """Answer a packed block of Work (all of one corpus and task), commit what was answered, give the Receipts."""
        began_ms, work = _now_ms(), unpack(block)
        name = digest([w.request_id for w in work])
        orders = self._book.take(name, len(work), self._who)
        for line in orders.news:
            tell(self._store, self._namespace, self._model, line)
        if orders.give_up:
            raise GaveUp(orders.give_up, ())
        done = [self._answer(name, piece, work[piece.start : piece.stop], began_ms) for piece in orders.pieces]
        return to_table(Receipt, done or [Receipt("", began_ms, _now_ms(), 0, 0, 0, 0, 0, 0)])

    def _answer(self, name: str, piece: Piece, work: list[Work], began_ms: int) -> Receipt:
        """One piece, to its commit: until then it is what is to blame if the engine dies."""
        with self._turns.turn(piece.alone):
            if piece.alone:
                self._book.asks(name, piece, self._who)
            try:
                answers = self._poisoned(work[0]) if piece.poison else self._ask_engine([self._ask(w) for w in work])
            except GaveUp as end:
                with self._turns.outside():
                    self._commit(work, end.answers, began_ms)
                raise
            with self._turns.outside():  # a store that is away is waited for, and no sign that the engine hangs
                receipt = self._commit(work, answers, began_ms)
                self._book.done(name, piece)
        return receipt

    def _commit(self, work: list[Work], answers: Sequence[Answer | None], began_ms: int) -> Receipt:
        pairs = [(w, a) for w, a in zip(work, answers, strict=True) if a]  # None: not answered, so it stays pending
        rows = [p for w, a in pairs for p in predictions(self._runs, w, a, self._engine.fingerprint)]
        if not rows:
            return Receipt("", began_ms, _now_ms(), 0, 0, 0, 0, 0, 0)
        receipt = commit(self._store, self._namespace, self._runs, rows, began_ms, self._meter.gpu_ms())
        self._meter.told(self._runs[rows[0].run_id], receipt, rows)
        return receipt

    def _ask_engine(self, asks: Sequence[Ask]) -> Sequence[Answer | None]:
        try:
            return self._engine.answer(asks)
        except EngineDied as death:
            self._end(str(death))
            raise

    def _poisoned(self, work: Work) -> Sequence[Answer]:
        """What a row that kills gets, once the engine has shown that not everything kills it.

        A server's client need not: it lives if it could be built, and the server may want money for each question.
        """
        if not self._client:
            self._ask_engine([Ask("alive", (ALIVE,), Sampling(max_tokens=1), None)])
        row = f"item {work.targets[0].item_id!r} of run {work.targets[0].run_id}"
        tell(self._store, self._namespace, self._model, f"{row} kills the engine: it is failed, engine_death")
        return [Answer(status="failed", reason="engine_death")]

    def _end(self, why: str, stacks: bool = False) -> None:
        log.error("model %s: %s", self._model, why)
        self._book.died(self._who, why)
        end_process(stacks)

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
        cached_tokens=answer.cached_tokens, cost_usd=answer.cost_usd, latency_s=answer.latency_s,
        engine=answer.engine or engine, reused_from=None, created_at=now,
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
        cut=sum(p.finish_reason == "length" for p in rows),
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
