"""What a budget buys, by hand."""

import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from mixgrid.plan.costs import costs, of_model, prices
from mixgrid.plan.order import units
from mixgrid.plan.worth import DISCORDANT, ICC, worth, worth_lines
from mixgrid.pricing import prompt_bound
from tests.helpers import corpus_rows, open_grid

PAID: dict[str, Any] = {
    "engine": "openai", "checkpoint": "m", "context_length": 4096, "price": {"input": 1, "output": 4},
    "api": {"url": "http://127.0.0.1:9/v1"},
}  # fmt: skip


def grid_of(folder: Path, sources: int = 40) -> Any:
    models = {"m": PAID, "n": {**PAID, "price": {"input": 2, "output": 8}}}
    return open_grid(folder, models=models, asked=("toy", "m", "n"), rows=corpus_rows(sources), seeds=[1, 2])


def test_the_worst_case_of_a_grid_is_that_of_its_requests(tmp_path: Path) -> None:
    from mixgrid.plan.requests import rendered

    grid = grid_of(tmp_path, 6)
    found = costs(grid, prices(grid), units(grid))
    group = grid.groups[0]
    asks = list(rendered(grid.prompts, group.task, group.setting, group.items))
    tokens = sum(prompt_bound(ask.messages) for ask in asks)
    by_hand = 2 * (Decimal(tokens) * 1 + len(asks) * 32 * 4) / 10**6
    assert of_model(found, "m").worst_usd == by_hand
    assert of_model(found, "n").worst_usd == 2 * by_hand
    assert of_model(found, "m").requests == 24
    assert "toy" not in {model for _, model in found}


def test_more_money_buys_more_and_the_figures_are_those_of_the_textbook(tmp_path: Path) -> None:
    grid = grid_of(tmp_path)
    order = units(grid)
    total = sum((c.worst_usd for c in costs(grid, prices(grid), order).values()), Decimal(0))
    found = worth(grid, total)
    quarter, half, all_of, twice = found.bought
    assert quarter.units < half.units < all_of.units == twice.units == len(order)
    assert all_of.items == found.of_items == 80
    effect = 1 + (80 / 20 - 1) * ICC
    assert found.design_effect == pytest.approx(effect)
    assert all_of.half_width == pytest.approx(1.96 * math.sqrt(0.25 * effect / 80))
    assert all_of.smallest_difference == pytest.approx(2.8016 * math.sqrt(DISCORDANT * effect / 80), rel=1e-4)
    assert quarter.items < 80


def test_the_money_for_a_difference_buys_the_items_that_show_it(tmp_path: Path) -> None:
    grid = grid_of(tmp_path, 300)
    (tenth,) = [one for one in worth(grid, Decimal(1)).needed if one.difference == 0.1]
    assert tenth.usd is not None
    bought = next(one for one in worth(grid, tenth.usd).bought if one.usd == tenth.usd)
    assert bought.items >= tenth.items
    assert bought.smallest_difference is not None
    assert bought.smallest_difference <= 0.1
    assert any("10 points needs" in line for line in worth_lines(worth(grid, Decimal(1))))
