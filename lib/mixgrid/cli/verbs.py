"""The verbs of the main flow: plan, run, status, reduce, report.

Ray and scipy take seconds to import, so a verb that needs them imports its flow itself: the others answer at once.
"""

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Never

import typer
from tqdm import tqdm

from mixgrid.cli.options import (
    AllowChanged,
    AllowUnmatched,
    AsJson,
    Limit,
    ManifestPath,
    Namespace,
    StoreUrl,
    say,
    say_json,
    warn,
)
from mixgrid.cli.planned import estimate_lines, plan_lines
from mixgrid.errors import UserError
from mixgrid.plan.costs import prices, warnings_of
from mixgrid.plan.estimate import estimate as estimate_of
from mixgrid.plan.events import told
from mixgrid.plan.grid import Grid, open_store, resolve
from mixgrid.plan.pending import listing
from mixgrid.plan.progress import Status, cut_warnings, unknown
from mixgrid.plan.progress import status as status_of
from mixgrid.plan.summary import grid_warnings, summary
from mixgrid.records import Receipt

if TYPE_CHECKING:
    from mixgrid.plan.worth import Worth
    from mixgrid.predict import Outcome


def plan(
    manifest: ManifestPath,
    store: StoreUrl = None,
    limit: Limit = None,
    exact: Annotated[bool, typer.Option("--exact", help="Count the tokens of every prompt, not of a sample.")] = False,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Size the whole design, from declared counts where data is absent.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Print what the grid would ask: runs, requests, tokens, and what is already done. Spends nothing."""
    if estimate:
        if limit or exact:
            raise UserError("an estimate is of the whole design; take --limit or --exact away, or --estimate")
        size = estimate_of(manifest)
        say_json(size) if json else say("\n".join(estimate_lines(size)))
        warn(() if json else size.warnings)
        return
    grid = resolve(manifest, store, to_run=False).limited(limit)
    grid.store.check(write=False)
    found, priced = summary(grid, exact), prices(grid)
    buys, buys_lines = _worth(grid)
    warnings = [*found.warnings, *warnings_of(priced)]
    if json:
        say_json({**vars(found), "warnings": warnings, "worth": buys})
        return
    say("\n".join([*plan_lines(found), *buys_lines]))
    warn([*warnings, *unknown(grid.store, grid.manifest.namespace, grid.sizes)])


def _worth(grid: Grid) -> "tuple[Worth | None, list[str]]":
    """What the budget buys, where there is one, and the same for the terminal."""
    if grid.manifest.budget is None:
        return None, []
    from mixgrid.plan.worth import worth, worth_lines

    found = worth(grid, grid.manifest.budget.usd)
    return found, worth_lines(found)


def run(
    manifest: ManifestPath,
    store: StoreUrl = None,
    limit: Limit = None,
    max_failed: Annotated[
        float, typer.Option(min=0, max=1, help="Exit 3 where more than this share of a run failed.")
    ] = 0.5,
    json: AsJson = False,
) -> None:
    """Ask everything that the grid lacks, on the cluster of RAY_ADDRESS or on a local Ray. Resumes by itself."""
    from mixgrid.sweep import answer

    grid = resolve(manifest, store).limited(limit)
    grid.store.check(write=False)
    warn([*listing(grid.store, grid.manifest.namespace).warnings(), *grid_warnings(grid)])
    progress = Progress()
    outcome = answer(grid, progress, max_failed)
    progress.close()
    warn(cut_warnings(status_of(grid.store, grid.manifest.namespace, grid.sizes)))
    if json:
        say_json(outcome)
        return
    say(outcome_line(outcome))


def status(
    manifest: Annotated[str | None, typer.Argument(metavar="[MANIFEST]", help="Only this grid's runs.")] = None,
    store: StoreUrl = None,
    namespace: Namespace = "main",
    address: Annotated[str | None, typer.Option("--address", help="Ask this job server about the cluster too.")] = None,
    json: AsJson = False,
) -> None:
    """Print how far each run is: done, pending, failed, unparsed, rate, cache, GPU time, cost, ETA. Reads no text."""
    if manifest:
        grid = resolve(manifest, store)
        grid.store.check(write=False)
        found = status_of(grid.store, grid.manifest.namespace, grid.sizes)
        strange = [*unknown(grid.store, grid.manifest.namespace, grid.sizes)]
        trouble = told(grid.store, grid.manifest.namespace, grid.models)
    else:
        opened = open_store(store)
        opened.check(write=False)
        found, trouble = status_of(opened, namespace), told(opened, namespace)
        strange = [*unknown(opened, namespace)]
    if json:
        say_json(found)
        return
    for one in found:
        say(_status_line(one))
    warn([*strange, *cut_warnings(found)])
    for line in trouble:
        say(line)
    say(f"{len(found)} runs: {sum(s.done for s in found)} rows done, {sum(s.pending for s in found)} pending")
    if address:
        from mixgrid.cli.remote import cluster_line

        say(cluster_line(address))


def reduce(
    manifest: ManifestPath,
    store: StoreUrl = None,
    allow_unmatched: AllowUnmatched = False,
    allow_changed_items: AllowChanged = False,
    json: AsJson = False,
) -> None:
    """Score what the store holds of the grid; free to repeat."""
    from mixgrid.reduce.grid import Allowed, reduce_grid
    from mixgrid.report import score_table

    grid = resolve(manifest, store)
    reduction = reduce_grid(grid, Allowed(allow_unmatched, allow_changed_items))
    if json:
        say_json(replace(reduction, inputs={}))
        return
    say(score_table(reduction.scores))
    say(f"reduction {reduction.id}: {grid.store.url}/{reduction.folder}")
    warn(reduction.warnings)


def report(
    manifest: ManifestPath,
    store: StoreUrl = None,
    out: Annotated[Path | None, typer.Option(help="Write the files into this folder too.")] = None,
    allow_unmatched: AllowUnmatched = False,
    allow_changed_items: AllowChanged = False,
    json: AsJson = False,
) -> None:
    """Write the page and the tables of the grid's scores; prints where the page is."""
    from mixgrid.reduce.grid import Allowed, reduce_grid
    from mixgrid.report import report as write_report

    grid = resolve(manifest, store)
    reduction = reduce_grid(grid, Allowed(allow_unmatched, allow_changed_items))
    places = write_report(grid.store, grid.manifest.namespace, reduction.id, out)
    if json:
        say_json({"reduction": reduction.id, "files": places})
        return
    say(f"report: {places[0]}")
    warn(reduction.warnings)


def _status_line(one: Status) -> str:
    rate = f", {one.tokens_per_s:.0f} tokens/s" if one.tokens_per_s else ""
    eta = f", ETA {one.eta_s:.0f} s" if one.eta_s else ""
    cache = f", cache {one.cached_tokens / one.prompt_tokens:.0%}" if one.cached_tokens else ""
    spent = f", {one.cost_usd:.4f} USD" if one.cost_usd else ""
    gpus = f", {one.gpu_hours:.2f} GPU hours" if one.gpu_hours else ""
    return (
        f"{one.run_id}: {one.done}/{one.planned} done, {one.pending} pending, {one.failed} failed, "
        f"{one.unparsed} unparsed{rate}{cache}{gpus}{spent}{eta}"
    )


def outcome_line(outcome: "Outcome") -> str:
    """How a run or a sweep ended."""
    return (
        f"{outcome.done} of {outcome.planned} rows done ({outcome.failed} failed for good); this call asked "
        f"{outcome.asked}, copied {outcome.copied}, started {outcome.engines_started} engines, {outcome.seconds:.1f} s"
    )


class Progress:
    """A bar for each model on a terminal, a line now and then elsewhere."""

    def __init__(self) -> None:
        self._bar: tqdm[Never] | None = None
        self._failed = self._unparsed = self._tokens = 0
        self._since = time.monotonic()

    def __call__(self, model: str, rows: int, receipt: Receipt | None) -> None:
        """A model starts (no receipt), or one of its parts is there."""
        if receipt is None:
            self.close()
            self._failed = self._unparsed = self._tokens = 0
            self._since = time.monotonic()
            quiet = not sys.stderr.isatty()
            self._bar = tqdm(total=rows, desc=model, unit="row", mininterval=10 if quiet else 0.2, ascii=quiet)
        elif self._bar is not None:
            self._failed += receipt.failed
            self._unparsed += receipt.unparsed
            self._tokens += receipt.completion_tokens
            rate = self._tokens / max(time.monotonic() - self._since, 1e-9)
            self._bar.set_postfix_str(f"{self._failed} failed, {self._unparsed} unparsed, {rate:.0f} tokens/s", False)
            self._bar.update(receipt.rows)

    def close(self) -> None:
        """End the bar's line."""
        if self._bar is not None:
            self._bar.close()
