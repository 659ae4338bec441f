"""One item through every run that asked it: prompt, raw output, parse, gold. Old runs keep their old prompts."""

from dataclasses import dataclass, fields
from typing import Any

import pyarrow.compute as pc

from mixgrid.corpora.snapshot import load_table
from mixgrid.parse import Raw
from mixgrid.plan.frozen import frozen
from mixgrid.plan.layout import predictions_folder, prompts_folder, run_key
from mixgrid.plan.pending import listing
from mixgrid.plan.progress import run_ids
from mixgrid.records import Item, Message, Prediction, Prompt, Request, Run, Sampling
from mixgrid.schemas import from_table
from mixgrid.store import Store, StoreError, TornError
from mixgrid.tasks import TASKS


@dataclass(frozen=True)
class Trace:
    """One item in one run."""

    run_id: str
    corpus: str
    item_id: str
    request_id: str
    messages: tuple[Message, ...]
    status: str  # ok, failed, pending
    reason: str
    finish_reason: str
    text: str
    reasoning: str | None
    parse_status: str
    value: str | None
    note: str
    gold: str


def trace(store: Store, namespace: str, item_id: str) -> tuple[list[Trace], list[str]]:
    """The item in every run of the namespace, and warnings about files that were left alone."""
    found: list[Trace] = []
    damaged: dict[str, None] = {}  # what is wrong with parts, each told once
    for run_id in run_ids(store, namespace):
        run = read_run(store, namespace, run_id)
        plan = frozen(store, namespace, run)
        requests = from_table(Request, plan.filter(pc.equal(plan["item_id"], item_id)))
        found += [_traced(store, namespace, run, request, damaged) for request in requests]
    return found, [*listing(store, namespace).warnings(), *damaged]


def read_run(store: Store, namespace: str, run_id: str) -> Run:
    """A run as it was frozen; StoreError names a run.json that is none."""
    key = run_key(namespace, run_id)
    try:
        data: dict[str, Any] = store.get_json(key)["run"]
        sampling = Sampling(**{**data["sampling"], "stop": tuple(data["sampling"]["stop"])})
        return Run(**{**{f.name: data[f.name] for f in fields(Run)}, "sampling": sampling})
    except (KeyError, TypeError) as error:
        raise StoreError(f"{key!a} in the store {store.url} is no run of mixgrid's: {error!r}") from error


def _traced(store: Store, namespace: str, run: Run, request: Request, damaged: dict[str, None]) -> Trace:
    row, task = _prediction(store, namespace, run, request, damaged), TASKS[run.task]
    items = load_table(store, run.corpus, run.snapshot, run.split)
    (item,) = from_table(Item, items.filter(pc.equal(items["item_id"], request.item_id)))
    shown = Trace(
        run_id=run.run_id, corpus=run.corpus, item_id=request.item_id, request_id=request.request_id,
        messages=_prompt(store, run, request), status="pending", reason="", finish_reason="", text="", reasoning=None,
        parse_status="", value=None, note="", gold=task.gold(item),
    )  # fmt: skip
    if row is None:
        return shown
    read = task.parse(Raw(row.text, row.reasoning, row.finish_reason, row.status, row.reason), row.order)
    raw = {name: getattr(row, name) for name in ("status", "reason", "finish_reason", "text", "reasoning")}
    return Trace(**{**vars(shown), **raw, "parse_status": read.status, "value": read.value, "note": read.note})


def _prompt(store: Store, run: Run, request: Request) -> tuple[Message, ...]:
    for part in store.parts(prompts_folder(run), "prompts").whole:
        table = store.read(part)
        rows = table.filter(pc.equal(table["prompt_sha256"], request.prompt_sha256))
        if rows.num_rows:
            return from_table(Prompt, rows)[0].messages
    return ()


def _prediction(
    store: Store, namespace: str, run: Run, request: Request, damaged: dict[str, None]
) -> Prediction | None:
    """The run's row for the request; of several, the one that counts: the lowest digest."""
    rows: list[Prediction] = []
    for part in store.parts(predictions_folder(namespace, run)).whole:
        try:
            ids = store.read(part, ["run_id", "request_id"])
            mine = pc.and_(pc.equal(ids["run_id"], run.run_id), pc.equal(ids["request_id"], request.request_id))
            rows += from_table(Prediction, store.read(part)) if pc.any(mine).as_py() else []
        except TornError as error:  # a foreign file under a part's name, or bytes that have changed
            damaged[f"left out a part, so its rows count as pending: {error}"] = None
    wanted = run.run_id, request.item_id, request.request_id
    return min(
        (r for r in rows if (r.run_id, r.item_id, r.request_id) == wanted), key=lambda r: r.row_sha256, default=None
    )
