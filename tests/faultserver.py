"""An OpenAI-compatible server that misbehaves on purpose, bills by its own books, and plays everything by a seed.

with fault_server(Plan(faults={"reset": 0.1})) as server:     # a process of its own, on the loopback address
    server.url                                                # for a model's `api: {url: …}`
    server.state()                                            # its books: see State

What happens to a request depends on (seed, what is asked, how often that was asked before), never on the order in which
requests arrive. Faults, by name: see `_FAULTS`. Limits of rate are enforced over a sliding window.
"""

import asyncio
import json
import shutil
import subprocess
import sys
import time
import urllib.request
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from email.utils import formatdate
from pathlib import Path

from aiohttp import web

from tests.faultbatch import Batches
from tests.faultbodies import Json, completion, cut, error, key_of, share_of, spoilt, tokens_of

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Plan:
    """How the server behaves. Prices are USD per million tokens."""

    seed: int = 0
    faults: dict[str, float] = field(default_factory=dict)  # name → share of the tries
    latency_s: float = 0.0
    slow_s: float = 5.0  # of the fault `slow`
    input_usd: float = 1.0
    output_usd: float = 4.0
    limit: int | None = None  # requests within any `window_s`; beyond it: 429
    window_s: float = 60.0
    tells_limit: bool = False  # x-ratelimit-* headers with every answer
    retry_after: str = "ms"  # of a 429: ms, seconds, date, garbage, none
    refused_s: float = 0.02  # what the fault `429` asks to wait
    unknown: tuple[str, ...] = ()  # parameters that it refuses with 400
    quota: int | None = None  # answers, until the account is empty
    upload_refused_s: float = 0.0  # what the first upload of a file is refused with
    batch_polls: int = 1  # looks at a batch until it ends
    batch_ends: tuple[str, ...] = ("completed",)  # of the first batch, the second, …; the last goes on
    batch_done: float = 1.0  # share of requests answered by a batch that expires or is cancelled
    batch_errors: float = 0.0  # share of requests that end in the error file of a batch


@dataclass
class State:
    """The server's books, by its own clock. Money in millionths of a millionth of a USD, so that sums are exact."""

    billed: int = 0
    delivered: int = 0  # the part of it whose answer was sent to its end
    exposed: int = 0  # worst case of what is being answered
    most_exposed: int = 0  # the most that was billed and exposed together, at any instant
    most_at_once: int = 0
    at_once: int = 0
    statuses: Counter[str] = field(default_factory=Counter)  # requests by what became of them
    answers: Counter[str] = field(default_factory=Counter)  # what was asked → answers that were billed
    bills: list[tuple[str, str, int, bool]] = field(default_factory=list)  # (response id, what was asked, bill, sent)
    arrivals: list[float] = field(default_factory=list)  # seconds on its clock; only of those that were let in


# name → is it billed? What else it does is in Server.chat.
_FAULTS = {
    "429": False,  # refused; Retry-After as the plan says
    "500": False,
    "503": False,
    "drip": True,  # an answer that comes byte by byte, and does not end
    "duplicate_id": True,  # an id that another answer had
    "early_reset": False,  # the connection is cut before anything was done
    "eats": True,  # reasoning uses all tokens, the answer is empty
    "empty": True,  # an answer without text
    "error_in_200": False,
    "filtered": True,  # finish_reason content_filter
    "garbage": True,  # a page of HTML
    "half": True,  # cut in the middle of the body
    "lost_batch": False,  # a batch is made, and an error says that it was not
    "no_usage": True,
    "refused": True,  # a refusal, as a message
    "reset": True,  # answered and billed, then the connection is cut
    "slow": True,
    "wrong_usage": True,  # counts that contradict themselves
}


class Server:
    """The books and the handlers."""

    def __init__(self, plan: Plan) -> None:
        assert set(plan.faults) <= set(_FAULTS), plan.faults
        self.plan, self.state = plan, State()
        self._window: deque[float] = deque()
        self._tries: Counter[str] = Counter()

    def app(self) -> web.Application:
        """The routes."""
        app = web.Application(client_max_size=2**28)
        app.router.add_post("/v1/chat/completions", self.chat)
        app.router.add_get("/state", self.books)
        Batches(self).add_to(app)
        return app

    async def books(self, _: web.Request) -> web.Response:
        """The state, as JSON."""
        return web.json_response(vars(self.state))

    async def chat(self, request: web.Request) -> web.StreamResponse:
        """One chat completion, or what becomes of it."""
        ask: Json = await request.json()
        key = key_of(ask)
        if refusal := self._refusal(request, ask):
            self.state.statuses[str(refusal.status)] += 1
            return refusal
        fault = self.fault(key)
        with self._exposed(ask):
            await asyncio.sleep(self.plan.slow_s if fault == "slow" else self.plan.latency_s)
            body = completion(ask, key, fault, self._tries[key])
            if _FAULTS.get(fault, True):
                self.bill(key, body["id"], self.cost(body["usage"]))
        self.state.statuses[fault or "200"] += 1
        return await self._send(request, fault, body)

    def cost(self, usage: Json, share: float = 1.0) -> int:
        """What a usage costs, in millionths of a millionth of a USD."""
        prompt, answer = self.plan.input_usd * 1e6, self.plan.output_usd * 1e6
        return int((usage["prompt_tokens"] * prompt + usage["completion_tokens"] * answer) * share)

    @contextmanager
    def _exposed(self, ask: Json) -> Iterator[None]:
        worst = self.worst(ask)
        self.expose(worst, 1)
        try:
            yield
        finally:
            self.expose(-worst, -1)

    def worst(self, ask: Json, share: float = 1.0) -> int:
        """The most that a request can cost."""
        limit = ask.get("max_completion_tokens") or ask["max_tokens"]
        return self.cost({"prompt_tokens": tokens_of(ask), "completion_tokens": limit}, share)

    def expose(self, usd: int, requests: int) -> None:
        """Note that more, or less, may be billed."""
        state = self.state
        state.exposed, state.at_once = state.exposed + usd, state.at_once + requests
        state.most_at_once = max(state.most_at_once, state.at_once)
        state.most_exposed = max(state.most_exposed, state.billed + state.exposed)

    def bill(self, key: str, response_id: str, usd: int) -> None:
        """Enter an answer."""
        self.state.billed += usd
        self.state.answers[key] += 1
        self.state.bills.append((response_id, key, usd, False))

    def fault(self, key: str) -> str:
        """What happens to this try of what is asked; empty: nothing odd."""
        self._tries[key] += 1
        drawn, below = share_of(self.plan.seed, key, self._tries[key]), 0.0
        for name, share in sorted(self.plan.faults.items()):
            below += share
            if drawn < below:
                return name
        return ""

    def _refusal(self, request: web.Request, ask: Json) -> web.Response | None:
        """What is refused at the door: an empty account, too many requests, unknown parameters, a wrong key."""
        if request.headers.get("Authorization") == "Bearer wrong":
            return error(401, "Incorrect API key provided: sk-wrong**key.", code="invalid_api_key")
        if self.plan.quota is not None and len(self.state.bills) >= self.plan.quota:
            return error(429, "You exceeded your current quota.", code="insufficient_quota")
        if unknown := self.unknown(ask):
            return unknown
        now = time.monotonic()
        while self._window and self._window[0] <= now - self.plan.window_s:
            self._window.popleft()
        if self.plan.limit is not None and len(self._window) >= self.plan.limit:
            return error(429, "Rate limit reached.", self._wait(self._window[0] + self.plan.window_s - now))
        self._window.append(now)
        self.state.arrivals.append(now)
        return None

    def unknown(self, ask: Json) -> web.Response | None:
        """The refusal of a parameter that it does not know."""
        for name in self.plan.unknown:
            if name in ask:
                said = f"Unsupported parameter: '{name}' is not supported with this model."
                return error(400, said, code="unsupported_parameter", param=name)
        return None

    def _wait(self, seconds: float) -> dict[str, str]:
        headers = {
            "ms": {"retry-after-ms": str(int(seconds * 1000) + 1)},
            "seconds": {"retry-after": f"{seconds:.3f}"},
            "date": {"retry-after": formatdate(time.time() + seconds, usegmt=True)},
            "garbage": {"retry-after": "abc"},
        }
        return headers.get(self.plan.retry_after, {})

    def _limits(self) -> dict[str, str]:
        if not self.plan.tells_limit or self.plan.limit is None:
            return {}
        rate = self.plan.limit * 60 / self.plan.window_s
        return {
            "x-ratelimit-limit-requests": f"{rate:.0f}",
            "x-ratelimit-remaining-requests": str(max(0, self.plan.limit - len(self._window))),
            "x-ratelimit-reset-requests": f"{60 / rate * 1000:.0f}ms",
        }

    async def _send(self, request: web.Request, fault: str, body: Json) -> web.StreamResponse:
        if fault in ("500", "503"):
            return error(int(fault), "The server had an error.")
        if fault == "429":
            return error(429, "Too many requests.", self._wait(self.plan.refused_s))
        if fault == "error_in_200":
            return web.json_response({"error": {"code": 502, "message": "The provider failed."}})
        if fault == "garbage":
            return web.Response(text="<html>busy</html>", content_type="text/html")
        if fault in ("reset", "early_reset"):
            return cut(request)
        data = json.dumps(spoilt(body, fault)).encode()
        response = web.StreamResponse(headers={"Content-Type": "application/json", **self._limits()})
        response.content_length = len(data)
        await response.prepare(request)
        while fault == "drip":
            await response.write(b" ")
            await asyncio.sleep(0.05)
        await response.write(data[: len(data) // 2] if fault == "half" else data)
        if fault == "half":
            return cut(request, response)
        await response.write_eof()
        self.deliver(body["id"])
        return response

    def deliver(self, response_id: str) -> None:
        """Note that the latest bill of that id was sent to its end."""
        bills = self.state.bills
        for n in range(len(bills) - 1, -1, -1):
            if bills[n][0] == response_id and not bills[n][3]:
                bills[n] = (*bills[n][:3], True)
                self.state.delivered += bills[n][2]
                return


@dataclass(frozen=True)
class FaultServer:
    """A running server, from outside."""

    port: int
    process: subprocess.Popen[str]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def state(self) -> State:
        """Its books, as of now."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/state", timeout=30) as answer:
            found = State(**json.load(answer))
        found.statuses, found.answers = Counter(found.statuses), Counter(found.answers)
        return found


@contextmanager
def fault_server(plan: Plan | None = None) -> Iterator[FaultServer]:
    """A server in a process of its own; it ends with the caller."""
    die_with_parent = ("setpriv", "--pdeathsig", "KILL") if shutil.which("setpriv") else ()
    code = "from tests.faultserver import main; main()"
    command = [*die_with_parent, sys.executable, "-c", code, json.dumps(asdict(plan or Plan()))]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            yield FaultServer(int(process.stdout.readline()), process)
        finally:
            process.kill()


async def _serve(plan: Plan) -> None:
    runner = web.AppRunner(Server(plan).app(), access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


def main() -> None:
    """Serve the plan of the first argument until the end of the process; prints the port."""
    given = json.loads(sys.argv[1])
    asyncio.run(_serve(Plan(**given | {name: tuple(given[name]) for name in ("unknown", "batch_ends")})))
