"""What the fault server says: completions, errors, and cut connections."""

import hashlib
import json
import time
from typing import Any

from aiohttp import web

Json = dict[str, Any]
ANSWERS = ("<raspuns>satiră</raspuns>", "<raspuns>factual</raspuns>")


def key_of(ask: Json) -> str:
    """What is asked: the messages and the seed."""
    return hashlib.sha256(json.dumps([ask["messages"], ask.get("seed")]).encode()).hexdigest()[:24]


def share_of(*parts: object) -> float:
    """A number in [0, 1) drawn by a hash."""
    return int(hashlib.sha256(repr(parts).encode()).hexdigest()[:12], 16) / 16**12


def tokens_of(ask: Json) -> int:
    """Tokens of the prompt: fewer than bytes."""
    return 8 + sum(len(str(m["content"]).encode()) // 4 for m in ask["messages"])


def text_for(key: str) -> str:
    """The answer to what is asked, whenever it is asked."""
    return ANSWERS[int(key[:6], 16) % len(ANSWERS)]


def completion(ask: Json, key: str, fault: str = "", nth: object = 1) -> Json:
    """A chat completion, with what is odd about it."""
    text = text_for(key)
    limit = ask.get("max_completion_tokens") or ask["max_tokens"]
    used = limit if fault == "eats" else min(limit, len(text) // 4)
    message: Json = {"role": "assistant", "content": "" if fault in ("eats", "empty", "refused", "filtered") else text}
    if fault == "refused":
        message["refusal"] = "I cannot help with that."
    finish = {"eats": "length", "filtered": "content_filter"}.get(fault, "stop")
    usage: Json = {"prompt_tokens": tokens_of(ask), "completion_tokens": used, "total_tokens": tokens_of(ask) + used}
    usage["completion_tokens_details"] = {"reasoning_tokens": used if fault == "eats" else 0}
    return {
        "id": "chatcmpl-same" if fault == "duplicate_id" else f"chatcmpl-{key}-{nth}",
        "object": "chat.completion", "created": int(time.time()), "model": f"{ask['model']}-2026-01-01",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": usage,
    }  # fmt: skip


def spoilt(body: Json, fault: str) -> Json:
    """The body as the fault shows it: the books are right, what is told of them is not."""
    if fault == "wrong_usage":
        return {**body, "usage": {**body["usage"], "total_tokens": 1}}
    return {name: value for name, value in body.items() if fault != "no_usage" or name != "usage"}


def error(status: int, message: str, headers: dict[str, str] | None = None, **fields: str) -> web.Response:
    """An error as OpenAI writes it."""
    body = {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None, **fields}}
    return web.json_response(body, status=status, headers=headers)


def cut(request: web.Request, response: web.StreamResponse | None = None) -> web.StreamResponse:
    """End the connection without a word."""
    if request.transport:
        request.transport.abort()
    return response or web.Response()
