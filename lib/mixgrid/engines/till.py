"""The money side of an API engine: what a try may cost, what it did cost, and who is told. A free server has none."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from mixgrid.budget.base import Attempt, Hold, Purse
from mixgrid.engines.base import Ask, EngineSpec
from mixgrid.errors import UserError
from mixgrid.manifest import Api
from mixgrid.pricing import ZERO, Bill, bill, price_of, priced, prompt_bound
from mixgrid.records import Answer


@dataclass(frozen=True)
class Reply:
    """What came back for one try, as it came."""

    status: int | None  # None: no status line came
    text: str
    sent_at: datetime
    ended_at: datetime
    json: Mapping[str, Any] | None = None  # None: not a whole JSON object

    @property
    def usage(self) -> Mapping[str, Any] | None:
        """The usage object, if there is one."""
        found = (self.json or {}).get("usage")
        return found if isinstance(found, Mapping) else None

    @property
    def latency_s(self) -> float:
        """Seconds between sending and the end of the answer."""
        return (self.ended_at - self.sent_at).total_seconds()


class Till:
    """One model's purse and price."""

    def __init__(self, spec: EngineSpec) -> None:
        entry = spec.entry
        self.free = not priced(entry)
        if not self.free and spec.purse is None:
            raise UserError(
                f"model {spec.model!r} has a price, and nothing may be sent without a budget: use `mixgrid sweep "
                "MANIFEST --budget-usd N`, or `price: free` in models.yaml for a server of your own"
            )
        self._model = spec.model
        self._purse: Purse | None = None if self.free else spec.purse
        self._price = price_of(entry, spec.model, (entry.api or Api()).url)

    def reserve(self, ask: Ask) -> Hold | None:
        """Hold back the worst case of one try; None where the budget does not allow it. May wait."""
        if self._purse is None:
            return Hold("", ask.request_id, ZERO, datetime.now(UTC).date(), "")
        worst_case = self._price.worst_case(prompt_bound(ask.messages), ask.sampling.max_tokens)
        return self._purse.reserve(ask.request_id, worst_case)

    def bill(self, hold: Hold, reply: Reply) -> Bill:
        """What the reply cost."""
        return bill(self._price, reply.usage, hold.usd)

    def settle(self, hold: Hold, reply: Reply, provider: str, billed: Bill, answer: Answer | None, said: str) -> None:
        """Book a bill, with the answer that it is for; without one where the provider charged for a failure."""
        if self._purse:
            self._purse.settle(hold, self._attempt(hold, reply, provider, billed, answer, said))

    def release(self, hold: Hold, reply: Reply, provider: str, answer: Answer | None, said: str) -> None:
        """Nothing was billed."""
        if self._purse:
            self._purse.release(hold, self._attempt(hold, reply, provider, None, answer, said))

    def keep(self, hold: Hold, reply: Reply, provider: str, said: str) -> None:
        """Nobody knows whether it was billed."""
        if self._purse:
            self._purse.keep(hold, self._attempt(hold, reply, provider, None, None, said))

    def close(self) -> None:
        """Give back what is not held."""
        if self._purse:
            self._purse.close()

    def _attempt(
        self, hold: Hold, reply: Reply, provider: str, billed: Bill | None, answer: Answer | None, said: str
    ) -> Attempt:
        response_id = (reply.json or {}).get("id")
        return Attempt(
            request_id=hold.request_id,
            model=self._model,
            provider=provider,
            http_status=reply.status,
            usage=json.dumps(reply.usage) if reply.usage else "",
            body=reply.text,
            price=self._price,
            billed_usd=billed.usd if billed else None,
            known_by=billed.known_by if billed else "",
            error=said,
            sent_at=reply.sent_at,
            ended_at=reply.ended_at,
            answer=answer,
            response_id=response_id if isinstance(response_id, str) else "",
        )
