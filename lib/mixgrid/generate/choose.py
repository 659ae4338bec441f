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

    @property
    def text(self) -> str:
        """The sentence's."""
        return self.sentence.text or ""


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


def request(job: Job, choice: Choice, piece: Piece) -> tuple[str, str]:
    """(task, item id) of what is asked for a piece of a choice."""
    language, text = job.mixed(choice.target), choice.text[piece.start : piece.end]
    if piece.unit == "mixed":
        return "code-mixing", digest([language, text, choice.sentence.item_id, choice.k])[:32]
    return "translation", digest([language, text, piece.unit, _around(choice, piece)])[:32]


def _around(choice: Choice, piece: Piece) -> str | None:
    """The sentence, where the prompt shows it."""
    return choice.text if piece.unit == "subtree" else None


def requests(job: Job, found: Iterable[Choice]) -> dict[str, list[Item]]:
    """What is asked by task, each once, in the order of its id."""
    asked: dict[str, dict[str, Item]] = {}
    for choice in found:
        for piece in choice.pieces:
            task, item_id = request(job, choice, piece)
            items = asked.setdefault(task, {})
            if item_id not in items:
                items[item_id] = _item(job, task, item_id, choice, piece)
    return {task: [items[i] for i in sorted(items)] for task, items in sorted(asked.items())}


def _item(job: Job, task: str, item_id: str, choice: Choice, piece: Piece) -> Item:
    return Item(
        corpus=asking(job.recipe, task), item_id=item_id, source_id=item_id, twin_id=None, cluster_id=item_id,
        split=MADE, language=job.mixed(choice.target), switching="none", variant=0,
        text=choice.text[piece.start : piece.end], category=None if piece.unit == "mixed" else piece.unit,
        topic=_around(choice, piece),
    )  # fmt: skip
