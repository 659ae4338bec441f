"""For tests of paid engines: a purse in memory that writes down what it is told, and an entry for a server of ours."""

import threading
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from mixgrid.budget.base import Attempt, Ending, Entry, Hold
from mixgrid.budget.gates import Gates
from mixgrid.engines.base import Ask
from mixgrid.manifest import Api, ModelEntry, PriceEntry
from mixgrid.records import Answer, Message, Sampling
from tests.faultbodies import key_of, text_for

PRICE = PriceEntry(input=Decimal(1), output=Decimal(4))  # the fault server's own, in USD per million tokens


@dataclass
class Wallet:
    """A purse with a cap and no store; every hold must end exactly once."""

    cap: Decimal = Decimal(1000)
    held: dict[str, Hold] = field(default_factory=dict)
    ended: list[Entry] = field(default_factory=list)
    disowned: set[str] = field(default_factory=set)
    closed: bool = False
    gates: Gates = field(default_factory=Gates, repr=False)
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def paid(self, request_ids: Collection[str]) -> dict[str, Answer]:
        return {}

    def reserve(self, request_id: str, usd: Decimal, wait: bool = True) -> Hold | None:
        with self.lock:
            if self.spent + usd > self.cap:
                return None
            hold = Hold(f"h{len(self.held) + len(self.ended)}", request_id, usd, datetime.now(UTC).date(), "w")
            self.held[hold.hold_id] = hold
            return hold

    def settle(self, hold: Hold, attempt: Attempt) -> None:
        assert attempt.billed_usd is not None
        self.end(hold, "settled", attempt)

    def release(self, hold: Hold, attempt: Attempt) -> None:
        assert attempt.billed_usd is None
        self.end(hold, "released", attempt)

    def keep(self, hold: Hold, attempt: Attempt) -> None:
        assert attempt.billed_usd is None
        self.end(hold, "kept", attempt)

    def book(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            self.end(entry.hold, entry.ending, entry.attempt)

    def disown(self, holds: Iterable[Hold]) -> None:
        with self.lock:
            self.disowned |= {hold.hold_id for hold in holds}

    def gate(self, provider: str, wait_s: float = 0.0) -> float:
        self.gates.shut({provider: wait_s})
        return self.gates.left(provider)

    def close(self) -> None:
        self.closed = True

    def end(self, hold: Hold, ending: Ending, attempt: Attempt) -> None:
        with self.lock:
            assert self.held.pop(hold.hold_id) == hold, "a hold ends once"
            assert attempt.request_id == hold.request_id
            self.ended.append(Entry(hold, ending, attempt))

    def of(self, ending: Ending) -> list[Entry]:
        """What ended so."""
        return [entry for entry in self.ended if entry.ending == ending]

    @property
    def settled(self) -> Decimal:
        """What was billed."""
        return sum((e.attempt.billed_usd or Decimal(0) for e in self.of("settled")), Decimal(0))

    @property
    def spent(self) -> Decimal:
        """All that the cap has to cover."""
        kept = [*self.held.values(), *(entry.hold for entry in self.of("kept"))]
        return self.settled + sum((hold.usd for hold in kept), Decimal(0))


def entry(url: str, engine: str = "openai", price: Any = PRICE, **changes: Any) -> ModelEntry:
    """A model behind a server; keywords that are none of the entry's are its api's."""
    own = {name: changes.pop(name) for name in list(changes) if name in ModelEntry.model_fields}
    api = Api(url=url, key_env="TEST_API_KEY", **changes)
    return ModelEntry(engine=engine, checkpoint="m", context_length=4096, price=price, api=api, **own)


def asks(count: int, **sampling: Any) -> list[Ask]:
    """Different requests."""
    fields = Sampling(**{"temperature": 0.8, "max_tokens": 50, **sampling})
    return [Ask(f"{n:032x}", (Message("user", f"Știrea {n}: the mayor mută podul."),), fields, n) for n in range(count)]


def text_of(ask: Ask) -> str:
    """What the fault server answers."""
    messages = [{"role": m.role, "content": m.content} for m in ask.messages]
    return text_for(key_of({"messages": messages, "seed": ask.seed}))
