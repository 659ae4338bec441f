"""What a failed try means: a row, another try, or the end; and whether it may have been billed.

Only what is certain is called unbilled: a refusal before any work (429, 503, 4xx), or a connection that never was.
"""

import email.utils
import math
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

from mixgrid.records import FailReason

LONGEST_S = 300.0  # that a Retry-After is obeyed for
BACKOFF_S, BACKOFF_MOST_S = 0.5, 60.0
Kind = Literal["again", "busy", "fatal", "row", "without"]
_NEVER_SENT = ("ConnectError", "ConnectTimeout", "PoolTimeout")  # of httpx
_NO_MONEY = ("billing_hard_limit_reached", "billing_not_active", "insufficient_quota")
_UNBILLED_5XX = (503, 529)  # overloaded: turned away at the door
_SECRET = re.compile(r"\b(sk|key)-[\w*.-]{4,}|\bBearer +\S+", re.IGNORECASE)
_KEYS: set[str] = set()  # of this process, by `remember`
SHORTEST_KEY = 8
_QUOTED = re.compile(r"['\"`]([A-Za-z_][A-Za-z0-9_.]*)['\"`]")
_UNKNOWN = re.compile(
    r"unsupported (parameter|value)|unrecognized (request )?argument|unknown (parameter|argument|field)|"
    r"extra (inputs|fields)|not supported|does not support|unsupported_",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Trouble:
    """Why a try gave no answer, and what follows from it.

    again: the server's fault, tries are counted. busy: a refusal that has to be waited for. without: send it without
    `parameter`. row: this request can never be answered, for `reason`. fatal: no request will be.
    """

    kind: Kind
    sentence: str
    unbilled: bool
    status: int | None = None
    wait_s: float | None = None
    reason: FailReason = ""
    parameter: str = ""


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds that the server asks to wait, within [0, 300]: in ms, in seconds, or until an HTTP date; else None."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name, "").strip()
        try:
            wait = float(text) * unit
        except ValueError:
            wait = _until(text, now or datetime.now(UTC))
        if math.isfinite(wait):
            return min(max(wait, 0.0), LONGEST_S)
    return None


def _until(text: str, now: datetime) -> float:
    try:
        then = email.utils.parsedate_to_datetime(text)
    except ValueError:
        return math.nan
    return (then.replace(tzinfo=then.tzinfo or UTC) - now).total_seconds()


def backoff(tries: int) -> float:
    """Seconds to wait after so many failed tries: full jitter below an exponential bound."""
    return random.uniform(0, min(BACKOFF_MOST_S, BACKOFF_S * 2 ** min(tries, 10)))


def of_response(status: int, headers: Mapping[str, str], body: object, proven: bool) -> Trouble:
    """What an error status means. `proven`: others were answered, so a bad request is this row's own fault."""
    error = _error(body)
    said = f"HTTP {status}: {redacted(str(error.get('message') or 'no message'))[:300]}"
    code = f"{error.get('code')} {error.get('type')}"
    if status == 402 or (status in (403, 429) and any(name in code for name in _NO_MONEY)):
        return Trouble("fatal", f"the provider's account has no money or quota left ({said})", True, status)
    if status == 429:
        return Trouble("busy", said, True, status, retry_after(headers))
    if status >= 500 or status in (408, 409, 425):
        return Trouble("again", said, status in _UNBILLED_5XX or status < 500, status, retry_after(headers))
    return _refused(status, said, error, proven)


def of_body(status: int, body: Mapping[str, Any] | None, proven: bool) -> Trouble | None:
    """What a body means that came with a good status; None: it holds an answer. Some say in it that they failed."""
    if body is None:
        return Trouble("again", f"HTTP {status}: what came is not whole", False, status)
    if not body.get("error") or body.get("choices"):
        return None
    code = _error(body).get("code")
    inner = code if isinstance(code, int) and 400 <= code < 600 else 500
    found = of_response(inner, {}, body, proven)
    return replace(found, unbilled=found.unbilled and inner < 500)


def of_no_response(cause: BaseException) -> Trouble:
    """What it means that no status line came: never connected, or nobody knows."""
    said = f"no answer ({type(cause).__name__}{f': {redacted(str(cause))}' if str(cause) else ''})"
    return Trouble("again", said, unbilled=type(cause).__name__ in _NEVER_SENT)


def _refused(status: int, said: str, error: Mapping[str, Any], proven: bool) -> Trouble:
    """4xx: nothing was done, and asking the same again gives the same."""
    text = f"{error.get('code')} {error.get('type')} {error.get('message')}"
    if re.search(r"content.?(filter|policy)|moderation|flagged|safety", text, re.IGNORECASE):
        return Trouble("row", said, True, status, reason="filtered")
    if status == 413 or re.search(r"context.?(length|window)|maximum context|too long", text, re.IGNORECASE):
        return Trouble("row", said, True, status, reason="too_long")
    if status in (400, 422) and (name := _parameter(error)):
        return Trouble("without", said, True, status, parameter=name)
    if status in (400, 422) and proven:
        return Trouble("row", said, True, status, reason="rejected")
    if status == 401:
        return Trouble("fatal", "the key is refused (HTTP 401); set the right one in the environment", True, status)
    return Trouble("fatal", said, True, status)


def _parameter(error: Mapping[str, Any]) -> str:
    """The parameter that the server does not know, by its own word; empty where it complains of something else."""
    message = f"{error.get('code')} {error.get('message')}"
    if not _UNKNOWN.search(message):
        return ""
    if isinstance(error.get("param"), str):
        return redacted(error["param"]).split(".")[0]
    found = _QUOTED.search(message)
    return found.group(1).split(".")[0] if found else ""


def _error(body: object) -> Mapping[str, Any]:
    """The error object of a body, with or without its envelope; providers write it in several ways."""
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        if isinstance(inner, Mapping):
            return inner
        return {"message": str(inner)}
    return {"message": str(body)} if body else {}


def redacted(text: str) -> str:
    """The text without what is or looks like a key: providers echo parts of it."""
    return _SECRET.sub("(a key)", without_keys(text))


def without_keys(text: str) -> str:
    """The text without the very keys that this process holds, whatever they look like."""
    for key in sorted(_KEYS, key=len, reverse=True):
        text = text.replace(key, "(a key)")
    return text


def remember(key: str) -> None:
    """A key that no text of a server's is kept with. What is shorter is none, and would tear up plain words."""
    if len(key) >= SHORTEST_KEY:
        _KEYS.add(key)
