"""What went wrong with a model and was survived or was not: one small object each, for `status` to tell.

Engines' deaths, rows that kill, models that were given up. No prompt and no answer is in them.
"""

import logging
import secrets
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from mixgrid.plan.layout import events_folder, leases_root, writes
from mixgrid.store import NotFound, Store, StoreError, TornError
from mixgrid.store.lease import holders

log = logging.getLogger(__name__)

LONGEST = 400  # letters of an engine's last words


@dataclass(frozen=True)
class Event:
    """One thing that happened."""

    at_ms: int
    model: str
    text: str


def tell(store: Store, namespace: str, model: str, text: str) -> None:
    """Log it and keep it; a store that cannot take it is trouble enough elsewhere."""
    log.warning("model %s: %s", model, text)
    event = Event(int(time.time() * 1000), model, text[:LONGEST])
    with suppress(StoreError):
        store.put_json(f"{events_folder(namespace)}/{event.at_ms:013d}-{secrets.token_hex(4)}", asdict(event))


def events(store: Store, namespace: str, models: Collection[str] | None = None, newest: int = 10) -> list[Event]:
    """The newest events, oldest first; `models`: of these alone."""
    found: list[Event] = []
    for entry in reversed(list(store.list(f"{events_folder(namespace)}/"))):
        with suppress(NotFound, TornError, TypeError):
            event = Event(**store.get_json(entry.key))
            if models is None or event.model in models:
                found.append(event)
        if len(found) == newest:
            break
    return found[::-1]


def told(store: Store, namespace: str, models: Collection[str] | None = None) -> list[str]:
    """Who writes now, and what went wrong last, as lines for `status`."""
    writers = [
        f"writing {flag.what}: process {flag.pid} on {flag.host} since {flag.since}, last sign {flag.at}"
        for flag in holders(store, leases_root(namespace))
        if models is None or any(flag.what == writes(model, namespace) for model in models)
    ]
    return [*writers, *(f"{_utc(e.at_ms)} model {e.model}: {e.text}" for e in events(store, namespace, models))]


def _utc(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="seconds")
