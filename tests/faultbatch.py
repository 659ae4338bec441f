"""The fault server's batch endpoints: files, batches that end well, badly or in part, and two result files."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from aiohttp import web

from tests.faultbodies import Json, completion, error, key_of, share_of

if TYPE_CHECKING:
    from tests.faultserver import Server

HALF = 0.5  # the price of a batch


class Batches:
    """Files and batches, by id."""

    def __init__(self, server: "Server") -> None:
        self.server = server
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, Json] = {}
        self.looks: Counter[str] = Counter()
        self.uploads = 0

    def add_to(self, app: web.Application) -> None:
        """The routes."""
        app.router.add_post("/v1/files", self.upload)
        app.router.add_get("/v1/files/{id}/content", self.content)
        app.router.add_post("/v1/batches", self.make)
        app.router.add_get("/v1/batches", self.list)
        app.router.add_get("/v1/batches/{id}", self.look)

    async def upload(self, request: web.Request) -> web.Response:
        """Keep a file, or say when to come again."""
        self.uploads += 1
        if self.uploads == 1 and (wait_s := self.server.plan.upload_refused_s):
            return error(429, "Too many requests.", {"retry-after": f"{wait_s}"})
        form = await request.post()
        field: Any = form["file"]
        return web.json_response({"id": self._keep(field.file.read()), "object": "file"})

    async def content(self, request: web.Request) -> web.StreamResponse:
        """A file's bytes; with the fault `drip` a few of them now and then."""
        data = self.files[request.match_info["id"]]
        if self.server.fault(request.match_info["id"]) != "drip":
            return web.Response(body=data)
        self.server.state.statuses["drip"] += 1
        response = web.StreamResponse()
        await response.prepare(request)
        for byte in data:
            await response.write(bytes([byte]))
            await asyncio.sleep(0.05)
        return response

    async def make(self, request: web.Request) -> web.Response:
        """Make a batch; what it may cost is exposed until it ends."""
        asked: Json = await request.json()
        lines = [json.loads(line) for line in self.files[asked["input_file_id"]].splitlines()]
        ends = self.server.plan.batch_ends
        batch: Json = {
            "id": f"batch-{len(self.batches) + 1}", "object": "batch", "endpoint": asked["endpoint"], "errors": None,
            "input_file_id": asked["input_file_id"], "completion_window": "24h", "status": "validating",
            "output_file_id": None, "error_file_id": "", "created_at": int(time.time()),
            "metadata": asked.get("metadata"), "end": ends[min(len(self.batches), len(ends) - 1)],
        }  # fmt: skip
        self.batches[batch["id"]] = batch
        self.server.state.statuses["batch"] += 1
        self.server.expose(sum(self.server.worst(line["body"], HALF) for line in lines), 0)
        if self.server.plan.faults.get("lost_batch"):  # it is made, and nobody is told its id
            return error(500, "The server had an error.")
        return web.json_response(batch)

    async def list(self, _: web.Request) -> web.Response:
        """All batches."""
        return web.json_response({"object": "list", "data": list(self.batches.values()), "has_more": False})

    async def look(self, request: web.Request) -> web.Response:
        """One batch; it ends after so many looks."""
        batch = self.batches[request.match_info["id"]]
        self.looks[batch["id"]] += 1
        if batch["status"] in ("validating", "in_progress"):
            batch["status"] = "in_progress"
            if self.looks[batch["id"]] > self.server.plan.batch_polls:
                self._end(batch)
        return web.json_response(batch)

    def _end(self, batch: Json) -> None:
        """Answer the lines, as far as the batch comes, and write the two files."""
        plan, end = self.server.plan, batch["end"]
        lines = [json.loads(line) for line in self.files[batch["input_file_id"]].splitlines()]
        self.server.expose(-sum(self.server.worst(line["body"], HALF) for line in lines), 0)
        batch["status"] = "failed" if end == "full" else end
        if end in ("failed", "full"):
            code = "token_limit_exceeded" if end == "full" else "invalid_file"
            batch["errors"] = {"object": "list", "data": [{"code": code, "message": f"Refused: {code}."}]}
            return
        batch["completed_at" if end == "completed" else f"{end}_at"] = int(time.time()) + 60
        done, failed = list[Json](), list[Json]()
        for line in lines:
            drawn = share_of(plan.seed, "batch", batch["id"], line["custom_id"])
            if end != "completed" and drawn >= plan.batch_done:
                failed += [_failed(line, None)] if end == "expired" else []
            elif drawn < plan.batch_errors:
                failed.append(_failed(line, error(500, "The server had an error.")))
            else:
                done.append(self._done(line, batch["id"]))
        batch["output_file_id"] = self._write(done)
        batch["error_file_id"] = self._write(failed) or ""

    def _done(self, line: Json, batch_id: str) -> Json:
        key = key_of(line["body"])
        if refusal := self.server.unknown(line["body"]):
            return _failed(line, refusal)
        body = completion(line["body"], key, nth=batch_id)
        self.server.bill(key, body["id"], self.server.cost(body["usage"], HALF))
        self.server.deliver(body["id"])
        response = {"status_code": 200, "request_id": "r", "body": body}
        return {"id": "x", "custom_id": line["custom_id"], "response": response, "error": None}

    def _write(self, lines: Sequence[Json]) -> str | None:
        """A result file, in an order of its own; a batch without such lines has no such file."""
        found = sorted(lines, key=lambda line: share_of(line["custom_id"]))
        return self._keep(b"".join(json.dumps(line).encode() + b"\n" for line in found)) if found else None

    def _keep(self, data: bytes) -> str:
        name = f"file-{len(self.files) + 1}"
        self.files[name] = data
        return name


def _failed(line: Json, refusal: web.Response | None) -> Json:
    found: Json = {"id": "x", "custom_id": line["custom_id"], "response": None, "error": None}
    if refusal is None:
        return {**found, "error": {"code": "batch_expired", "message": "This request could not be executed in time."}}
    return {**found, "response": {"status_code": refusal.status, "body": json.loads(refusal.text or "")}}
