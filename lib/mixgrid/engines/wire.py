"""One model's dialect of the chat-completions API: requests as its server takes them, and answers as records.

What a server turns out not to know is left out from then on, and named in every row that was asked without it.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from mixgrid.budget.base import Hold
from mixgrid.engines.base import Ask, fold_system
from mixgrid.engines.notes import Asked
from mixgrid.engines.retry import Trouble
from mixgrid.manifest import Api, ModelEntry
from mixgrid.pricing import read_usage
from mixgrid.records import Answer, FailReason, Outcome, Sampling

Json = dict[str, Any]

log = logging.getLogger(__name__)

PLAIN = ("temperature", "top_p", "presence_penalty", "frequency_penalty")  # in OpenAI's own API
SERVED = ("top_k", "min_p", "repetition_penalty")  # what vLLM's server and OpenRouter take beside it
LIMITS = ("max_tokens", "max_completion_tokens")  # one means the other
# Without these it would be another question, or one that nobody bounds: a server that refuses them ends the engine.
NEEDED = frozenset({"chat_template_kwargs", "messages", "model", "provider", "response_format", "structured_outputs"})
_FINISH = {"end_turn": "stop", "max_tokens": "length", "stop_sequence": "stop"}


class Wire:
    """How one model is asked; it learns."""

    def __init__(self, entry: ModelEntry) -> None:
        self._entry, self._api = entry, entry.api or Api()
        self.host = urlsplit(self._api.url).hostname or self._api.url
        self._limit_key: str = self._api.limit_key
        self._without: set[str] = set(self._api.leaves_out)
        self._refused: set[str] = set()  # names of the limit that it does not know

    def asked(self, ask: Ask, hold: Hold) -> Asked:
        """What has to be known of a request to read its answer."""
        return Asked(hold, ask.seed is not None, self._folds(ask))

    def failed(self, reason: FailReason, asked: Asked | None = None, latency_s: float = 0.0) -> Answer:
        """The row of a request that can never be answered."""
        folded = asked is not None and asked.folded
        return Answer(status="failed", reason=reason, latency_s=latency_s, system_folded=folded)

    def body(self, ask: Ask) -> Json:
        """The request as it is sent."""
        messages = fold_system(ask.messages) if self._folds(ask) else ask.messages
        body: Json = {
            "model": self._entry.checkpoint,
            "messages": [{"role": m.role, "content": m.content} for m in messages],
            self._limit_key: ask.sampling.max_tokens,
            "seed": ask.seed,
            "reasoning_effort": self._entry.reasoning_effort,
            "response_format": self._api.response_format,
            **_decoding(ask.sampling),
            **self._extras(ask),
        }
        return {name: value for name, value in body.items() if value is not None and name not in self._without}

    def drop(self, name: str, sent: Mapping[str, Any]) -> bool:
        """Leave a parameter out, or write the answer's limit the other way; False where that cannot be done."""
        if name not in sent or name in NEEDED:
            return False
        if name in LIMITS:
            self._refused.add(name)
            self._limit_key = LIMITS[1 - LIMITS.index(name)]
            return self._limit_key not in self._refused
        self._without.add(name)
        return True

    def heed(self, trouble: Trouble, sent: Mapping[str, Any]) -> str:
        """Learn from a refusal; why nothing can be asked any more, or nothing."""
        if trouble.kind == "fatal":
            return trouble.sentence
        if trouble.kind != "without":
            return ""
        before = self.quirks()
        if not self.drop(trouble.parameter, sent):
            return f"{self.host} does not take {trouble.parameter!r} ({trouble.sentence})"
        if self.quirks() != before:
            log.warning("%s: asked %s from now on (%s)", self._entry.checkpoint, self.quirks(), trouble.sentence)
        return ""

    def quirks(self) -> str:
        """What this model is asked without or otherwise, for the rows; empty where there is nothing odd."""
        missing = f"without {','.join(sorted(self._without))}" if self._without else ""
        limit = f"{self._limit_key} for {self._api.limit_key}" if self._limit_key != self._api.limit_key else ""
        return " ".join(part for part in (missing, limit) if part)

    def answer(self, body: Json, asked: Asked, cost_usd: float, latency_s: float, client: str) -> Answer | None:
        """The answer in a response; None where it has none. `client` begins the name of what answered."""
        choice, usage = _first(body.get("choices")), body.get("usage")
        message = choice.get("message")
        if not isinstance(message, Mapping):
            return None
        tokens = read_usage(usage if isinstance(usage, Mapping) else None)
        refusal, finish = _text(message.get("refusal")), whole(str(choice.get("finish_reason") or ""))
        filtered = finish == "content_filter"
        status: Outcome = "failed" if filtered or refusal else "ok"
        return Answer(
            text=_text(message.get("content")) or refusal,
            reasoning=_text(message.get("reasoning") or message.get("reasoning_content")) or None,
            status=status, reason="filtered" if filtered else "refused" if refusal else "",
            finish_reason=_FINISH.get(finish, finish),
            prompt_tokens=tokens.prompt if tokens else 0, completion_tokens=tokens.completion if tokens else 0,
            reasoning_tokens=tokens.reasoning if tokens else 0, cached_tokens=tokens.cached if tokens else 0,
            cost_usd=cost_usd, latency_s=latency_s,
            seed_honoured=False if asked.seeded and "seed" in self._without else None,
            system_folded=asked.folded, engine=self.engine(body, client),
        )  # fmt: skip

    def provider(self, body: Mapping[str, Any]) -> str:
        """Who answered: as OpenRouter says, else whom we asked."""
        named = body.get("provider")
        return whole(named) if isinstance(named, str) and named else self.host

    def engine(self, body: Mapping[str, Any], client: str) -> str:
        """What answered, for a row: client, provider, model as the answer names it, what it was asked without."""
        model = body.get("model")
        named = whole(model) if isinstance(model, str) else self._entry.checkpoint
        return " ".join(part for part in (client, self.provider(body), named, self.quirks()) if part)

    def _folds(self, ask: Ask) -> bool:
        return ask.messages[0].role == "system" and not self._entry.system_role

    def _extras(self, ask: Ask) -> Json:
        template = self._entry.template_arguments(ask.thinking)
        extras: Json = {"chat_template_kwargs": template} if template else {}
        if ask.sampling.regex:
            extras["structured_outputs"] = {"regex": ask.sampling.regex}
        if self._api.providers:
            extras["provider"] = {"order": self._api.providers, "only": self._api.providers, "allow_fallbacks": False}
        return extras


def _decoding(sampling: Sampling) -> Json:
    fields: Json = {name: getattr(sampling, name) for name in (*PLAIN, *SERVED)}
    return {**fields, "stop": list(sampling.stop) or None}


def _first(choices: object) -> Mapping[str, Any]:
    found = choices[0] if isinstance(choices, Sequence) and choices else None
    return found if isinstance(found, Mapping) else {}


def _text(content: object) -> str:
    """The text of a message's field: a string, or the text parts of a list of parts."""
    if isinstance(content, str):
        return whole(content)
    parts = content if isinstance(content, list) else []
    return "".join(whole(p["text"]) for p in parts if isinstance(p, Mapping) and isinstance(p.get("text"), str))


def whole(text: str) -> str:
    """The text with what has no UTF-8 form replaced: JSON can escape half a character."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def has_utf8(ask: Ask) -> bool:
    """Whether the prompt can be sent at all: a lone surrogate cannot."""
    try:
        for message in ask.messages:
            message.content.encode()
    except UnicodeEncodeError:
        return False
    return True


def json_object(content: bytes | str) -> Json | None:
    """The JSON object in a body; None where it is cut off or something else."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
