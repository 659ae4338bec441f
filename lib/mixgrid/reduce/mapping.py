"""Judged parts, from the cache or made now: here, or as Ray tasks, a few parts each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa

from mixgrid.reduce.judge import COLUMNS, FEW, Judge
from mixgrid.store import Part, Store, StoreError
from mixgrid.store.parts import decode

TASK_ROWS = 200_000  # rows of predictions for one task: many small parts go together


@dataclass(frozen=True)
class Spoilt:
    """Stands for a part that cannot be read."""

    warning: str


def judged_parts(
    store: Store, cache: str, parts: Sequence[Part], judge: Judge, warnings: list[str], on_ray: bool
) -> Iterator[pa.Table]:
    """The judged parts, in the order of the parts. One that is not what its name says is a warning, never data."""
    made = {part.stem: part for part in store.parts(cache).whole}
    batches = [[(part, made.get(part.digest)) for part in batch] for batch in _batches(parts)]
    for batch in _on_ray(store, cache, batches, judge) if on_ray else (_judge(store, cache, b, judge) for b in batches):
        for judged in batch:
            if isinstance(judged, Spoilt):
                warnings.append(judged.warning)
            else:
                yield judged


def _judge(
    store: Store, cache: str, batch: Sequence[tuple[Part, Part | None]], judge: Judge
) -> list[pa.Table | Spoilt]:
    return [_judge_part(store, cache, part, made, judge) for part, made in batch]


def _judge_part(store: Store, cache: str, part: Part, made: Part | None, judge: Judge) -> pa.Table | Spoilt:
    """One part: its cached judgement if that is whole, else a new one, which is then kept."""
    if made is not None:
        try:
            return store.read(made, verify=True)
        except StoreError:
            made = None  # a spoilt cache entry is made again
    data = store.get(part.key)  # an unreachable store raises here
    try:
        rows = decode(part.key, data, COLUMNS, FEW)
    except StoreError as error:
        return Spoilt(f"left out a part, so its rows count as missing: {error}")
    judged = judge(rows)
    store.put_table(cache, part.digest, judged)
    return judged


def _batches(parts: Sequence[Part]) -> list[list[Part]]:
    batches: list[list[Part]] = []
    room = 0
    for part in parts:
        if room < part.rows:
            batches.append([])
            room = TASK_ROWS
        batches[-1].append(part)
        room -= part.rows
    return batches


def _on_ray(
    store: Store, cache: str, batches: Sequence[Sequence[tuple[Part, Part | None]]], judge: Judge
) -> Iterator[list[pa.Table | Spoilt]]:
    """The same on Ray, a few batches ahead of the reader, so that memory is bounded by them."""
    import ray

    shared = ray.put(judge)
    gpus = int(ray.cluster_resources().get("GPU", 0)) if judge.embeds else 0
    if gpus:
        yield from _on_gpus(store, cache, batches, shared, gpus)
        return
    task = ray.remote(_judge)
    ahead = 2 * max(1, int(ray.cluster_resources().get("CPU", 1)))
    waiting = iter(batches)
    running = [task.remote(store, cache, batch, shared) for batch in islice(waiting, ahead)]
    while running:
        done = ray.get(running.pop(0))
        running += [task.remote(store, cache, batch, shared) for batch in islice(waiting, 1)]
        yield done


class Bench:
    """What holds a GPU, and on it the encoder that its first batch has loaded."""

    def judge(
        self, store: Store, cache: str, batch: Sequence[tuple[Part, Part | None]], judge: Judge
    ) -> list[pa.Table | Spoilt]:
        """Judge some parts."""
        return _judge(store, cache, batch, judge)


def _on_gpus(
    store: Store, cache: str, batches: Sequence[Sequence[tuple[Part, Part | None]]], judge: Any, gpus: int
) -> Iterator[list[pa.Table | Spoilt]]:
    """On actors, one for each GPU that there is work for. They end with the last reference to them."""
    import ray
    from ray.util import ActorPool

    actor = ray.remote(num_gpus=1, max_restarts=3, max_task_retries=3)(Bench)
    pool = ActorPool([actor.remote() for _ in range(min(gpus, len(batches)))])
    yield from pool.map(lambda bench, batch: bench.judge.remote(store, cache, batch, judge), batches)
