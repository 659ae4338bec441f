"""Summaries of code-mixed dialogues in one language (PINGPONG).

An item is a dialogue, its topic and up to three reference summaries of 3 to 5 sentences in the first language of the
combination. The model answers `{"summary": "…"}`. Examples are summaries alone, without their dialogues.
"""

from collections.abc import Mapping, Sequence
from itertools import zip_longest

from mixgrid import parse
from mixgrid.languages import LANGUAGES, language
from mixgrid.records import Item, Parsed
from mixgrid.tasks.base import Raw, Setting, Task, shot_settings, transcript

KEYS = ("summary", "ringkasan", "rangkuman", "taƙaitawa", "takaitawa", "résumé", "ملخص")
# The language that the references are in, where it isn't the first of the tag. The paper says Indonesian for the
# Javanese set and shows it in the guidelines; that Algerian dialogues are summarised in standard Arabic is our reading.
WRITTEN = {"ar-dz-fr": "ar", "jv-id-en": "id", "su-id-en": "id"}


class DialogueSummary:
    """What was said, in a few sentences?"""

    name = "dialogue-summary"
    settings: Mapping[str, Setting] = shot_settings("dialogue-summary", (0, 1, 3))
    classes: tuple[str, ...] = ()
    score = "summary"
    parser_version = f"dialogue-summary-1/parse-{parse.VERSION}"
    tags: parse.Tags | None = None

    def accepts(self, item: Item) -> bool:
        """A dialogue with at least one reference summary."""
        return bool(item.turns) and any(reference.strip() for reference in item.references)

    def order(self, item: Item) -> tuple[str, ...]:
        """Nothing is chosen from."""
        return ()

    def context(self, item: Item, order: Sequence[str], shots: Sequence[Item]) -> Mapping[str, object]:
        """The dialogue, its topic, the languages, and as many example summaries as there are shots."""
        rounds = zip_longest(*(shot.references for shot in shots))  # one of each dialogue before a second of any
        return {
            "dialogue": transcript(item.turns),
            "topic": item.topic,
            "languages": language(item.language).english,
            "written": LANGUAGES[WRITTEN.get(item.language, language(item.language).parts[0])].english,
            "examples": [summary for summaries in rounds for summary in summaries if summary],
        }

    def parse(self, raw: Raw, order: Sequence[str]) -> Parsed:
        """The summary of the last JSON object that has one."""
        found = parse.json_field(raw, KEYS)
        return parse.prose(found.value) if found.value is not None else found

    def gold(self, item: Item) -> str:
        """The first reference; the others are in the item."""
        return next(reference.strip() for reference in item.references if reference.strip())


DIALOGUE_SUMMARY: Task = DialogueSummary()
