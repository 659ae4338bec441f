"""What a sweep can cost at worst, unit by unit and model by model, before anything is sent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from mixgrid.manifest import Api
from mixgrid.plan.grid import Grid
from mixgrid.plan.order import Unit
from mixgrid.plan.requests import rendered
from mixgrid.pricing import ZERO, Price, price_of, price_warnings, priced, prompt_bound


@dataclass(frozen=True)
class Cost:
    """Requests, and what they cost if every answer is as long as it may be."""

    requests: int = 0
    worst_usd: Decimal = ZERO

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.requests + other.requests, self.worst_usd + other.worst_usd)


Costs = Mapping[tuple[Unit, str], Cost]  # by unit and model


def prices(grid: Grid) -> dict[str, Price]:
    """The price of each model that costs money; UserError where one is not known."""
    entries = {m: e for m, e in grid.models.items() if priced(e)}
    return {model: price_of(entry, model, (entry.api or Api()).url) for model, entry in entries.items()}


def warnings_of(found: Mapping[str, Price]) -> list[str]:
    """A sentence for each price that may be out of date."""
    today = datetime.now(UTC).date()
    return [sentence for model, price in found.items() for sentence in price_warnings(model, price, today)]


def costs(grid: Grid, found: Mapping[str, Price], order: Sequence[Unit]) -> dict[tuple[Unit, str], Cost]:
    """What each unit costs each priced model. Each prompt is rendered once for all models and seeds."""
    units = {(u.seed, u.corpus, u.split, item): u for u in order for item in u.items}
    total: dict[tuple[Unit, str], Cost] = {}
    for group in grid.groups:
        runs = [run for run in group.runs if run.model in found]
        items = group.items if runs else ()
        for ask in rendered(grid.prompts, group.task, group.setting, items, group.pool):
            bound = prompt_bound(ask.messages)
            for run in runs:
                if grid.takes(run, ask.item):
                    key = units[run.seed, run.corpus, run.split, ask.item.item_id], run.model
                    worst = found[run.model].worst_case(bound, run.sampling.max_tokens)
                    total[key] = total.get(key, Cost()) + Cost(1, worst)
    return total


def of_model(found: Costs, model: str) -> Cost:
    """One model's sum."""
    return sum((cost for (_, name), cost in found.items() if name == model), Cost())
