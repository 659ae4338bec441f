"""The verbs that spend and count money: sweep, cost."""

from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated

import typer

from mixgrid.budget.books import ledger_folder
from mixgrid.budget.reconcile import Settled, read_export
from mixgrid.budget.reconcile import reconcile as reconcile_books
from mixgrid.cli.options import AsJson, Limit, ManifestPath, StoreUrl, say, say_json, warn
from mixgrid.cli.verbs import Progress, outcome_line
from mixgrid.engines.notes import Notes
from mixgrid.errors import UserError
from mixgrid.manifest import Budget
from mixgrid.plan.costs import costs, of_model, prices, warnings_of
from mixgrid.plan.grid import Grid, resolve
from mixgrid.plan.layout import batches_folder
from mixgrid.plan.order import units
from mixgrid.plan.pending import listing
from mixgrid.plan.spent import statement
from mixgrid.plan.summary import grid_warnings
from mixgrid.store.lease import hold

MOST_USD = 10**9  # nobody's budget; a slip of the keyboard


def sweep(
    manifest: ManifestPath,
    store: StoreUrl = None,
    limit: Limit = None,
    budget_usd: Annotated[
        str | None, typer.Option("--budget-usd", help="Spend at most this in all, in USD; else the manifest's.")
    ] = None,
    cap_model: Annotated[
        list[str] | None, typer.Option("--cap-model", metavar="MODEL=USD", help="At most this on one model.")
    ] = None,
    cap_day: Annotated[str | None, typer.Option("--cap-day", help="At most this in one UTC day.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Price everything and send nothing.")] = False,
    max_failed: Annotated[
        float, typer.Option(min=0, max=1, help="Exit 3 where more than this share of a run failed.")
    ] = 0.5,
    json: AsJson = False,
) -> None:
    """Ask what the grid lacks, for no more than a budget; exit 4 where that ended it. Resumes by itself."""
    grid = resolve(manifest, store).limited(limit)
    from mixgrid.sweep import caps_of
    from mixgrid.sweep import sweep as sweep_grid

    budget = _budget(grid, budget_usd, cap_model or [], cap_day)
    if dry_run:
        if budget:
            caps_of(grid, budget)
        _quote(grid, budget, json)
        return
    caps = caps_of(grid, budget)
    grid.store.check(write=False)
    warn([*listing(grid.store, grid.manifest.namespace).warnings(), *grid_warnings(grid), *warnings_of(prices(grid))])
    progress = Progress()
    outcome = sweep_grid(grid, caps, progress, max_failed)
    progress.close()
    say_json(outcome) if json else say(outcome_line(outcome))


def cost(
    manifest: ManifestPath,
    store: StoreUrl = None,
    reconcile: Annotated[
        Path | None, typer.Option("--reconcile", metavar="EXPORT.csv", help="The provider's usage export.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Print what the grid's sweep has spent: settled, reserved, wasted on retries; by model, task and day."""
    grid = resolve(manifest, store)
    grid.store.check(write=False)
    settled = _reconciled(grid, reconcile) if reconcile else []
    found = statement(grid)
    if json:
        say_json({"statement": found, "reconciled": settled})
        return
    for one in settled:
        say(
            f"reconciled {one.checkpoint} {one.day}: {one.stranded_usd} USD were reserved, "
            f"{one.billed_usd} USD of them billed{'; ' + one.note if one.note else ''}"
        )
    for row in found.by_task:
        say(
            f"{row.day} · {row.model} · {row.task or '–'}: {row.answers} answers in {row.attempts} attempts, "
            f"settled {row.settled_usd:.6f} USD, of it wasted {row.wasted_usd:.6f}"
        )
    for held in found.reserved:
        say(f"{held.day} · {held.model}: reserved {held.usd:.6f} USD, outcome unknown")
    say(
        f"sweep {found.sweep}: {found.committed_usd:.6f} USD committed = {found.settled_usd:.6f} settled + "
        f"{found.reserved_usd:.6f} reserved; wasted on retries {found.wasted_usd:.6f}"
    )
    warn(f"not what had been promised: {sentence}" for sentence in found.overrun)


def _reconciled(grid: Grid, export: Path) -> list[Settled]:
    """Settle stranded reservations while nobody else can spend from the budget."""
    billed = read_export(export)
    folder = ledger_folder(grid.manifest.namespace, grid.manifest.name)
    checkpoints = {model: entry.checkpoint for model, entry in grid.models.items()}
    with hold(grid.store, f"{folder}/lease", f"the budget of sweep {grid.manifest.name}"):
        _nothing_out(grid)
        return reconcile_books(grid.store, folder, checkpoints, billed, datetime.now(UTC).date())


def _nothing_out(grid: Grid) -> None:
    """UserError where the provider still has batches: their reservations are not stranded, their bill is to come."""
    for model in grid.models:
        notes = Notes(grid.store, batches_folder(grid.manifest.namespace, model)).open()
        if out := [note.batch_id or f"one named {note.name}" for note in notes]:
            raise UserError(
                f"model {model!r}: batches are not settled yet: {', '.join(out)}; run `mixgrid sweep` again, which "
                "collects them, and reconcile then"
            )


def _budget(grid: Grid, usd: str | None, models: list[str], day: str | None) -> Budget | None:
    """The manifest's budget under what the command line says."""
    below = grid.manifest.budget
    if usd is None and below is None:
        if models or day:
            raise UserError("a cap of a day or a model stands under one of the whole sweep; give --budget-usd too")
        return None
    pairs = [pair.rpartition("=")[::2] for pair in models]
    own = {name: _usd("--cap-model", value) for name, value in pairs}
    return Budget(
        usd=below.usd if usd is None and below else _usd("--budget-usd", usd or ""),
        day=_usd("--cap-day", day) if day else (below.day if below else None),
        models={**(below.models if below else {}), **own},
    )


def _usd(option: str, text: str) -> Decimal:
    try:
        usd = Decimal(text)
    except InvalidOperation:
        usd = Decimal(0)
    if not (usd.is_finite() and 0 < usd < MOST_USD):
        raise UserError(f"{option} {text}: give an amount of USD above 0, such as 120 or 0.50")
    return usd


def _quote(grid: Grid, budget: Budget | None, json: bool) -> None:
    """What everything would cost at worst; nothing is sent or written."""
    found = prices(grid)
    worst = costs(grid, found, units(grid))
    sums = {model: of_model(worst, model) for model in found}
    total = sum((cost.worst_usd for cost in sums.values()), Decimal(0))
    if json:
        document = {
            "models": {
                model: {**vars(found[model]), "requests": cost.requests, "worst_usd": cost.worst_usd}
                for model, cost in sums.items()
            },
            "worst_usd": total,
            "budget": budget.model_dump(mode="json") if budget else None,
        }
        say_json(document)
        return
    for model, cost in sums.items():
        price = found[model]
        say(
            f"{model}: {cost.requests} requests, at worst {cost.worst_usd:.4f} USD at {price.input} / "
            f"{price.cached_input} / {price.output} USD per million input / cached / output tokens "
            f"({price.source}{', ' + price.as_of if price.as_of else ''})"
        )
    say(f"at worst {total:.4f} USD in all" + (f", of a budget of {budget.usd} USD" if budget else ", and no budget"))
    say("nothing was sent")
    warn(warnings_of(found))
