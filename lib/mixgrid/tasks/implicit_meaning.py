"""Implicit meaning in Bangla-English posts (MixSarc): is a post humorous, sarcastic, offensive, vulgar?

An item is one post with four binary labels, any of which may hold: "Ki sundor service, order dilam pizza, pelam
packaging." → `{"humorous":1,"sarcastic":1,"offensive":0,"vulgar":0}`. The model answers with such a JSON object. The
paper asks at temperature 0; the models' entries say so.
"""

import json
from collections.abc import Mapping, Sequence

from mixgrid import parse
from mixgrid.languages import language
from mixgrid.records import Item, Parsed
from mixgrid.tasks.base import Raw, Setting, Task

LABELS = ("humorous", "sarcastic", "offensive", "vulgar")  # in the paper's order


class ImplicitMeaning:
    """Which of four tones does the post have?"""

    name = "implicit-meaning"
    settings: Mapping[str, Setting] = {
        "fine-tuning": Setting("fine-tuning", "implicit-meaning/fine-tuning.jinja"),  # the bare post
        "zero-shot": Setting("zero-shot", "implicit-meaning/zero-shot.jinja"),
    }
    classes: tuple[str, ...] = LABELS
    score = "multilabel"
    parser_version = f"implicit-meaning-1/parse-{parse.VERSION}"
    tags: parse.Tags | None = None

    def accepts(self, item: Item) -> bool:
        """A post that is not blank, with all four labels."""
        return bool(item.text and item.text.strip()) and {flag.name for flag in item.flags} >= set(LABELS)

    def order(self, item: Item) -> tuple[str, ...]:
        """Always the paper's order: each label is a question by itself, so there is no first choice to balance."""
        return LABELS

    def context(self, item: Item, order: Sequence[str], shots: Sequence[Item]) -> Mapping[str, object]:
        """The post and its languages; there are no shots."""
        return {"text": item.text, "languages": language(item.language).english}

    def parse(self, raw: Raw, order: Sequence[str]) -> Parsed:
        """The four labels of the last JSON object that has them all."""
        return parse.json_flags(raw, LABELS)

    def gold(self, item: Item) -> str:
        """The labels as JSON, in the form that `parse` gives."""
        flags = {flag.name: int(flag.value) for flag in item.flags}
        return json.dumps({name: flags[name] for name in LABELS}, separators=(",", ":"))


IMPLICIT_MEANING: Task = ImplicitMeaning()
