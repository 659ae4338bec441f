"""The provider's batch endpoint, at its discount: files of requests, answered within a day.

    adopt what earlier processes sent → reserve as far as the money goes → note → file → batch → wait → both result
    files → settle → again with what came back without an answer, or with what the budget did not allow before

A call of `answer` blocks until its batches have ended, which may take a day: the work is written down before it is sent
(notes.py), so whoever dies, the next process goes on waiting for the same batches and pays for nothing twice.
"""

import json
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from mixgrid.budget.base import Entry
from mixgrid.engines.base import Ask, EngineSpec, GaveUp
from mixgrid.engines.batches import FULL, is_full, refusal, reply_of, status_of, trouble_of
from mixgrid.engines.notes import Asked, Note
from mixgrid.engines.retry import Trouble, backoff, of_no_response, of_response, without_keys
from mixgrid.engines.till import Till, key_of, nothing
from mixgrid.engines.wire import Json, Wire, has_utf8, json_object
from mixgrid.errors import UserError
from mixgrid.manifest import Api
from mixgrid.records import Answer

T = TypeVar("T")

MOST_REQUESTS = 50_000  # in one file; OpenAI's limits, of which
MOST_BYTES = 190_000_000  # it allows 200 MB
ENDED = ("completed", "expired", "cancelled", "failed")
PATH: Final = "/v1/chat/completions"  # as the lines of a file name it, whatever the server's own address


class BatchEngine:
    """One model behind a batch endpoint."""

    def __init__(self, spec: EngineSpec) -> None:
        if spec.notes is None:
            raise UserError(f"model {spec.model!r}: a batch engine needs a store for what it must not forget")
        if spec.replicas > 1:
            raise UserError(f"resources.{spec.model}: one batch engine waits as well as {spec.replicas}; replicas: 1")
        self._api, self._notes = spec.entry.api or Api(), spec.notes
        self._till, self._wire = Till(spec), Wire(spec.entry)
        import openai

        from mixgrid.engines.transport import in_time

        self._openai, timeout_s = openai, self._api.timeout_s
        http = openai.DefaultHttpxClient(timeout=timeout_s, event_hooks={"response": [in_time(timeout_s)]})
        self._client = openai.OpenAI(
            api_key=key_of(self._api, spec.model), base_url=self._api.url, max_retries=0, timeout=timeout_s,
            http_client=http,
        )  # fmt: skip
        self.fingerprint = f"openai-batch-{openai.__version__}"
        self._adopting = threading.Lock()
        self._adopted: dict[str, Answer] | None = None  # answers of batches that earlier processes sent
        self._proven = False
        self._most, self._full_since = MOST_REQUESTS, math.inf  # requests in a batch that the queue may have place for
        self._out: set[str] = set()  # batches of ours that have not ended

    def answer(self, asks: Sequence[Ask]) -> list[Answer | None]:
        """The answers, in the order of `asks`, once the batches that hold them have ended."""
        found = {ask.request_id: self._wire.failed("bad_text") for ask in asks if not has_utf8(ask)}
        waiting = {ask.request_id: ask for ask in asks if ask.request_id not in found}
        tries: Counter[str] = Counter()
        out: dict[str, Note] = {}  # by name: what this call has noted and not collected
        end = ""
        try:
            found |= {name: answer for name, answer in self._earlier().items() if name in waiting}
            while lacking := [a for n, a in waiting.items() if n not in found and tries[n] < self._api.tries]:
                self._send(lacking, out)
                if not out:
                    break  # the budget allows none of them
                full, sent = 0, list(out.values())
                for note in sent:
                    batch = self._ended(note.batch_id)
                    found |= self._collect(note, batch)
                    del out[note.name]
                    full += is_full(batch)
                    tries.update(() if is_full(batch) else list(note.asked))
                self._queued(full < len(sent), len(lacking))
        except GaveUp as stop:
            end = str(stop)
        finally:
            self._till.disown(asked.hold for note in out.values() for asked in note.asked.values())
        answers = [found.get(ask.request_id) for ask in asks]
        if end:
            raise GaveUp(end, answers)
        return answers

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    # What earlier processes sent

    def _earlier(self) -> Mapping[str, Answer]:
        """The answers of batches that were noted and never settled; waits for them."""
        with self._adopting:
            if self._adopted is None:
                found: dict[str, Answer] = {}
                for note in list(self._notes.open()):
                    found |= self._adopt(note)
                self._adopted = found
            return self._adopted

    def _adopt(self, note: Note) -> Mapping[str, Answer]:
        """One of them; a note without an id is looked up by its name, in case the batch was made nevertheless."""
        batch_id = note.batch_id or self._made(note.name)
        if batch_id:
            named = note if note.batch_id else self._notes.named(note, batch_id)
            return self._collect(named, self._ended(batch_id))
        never = Trouble("again", "the process ended before the batch was made", unbilled=True)
        reply = nothing()
        self._till.book([self._till.failed(a.hold, reply, self._wire.host, never, None) for a in note.asked.values()])
        self._notes.forget(note)
        return {}

    def _made(self, name: str) -> str:
        """The id of the batch that carries a note's name; empty where there is none."""
        for batch in self._patiently(lambda: list(self._client.batches.list(limit=100))):
            if (batch.metadata or {}).get("mixgrid") == name:
                return str(batch.id)
        return ""

    # Sending

    def _send(self, asks: Sequence[Ask], out: dict[str, Note]) -> None:
        """Batches of those requests that the budget allows now; it may wait for the first."""
        lines, asked, size = list[bytes](), dict[str, Asked](), 0
        whole = False
        try:
            for ask in asks:
                line = self._line(ask)
                if asked and (len(asked) >= self._most or size + len(line) > MOST_BYTES):
                    full, lines, asked, size = (lines, asked), [], {}, 0
                    self._make(*full, out)
                hold = self._till.reserve(ask, wait=not asked and not out)
                if hold is None:
                    break  # the next ones have their turn when these are settled
                lines.append(line)
                asked[ask.request_id] = self._wire.asked(ask, hold)
                size += len(line)
            whole = True
        finally:
            self._keep({} if whole else asked)
        if asked:
            self._make(lines, asked, out)

    def _keep(self, asked: Mapping[str, Asked]) -> None:
        """End the holds that no note tells of: an error came before it was written for sure."""
        lost, reply = Trouble("again", "the engine failed before it was sent", unbilled=False), nothing()
        for one in asked.values():
            self._till.end(self._till.failed(one.hold, reply, self._wire.host, lost, None))

    def _line(self, ask: Ask) -> bytes:
        request = {"custom_id": ask.request_id, "method": "POST", "url": PATH, "body": self._wire.body(ask)}
        return json.dumps(request, ensure_ascii=False).encode() + b"\n"

    def _make(self, lines: Sequence[bytes], asked: Mapping[str, Asked], out: dict[str, Note]) -> None:
        """Note, upload, make, and note the id: only a death between the last two needs the provider's list."""
        note, noted = Note(asked), False
        try:
            self._notes.write(note)
            noted, out[note.name] = True, note
        finally:
            self._keep({} if noted else asked)
        upload = ("batch.jsonl", b"".join(lines))
        file = self._patiently(lambda: self._client.files.create(file=upload, purpose="batch"))
        batch_id = self._patiently(lambda: self._made(note.name) or self._create(file.id, note.name))
        self._out.add(batch_id)
        out[note.name] = self._notes.named(note, batch_id)

    def _create(self, file_id: str, name: str) -> str:
        batch = self._client.batches.create(
            input_file_id=file_id, endpoint=PATH, completion_window="24h", metadata={"mixgrid": name}
        )
        return str(batch.id)

    def _queued(self, some: bool, asked: int) -> None:
        """Smaller batches, once the queue had no place for any too long, with none of ours in it; GaveUp for one."""
        if some or self._out:
            self._full_since = math.inf if some else self._full_since
            return
        self._full_since = min(self._full_since, time.monotonic())
        if time.monotonic() - self._full_since <= self._api.patience_s:
            return
        if min(self._most, asked) == 1:
            raise GaveUp(f"{self._wire.host}: its queue has no place for a single request ({FULL})")
        self._most, self._full_since = min(self._most, asked) // 2, math.inf

    # Collecting

    def _ended(self, batch_id: str) -> Any:
        """The batch, when the provider has done with it."""
        while True:
            batch = self._patiently(lambda: self._client.batches.retrieve(batch_id))
            if batch.status in ENDED:
                return batch
            time.sleep(self._api.poll_s)

    def _collect(self, note: Note, batch: Any) -> dict[str, Answer]:
        """Settle all of a batch, and give the answers; what has none is asked again. GaveUp: it would be in vain."""
        self._out.discard(note.batch_id)
        lines = dict(self._lines(batch))
        self._proven = self._proven or any(status_of(line) == 200 for line in lines.values())
        found = [self._entry(asked, lines.get(name), batch) for name, asked in note.asked.items()]
        self._till.book([entry for entry, _ in found])
        self._notes.forget(note)
        answers = {e.hold.request_id: e.attempt.answer for e, _ in found if e.attempt.answer}
        end = refusal(batch) or next((why for _, why in found if why), "")
        if end:
            raise GaveUp(f"{self._wire.host}: {end}", list(answers.values()))
        if is_full(batch):
            time.sleep(self._api.poll_s)
        return answers

    def _lines(self, batch: Any) -> Iterator[tuple[str, Json]]:
        """(request id, line) of both result files, in whatever order; an answer comes after an error of that id."""
        for file_id in (batch.error_file_id, batch.output_file_id):
            content = self._patiently(partial(self._client.files.content, file_id)).content if file_id else b""
            for raw in without_keys(content.decode("utf-8", "replace")).split("\n"):
                line = json_object(raw) if raw.strip() else None
                if line and isinstance(line.get("custom_id"), str):
                    yield line["custom_id"], line

    def _entry(self, asked: Asked, line: Json | None, batch: Any) -> tuple[Entry, str]:
        """How one request ended, for the ledger; and why nothing more can be asked, if that is what its line says."""
        reply, hold = reply_of(line, batch), asked.hold
        if reply.status == 200 and reply.json is not None:
            body, bill = dict(reply.json), self._till.bill(hold, reply)
            answer = self._wire.answer(body, asked, float(bill.usd), reply.latency_s, self.fingerprint)
            return self._till.settled(hold, reply, self._wire.provider(body), bill, answer), ""
        trouble = trouble_of(line, reply, batch, self._proven)
        row = self._wire.failed(trouble.reason, asked, reply.latency_s) if trouble.kind == "row" else None
        end = self._wire.heed(trouble, {trouble.parameter: None})
        return self._till.failed(hold, reply, self._wire.host, trouble, row), end

    def _patiently(self, call: Callable[[], T]) -> T:
        """A call of the provider's API that may be repeated, until it succeeds. GaveUp where it is in vain."""
        time.sleep(self._till.gate())
        since, tries = time.monotonic(), 0
        while True:
            try:
                return call()
            except self._openai.APIStatusError as error:
                trouble = of_response(error.status_code, error.response.headers, error.body, proven=False)
            except self._openai.APIConnectionError as error:
                trouble = of_no_response(error.__cause__ or error)
            tries += 1
            if trouble.kind not in ("again", "busy") or time.monotonic() - since > self._api.patience_s:
                raise GaveUp(f"{self._wire.host}: {trouble.sentence}")
            time.sleep(max(self._till.gate(trouble.wait_s or 0.0), backoff(tries)))
