"""What a paid request costs: prices by the million tokens, the worst case before it is sent, the bill after.

    price = price_of(entry, "gpt-4o-mini")          # UserError: no price is known, so nothing may be sent
    price.worst_case(prompt_bound(messages), 2048)  # USD; what the ledger holds back
    bill(price, usage, reserved)                    # USD; the provider's own figure wins

Money is Decimal, in USD, rounded up to 10⁻¹² (the finest that a ledger stores).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Any, Literal

from mixgrid.records import Message

ZERO = Decimal(0)
_FINEST = Decimal("1e-12")
_MILLION = Decimal(1_000_000)
_PER_MESSAGE = 16  # tokens that a chat template puts around a message, with room to spare
_PER_PROMPT = 32  # and around them all


@dataclass(frozen=True)
class Price:
    """USD per million tokens, as they stood on a day; kept with every attempt. Reasoning is billed as output."""

    input: Decimal
    cached_input: Decimal
    output: Decimal
    batch_discount: Decimal  # the share taken off in a batch: 0.5 is half price
    source: str  # the manifest, or the price list and its version
    as_of: str  # ISO date of the list, or of the manifest's own `as_of`

    def worst_case(self, prompt_tokens: int, max_tokens: int, batch: bool = False) -> Decimal:
        """The most that a request can cost: no token cached, every token of the answer used."""
        return self.cost(Tokens(prompt_tokens, 0, max_tokens, 0), batch)

    def cost(self, tokens: "Tokens", batch: bool = False) -> Decimal:
        """Uncached input, cached input and output (reasoning is inside it), each at its own price."""
        usd = (tokens.prompt - tokens.cached) * self.input + tokens.cached * self.cached_input
        usd += tokens.completion * self.output
        return round_up(usd * (1 - self.batch_discount if batch else 1) / _MILLION)


@dataclass(frozen=True)
class Tokens:
    """A usage, read: `cached` is part of `prompt`, `reasoning` part of `completion`, however the provider counts."""

    prompt: int
    cached: int
    completion: int
    reasoning: int


@dataclass(frozen=True)
class Bill:
    """What an answer cost and how that is known: the provider's figure, our price, or the whole reservation."""

    usd: Decimal
    known_by: Literal["reported", "priced", "assumed"]
    tokens: Tokens | None


def prompt_bound(messages: Iterable[Message]) -> int:
    """No tokenizer makes more tokens of a text than it has bytes; what a template adds is allowed for."""
    sizes = (len(m.content.encode("utf-8", "surrogatepass")) + _PER_MESSAGE for m in messages)
    return sum(sizes) + _PER_PROMPT


def read_usage(usage: Mapping[str, Any] | None) -> Tokens | None:
    """The tokens in a usage object of a chat completion; None where it is missing or contradicts itself.

    Some providers count reasoning inside `completion_tokens`, some only in `total_tokens`: the larger output is billed.
    """
    usage = usage or {}
    prompt, completion = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    if prompt is None or completion is None:
        return None
    total = _count(usage, "total_tokens")
    if total is not None and total < prompt + completion:
        return None
    output = completion if total is None else total - prompt
    cached = _count(usage.get("prompt_tokens_details") or {}, "cached_tokens", 0)
    reasoning = _count(usage.get("completion_tokens_details") or {}, "reasoning_tokens", 0)
    if cached is None or reasoning is None or cached > prompt or reasoning > output:
        return None
    return Tokens(prompt, cached, output, reasoning)


def reported_cost(usage: Mapping[str, Any] | None) -> Decimal | None:
    """What the provider says that it charged (OpenRouter's `cost`, in USD); None where it says nothing usable."""
    cost = (usage or {}).get("cost")
    if isinstance(cost, bool) or not isinstance(cost, int | float | str):
        return None
    try:
        usd = Decimal(str(cost))
    except ArithmeticError:
        return None
    return round_up(usd) if usd.is_finite() and usd >= 0 else None


def bill(price: Price, usage: Mapping[str, Any] | None, reserved: Decimal, batch: bool = False) -> Bill:
    """The bill of an answer. A usage that cannot be right costs the whole reservation: better over than under."""
    tokens, reported = read_usage(usage), reported_cost(usage)
    if reported is not None:
        return Bill(reported, "reported", tokens)
    if tokens is None:
        return Bill(reserved, "assumed", None)
    return Bill(price.cost(tokens, batch), "priced", tokens)


def round_up(usd: Decimal) -> Decimal:
    """Up to what a ledger stores."""
    return usd.quantize(_FINEST, ROUND_CEILING)


def _count(counts: Mapping[str, Any], name: str, missing: int | None = None) -> int | None:
    """A count of tokens; None where it is none."""
    value = counts.get(name)
    if value is None:
        return missing
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
