"""The money side of an API engine: what a try may cost, what it did cost, and who is told. A free server has none."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from mixgrid.budget.base import Attempt, Ending, Entry, Hold, Purse
from mixgrid.engines.base import Ask, EngineSpec
from mixgrid.engines.retry import Trouble, remember
from mixgrid.engines.wire import whole
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


def nothing() -> Reply:
    """Of a try of which nothing came back."""
    now = datetime.now(UTC)
    return Reply(None, "", now, now)


def key_of(api: Api, model: str) -> str:
    """The key, out of this process's environment: nowhere else is it ever written."""
    if not api.key_env:
        return "none"
    key = os.environ.get(api.key_env, "").strip()
    if not key:
        raise UserError(
            f"model {model!r}: {api.key_env} is not in the environment of the process that sends; export it there "
            "(on a cluster: in the environment of `ray start`)"
        )
    remember(key)
    return key


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
        url = urlsplit((entry.api or Api()).url)
        self._provider = f"{url.hostname}:{url.port or url.scheme}"  # no user nor password that may stand before it
        self._price = price_of(entry, spec.model, (entry.api or Api()).url)

    def reserve(self, ask: Ask, wait: bool = True) -> Hold | None:
        """Hold back the worst case of one try; None where the budget does not allow it, or not without a wait."""
        if self._purse is None:
            return Hold("", ask.request_id, ZERO, datetime.now(UTC).date(), "")
        worst_case = self._price.worst_case(prompt_bound(ask.messages), ask.sampling.max_tokens)
        return self._purse.reserve(ask.request_id, worst_case, wait)

    def bill(self, hold: Hold, reply: Reply) -> Bill:
        """What the reply cost."""
        return bill(self._price, reply.usage, hold.usd)

    def settled(self, hold: Hold, reply: Reply, provider: str, billed: Bill, answer: Answer | None) -> Entry:
        """A bill, with the answer that it is for; without one where the provider charged for none."""
        said = "" if answer else "a response without an answer"
        return Entry(hold, "settled", self._attempt(hold, reply, provider, said, answer, billed))

    def failed(self, hold: Hold, reply: Reply, provider: str, trouble: Trouble, answer: Answer | None) -> Entry:
        """A try that failed: given back if it is certain that nothing was billed. `answer`: the failed row, if any."""
        ending: Ending = "released" if trouble.unbilled else "kept"
        return Entry(hold, ending, self._attempt(hold, reply, provider, trouble.sentence, answer, None))

    def end(self, entry: Entry) -> None:
        """Tell the purse how one try ended; a bill is durable when this returns."""
        if self._purse:
            tell = {"settled": self._purse.settle, "released": self._purse.release, "kept": self._purse.keep}
            tell[entry.ending](entry.hold, entry.attempt)

    def book(self, entries: Sequence[Entry]) -> None:
        """The same for many; all durable when this returns."""
        if self._purse and entries:
            self._purse.book(entries)

    def gate(self, wait_s: float = 0.0) -> float:
        """As the purse's `gate`, of this model's provider. Without a purse (a free server) each waits for itself."""
        return self._purse.gate(self._provider, wait_s) if self._purse else wait_s

    def disown(self, holds: Iterable[Hold]) -> None:
        """Have nobody wait for these: a later process ends them."""
        if self._purse:
            self._purse.disown(holds)

    def _attempt(
        self, hold: Hold, reply: Reply, provider: str, said: str, answer: Answer | None, billed: Bill | None
    ) -> Attempt:
        """What came is hostile text: what has no UTF-8 form would make the whole group's part unwritable."""
        response_id = (reply.json or {}).get("id")
        return Attempt(
            request_id=hold.request_id,
            model=self._model,
            provider=whole(provider),
            http_status=reply.status,
            usage=json.dumps(reply.usage) if reply.usage else "",
            body=whole(reply.text),
            price=self._price,
            billed_usd=billed.usd if billed else None,
            known_by=billed.known_by if billed else "",
            error=whole(said),
            sent_at=reply.sent_at,
            ended_at=reply.ended_at,
            answer=answer,
            response_id=whole(response_id) if isinstance(response_id, str) else "",
        )
