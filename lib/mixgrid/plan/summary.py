"""What a grid would ask, in numbers: `mixgrid plan`. Nothing is written and nothing is spent."""

import importlib.util
import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from mixgrid.engines import chat
from mixgrid.errors import UserError
from mixgrid.manifest import ModelEntry
from mixgrid.plan.cells import Absent
from mixgrid.plan.decoding import Decoding, decoding, design_warnings
from mixgrid.plan.grid import Grid
from mixgrid.plan.pending import Answered, answered, listing
from mixgrid.plan.requests import Rendered, rendered, request_of
from mixgrid.records import Message, Run

SAMPLE = 200  # prompts whose tokens are counted, for each setting and model
BYTES_PER_TOKEN = 3.0  # of mixed Latin text; only where there is no tokenizer to count with

Counter = Callable[[bool | None, Sequence[Message]], int]  # whether the model thinks, and what it is asked


@dataclass(frozen=True)
class RunSummary:
    """One run of the plan."""

    run_id: str
    requests: int
    done: int
    pending: int


@dataclass(frozen=True)
class Summary:
    """The plan. `prompt_tokens_se` is the standard error of the estimate from a sample, 0 where all were counted."""

    runs: int
    cells: int
    requests: int
    unique_requests: int
    done: int
    reusable: int
    pending: int
    prompt_tokens: int
    prompt_tokens_se: int
    max_completion_tokens: int
    absent: tuple[Absent, ...]
    decoding: tuple[Decoding, ...]
    warnings: tuple[str, ...]
    by_run: tuple[RunSummary, ...]


def summary(grid: Grid, exact: bool = False) -> Summary:
    """Count runs, requests and tokens, and what the store already holds of them."""
    there = listing(grid.store, grid.manifest.namespace)
    have = {model: answered(grid.store, there.whole, model) for model in grid.models}
    warnings = [*there.warnings(), *grid_warnings(grid)]
    counters = {model: _counter(model, entry, warnings) for model, entry in grid.models.items()}
    tally = _Tally()
    for group in grid.groups:
        asks = list(rendered(grid.prompts, group.task, group.setting, group.items, group.pool))
        for run in group.runs:
            mine = [ask for ask in asks if grid.takes(run, ask.item)]
            tally.add(run, mine, have[run.model])
        for model in {run.model for run in group.runs}:
            runs = [run for run in group.runs if run.model == model]
            mine = [ask for ask in asks if grid.takes(runs[0], ask.item)]
            tally.add_tokens(mine, len(runs), partial(counters[model], group.setting.thinking), exact)
    return tally.summary(grid, warnings)


class _Tally:
    """Sums over the groups of a grid."""

    def __init__(self) -> None:
        self._cells: set[tuple[str, ...]] = set()
        self._unique: set[str] = set()
        self._runs: list[RunSummary] = []
        self._reusable = self._completion = 0
        self._tokens = self._variance = 0.0

    def add(self, run: Run, asks: Sequence[Rendered], have: Answered) -> None:
        """One run's requests."""
        done = 0
        for ask in asks:
            request_id = request_of(run, ask).request_id
            self._unique.add(request_id)
            self._cells.add(
                (run.corpus, run.split, run.task, run.model, run.setting, ask.item.language, ask.item.switching)
            )
            if have.has(run.run_id, ask.item.item_id, request_id):
                done += 1
            elif have.part_of(request_id) is not None:
                self._reusable += 1
        self._completion += run.sampling.max_tokens * len(asks)
        self._runs.append(RunSummary(run.run_id, len(asks), done, len(asks) - done))

    def add_tokens(
        self, asks: Sequence[Rendered], seeds: int, counter: Callable[[Sequence[Message]], int], exact: bool
    ) -> None:
        """Prompt tokens of one setting and model: the mean of a seeded sample, times the number of requests."""
        if not asks:
            return
        sample = asks if exact or len(asks) <= SAMPLE else random.Random(0).sample(asks, SAMPLE)
        counts = [counter(ask.messages) for ask in sample]
        mean = sum(counts) / len(counts)
        self._tokens += mean * len(asks) * seeds
        if len(sample) < len(asks):
            variance = sum((c - mean) ** 2 for c in counts) / (len(counts) - 1)
            self._variance += (len(asks) * seeds) ** 2 * variance / len(counts) * (1 - len(sample) / len(asks))

    def summary(self, grid: Grid, warnings: Sequence[str]) -> Summary:
        """The sums."""
        requests, done = sum(r.requests for r in self._runs), sum(r.done for r in self._runs)
        return Summary(
            runs=len(self._runs),
            cells=len(self._cells),
            requests=requests,
            unique_requests=len(self._unique),
            done=done,
            reusable=self._reusable,
            pending=requests - done,
            prompt_tokens=round(self._tokens),
            prompt_tokens_se=round(math.sqrt(self._variance)),
            max_completion_tokens=self._completion,
            absent=tuple(grid.absent()),
            decoding=decoding(grid.runs),
            warnings=tuple(warnings),
            by_run=tuple(self._runs),
        )


def grid_warnings(grid: Grid) -> Iterator[str]:
    """What a grid asks that its maker may not have meant."""
    yield from design_warnings(decoding(grid.runs), grid.absent(), len(grid.manifest.seeds))
    yield from grid.left_out()


def _counter(model: str, entry: ModelEntry, warnings: list[str]) -> Counter:
    """How the model's prompt tokens are counted; a warning says when they are only guessed from bytes."""
    if entry.engine == "vllm" and importlib.util.find_spec("transformers"):
        try:
            tokenizer = chat.load(entry, model)
        except UserError as error:
            warnings.append(f"tokens of {model} are estimated from bytes: {error}")
        else:
            return lambda thinking, messages: len(tokenizer.token_ids(messages, thinking))
    elif entry.engine == "vllm":
        warnings.append(
            f"tokens of {model} are estimated from bytes: transformers is not installed (extra `cpu` or `gpu`)"
        )
    return lambda _, messages: tokens_by_bytes(messages)


def tokens_by_bytes(messages: Sequence[Message]) -> int:
    """A guess at a prompt's tokens, for where there is no tokenizer."""
    return math.ceil(sum(len(m.content.encode("utf-8", "replace")) for m in messages) / BYTES_PER_TOKEN)
