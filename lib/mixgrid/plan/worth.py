"""What a budget buys: how many items of every model, how wide the intervals, and what it costs to show a difference.

Planned with a share near one half and clusters that are alike to the degree ICC (Kish's design effect); two models are
taken to differ on a quarter of the items. The prices are the worst case, and, once there are answers, what they cost.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from mixgrid.budget.books import ledger_folder, lines
from mixgrid.plan.costs import Cost, Costs, costs, prices
from mixgrid.plan.grid import Grid
from mixgrid.plan.order import Unit, units
from mixgrid.plan.spent import means
from mixgrid.pricing import ZERO
from mixgrid.significance.effects import kish_design_effect, mde_from_error, mde_paired

ICC, DISCORDANT = 0.05, 0.25
Z95 = 1.96
SHARES = (Decimal("0.25"), Decimal("0.5"), Decimal(1), Decimal(2))  # of the manifest's budget
DIFFERENCES = (0.02, 0.05, 0.1)


@dataclass(frozen=True)
class Bought:
    """What so much money buys; the differences are of shares (0.05: five points)."""

    usd: Decimal
    basis: str  # at worst, or as paid so far
    units: int
    items: int  # of the first seed, asked of every model and setting
    half_width: float | None
    smallest_difference: float | None


@dataclass(frozen=True)
class Needed:
    """The money that shows a difference in four of five such samples; None: more items than there are."""

    difference: float
    basis: str
    items: int
    usd: Decimal | None


@dataclass(frozen=True)
class Worth:
    """A budget's worth."""

    design_effect: float
    of_units: int
    of_items: int
    bought: tuple[Bought, ...]
    needed: tuple[Needed, ...]


def worth(grid: Grid, usd: Decimal) -> Worth:
    """What the budget, parts of it and twice of it buy, in the order in which the sweep buys."""
    order = units(grid)
    worst = costs(grid, prices(grid), order)
    first = [unit for unit in order if unit.seed == grid.manifest.seeds[0]]
    clusters = {(unit.corpus, unit.cluster_id) for unit in first}
    items = sum(len(unit.items) for unit in first)
    effect = kish_design_effect(items / max(1, len(clusters)), ICC)
    bases = {"at worst": _sums(order, worst, {})}
    if paid := _means(grid, worst):
        bases["as paid so far"] = _sums(order, worst, paid)
    needed = [Needed(d, basis, *_needed(first, sums, d, effect)) for d in DIFFERENCES for basis, sums in bases.items()]
    bought = [_bought(order, len(first), basis, sums, usd * s, effect) for s in SHARES for basis, sums in bases.items()]
    return Worth(effect, len(order), items, tuple(bought), tuple(needed))


def worth_lines(found: Worth) -> list[str]:
    """For the terminal."""
    told = [
        f"{one.usd:.2f} USD buy, {one.basis}, {one.units} of {found.of_units} units, {one.items} of {found.of_items} "
        f"items of every model: {_interval(one)}"
        for one in found.bought
    ]
    told += [
        f"a difference of {100 * one.difference:g} points needs {one.items} items: "
        + (f"{one.usd:.2f} USD {one.basis}" if one.usd is not None else "more than there are")
        for one in found.needed
    ]
    return [*told, f"(95 % intervals of shares near one half, design effect {found.design_effect:.2f}; power 80 %)"]


def _interval(one: Bought) -> str:
    if one.half_width is None or one.smallest_difference is None:
        return "nothing to compare"
    return f"± {100 * one.half_width:.1f} points, differences from {100 * one.smallest_difference:.1f} points"


def _sums(order: Sequence[Unit], worst: Costs, paid: Mapping[str, Decimal]) -> list[Decimal]:
    """What the first n units cost all models together, for n = 1, 2, …"""
    models = {model for _, model in worst}
    total, sums = ZERO, []
    for unit in order:
        for model in models:
            cost = worst.get((unit, model), Cost())
            total += cost.requests * paid[model] if model in paid else cost.worst_usd
        sums.append(total)
    return sums


def _bought(
    order: Sequence[Unit], first: int, basis: str, sums: Sequence[Decimal], usd: Decimal, effect: float
) -> Bought:
    count = sum(total <= usd for total in sums)
    items = sum(len(unit.items) for unit in order[: min(count, first)])
    if not items:
        return Bought(usd, basis, count, 0, None, None)
    half = Z95 * math.sqrt(0.25 * effect / items)
    return Bought(usd, basis, count, items, half, mde_paired(items, DISCORDANT, effect))


def _needed(
    first: Sequence[Unit], sums: Sequence[Decimal], difference: float, effect: float
) -> tuple[int, Decimal | None]:
    wanted = math.ceil(DISCORDANT * effect * (mde_from_error(1.0) / difference) ** 2)
    items = 0
    for n, unit in enumerate(first):
        items += len(unit.items)
        if items >= wanted:
            return wanted, sums[n]
    return wanted, None


def _means(grid: Grid, worst: Costs) -> dict[str, Decimal]:
    """USD an answer so far, by model; empty until every model has answered."""
    found = means(lines(grid.store, ledger_folder(grid.manifest.namespace, grid.manifest.name)))
    return found if {model for _, model in worst} <= found.keys() else {}
