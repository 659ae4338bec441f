"""Few-shot examples: drawn by a seed from outside the evaluated split, never from an item's own dialogue.

The draw ranks the sources (dialogues) of each language by a hash, so every item of a language gets the same examples,
one shared prefix, except where they would be its own. The seed belongs to the setting, not to the run: so ± over run
seeds is decoding noise. A drawn dialogue brings all of its questions, and its summaries count one by one: a release
that keeps one dialogue for examples still gives its five questions or three summaries.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from mixgrid.errors import UserError
from mixgrid.records import Item
from mixgrid.schemas import digest
from mixgrid.tasks.base import Setting

PER_SOURCE = 5  # questions that one example dialogue brings, as many as the release keeps with its own
Source = tuple[Item, ...]  # items of one source


class Shots:
    """The examples that a setting may show, ranked."""

    def __init__(self, setting: Setting, pool: Iterable[Item]) -> None:
        """`pool`: the items of the same corpus and task that lie outside the evaluated split."""
        self._setting = setting
        self._ranked: dict[str, list[Source]] = {}
        sources: dict[tuple[str, str], list[Item]] = {}
        for item in pool:
            sources.setdefault((item.language, item.source_id), []).append(item)
        for language, source_id in sorted(sources, key=lambda key: digest([setting.shot_seed, *key])):
            self._ranked.setdefault(language, []).append(self._few(sources[language, source_id]))

    def of(self, item: Item) -> tuple[Item, ...]:
        """The examples for one item, in the order of the draw; UserError where there are too few."""
        wanted = self._setting.shots
        drawn: list[Item] = []
        sources = 0
        for source in self._ranked.get(item.language, []):
            if sources == wanted:
                break
            if not any(_related(example, item) for example in source):
                drawn += source
                sources += 1
        if sources < wanted and _examples(drawn) < wanted:
            raise UserError(
                f"corpus '{item.corpus}': setting '{self._setting.name}' shows {wanted} examples, and for item "
                f"{item.item_id!r} there are {_examples(drawn)} in {item.language} outside the split '{item.split}'; "
                "add rows of another split to the corpus, or take a setting with fewer shots"
            )
        return _dealt(drawn, wanted)

    def _few(self, items: Sequence[Item]) -> Source:
        """A source's items, a drawn few where they are many, in their own order."""
        keep = sorted(items, key=lambda item: digest([self._setting.shot_seed, item.item_id]))[:PER_SOURCE]
        return tuple(item for item in items if item in keep)


def _related(example: Item, item: Item) -> bool:
    """Whether an example could give the item away: same place in the corpus, a twin, or the same dialogue or text."""
    own = {item.item_id, item.source_id, item.twin_id or item.item_id}
    if example.cluster_id == item.cluster_id or {example.item_id, example.source_id, example.twin_id} & own:
        return True
    return bool(item.turns and example.turns == item.turns) or bool(item.text and example.text == item.text)


def _examples(items: Sequence[Item]) -> int:
    return sum(len(item.references) or 1 for item in items)


def _dealt(items: Sequence[Item], wanted: int) -> tuple[Item, ...]:
    """The items with only so many references in all as are wanted: one of each item before a second of any."""
    rounds = sorted((n, place) for place, item in enumerate(items) for n in range(len(item.references)))
    taken = Counter(place for _, place in rounds[:wanted])
    return tuple(
        replace(item, references=item.references[: taken[place]])
        for place, item in enumerate(items)
        if taken[place] or not item.references
    )
