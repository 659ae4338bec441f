"""What a paid request costs: prices by the million tokens, the worst case before it is sent, the bill after.

    price = price_of(entry, "gpt", base_url)        # UserError: no price is known, so nothing may be sent
    price.worst_case(prompt_bound(messages), 2048)  # USD; what the ledger holds back
    bill(price, usage, reserved)                    # USD; the provider's own figure wins

Money is Decimal, in USD, rounded up to 10⁻¹² (the finest that a ledger stores).
"""

import importlib.metadata
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any, Literal

from mixgrid.errors import UserError
from mixgrid.manifest import ModelEntry, PriceEntry
from mixgrid.records import Message

BATCH_ENGINE = "openai-batch"
PRICED_ENGINES = ("openai", BATCH_ENGINE)  # engines that may cost money: each needs a price, or `price: free`
OLD_AFTER_DAYS = 60  # a price list older than this is warned about

ZERO = Decimal(0)
_FINEST = Decimal("1e-12")
_MILLION = Decimal(1_000_000)
_MOST_USD = _MILLION  # no request costs that, nor
_MOST_TOKENS = 10**12  # has that many: what says so is broken, and would not fit into the books
_LISTED = ("input_mtok", "cache_read_mtok", "output_mtok", "cache_write_mtok")
_NEVER_ASKED = re.compile("audio|image|video|searches|cache_write_1h")  # tools, media, long caches: asked for by nobody
_PER_MESSAGE = 16  # tokens that a chat template puts around a message, with room to spare
_PER_PROMPT = 32  # and around them all


@dataclass(frozen=True)
class Price:
    """USD per million tokens, as they stood on a day; kept with every attempt. Reasoning is billed as output."""

    input: Decimal
    cached_input: Decimal
    output: Decimal
    source: str  # the manifest, or the price list and its version
    as_of: str  # ISO date of the list, or of the manifest's own `as_of`; empty: not known

    @property
    def free(self) -> bool:
        """Whether nothing can be billed."""
        return not (self.input or self.cached_input or self.output)

    def worst_case(self, prompt_tokens: int, max_tokens: int) -> Decimal:
        """The most that a request can cost: no token cached (or all, should that cost more), all of the answer used."""
        dearest = max(self.input, self.cached_input)
        return round_up((prompt_tokens * dearest + max_tokens * self.output) / _MILLION)

    def cost(self, tokens: "Tokens") -> Decimal:
        """Uncached input, cached input and output (reasoning is inside it), each at its own price."""
        usd = (tokens.prompt - tokens.cached) * self.input + tokens.cached * self.cached_input
        return round_up((usd + tokens.completion * self.output) / _MILLION)


@dataclass(frozen=True)
class Tokens:
    """A usage, read: `cached` is part of `prompt`, `reasoning` part of `completion`, however the provider counts."""

    prompt: int
    cached: int
    completion: int
    reasoning: int


@dataclass(frozen=True)
class Bill:
    """What an answer cost and how that is known: the provider's figure, our price, or the whole reservation.

    absurd: the whole reservation, as what came is beyond belief; the purse stops the sweep, as for a bill above it.
    """

    usd: Decimal
    known_by: Literal["reported", "priced", "assumed", "absurd"]
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
    """What the provider says that it charged (OpenRouter's `cost`, in USD); None where it says nothing usable.

    What nobody can believe is cut down to a figure that `bill` does not.
    """
    cost = (usage or {}).get("cost")
    if isinstance(cost, bool) or not isinstance(cost, int | float | str):
        return None
    try:
        usd = Decimal(str(cost))
    except ArithmeticError:
        return None
    return round_up(min(usd, _MOST_USD)) if usd.is_finite() and usd >= 0 else None


def bill(price: Price, usage: Mapping[str, Any] | None, reserved: Decimal) -> Bill:
    """The bill of an answer. A usage that cannot be right costs the whole reservation: better over than under."""
    tokens, reported = read_usage(usage), reported_cost(usage)
    usd = reported if reported is not None else price.cost(tokens) if tokens else ZERO
    if usd >= _MOST_USD or (reported is None and _countless(usage)):
        return Bill(reserved, "absurd", tokens)
    if reported is None and tokens is None:
        return Bill(reserved, "assumed", None)
    return Bill(usd, "priced" if reported is None else "reported", tokens)


def _countless(usage: Mapping[str, Any] | None) -> bool:
    counts = [(usage or {}).get(name) for name in ("prompt_tokens", "completion_tokens", "total_tokens")]
    return any(isinstance(count, int | float) and count > _MOST_TOKENS for count in counts)


def priced(entry: ModelEntry) -> bool:
    """Whether asking the model may cost money, so that it needs a budget. A declared `price: free` does not."""
    return entry.engine in PRICED_ENGINES and entry.price != "free"


def price_of(entry: ModelEntry, model: str, base_url: str) -> Price:
    """What a model costs at an address: as its entry declares, else by the price list (genai-prices, offline).

    UserError where neither knows: an unknown price would make every cap inert.
    """
    if entry.price == "free":
        return Price(ZERO, ZERO, ZERO, "declared free", "")
    found = _declared(entry, entry.price) if entry.price else _listed(entry, base_url)
    if isinstance(found, str):
        raise UserError(
            f"models.yaml: model {model!r}: {found}; declare `price: {{input: …, output: …}}` (USD per million "
            "tokens), or `price: free` for a server of your own"
        )
    return found


def price_warnings(model: str, price: Price, today: date) -> list[str]:
    """A sentence where a price may be out of date."""
    if not price.as_of or (today - date.fromisoformat(price.as_of)).days <= OLD_AFTER_DAYS:
        return []
    return [
        f"the price of {model} is of {price.as_of} ({price.source}); declare `price:` with a new `as_of` if it moved"
    ]


def _declared(entry: ModelEntry, price: PriceEntry) -> Price:
    share = 1 - price.batch_discount if entry.engine == BATCH_ENGINE else Decimal(1)
    cached = price.input if price.cached_input is None else price.cached_input
    as_of = price.as_of.isoformat() if price.as_of else ""
    return Price(price.input * share, cached * share, price.output * share, "models.yaml", as_of)


def _listed(entry: ModelEntry, base_url: str) -> Price | str:
    """The list's price, or why there is none."""
    try:
        from genai_prices import Usage, calc_price
        from genai_prices.data import providers
    except ImportError:
        return "its price is not known here (genai-prices is not installed: pip install 'mixgrid[api]')"
    batch = {"processing": "batch"} if entry.engine == BATCH_ENGINE else None
    try:
        found = calc_price(Usage(), entry.checkpoint, provider_api_url=base_url, price_context=batch).model_price
    except LookupError as error:
        return f"its price is not known ({error})"
    rates = [_rate(getattr(found, name, None), entry) for name in _LISTED]
    if rates[0] is None or rates[2] is None:
        return "the price list gives no plain price per input and output token, or one that rises within its context"
    if extra := _extra(found):
        return f"the price list charges it for {extra} too, which no bound on tokens covers"
    cached = rates[0] if rates[1] is None else rates[1]
    source = f"genai-prices {importlib.metadata.version('genai-prices')}"
    dearest = max(rates[0], rates[3] or ZERO)  # a prompt may be written into a cache, and no usage says how much of it
    return Price(dearest, cached, rates[2], source, _newest(providers))


def _extra(found: Any) -> str:
    """Units beside the listed that a text may be billed in, such as by the request."""
    units = (unit for unit, rate in vars(found).items() if rate and unit not in _LISTED)
    return ", ".join(unit for unit in units if not _NEVER_ASKED.search(unit))


def _rate(rate: Any, entry: ModelEntry) -> Decimal | None:
    """A flat rate. A price that changes with the prompt's length counts as flat below its first step."""
    steps = getattr(rate, "tiers", None)
    if steps is None:
        return rate if isinstance(rate, Decimal) else None
    return Decimal(rate.base) if all(step.start >= entry.context_length for step in steps) else None


def _newest(providers: Iterable[Any]) -> str:
    """The list bears no date: it is at least as new as the newest price change in it that has come."""
    today = datetime.now(UTC).date()
    prices = (p for provider in providers for model in provider.models for p in _conditions(model))
    return max(
        (d for p in prices if (d := getattr(p.constraint, "start_date", today)) < today), default=today
    ).isoformat()


def _conditions(model: Any) -> list[Any]:
    return [*(model.prices if isinstance(model.prices, list) else []), *(model.price_variants or [])]


def round_up(usd: Decimal) -> Decimal:
    """Up to what a ledger stores."""
    return usd.quantize(_FINEST, ROUND_CEILING)


def round_down(usd: Decimal) -> Decimal:
    """Down to what a ledger stores."""
    return usd.quantize(_FINEST, ROUND_FLOOR)


def _count(counts: Mapping[str, Any], name: str, missing: int | None = None) -> int | None:
    """A count of tokens; None where it is none."""
    value = counts.get(name)
    if value is None:
        return missing
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS else None
