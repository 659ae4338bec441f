"""How far runs are, from names alone: actors publish counts as object names, parts carry their rows in theirs.

No text is read. Only where an actor died between its part and its counts are that part's id columns looked at.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from mixgrid.plan.layout import predictions_root, run_folder, run_key
from mixgrid.records import Progress
from mixgrid.store import NotFound, Part, Store, TornError

COUNTED = (
    "done", "failed", "unparsed", "prompt_tokens", "completion_tokens", "cached_tokens", "cost_micros", "gpu_ms", "cut"
)  # fmt: skip
WINDOW_MS = 10 * 60 * 1000  # rates look back this far
LEAST_S = 1.0  # of a window that tells a rate: parts that end together tell none
CUT = 0.01  # the share of answers that may end at the limit of their length before that is said
SHOWN = 3  # of the runs that are said to be cut


@dataclass(frozen=True)
class Status:
    """How far one run is. Rates are of the last ten minutes in which parts were written; None: nothing to tell from."""

    run_id: str
    planned: int
    done: int
    pending: int
    failed: int
    unparsed: int
    cut: int  # answers that ended at the limit of their length
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    cost_usd: float
    gpu_hours: float
    tokens_per_s: float | None
    eta_s: float | None


def cut_warnings(found: Collection[Status]) -> Iterator[str]:
    """One sentence for the runs whose limit on an answer's length spoils their scores."""
    spoilt = [one for one in found if one.cut > CUT * one.done]
    if spoilt:
        shown = ", ".join(f"{one.run_id} ({one.cut} of {one.done})" for one in spoilt[:SHOWN])
        more = f" and {len(spoilt) - SHOWN} more" if len(spoilt) > SHOWN else ""
        yield (
            f"{len(spoilt)} of {len(found)} runs have answers cut off at `max_tokens` (finish_reason length): "
            f"{shown}{more}; raise it, or ask for shorter reasoning"
        )


def unknown(store: Store, namespace: str, runs: Collection[str] | None = None) -> Iterator[str]:
    """A warning where the store holds none of some runs, or no run at all: "0 done" would hide a mistyped store."""
    folder = f"{namespace}/runs/"
    held = {entry.key.removeprefix(folder).split("/")[0] for entry in store.list(folder)}
    if not (held if runs is None else held & set(runs)):
        what = "no run" if runs is None else "none of this grid's runs"
        others = f" (of others it holds {len(held)})" if held else ""
        yield (
            f"the store {store.url} holds {what} in namespace {namespace!r}{others}: nothing was started there yet, "
            "or --store or the namespace names another place than was meant"
        )


def publish(store: Store, namespace: str, progress: Progress) -> None:
    """Make a part's counts visible to every other process."""
    name = "-".join([progress.part, str(progress.at_ms), *(str(getattr(progress, f)) for f in COUNTED)])
    store.put(f"{run_folder(namespace, progress.run_id)}/progress/{name}", b"{}")


def progress_from(run_id: str, name: str) -> Progress | None:
    """The counts that a name carries; None for a foreign file."""
    part, *numbers = name.split("-")
    if len(numbers) != 1 + len(COUNTED) or not all(n.isascii() and n.isdigit() for n in numbers):
        return None
    return Progress(run_id, part, *(int(n) for n in numbers))


def run_ids(store: Store, namespace: str) -> list[str]:
    """Every run of a namespace whose plan is frozen."""
    keys = (entry.key.removeprefix(f"{namespace}/runs/") for entry in store.list(f"{namespace}/runs/"))
    return sorted({key.split("/")[0] for key in keys if key.endswith("/run.json")})


def status(store: Store, namespace: str, runs: Mapping[str, int] | None = None) -> list[Status]:
    """How far each run is; `runs`: these alone, and the rows that each is to have where its plan is not frozen yet."""
    wanted = dict.fromkeys(run_ids(store, namespace), 0) if runs is None else runs
    parts = store.parts(predictions_root(namespace)).whole
    told = {run_id: _published(store, namespace, run_id) for run_id in wanted}
    there = {part.digest for part in parts}  # counts of a part that is gone count no more
    published = {run_id: [p for p in known if p.part in there] for run_id, known in told.items()}
    silent = _silent(store, namespace, parts, published)
    planned = {r: sum(p.rows for p in store.parts(run_folder(namespace, r), "requests").whole) for r in wanted}
    done = {r: _done(store, namespace, r, planned[r], published[r], silent[r]) for r in wanted}
    return [_status(r, max(planned[r], wanted[r]), published[r], done[r], _rates(told[r])) for r in wanted]


def spent(store: Store, namespace: str, run_id: str) -> dict[str, float]:
    """GPU hours that engines held for a run's parts and what they cost in USD, over all calls, from names."""
    told = _published(store, namespace, run_id)
    gpu_hours, cost = sum(p.gpu_ms for p in told) / 3.6e6, sum(p.cost_micros for p in told) / 1e6
    return {"gpu_hours": round(gpu_hours, 4), "cost_usd": round(cost, 6)}


def _published(store: Store, namespace: str, run_id: str) -> list[Progress]:
    folder = f"{run_folder(namespace, run_id)}/progress/"
    found = (progress_from(run_id, entry.key.removeprefix(folder)) for entry in store.list(folder))
    return [progress for progress in found if progress]


def _silent(store: Store, namespace: str, parts: Sequence[Part], published: dict[str, list[Progress]]) -> Counter[str]:
    """Rows by run of parts whose counts were never published, or not all of them."""
    everyone = {run_id: published.get(run_id) for run_id in run_ids(store, namespace)}
    told = Counter[str]()
    for run_id, known in everyone.items():
        for progress in _published(store, namespace, run_id) if known is None else known:
            told[progress.part] += progress.done
    rows = Counter[str]()
    for part in parts:
        if told[part.digest] < part.rows:
            rows.update(_ids(store, part)["run_id"].to_pylist())
            for run_id, known in published.items():
                rows[run_id] -= sum(p.done for p in known if p.part == part.digest)
    return rows


def _done(store: Store, namespace: str, run_id: str, planned: int, known: Sequence[Progress], silent: int) -> int:
    """Rows of the plan that are there. Rows that were answered twice are told twice, so where a run seems whole and its
    run.json does not say so, its ids are counted.
    """
    told = sum(p.done for p in known) + silent
    if told < planned or not planned or _settled(store, namespace, run_id, planned):
        return min(told, planned)
    ids: set[str] = set()
    for part in store.parts(predictions_root(namespace)).whole:
        rows = _ids(store, part)
        ids.update(rows.filter(pc.equal(rows["run_id"], run_id))["item_id"].to_pylist())
    return min(len(ids), planned)


def _ids(store: Store, part: Part) -> pa.Table:
    """Whose rows a part holds; a foreign file under a part's name holds none."""
    try:
        return store.read(part, ["run_id", "item_id"])
    except TornError:
        return pa.table({"run_id": pa.array([], pa.string()), "item_id": pa.array([], pa.string())})


def _settled(store: Store, namespace: str, run_id: str, planned: int) -> bool:
    """Whether the run's last call counted every row of the plan."""
    try:
        return bool(store.get_json(run_key(namespace, run_id))["ended"]["done"] >= planned)
    except (NotFound, TornError, KeyError, TypeError):
        return False


def _status(
    run_id: str, planned: int, known: Sequence[Progress], done: int, rates: tuple[float | None, float | None]
) -> Status:
    total = {name: sum(getattr(p, name) for p in known) for name in COUNTED}
    total["done"] = done
    cost, hours = total.pop("cost_micros") / 1e6, total.pop("gpu_ms") / 3.6e6
    rows_per_s, tokens_per_s = rates
    pending = planned - total["done"]
    eta = pending / rows_per_s if rows_per_s else None
    return Status(
        run_id, planned, pending=pending, cost_usd=cost, gpu_hours=hours, tokens_per_s=tokens_per_s, eta_s=eta, **total
    )


def _rates(known: Sequence[Progress]) -> tuple[float | None, float | None]:
    """(rows, completion tokens) per second between the first and the last part of the window."""
    latest = max((p.at_ms for p in known), default=0)
    recent = sorted((p for p in known if p.at_ms > latest - WINDOW_MS), key=lambda p: p.at_ms)
    seconds = (recent[-1].at_ms - recent[0].at_ms) / 1000 if recent else 0
    if seconds < LEAST_S:
        return None, None
    after = recent[1:]  # the first part's rows were answered before the clock of this window starts
    return sum(p.done for p in after) / seconds, sum(p.completion_tokens for p in after) / seconds
