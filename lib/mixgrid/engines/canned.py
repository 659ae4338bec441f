"""Seeded canned answers, for tests and for trying a manifest; its name stands in every row that it answers.

Modes, all in the model entry's `engine_args`:

    answers: [text, …]      one is picked by a hash of the request id
    delay_ms: 20            slow: each call takes this long per row
    malformed_share: 0.1    that share of the answers is cut off in the middle
    refused_share: 0.1      that share is failed with the reason `refused`
    die_on: "word"          the engine dies when a prompt holds this text
    hang_on: "word"         the engine never comes back from a prompt that holds this text
    log_to: file            each request id that is answered is appended to this file, to count what was asked twice
"""

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mixgrid.engines.base import Ask, EngineDied, EngineSpec, fold_system
from mixgrid.records import Answer
from mixgrid.schemas import digest

CHANGES_ANSWERS = ("answers", "malformed_share", "refused_share")  # the other modes change how they come about


class CannedEngine:
    """Answers from a list, the same for the same request id in every process."""

    def __init__(self, spec: EngineSpec) -> None:
        args: dict[str, Any] = dict(spec.entry.engine_args)
        self.fingerprint = "canned"
        self._answers: list[str] = args.get("answers") or ["<raspuns>satiră</raspuns>", "<raspuns>factual</raspuns>"]
        self._delay_s = float(args.get("delay_ms", 0)) / 1000
        self._malformed, self._refused = float(args.get("malformed_share", 0)), float(args.get("refused_share", 0))
        self._die_on, self._hang_on, self._log_to = args.get("die_on"), args.get("hang_on"), args.get("log_to")
        self.finished = 0
        self._context, self._system_role = spec.entry.context_length, spec.entry.system_role

    def answer(self, asks: Sequence[Ask]) -> list[Answer]:
        """One canned answer for each request."""
        time.sleep(self._delay_s * len(asks))
        answers = [self._one(ask) for ask in asks]
        if self._log_to:
            with Path(self._log_to).open("a", encoding="utf-8") as log:
                log.write("".join(f"{ask.request_id}\n" for ask in asks))
        self.finished += len(answers)
        return answers

    def close(self) -> None:
        """Nothing to free."""

    def _one(self, ask: Ask) -> Answer:
        messages = ask.messages if self._system_role else fold_system(ask.messages)
        prompt = " ".join(m.content for m in messages)
        if self._die_on and self._die_on in prompt:
            raise EngineDied(f"canned engine: a prompt holds {self._die_on!r}")
        if self._hang_on and self._hang_on in prompt:
            threading.Event().wait()
        tokens, folded = len(prompt.split()), len(messages) < len(ask.messages)
        if tokens >= self._context:
            return Answer(status="failed", reason="too_long", prompt_tokens=tokens, system_folded=folded)
        pick = int(digest([ask.request_id])[:12], 16)
        share = (pick % 9973) / 9973
        if share < self._refused:
            return Answer(status="failed", reason="refused", prompt_tokens=tokens, system_folded=folded)
        text = self._answers[pick % len(self._answers)]
        if share < self._refused + self._malformed:
            text = text[: len(text) // 2]
        return Answer(
            text, finish_reason="stop", prompt_tokens=tokens, completion_tokens=len(text.split()),
            seed_honoured=True, system_folded=folded,
        )  # fmt: skip
