"""The frozen records that cross stages; schemas.py derives each one's Arrow schema, so no two drift apart."""

import dataclasses
import typing
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from mixgrid.schemas import digest

BASELINE_FAMILY = "baseline"  # the family of all comparisons with the manifest's baseline
KEY_VERSION = 1  # part of every request id: raise it when the meaning of a request changes

Outcome = Literal["ok", "failed"]
FailReason = Literal["", "too_long", "refused", "filtered", "engine_death", "bad_text", "rejected"]
ParseStatus = Literal[
    "ok", "ambiguous", "bad_format", "invalid_label", "empty", "truncated", "truncated_reasoning", "refused"
]


@dataclass(frozen=True)
class Message:
    """One chat message."""

    role: str
    content: str


@dataclass(frozen=True)
class Turn:
    """One turn of a dialogue."""

    turn_id: str
    speaker: str
    text: str
    reply_to: str | None = None
    mentions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Flag:
    """One binary gold label of a multi-label item."""

    name: str
    value: bool


@dataclass(frozen=True)
class Span:
    """A replaced span of generated text: code-point offsets in the mixed text, the original and its translation."""

    start: int
    end: int
    original: str
    translation: str
    language: str


@dataclass(frozen=True)
class Token:
    """One word of a text whose languages people tagged; language "" where it belongs to none (a name, a number)."""

    form: str
    language: str


@dataclass(frozen=True, slots=True)  # 600,000 of them are in memory at once
class Item:
    """One row of a corpus. `item_hash` covers what a model can be shown; gold may be corrected without re-asking."""

    corpus: str
    item_id: str
    source_id: str
    twin_id: str | None
    cluster_id: str
    split: str
    language: str
    switching: str  # none, random, phrase, dependency, llm
    variant: int  # k: 0 for the original sentence
    text: str | None = None
    turns: tuple[Turn, ...] = ()
    topic: str | None = None
    question: str | None = None
    options: tuple[str, ...] = ()
    category: str | None = None  # answerable, or the kind of unanswerable question
    label: str | None = None  # gold class (satire, topic), or the right option's text (QA)
    flags: tuple[Flag, ...] = ()
    references: tuple[str, ...] = ()
    domain: str | None = None
    spans: tuple[Span, ...] = ()
    tokens: tuple[Token, ...] = ()  # gold language tags, for `describe`
    item_hash: str = ""

    def __post_init__(self) -> None:
        """Fill in the content hash; a stored one that disagrees is a corrupt row."""
        shown = [self.text, [dataclasses.astuple(t) for t in self.turns], self.topic, self.question, list(self.options)]
        found = digest(shown)
        if self.item_hash not in ("", found):
            raise ValueError(f"item {self.item_id!r} of {self.corpus!r}: its content does not match its hash")
        object.__setattr__(self, "item_hash", found)


@dataclass(frozen=True)
class Sampling:
    """Everything about decoding that can change an answer. None leaves a field to the engine's default."""

    temperature: float = 0.0
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    max_tokens: int = 2048
    stop: tuple[str, ...] = ()
    regex: str | None = None  # the answer is held to this form while it is decoded; off for parity with the papers


@dataclass(frozen=True)
class Run:
    """One run of the grid: corpus + split × task × model × setting × seed, with all that its requests depend on."""

    run_id: str
    corpus: str
    split: str
    snapshot: str  # the corpus snapshot's content hash
    task: str
    model: str
    setting: str
    seed: int
    template_version: str
    run_digest: str
    sampling: Sampling


@dataclass(frozen=True)
class Prompt:
    """A rendered prompt, kept once."""

    prompt_sha256: str
    template_version: str
    messages: tuple[Message, ...]


@dataclass(frozen=True)
class Request:
    """One row of a run's frozen plan."""

    run_id: str
    item_id: str
    item_hash: str
    source_id: str
    cluster_id: str
    language: str
    switching: str
    request_id: str
    prompt_sha256: str
    seed: int | None  # None at temperature 0, where a seed cannot change the answer
    order: tuple[str, ...]  # classes or options, as the prompt shows them
    shot_ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Work:
    """One prompt to be answered once, for every (run, item) that waits for that very request."""

    request_id: str
    messages: tuple[Message, ...]
    seed: int | None
    targets: tuple[Request, ...]


@dataclass(frozen=True)
class Receipt:
    """What an actor returns for a part: never the rows."""

    part: str
    began_ms: int  # when the actor took the block
    ended_ms: int  # when its part was whole in the store
    rows: int
    failed: int
    unparsed: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    cost_micros: int = 0  # millionths of a dollar
    gpu_ms: int = 0  # GPU time that the engine held since its part before, or its start
    cut: int = 0  # answers that ended at the limit of their length


@dataclass(frozen=True)
class Answer:
    """What came back for one request. `text` is raw: reasoning inside it is split off by parse.py, not here."""

    text: str = ""
    reasoning: str | None = None
    status: Outcome = "ok"
    reason: FailReason = ""
    finish_reason: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float = 0.0
    latency_s: float = 0.0
    seed_honoured: bool | None = None
    system_folded: bool = False
    engine: str = ""  # what answered, where that differs from row to row; empty: as the engine's own fingerprint says


@dataclass(frozen=True)
class Prediction:
    """What came back for one (run, item), as it came. Parsing is not part of it."""

    run_id: str
    corpus: str
    split: str
    task: str
    model: str
    setting: str
    run_seed: int
    item_id: str
    item_hash: str
    source_id: str
    cluster_id: str
    language: str
    switching: str
    request_id: str
    prompt_sha256: str
    status: Outcome
    reason: FailReason
    text: str
    reasoning: str | None
    finish_reason: str
    order: tuple[str, ...]
    shot_ids: tuple[str, ...]
    seed: int | None
    seed_honoured: bool | None  # None: not known
    system_folded: bool
    run_digest: str
    prompt_tokens: int
    completion_tokens: int
    reasoning_tokens: int
    cached_tokens: int
    cost_usd: float
    latency_s: float
    engine: str  # fingerprint: engine, version, device, dtype
    reused_from: str | None  # the run that paid for this answer, if another one did
    created_at: datetime
    row_sha256: str = ""

    def __post_init__(self) -> None:
        """Fill in the row's digest, by which one of two rows for the same request wins, whatever the file order."""
        if not self.row_sha256:
            object.__setattr__(self, "row_sha256", digest(self))


@dataclass(frozen=True)
class Parsed:
    """How one raw answer is read: a value only when `status` is ok."""

    status: ParseStatus
    value: str | None = None  # class name, option, JSON text: the task says which
    note: str = ""


@dataclass(frozen=True)
class Progress:
    """Counts of one part for one run, published by the actor that wrote it; the object's name carries them all."""

    run_id: str
    part: str
    at_ms: int
    done: int
    failed: int
    unparsed: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    cost_micros: int = 0  # millionths of a dollar
    gpu_ms: int = 0  # GPU time that the engine held for these rows
    cut: int = 0  # answers that ended at the limit of their length


@dataclass(frozen=True)
class Score:
    """One number of the grid, and how it was made. Rates and F1 are fractions; NaN never stands for missing."""

    corpus: str
    split: str
    task: str
    model: str
    setting: str
    language: str  # "all": every language of the slice
    switching: str  # "all": every method of the slice
    metric: str
    value: float | None  # mean over seeds of the per-seed values; None: not defined here, `note` says why
    note: str
    n: int  # items per seed
    expected: int  # items of the full slice
    clusters: int
    seeds: tuple[int, ...]
    per_seed: tuple[float | None, ...]
    sd_over_seeds: float | None  # sample sd (n-1); None with one seed
    unparsed: float  # share of rows
    failed: float  # share of rows
    signature: str
    ci_low: float | None = None  # 95 % interval over clusters
    ci_high: float | None = None
    effective_n: float | None = None
    design_effect: float | None = None


@dataclass(frozen=True)
class Side:
    """One side of a test: a slice of a cell, as it was tested (on the rows that have a partner)."""

    model: str
    setting: str
    language: str
    switching: str
    value: float | None
    n: int  # items
    seeds: int


@dataclass(frozen=True)
class Test:
    """One declared comparison under one test. No number is ever infinite or NaN: it is missing, and `outcome` says why.

    `sound`: the default test, by clusters; the others are what papers print, beside it.
    """

    __test__: typing.ClassVar[bool] = False  # the name says "test" to pytest

    corpus: str
    split: str
    task: str
    metric: str
    family: str  # declared in the manifest; "baseline" for its baseline
    kind: str  # what the sides differ in: model, setting, method, language; twin: mixed rows against their originals
    a: Side
    b: Side
    method: str
    sound: bool
    outcome: str  # tested; degenerate: why (p has a defined value); not testable: why (no p)
    effect: float | None  # value of a less value of b
    ci_low: float | None
    ci_high: float | None
    odds_ratio: float | None  # items that a alone has right over those that b alone has
    p: float | None  # two-sided
    mid_p: float | None
    p_floor: float | None  # no data of this size can give less
    p_error: float | None  # Monte-Carlo standard error
    p_holm: float | None  # within the family
    p_bh: float | None
    m: int  # tests of the family, under this kind of test, that have a p
    mde: float | None  # smallest difference that would be found in 80 % of such samples
    units: int  # that were resampled, or compared
    unmatched: int  # rows without a partner, left out
    signature: str

    @property
    def p_adjusted(self) -> float | None:
        """What decides: Holm in a declared family, Benjamini-Hochberg among all comparisons with a baseline."""
        return self.p_bh if self.family == BASELINE_FAMILY else self.p_holm


def request_seed(run_seed: int, item_id: str) -> int:
    """The seed of one request: the first 31 bits of SHA-256 of (run seed, item id), so it never depends on order."""
    return int(digest([run_seed, item_id])[:8], 16) >> 1


def prompt_digest(messages: Sequence[Message]) -> str:
    """The identity of a rendered prompt."""
    return digest([[m.role, m.content] for m in messages])


def request_id(prompt_sha256: str, run_digest: str, seed: int | None) -> str:
    """The identity of a request: everything that can change its answer, and nothing else."""
    return digest([KEY_VERSION, prompt_sha256, run_digest, seed])[:32]


def balanced_order(names: Sequence[str], source_id: str) -> tuple[str, ...]:
    """An order of classes or options drawn from a hash of the source, so twins, variants and seeds all share it."""
    return tuple(sorted(names, key=lambda name: digest([source_id, name])))
