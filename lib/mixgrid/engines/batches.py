"""What a batch of the provider's, and each line of its result files, says."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from mixgrid.engines.retry import Trouble, of_response, redacted
from mixgrid.engines.till import Reply
from mixgrid.engines.wire import Json

FULL = "token_limit_exceeded"  # the provider queues no more for now


def status_of(line: Json | None) -> int | None:
    """The HTTP status of a line; None: it has none."""
    response = (line or {}).get("response")
    status = response.get("status_code") if isinstance(response, dict) else None
    return status if isinstance(status, int) and 100 <= status < 1000 else None


def reply_of(line: Json | None, batch: Any) -> Reply:
    """A line of a result file as a reply; sent and ended are the batch's."""
    response = (line or {}).get("response")
    body = response.get("body") if isinstance(response, dict) else None
    began, ended = _time(batch.created_at), _time(batch.completed_at or batch.expired_at or batch.cancelled_at)
    found = body if isinstance(body, dict) else None
    return Reply(status_of(line), json.dumps(line) if line else "", began, ended, found)


def trouble_of(line: Json | None, reply: Reply, batch: Any, proven: bool) -> Trouble:
    """Why a request has no answer. Only completed requests are billed, so what failed, or was never begun, is not."""
    if line is None:
        return Trouble("again", f"not in the results of a batch that is {batch.status}", batch.status != "completed")
    if reply.status is None:
        return Trouble("again", f"batch: {json.dumps(line.get('error'))[:300]}", unbilled=True)
    found = of_response(reply.status, {}, reply.json, proven)
    return replace(found, unbilled=True)


def _codes(batch: Any) -> list[Any]:
    return list((batch.errors.data if batch.errors else None) or ())


def is_full(batch: Any) -> bool:
    """Whether the batch was refused because too much is queued already: it is made again later."""
    return batch.status == "failed" and any(error.code == FULL for error in _codes(batch))


def refusal(batch: Any) -> str:
    """Why the provider would not begin with a batch; empty where it did, or will later."""
    if batch.status != "failed" or is_full(batch):
        return ""
    return "; ".join(redacted(str(error.message)) for error in _codes(batch)) or "the batch failed, and nobody says why"


def _time(seconds: int | None) -> datetime:
    return datetime.fromtimestamp(seconds, UTC) if seconds else datetime.now(UTC)
