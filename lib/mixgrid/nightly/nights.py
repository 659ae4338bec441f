"""The nights that a store holds: one small document each in `<prefix>/nights/`, the rows in a dated namespace.

An ended night has an exit code. One without, or with 3, that began less than a day ago is gone on with.
"""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from mixgrid.errors import Incomplete, UserError
from mixgrid.store import Store

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
GOES_ON = timedelta(hours=23)  # after this the next night begins, whatever became of the last


@dataclass(frozen=True)
class Pace:
    """What one model did in a night, over all calls: tokens, the seconds in which parts came, dollars."""

    tokens: int = 0
    seconds: float = 0.0
    usd: float = 0.0

    @property
    def tokens_per_s(self) -> float | None:
        """Prompt and completion tokens together; None where nothing was asked."""
        return self.tokens / self.seconds if self.seconds > 0 else None


@dataclass(frozen=True)
class Night:
    """One night, as far as it is."""

    prefix: str
    day: str
    began_at: str
    exit: int | None = None
    reduction: str = ""
    models: tuple[str, ...] = ()
    pace: dict[str, Pace] = field(default_factory=dict)
    summary: str = ""  # Markdown

    @property
    def namespace(self) -> str:
        """Where its rows lie."""
        return f"{self.prefix}-{self.day}"

    @property
    def second(self) -> str:
        """Where the rows of its second look lie."""
        return f"{self.namespace}-again"

    @property
    def ended(self) -> bool:
        """Whether there is nothing left to do."""
        return self.exit not in (None, Incomplete.exit_code)


def nights(store: Store, prefix: str) -> list[Night]:
    """Every night of a prefix that the store knows, the oldest first."""
    keys = [entry.key for entry in store.list(f"{prefix}/nights/") if entry.key.endswith(".json")]
    return [_night(store.get_json(key)) for key in sorted(keys)]


def record(store: Store, night: Night) -> Night:
    """Write a night's document."""
    store.put_json(_key(night), asdict(night))
    return night


def tonight(known: Sequence[Night], prefix: str, now: datetime, day: str | None = None) -> Night:
    """The night that a call is about: the named one, the last if it is unfinished and young, else today's."""
    if day is not None:
        _check(day)
    elif known and not known[-1].ended and now - datetime.fromisoformat(known[-1].began_at) < GOES_ON:
        return known[-1]
    day = day or f"{now.astimezone(UTC):%Y-%m-%d}"
    return next((night for night in known if night.day == day), Night(prefix, day, now.isoformat()))


def before(known: Sequence[Night], night: Night) -> Night | None:
    """The night to compare with: the last one before it that was reduced and complete."""
    older = [n for n in known if n.day < night.day and n.reduction and n.ended]
    return older[-1] if older else None


def retire(store: Store, known: Sequence[Night], keep: int, pinned: str | None) -> list[str]:
    """Delete the rows of all but the newest `keep` nights; a pinned namespace stays. Their documents go last."""
    gone = [night for night in known[:-keep] if pinned not in (night.namespace, night.second)]
    for night in gone:
        for namespace in (night.second, night.namespace):
            for key in [entry.key for entry in store.list(f"{namespace}/")]:
                store.delete(key)
        store.delete(_key(night))
    return [night.day for night in gone]


def _check(day: str) -> None:
    try:
        if not _DAY.fullmatch(day):
            raise ValueError
        datetime.fromisoformat(day)
    except ValueError:
        raise UserError(f"--day {day!r} is no day; write YYYY-MM-DD") from None


def _key(night: Night) -> str:
    return f"{night.prefix}/nights/{night.day}.json"


def _night(document: dict[str, Any]) -> Night:
    pace = {model: Pace(**fields) for model, fields in document["pace"].items()}
    return Night(**{**document, "models": tuple(document["models"]), "pace": pace})
