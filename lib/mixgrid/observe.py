"""What an engine's process lets others see while it works: Ray's metrics, one JSON line a part, the GPU time it held.

Counts, ids and reasons only: no prompt, no answer, no setting of the process. Metrics are Ray's own (its dashboard and
Prometheus read them), lines go to the process's stderr, which Ray keeps in the session's logs; MIXGRID_LOG=DEBUG adds a
line for every row.
"""

import json
import logging
import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from mixgrid.records import Prediction, Receipt, Run

log = logging.getLogger(__name__)

METRICS: Mapping[str, str] = {
    "mixgrid_cached_tokens": "Prompt tokens that the prefix cache served",
    "mixgrid_completion_tokens": "Tokens that models wrote",
    "mixgrid_failed": "Rows that failed for good",
    "mixgrid_gpu_seconds": "GPU seconds that engines held, from their start to their last part",
    "mixgrid_prompt_tokens": "Tokens that models were asked",
    "mixgrid_rows": "Rows committed",
    "mixgrid_spend_usd": "What paid engines billed",
    "mixgrid_unparsed": "Answers that could not be read",
}
TAGS = ("model", "task", "corpus")


class JsonLines(logging.Formatter):
    """One JSON object a line: when, how grave, what, and the event's fields."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON; an exception's stack trace is a field."""
        line: dict[str, Any] = {"at": datetime.fromtimestamp(record.created, UTC).isoformat()}
        line |= {"level": record.levelname, "logger": record.name, "event": record.getMessage()}
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def log_json() -> None:
    """Let this process's mixgrid loggers write JSON lines to stderr, from the level of MIXGRID_LOG (INFO) up."""
    ours = logging.getLogger("mixgrid")
    if any(isinstance(handler.formatter, JsonLines) for handler in ours.handlers):
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    ours.addHandler(handler)
    ours.setLevel(os.environ.get("MIXGRID_LOG", "INFO").upper())
    ours.propagate = False


class Meter:
    """One engine's process: its GPU clock, its counters, its lines. Safe from several threads."""

    def __init__(self, model: str, gpus: int) -> None:
        self._model, self._gpus = model, gpus
        self._since = time.monotonic()
        self._lock = threading.Lock()
        self._counters = _counters() if _on_ray() else {}
        if self._counters:
            log_json()

    def gpu_ms(self) -> int:
        """GPU milliseconds since the last call, or the start: over an engine's parts they add up to what it held."""
        with self._lock:
            now = time.monotonic()
            elapsed, self._since = now - self._since, now
        return round(1000 * elapsed * self._gpus)

    def told(self, run: Run, receipt: Receipt, rows: Sequence[Prediction]) -> None:
        """Count a committed part and write its line, and one for each row of it that failed."""
        for name, value in _values(receipt).items():
            if value and name in self._counters:
                self._counters[name].inc(value, {"model": self._model, "task": run.task, "corpus": run.corpus})
        runs = sorted({row.run_id for row in rows})
        counts = {k: v for k, v in vars(receipt).items() if k not in ("part", "began_ms", "ended_ms")}
        seconds = (receipt.ended_ms - receipt.began_ms) / 1000
        _event(logging.INFO, "part", {"runs": runs, "part": receipt.part, "seconds": seconds, **counts})
        for row in rows:
            _event(logging.INFO if row.status == "failed" else logging.DEBUG, "row", _row(row))


def _event(level: int, name: str, fields: Mapping[str, object]) -> None:
    log.log(level, name, extra={"fields": dict(fields)})


def _row(row: Prediction) -> dict[str, object]:
    """Which row, and how it ended; not what it says."""
    return {
        "run": row.run_id, "request": row.request_id, "item": row.item_id, "status": row.status, "reason": row.reason,
        "finish_reason": row.finish_reason, "prompt_tokens": row.prompt_tokens,
        "completion_tokens": row.completion_tokens, "latency_s": row.latency_s, "reused_from": row.reused_from,
    }  # fmt: skip


def _values(receipt: Receipt) -> dict[str, float]:
    return {
        "mixgrid_cached_tokens": receipt.cached_tokens,
        "mixgrid_completion_tokens": receipt.completion_tokens,
        "mixgrid_failed": receipt.failed,
        "mixgrid_gpu_seconds": receipt.gpu_ms / 1000,
        "mixgrid_prompt_tokens": receipt.prompt_tokens,
        "mixgrid_rows": receipt.rows,
        "mixgrid_spend_usd": receipt.cost_micros / 1e6,
        "mixgrid_unparsed": receipt.unparsed,
    }


def _on_ray() -> bool:
    """Whether this is a process of a Ray cluster; one without Ray has nobody who would read the counters."""
    return "ray" in sys.modules and bool(sys.modules["ray"].is_initialized())


def _counters() -> dict[str, Any]:
    from ray.util.metrics import Counter

    return {name: Counter(name, description=what, tag_keys=TAGS) for name, what in METRICS.items()}
