"""Items → prompts → requests. Each prompt is rendered once for all models and seeds; identities come from content."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt

from mixgrid.prompts import Prompts
from mixgrid.records import Item, Message, Prompt, Request, Run, prompt_digest, request_id, request_seed
from mixgrid.tasks.base import Setting, Task
from mixgrid.tasks.shots import Shots

CHUNK = 20_000  # prompts in memory at a time

Bools = npt.NDArray[np.bool_]
Places = npt.NDArray[np.int64]  # of items in their group


@dataclass(frozen=True)
class Rendered:
    """An item as a setting asks it."""

    item: Item
    order: tuple[str, ...]
    shot_ids: tuple[str, ...]
    messages: tuple[Message, ...]
    prompt_sha256: str


def rendered(
    prompts: Prompts, task: Task, setting: Setting, items: Iterable[Item], pool: Iterable[Item] = ()
) -> Iterator[Rendered]:
    """The items' prompts; examples come from the pool, the items of the corpus outside the split."""
    shots = Shots(setting, pool)
    for item in items:
        order, drawn = task.order(item), shots.of(item)
        messages = prompts.render(setting.template, task.context(item, order, drawn))
        yield Rendered(item, order, tuple(i.item_id for i in drawn), messages, prompt_digest(messages))


def chunks(places: Places, asks: Iterable[Rendered], size: int = CHUNK) -> Iterator[tuple[Places, list[Rendered]]]:
    """The prompts of the items at these places, a list at a time, so that memory is bounded by a chunk of the grid."""
    source = iter(asks)
    for start in range(0, len(places), size):
        here = places[start : start + size]
        yield here, list(islice(source, len(here)))


def identity_of(run: Run, ask: Rendered) -> tuple[int | None, str]:
    """The seed and the id of a run's request for one rendered item; at temperature 0 there is no seed."""
    seed = request_seed(run.seed, ask.item.item_id) if run.sampling.temperature > 0 else None
    return seed, request_id(ask.prompt_sha256, run.run_digest, seed)


def request_of(run: Run, ask: Rendered) -> Request:
    """The request of a run for one rendered item."""
    item = ask.item
    seed, identity = identity_of(run, ask)
    return Request(
        run_id=run.run_id,
        item_id=item.item_id,
        item_hash=item.item_hash,
        source_id=item.source_id,
        cluster_id=item.cluster_id,
        language=item.language,
        switching=item.switching,
        request_id=identity,
        prompt_sha256=ask.prompt_sha256,
        seed=seed,
        order=ask.order,
        shot_ids=ask.shot_ids,
    )


def prompt_of(run: Run, ask: Rendered) -> Prompt:
    """The prompt as it is kept, so that any row can be traced to what was asked."""
    return Prompt(ask.prompt_sha256, run.template_version, ask.messages)
