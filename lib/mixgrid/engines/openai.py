"""Any OpenAI-compatible server, through the `openai` SDK with its own retries off.

One thread runs an event loop; callers hand their requests over and wait. A request stands at the desk (so that only so
many hold money), has its worst case reserved, waits for its turn, is sent, and is settled, each try for itself:

    desk → reserve → slot (gate, pace, concurrency) → send → settle, release or keep → answer, another try, or None

Ray or a signal may end the process at any of these steps: what was reserved stays reserved, what was settled is kept.
"""

import asyncio
import math
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any, TypeVar

from mixgrid.budget.base import Entry, Hold
from mixgrid.engines.base import Ask, EngineSpec, GaveUp
from mixgrid.engines.limits import Limits
from mixgrid.engines.retry import Trouble, backoff, of_body, of_no_response, of_response, redacted, without_keys
from mixgrid.engines.till import Reply, Till, key_of, nothing
from mixgrid.engines.wire import Json, Wire, has_utf8, json_object
from mixgrid.manifest import Api
from mixgrid.records import Answer

T = TypeVar("T")

DESK = 2  # requests that hold money, for each that may be in flight: the others are being reserved or settled
CONNECT_S = 10.0
KEEPALIVE_S = 3.0  # less than servers allow: a connection closed under a request leaves its bill unknown
NOT_SENT = Trouble("fatal", "not sent: the engine had come to its end", unbilled=True)
LOST = Trouble("again", "the engine failed while this was in flight", unbilled=False)
BYTES_PER_TOKEN = 3  # for a limit of tokens per minute; money is bound by bytes


class OpenAIEngine:
    """One model behind a server, asked from any thread."""

    def __init__(self, spec: EngineSpec) -> None:
        self._api = api = spec.entry.api or Api()
        self._till, self._wire = Till(spec), Wire(spec.entry)
        import httpx2  # what the SDK speaks HTTP with
        import openai  # half a second, and a laptop that only plans needs none of it

        self._openai, self._response = openai, httpx2.Response  # a class that the SDK hands through unread
        self.fingerprint = f"openai-{openai.__version__}"
        share = max(1, spec.replicas)
        most = math.ceil(api.concurrency / share)
        self._share, self._most = share, most
        limits = _per(api.requests_per_minute, share), _per(api.tokens_per_minute, share)
        gentle = not self._till.free  # a server of one's own is asked at once
        self._limits = Limits(most, *limits, gentle=gentle, gate=self._till.gate)
        self._client = client(api, spec.model)
        self._money = ThreadPoolExecutor(DESK * most, "mixgrid-money")
        self._desk = asyncio.Semaphore(DESK * most)
        self._end, self._answered, self._answered_at = "", 0, -math.inf
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="openai-engine", daemon=True)
        self._thread.start()

    def answer(self, asks: Sequence[Ask]) -> list[Answer | None]:
        """The answers, in the order of `asks`; blocks the calling thread only. GaveUp: nobody will be answered."""
        found = self._run(self._all(asks))
        if self._end and None in found:
            raise GaveUp(self._end, found)
        return found

    def close(self) -> None:
        """End the loop, and the connections."""
        self._run(self._client.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._money.shutdown()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _all(self, asks: Sequence[Ask]) -> list[Answer | None]:
        """Every request to its end, and only then the first error, so that none is left behind half done."""
        found = await asyncio.gather(*(self._one(ask) for ask in asks), return_exceptions=True)
        for one in found:
            if isinstance(one, BaseException):
                raise one
        return [one for one in found if not isinstance(one, BaseException)]

    async def _one(self, ask: Ask) -> Answer | None:
        """One request, through as many tries as it takes and is worth."""
        if not has_utf8(ask):
            return self._wire.failed("bad_text")
        async with self._desk:
            since, blind, waits = math.inf, 0, 0
            while not self._end:
                hold = await self._in_thread(self._till.reserve, ask)
                if hold is None:
                    return None
                found = await self._try(ask, hold)
                if isinstance(found, Answer):
                    return found
                if found.wait_s:
                    await self._in_thread(self._till.gate, found.wait_s)  # for the provider's other models too
                if found.kind in ("without", "fatal"):
                    continue
                since, blind, waits = min(since, self._now()), blind + (not found.unbilled), waits + 1
                if blind >= self._api.tries or self._now() - since > self._api.patience_s:
                    self._gave_up(since, found)
                    return None
                await asyncio.sleep(backoff(waits))
        return None

    async def _try(self, ask: Ask, hold: Hold) -> Answer | Trouble:
        """Send once, when it is this request's turn, and book it: as kept, where nobody can say how it went."""
        entry, found = self._entry(ask, hold, nothing(), LOST)
        try:
            async with self._limits.slot(_tokens(ask)) as sent_at:
                body = self._wire.body(ask)
                reply, trouble = (nothing(), NOT_SENT) if self._end else await self._send(body)
                self._heed(trouble, body, sent_at)  # before the next one takes the place
            entry, found = self._entry(ask, hold, reply, trouble)
        finally:
            await self._in_thread(self._till.end, entry)
        if isinstance(found, Answer) and trouble is None:
            self._answered, self._answered_at = self._answered + 1, self._now()
        return found

    async def _send(self, body: Json) -> tuple[Reply, Trouble | None]:
        """One request over the wire; what the SDK raises becomes a Trouble."""
        sent_at, proven = datetime.now(UTC), self._answered > 0
        try:
            response = await self._client.post("/chat/completions", body=body, cast_to=self._response)
        except self._openai.APIStatusError as error:
            said = redacted(_decoded(error.response.content))  # some repeat a part of the key
            reply = Reply(error.status_code, said, sent_at, datetime.now(UTC))
            return reply, of_response(error.status_code, error.response.headers, error.body, proven)
        except self._openai.APIConnectionError as error:
            return Reply(None, "", sent_at, datetime.now(UTC)), of_no_response(error.__cause__ or error)
        text = without_keys(_decoded(response.content))
        reply = Reply(response.status_code, text, sent_at, datetime.now(UTC), json_object(text))
        self._limits.learn(response.headers, self._share)
        return reply, of_body(response.status_code, reply.json, proven)

    def _entry(self, ask: Ask, hold: Hold, reply: Reply, trouble: Trouble | None) -> tuple[Entry, Answer | Trouble]:
        """How a try ended, for the ledger and for its request: a row where it can never be answered."""
        asked = self._wire.asked(ask, hold)
        if trouble:
            row = self._wire.failed(trouble.reason, asked, reply.latency_s) if trouble.kind == "row" else None
            return self._till.failed(hold, reply, self._wire.host, trouble, row), row or trouble
        body, bill = dict(reply.json or {}), self._till.bill(hold, reply)
        answer = self._wire.answer(body, asked, float(bill.usd), reply.latency_s, self.fingerprint)
        entry = self._till.settled(hold, reply, self._wire.provider(body), bill, answer)
        return entry, answer or Trouble("again", "a response without an answer", unbilled=False, status=reply.status)

    def _heed(self, found: Trouble | None, body: Json, sent_at: float) -> None:
        """What a try says about how to go on, and how fast."""
        self._end = self._end or (self._wire.heed(found, body) if found else "")
        if found is None:
            self._limits.succeeded()
        elif found.kind == "busy":
            self._limits.refused(sent_at, backoff(0) if found.wait_s is None else found.wait_s)
        elif found.kind == "again":
            self._limits.troubled(sent_at, found.wait_s or 0.0)

    def _gave_up(self, since: float, last: Trouble) -> None:
        """One request's patience is at its end; so is the engine's, where nobody else was answered either."""
        if self._answered_at < since:
            silence = f"{self._wire.host} has answered nobody for {self._now() - since:.0f} s"
            self._end = self._end or f"{silence} ({last.sentence})"

    def _now(self) -> float:
        return self._loop.time()

    async def _in_thread(self, call: Callable[..., T], *args: object) -> T:
        """The purse waits for other processes and for the store; the loop must not."""
        if self._till.free:
            return call(*args)
        return await self._loop.run_in_executor(self._money, call, *args)


def client(api: Api, model: str) -> Any:
    """The SDK's client, with the key out of this process's environment: nowhere else is it ever written."""
    import httpx2
    import openai

    from mixgrid.engines.transport import AiohttpTransport

    timeout = httpx2.Timeout(api.timeout_s, connect=CONNECT_S)
    http = httpx2.AsyncClient(transport=AiohttpTransport(KEEPALIVE_S), timeout=timeout, follow_redirects=False)
    return openai.AsyncOpenAI(
        api_key=key_of(api, model), base_url=api.url, max_retries=0, timeout=timeout, http_client=http
    )


def _per(limit: int | None, share: int) -> float | None:
    return None if limit is None else limit / share


def _tokens(ask: Ask) -> int:
    """What a request counts for in a limit of tokens per minute: providers count the most that it may answer."""
    return sum(len(m.content.encode()) for m in ask.messages) // BYTES_PER_TOKEN + ask.sampling.max_tokens


def _decoded(content: bytes) -> str:
    return content.decode("utf-8", "replace")
