"""What a sweep has spent, by model, task and day: sums over its ledger, each attempt once."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from mixgrid.budget.books import Line, accounts, ledger_folder, lines
from mixgrid.plan.frozen import frozen
from mixgrid.plan.grid import Grid
from mixgrid.pricing import ZERO


@dataclass(frozen=True)
class Spent:
    """One model, task and day. `wasted` is the part of `settled` that bought no answer that is used."""

    model: str
    task: str  # empty: a request that no plan of the grid names
    day: str
    answers: int = 0
    attempts: int = 0
    settled_usd: Decimal = ZERO
    wasted_usd: Decimal = ZERO


@dataclass(frozen=True)
class Reserved:
    """Money of one model and day that may have been billed without our knowing; it counts against the caps."""

    model: str
    day: str
    usd: Decimal


@dataclass(frozen=True)
class Statement:
    """A sweep's ledger, added up."""

    sweep: str
    committed_usd: Decimal  # settled and reserved: what counts against the cap
    settled_usd: Decimal
    reserved_usd: Decimal
    wasted_usd: Decimal
    by_task: tuple[Spent, ...]
    reserved: tuple[Reserved, ...]
    overrun: tuple[str, ...] = field(
        default=()
    )  # bills above their reservation, or beyond belief: each stopped a sweep


def statement(grid: Grid) -> Statement:
    """What stands in the ledger of the grid's sweep; all zeros where there is none."""
    folder = ledger_folder(grid.manifest.namespace, grid.manifest.name)
    books = accounts(grid.store, folder).values()
    known = lines(grid.store, folder)
    by_task = spent(known, _tasks(grid) if known else {})
    reserved: dict[tuple[str, str], Decimal] = {}
    for account in books:
        key = account.model, account.day
        reserved[key] = reserved.get(key, ZERO) + account.reserved
    return Statement(
        sweep=grid.manifest.name,
        committed_usd=sum((a.committed for a in books), ZERO),
        settled_usd=sum((a.settled for a in books), ZERO),
        reserved_usd=sum((a.reserved for a in books), ZERO),
        wasted_usd=sum((s.wasted_usd for s in by_task), ZERO),
        by_task=tuple(by_task),
        reserved=tuple(Reserved(*key, usd) for key, usd in sorted(reserved.items()) if usd),
        overrun=tuple(overruns(known)),
    )


def overruns(known: Iterable[Line]) -> Iterator[str]:
    """The bills that were not what had been promised, in the order in which they came."""
    for line in known:
        if line.ending == "settled" and line.known_by == "absurd":
            said = f"a bill beyond belief came, and the {line.reserved_usd} USD that were reserved are booked for it"
            yield f"request {line.request_id} of {line.model}: {said}"
        elif line.ending == "settled" and (line.billed_usd or ZERO) > line.reserved_usd:
            yield (
                f"request {line.request_id} of {line.model}: billed {line.billed_usd} USD, "
                f"reserved {line.reserved_usd} USD"
            )


def spent(known: Iterable[Line], tasks: Mapping[str, str]) -> list[Spent]:
    """The attempts by model, task and day; the first answer of a request is the one that is used."""
    sums: dict[tuple[str, str, str], list[Line]] = {}
    for line in known:
        sums.setdefault((line.model, tasks.get(line.request_id, ""), line.day), []).append(line)
    used: set[str] = set()
    found: dict[tuple[str, str, str], Spent] = {}
    for key, group in sorted(sums.items(), key=lambda pair: (pair[0][2], pair[0][0], pair[0][1])):
        settled = wasted = ZERO
        answers = 0
        for line in group:
            usd = (line.billed_usd or ZERO) if line.ending == "settled" else ZERO
            new = line.ending == "settled" and line.answered and line.request_id not in used
            used.update([line.request_id] if new else [])
            settled, wasted, answers = settled + usd, wasted + (ZERO if new else usd), answers + new
        found[key] = Spent(*key, answers, len(group), settled, wasted)
    return list(found.values())


def means(known: Iterable[Line]) -> dict[str, Decimal]:
    """USD that an answer costs, by model that gave one, with all that was paid for nothing, or may have been."""
    spent_on: dict[str, Decimal] = {}
    answers: dict[str, set[str]] = {}
    for line in known:
        usd = line.reserved_usd if line.ending == "kept" else line.billed_usd or ZERO
        spent_on[line.model] = spent_on.get(line.model, ZERO) + usd
        if line.ending == "settled" and line.answered:
            answers.setdefault(line.model, set()).add(line.request_id)
    return {model: spent_on[model] / len(ids) for model, ids in answers.items()}


def _tasks(grid: Grid) -> dict[str, str]:
    """Request id → task, from the runs' frozen plans."""
    found: dict[str, str] = {}
    for run in grid.runs:
        for request_id in frozen(grid.store, grid.manifest.namespace, run, ["request_id"])["request_id"].to_pylist():
            found.setdefault(request_id, run.task)
    return found
