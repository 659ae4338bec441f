"""What a grid would ask, in numbers: `mixgrid plan`. Nothing is written and nothing is spent."""

import importlib.util
import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mixgrid.engines import chat
from mixgrid.errors import UserError
from mixgrid.manifest import ModelEntry
from mixgrid.plan.cells import Absent
from mixgrid.plan.decoding import Decoding, decoding, design_warnings
from mixgrid.plan.frozen import asked, item_ids, planned, valid
from mixgrid.plan.grid import Grid, Group
from mixgrid.plan.names import unanswered
from mixgrid.plan.pending import Answered, answered, listing
from mixgrid.plan.requests import Bools, Places, Rendered, chunks, identity_of, rendered
from mixgrid.records import Message, Run

SAMPLE = 200  # prompts whose tokens are counted, for each setting and model
BYTES_PER_TOKEN = 3.0  # of mixed Latin text; only where there is no tokenizer to count with
_NUMBER = pa.binary(16)  # a request id as it is kept to count the distinct ones of a large grid

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
        found = _asked(grid, group)
        by_model = {run.model: found.mine[run.run_id] for run in group.runs}
        samples = {model: _sampled(np.flatnonzero(mine), exact) for model, mine in by_model.items()}
        counts: dict[str, list[int]] = {model: [] for model in samples}
        for here, chunk in _rendered(grid, group, found, samples.values()):
            found.add(here, chunk)
            for model, sample in samples.items():
                wanted = compress(chunk, np.isin(here, sample))
                counts[model] += [counters[model](group.setting.thinking, ask.messages) for ask in wanted]
        for run in group.runs:
            tally.add(run, group, found.mine[run.run_id], found.requests(run.run_id), have[run.model])
        for model, mine in by_model.items():
            tally.add_tokens(counts[model], int(mine.sum()), sum(run.model == model for run in group.runs))
    return tally.summary(grid, warnings)


@dataclass(frozen=True)
class _Asked:
    """A group's requests by run and place: those of a frozen plan are known, the others are found by rendering."""

    runs: Sequence[Run]
    mine: Mapping[str, Bools]
    plans: Mapping[str, pa.Array]
    found: Mapping[str, list[pa.Array]] = field(default_factory=dict)

    def unknown(self, run_id: str) -> Bools:
        """Where the run asks what no plan of it has yet."""
        return self.mine[run_id] & ~valid(self.plans[run_id])

    def add(self, here: Places, chunk: Sequence[Rendered]) -> None:
        """Learn the requests of some places, in their order."""
        for run in self.runs:
            asks = compress(chunk, self.unknown(run.run_id)[here])
            self.found[run.run_id].append(pa.array([identity_of(run, ask)[1] for ask in asks], pa.string()))

    def requests(self, run_id: str) -> pa.Array:
        """Every request id of the run, by place."""
        new = pa.chunked_array(self.found[run_id], pa.string()).combine_chunks()
        return pc.replace_with_mask(self.plans[run_id], pa.array(self.unknown(run_id)), new)


def _asked(grid: Grid, group: Group) -> _Asked:
    mine = {run.run_id: asked(grid, group, run) for run in group.runs}
    plans = {run.run_id: planned(grid, group, run) for run in group.runs}
    return _Asked(group.runs, mine, plans, {run.run_id: [] for run in group.runs})


def _rendered(
    grid: Grid, group: Group, found: _Asked, samples: Iterable[Places]
) -> Iterator[tuple[Places, list[Rendered]]]:
    """The prompts of which the ids or the tokens are wanted, a chunk at a time."""
    wanted = np.logical_or.reduce([found.unknown(run.run_id) for run in group.runs])
    for sample in samples:
        wanted[sample] = True
    places = np.flatnonzero(wanted)
    items = (group.items[n] for n in places)
    return chunks(places, rendered(grid.prompts, group.task, group.setting, items, group.pool))


def _numbers(requests: pa.Array) -> pa.Array:
    return pa.array([bytes.fromhex(request_id) for request_id in requests.to_pylist()], _NUMBER)


def _sampled(places: Places, exact: bool) -> Places:
    """The places whose tokens are counted: all of them, or a seeded sample."""
    few = exact or len(places) <= SAMPLE
    return places if few else np.array(random.Random(0).sample(places.tolist(), SAMPLE))


class _Tally:
    """Sums over the groups of a grid."""

    def __init__(self) -> None:
        self._cells: set[tuple[str, ...]] = set()
        self._unique: list[pa.Array] = []
        self._runs: list[RunSummary] = []
        self._reusable = self._completion = 0
        self._tokens = self._variance = 0.0

    def add(self, run: Run, group: Group, mine: Bools, requests: pa.Array, have: Answered) -> None:
        """One run's requests, by place."""
        there, _ = have.has(run.run_id, item_ids(group), requests)
        count, done = int(mine.sum()), int((mine & there).sum())
        self._reusable += int((mine & ~there & (have.part_of(requests) >= 0)).sum())
        cells = {(item.language, item.switching) for item in compress(group.items, mine)}
        self._cells |= {(run.corpus, run.split, run.task, run.model, run.setting, *cell) for cell in cells}
        self._unique.append(_numbers(requests.filter(pa.array(mine))))
        self._completion += run.sampling.max_tokens * count
        self._runs.append(RunSummary(run.run_id, count, done, count - done))

    def add_tokens(self, counts: Sequence[int], asks: int, seeds: int) -> None:
        """Prompt tokens of one setting and model: the mean of what was counted, times the number of requests."""
        if not asks:
            return
        mean = sum(counts) / len(counts)
        self._tokens += mean * asks * seeds
        if len(counts) < asks:
            variance = sum((c - mean) ** 2 for c in counts) / (len(counts) - 1)
            self._variance += (asks * seeds) ** 2 * variance / len(counts) * (1 - len(counts) / asks)

    def summary(self, grid: Grid, warnings: Sequence[str]) -> Summary:
        """The sums."""
        requests, done = sum(r.requests for r in self._runs), sum(r.done for r in self._runs)
        return Summary(
            runs=len(self._runs),
            cells=len(self._cells),
            requests=requests,
            unique_requests=pc.count_distinct(pa.chunked_array(self._unique, _NUMBER)).as_py(),
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
    for name, entry in grid.models.items():
        if why := unanswered(entry):
            yield f"model {name}: {why}; `mixgrid run` refuses a grid with it"


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
