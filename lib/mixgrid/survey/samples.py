"""What is surveyed: the items of a corpus with the texts of their twins, and dialogues that models wrote."""

from collections.abc import Iterator, Sequence

from mixgrid.corpora import slice_items
from mixgrid.describe.rows import Sample
from mixgrid.errors import UserError
from mixgrid.plan.grid import Grid
from mixgrid.plan.standing import standing
from mixgrid.records import Item, Run
from mixgrid.tasks import TASKS
from mixgrid.tasks.base import Raw
from mixgrid.tasks.dialogue_writing import DIALOGUE_WRITING, turns_of

_RAW = ("text", "reasoning", "finish_reason", "status", "reason")


def samples_of(items: Sequence[Item], split: str | None = None) -> list[Sample]:
    """The items of a split (None: of all), each with its twin's text, whichever split the twin is in."""
    texts = {item.item_id: item.text for item in items}
    taken = items if split is None else slice_items(items, split)
    return [Sample(item, texts.get(item.twin_id) if item.twin_id else None) for item in taken]


def written(grid: Grid, warnings: list[str]) -> list[Sample]:
    """The dialogues that the grid's models wrote, under the corpus `by-MODEL`; what could not be read is a warning."""
    runs = [run for run in grid.runs if run.task == DIALOGUE_WRITING.name]
    if not runs:
        raise UserError(f"{grid.path}: key 'tasks': no run of '{DIALOGUE_WRITING.name}', whose dialogues were wanted")
    return [sample for run in runs for sample in _written(grid, run, warnings)]


def _written(grid: Grid, run: Run, warnings: list[str]) -> Iterator[Sample]:
    asked = {item.item_id: item for group in grid.groups if run in group.runs for item in group.items}
    several = len(grid.manifest.seeds) > 1
    name = f"by-{run.model}-s{run.seed}" if several else f"by-{run.model}"
    rows = standing(grid.store, grid.manifest.namespace, run, (*_RAW, "order"))
    pending, unread = 0, 0
    for item_id, row in rows.items():
        if row is None or item_id not in asked:
            pending += row is None
            continue
        parsed = TASKS[run.task].parse(Raw(**{field: row[field] for field in _RAW}), tuple(row["order"]))
        unread += parsed.value is None
        if parsed.value is not None:
            yield Sample(_as_item(asked[item_id], name, parsed.value))
    if pending or unread or not rows:
        warnings.append(f"{name}: {len(rows)} dialogues asked for, {pending} pending, {unread} that cannot be read")


def _as_item(asked: Item, corpus: str, value: str) -> Item:
    """The dialogue that was written for an item, on its topic."""
    return Item(
        corpus, f"{corpus}/{asked.item_id}", asked.source_id, None, asked.cluster_id, asked.split, asked.language,
        "none", 0, turns=turns_of(value), topic=asked.topic, domain=asked.domain,
    )  # fmt: skip
