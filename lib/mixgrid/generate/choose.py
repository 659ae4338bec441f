"""Which pieces of which sentence each variant is to switch, and what a model is asked for them.

A choice depends on its sentence, language, method, number and the recipe's seed alone: other sentences may come and go.
What is asked has its identity from its content, so that methods, variants and sentences share translations.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mixgrid.generate.recipe import MADE, Job, asking
from mixgrid.records import Item
from mixgrid.schemas import digest
from mixgrid.switching.base import Chosen, Piece, Reason, selections


@dataclass(frozen=True)
class Choice:
    """One variant to be: the pieces to switch, or why there are none."""

    sentence: Item
    target: str
    method: str
    k: int
    pieces: Chosen = ()
    why: Reason | None = None


def choices(job: Job) -> Iterator[Choice]:
    """Every variant that there may be, by method, sentence, language and number."""
    for name, method in job.methods.items():
        groups = method.groups([sentence.text or "" for sentence in job.sentences])
        for sentence, found in zip(job.sentences, groups, strict=True):
            for target in job.recipe.languages:
                seeds = [_seed(job, sentence, target, name, k) for k in range(1, job.recipe.variants + 1)]
                for k, chosen in enumerate(selections(method, sentence.text or "", found, seeds), start=1):
                    place = (sentence, target, name, k)
                    yield Choice(*place, why=chosen) if isinstance(chosen, str) else Choice(*place, chosen)


def _seed(job: Job, sentence: Item, target: str, method: str, k: int) -> int:
    return int(digest([job.recipe.seed, sentence.item_id, target, method, k])[:16], 16)


def request(job: Job, choice: Choice, piece: Piece) -> tuple[str, Item]:
    """(task, item) of what is asked for a piece of a choice."""
    sentence = choice.sentence
    text = (sentence.text or "")[piece.start : piece.end]
    if piece.unit == "mixed":
        return "code-mixing", _asked(job, "code-mixing", choice, text, [sentence.item_id, choice.k])
    around = sentence.text if piece.unit == "subtree" else None
    return "translation", _asked(job, "translation", choice, text, [piece.unit, around], piece.unit, around)


def _asked(
    job: Job, task: str, choice: Choice, text: str, by: list[object], unit: str | None = None, around: str | None = None
) -> Item:
    item_id = digest([task, job.mixed(choice.target), text, *by])[:32]
    return Item(
        corpus=asking(job.recipe, task), item_id=item_id, source_id=item_id, twin_id=None, cluster_id=item_id,
        split=MADE, language=job.mixed(choice.target), switching="none", variant=0, text=text, category=unit,
        topic=around,
    )  # fmt: skip


def requests(job: Job, found: Iterable[Choice]) -> dict[str, list[Item]]:
    """What is asked by task, each once, in the order of its id."""
    asked: dict[str, dict[str, Item]] = {}
    for choice in found:
        for piece in choice.pieces:
            task, item = request(job, choice, piece)
            asked.setdefault(task, {})[item.item_id] = item
    return {task: [items[i] for i in sorted(items)] for task, items in sorted(asked.items())}
