"""What a reduction reads, found by listings alone, and the account of it that is kept beside the scores."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mixgrid import __version__
from mixgrid.plan.layout import predictions_folder, run_folder
from mixgrid.plan.progress import CUT
from mixgrid.records import Run
from mixgrid.reduce.cells import ALL, MIXED, Cell
from mixgrid.reduce.readings import FAILED
from mixgrid.store import Part, PartListing, Store

TOP = 20  # unparsed answers shown for each cell
KILLED = f"{FAILED}engine_death"
TOP_CUT = 5  # slices named for each cell whose answers were cut off


@dataclass(frozen=True)
class Inputs:
    """The files of some runs. Warnings grow while parts are read."""

    plans: dict[str, list[Part]]  # by run
    parts: dict[str, list[Part]]  # by run; runs of one corpus, task and model share them
    warnings: list[str]

    @property
    def keys(self) -> list[str]:
        """Every file that is read, sorted."""
        return sorted({part.key for parts in (*self.plans.values(), *self.parts.values()) for part in parts})


def gather(store: Store, namespace: str, runs: Sequence[Run]) -> Inputs:
    """List the runs' frozen plans and their models' predictions; torn and foreign files become warnings."""
    listings: dict[str, PartListing] = {}
    inputs = Inputs({}, {}, [])
    for run in runs:
        plan = store.parts(run_folder(namespace, run.run_id), "requests")
        inputs.plans[run.run_id] = sorted(plan.whole)
        inputs.warnings.extend(f"run {run.run_id}: {warning}" for warning in plan.warnings())
        if not plan.whole:
            inputs.warnings.append(f"run {run.run_id} has no frozen plan, so it has no cells: run it first")
        folder = predictions_folder(namespace, run)
        if folder not in listings:
            listings[folder] = store.parts(folder)
            inputs.warnings.extend(listings[folder].warnings())
        inputs.parts[run.run_id] = sorted(p for p in listings[folder].whole if p.stem == "part")
    return inputs


def account(inputs: Inputs, cells: Sequence[Cell], reduction_id: str) -> dict[str, Any]:
    """inputs.json: what was read, what did not join and why, how rows ended, and what could not be parsed."""
    runs = sorted((answers.run.run_id, answers, cell) for cell in cells for answers in cell.answers)
    counts = {run_id: dict(answers.counts) for run_id, answers, _ in runs}
    return {
        "reduction": reduction_id,
        "mixgrid": __version__,
        "plans": {run_id: [p.key for p in parts] for run_id, parts in inputs.plans.items()},
        "parts": sorted({p.key for parts in inputs.parts.values() for p in parts}),
        "snapshots": {run_id: answers.run.snapshot for run_id, answers, _ in runs},
        "parsers": {cell.run.task: cell.parser for cell in cells},
        "families": {cell.run.task: cell.family.signature for cell in cells},
        "joined": counts,
        "statuses": {run_id: dict(c.book.statuses.counts(a.rows.status)) for run_id, a, c in runs},
        "engines": sorted({name for _, a, c in runs for name in c.book.engines.counts(a.rows.engine)}),
        "unparsed": [_unparsed(cell) for cell in cells],
        "warnings": [
            *inputs.warnings,
            *_left_out(counts),
            *(said for cell in cells for about in (_cut, _killed) for said in about(cell)),
        ],
    }


def _unparsed(cell: Cell) -> dict[str, Any]:
    total: Counter[str] = Counter()
    for answers in cell.answers:
        total.update(cell.book.excerpts.counts(answers.rows.excerpt))
    top = sorted(total.items(), key=lambda pair: (-pair[1], pair[0]))[:TOP]
    run = cell.run
    cell_key = {"corpus": run.corpus, "split": run.split, "task": run.task, "model": run.model, "setting": run.setting}
    return {**cell_key, "rows": total.total(), "top": [{"text": text, "rows": n} for text, n in top]}


def _cut(cell: Cell) -> Iterator[str]:
    """A sentence where more than a hundredth of a slice's answers ended at the limit of their length."""
    rows = cell.rows[..., 0].sum(axis=0)
    one = [s for s, name in enumerate(cell.slices.names) if ALL not in name and MIXED not in name]
    spoilt = sorted((s for s in one if cell.cut[s] > CUT * rows[s]), key=lambda s: -cell.cut[s] / rows[s])
    if spoilt:
        run = cell.run
        shown = [f"{'/'.join(cell.slices.names[s])} {100 * cell.cut[s] / rows[s]:.1f} %" for s in spoilt[:TOP_CUT]]
        more = f" and {len(spoilt) - TOP_CUT} more" if len(spoilt) > TOP_CUT else ""
        yield (
            f"{run.corpus} · {run.task} · {run.model} · {run.setting}: answers cut off at `max_tokens` (finish_reason "
            f"length) in {', '.join(shown)}{more}; raise it, or ask for shorter reasoning"
        )


def _killed(cell: Cell) -> Iterator[str]:
    """A sentence where rows killed the engine: their cell's numbers count them as the policy for failed rows says."""
    rows = sum(cell.book.statuses.counts(answers.rows.status).get(KILLED, 0) for answers in cell.answers)
    if rows:
        run = cell.run
        yield (
            f"{run.corpus} · {run.task} · {run.model} · {run.setting}: {rows} rows killed the engine and are failed "
            "(engine_death); `mixgrid status` names them, and another engine version may answer them"
        )


_WHY = {
    "superseded": "answer the same request as another row, and that one has the lower digest",
    "prompt_differs": "were made from another prompt than their request's: left out",
    "item_differs": "are about another text of their item: left out",
    "item_unknown": "are about items that the snapshot does not have: left out",
    "plan_item_unknown": "are planned about items that the snapshot does not have: left out",
    "plan_item_differs": "are planned about another text of their item: left out",
    "missing": "are planned and not answered yet",
}


def _left_out(counts: dict[str, dict[str, int]]) -> list[str]:
    """A sentence for each kind of row that a reader would miss or wonder about; old plans and copies are normal."""
    return [
        f"run {run_id}: {found[name]} rows {why}"
        for run_id, found in counts.items()
        for name, why in _WHY.items()
        if found.get(name)
    ]
