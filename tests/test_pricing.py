"""Prices and bills: pinned to genai-prices' own calculation where it has one, and to usages as providers send them."""

from datetime import date
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from genai_prices import Usage, calc_price
from genai_prices.types import ModelPrice
from hypothesis import given
from hypothesis import strategies as st

from mixgrid.errors import UserError
from mixgrid.manifest import ModelEntry
from mixgrid.pricing import (
    Price,
    Tokens,
    bill,
    price_of,
    price_warnings,
    priced,
    prompt_bound,
    read_usage,
    reported_cost,
)
from mixgrid.records import Message

OPENAI = "https://api.openai.com/v1"
PRICE = Price(Decimal(2), Decimal("0.5"), Decimal(8), "test", "2026-01-01")
COUNT = st.integers(0, 10**6)


def entry(**fields: Any) -> ModelEntry:
    return ModelEntry.model_validate(
        {"engine": "openai", "checkpoint": "gpt-4o-mini", "context_length": 8000, **fields}
    )


def usage(prompt: int, completion: int, total: int, cached: int | None = None, reasoning: int | None = None) -> Any:
    found: dict[str, Any] = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total}
    if cached is not None:
        found["prompt_tokens_details"] = {"cached_tokens": cached}
    if reasoning is not None:
        found["completion_tokens_details"] = {"reasoning_tokens": reasoning}
    return found


@given(COUNT, COUNT, COUNT)
def test_the_list_s_price_gives_what_the_list_s_own_program_calculates(prompt: int, cached: int, output: int) -> None:
    cached = min(cached, prompt)
    theirs = calc_price(
        Usage(input_tokens=prompt, cache_read_tokens=cached, output_tokens=output), "gpt-4o-mini", provider_id="openai"
    )
    assert price_of(entry(), "m", OPENAI).cost(Tokens(prompt, cached, output, 0)) == theirs.total_price


def test_a_batch_has_the_list_s_batch_price_and_keeps_the_cached_rate_that_has_no_discount() -> None:
    plain, batch = (price_of(entry(engine=engine), "m", OPENAI) for engine in ("openai", "openai-batch"))
    assert (batch.input, batch.output) == (plain.input / 2, plain.output / 2)
    assert batch.cached_input == plain.cached_input


def test_a_declared_price_wins_and_its_batch_discount_applies_to_all_of_it() -> None:
    declared = {"input": 0.1, "output": "0.4", "cached_input": 0.05, "batch_discount": 0.25, "as_of": date(2026, 5, 1)}
    assert price_of(entry(price=declared), "m", OPENAI) == Price(
        Decimal("0.1"), Decimal("0.05"), Decimal("0.4"), "models.yaml", "2026-05-01"
    )
    batch = price_of(entry(price=declared, engine="openai-batch"), "m", OPENAI)
    assert (batch.input, batch.cached_input, batch.output) == tuple(map(Decimal, ("0.075", "0.0375", "0.3")))


@pytest.mark.parametrize(
    ("fields", "base_url", "says"),
    [
        ({"checkpoint": "no-such-model"}, OPENAI, "no-such-model"),
        ({}, "http://127.0.0.1:8000/v1", "127.0.0.1"),
        ({"checkpoint": "google/gemini-2.5-pro", "context_length": 900_000}, "https://openrouter.ai/api/v1", "rises"),
    ],
)
def test_an_unknown_price_is_refused_with_the_way_out(fields: dict[str, Any], base_url: str, says: str) -> None:
    with pytest.raises(UserError, match=says) as error:
        price_of(entry(**fields), "sonar", base_url)
    assert "'sonar'" in str(error.value)
    assert "price: free" in str(error.value)


def test_only_what_is_declared_free_needs_no_budget() -> None:
    assert priced(entry())
    assert priced(entry(engine="openai-batch", price={"input": 0, "output": 0}))
    assert not priced(entry(price="free"))
    assert not priced(entry(engine="vllm"))
    assert price_of(entry(price="free", checkpoint="own"), "m", "http://127.0.0.1:1").free


def test_a_price_older_than_sixty_days_is_warned_about() -> None:
    assert price_warnings("m", PRICE, date(2026, 2, 1)) == []
    assert "2026-01-01" in price_warnings("m", PRICE, date(2026, 3, 15))[0]


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        (usage(100, 20, 120), Tokens(100, 0, 20, 0)),
        (usage(100, 20, 120, cached=64, reasoning=15), Tokens(100, 64, 20, 15)),  # reasoning inside completion
        (usage(100, 20, 185, reasoning=65), Tokens(100, 0, 85, 65)),  # reasoning only in the total
        ({"prompt_tokens": 7, "completion_tokens": 3}, Tokens(7, 0, 3, 0)),
        ({**usage(7, 3, 10), "prompt_tokens_details": None}, Tokens(7, 0, 3, 0)),
        (usage(100, 20, 119), None),  # a total below its parts
        (usage(100, 20, 120, cached=101), None),
        (usage(100, 20, 120, reasoning=21), None),
        (usage(-1, 20, 19), None),
        ({"prompt_tokens": "100", "completion_tokens": 20}, None),
        ({"prompt_tokens": True, "completion_tokens": 20}, None),
        ({}, None),
        (None, None),
    ],
)
def test_usages_are_read_whichever_way_the_provider_counts_reasoning(sent: Any, read: Tokens | None) -> None:
    assert read_usage(sent) == read


def test_cached_input_and_reasoning_are_billed_once_each_at_their_own_price() -> None:
    found = bill(PRICE, usage(1000, 500, 1500, cached=400, reasoning=450), Decimal(1))
    assert found.usd == (600 * Decimal(2) + 400 * Decimal("0.5") + 500 * Decimal(8)) / 10**6
    assert found.known_by == "priced"


def test_the_provider_s_own_figure_wins() -> None:
    sent = {**usage(1000, 500, 1500), "cost": 0.00123}
    assert bill(PRICE, sent, Decimal(1)).usd == Decimal("0.00123")
    assert bill(PRICE, sent, Decimal(1)).known_by == "reported"


@pytest.mark.parametrize("cost", [-0.1, float("nan"), float("inf"), "much", True, None, [1]])
def test_a_figure_that_is_none_is_not_believed(cost: object) -> None:
    assert reported_cost({"cost": cost}) is None


def test_a_usage_that_cannot_be_right_costs_the_whole_reservation() -> None:
    assert bill(PRICE, usage(100, 20, 3), Decimal("0.07")).usd == Decimal("0.07")
    assert bill(PRICE, None, Decimal("0.07")).known_by == "assumed"


@given(st.lists(st.builds(Message, st.just("user"), st.text()), min_size=1, max_size=3), COUNT, st.data())
def test_no_bill_of_a_kept_promise_is_above_the_worst_case(
    messages: list[Message], max_tokens: int, data: st.DataObject
) -> None:
    """A provider that takes at most a token a byte and answers within max_tokens."""
    prompt = data.draw(st.integers(0, prompt_bound(messages)))
    tokens = Tokens(prompt, data.draw(st.integers(0, prompt)), data.draw(st.integers(0, max_tokens)), 0)
    for price in (PRICE, Price(Decimal(1), Decimal(3), Decimal(0), "odd", "")):  # caching that costs more
        assert price.cost(tokens) <= price.worst_case(prompt_bound(messages), max_tokens)


@pytest.mark.parametrize(
    "sent",
    [
        {**usage(5, 5, 10), "cost": 1e17},
        {**usage(5, 5, 10), "cost": "1e999999"},
        usage(10**25, 5, 10**25 + 5),
        {"prompt_tokens": 1e25, "completion_tokens": 5},
        usage(5, 10**4000, 10**4000 + 5),
    ],
)
def test_a_bill_beyond_belief_costs_the_reservation_and_is_told(sent: Any) -> None:
    found = bill(PRICE, sent, Decimal("0.5"))
    assert (found.usd, found.known_by) == (Decimal("0.5"), "absurd")


@pytest.mark.parametrize("unit", ["requests_kcount", "output_reasoning_mtok"])
def test_a_list_price_with_a_fee_that_no_bound_covers_is_refused(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = ModelPrice(input_mtok=Decimal(1), output_mtok=Decimal(2), **{unit: Decimal(5)})
    monkeypatch.setattr("genai_prices.calc_price", lambda *_, **__: SimpleNamespace(model_price=found))
    with pytest.raises(UserError, match=f"for {unit} too.*declare `price:"):
        price_of(entry(), "m", OPENAI)


def test_a_prompt_that_may_be_written_into_a_cache_is_held_back_and_billed_as_such() -> None:
    found = price_of(entry(checkpoint="anthropic/claude-opus-4.8"), "m", "https://openrouter.ai/api/v1")
    assert (found.input, found.cached_input) == (Decimal("6.25"), Decimal("0.5"))
