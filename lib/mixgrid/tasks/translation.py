"""Translation of a sentence, or of a piece of one that code-mix generation switches.

An item is a text in the first language of its tag, wanted in the second: `id-en`, "Dia sedang jaga warung." → "He is
looking after the store.". `category` says what the text is to the prompt: sentence (where it is not told), subtree,
phrase or word; `topic` holds the sentence around a sub-tree, the only piece that is shown with one. The model answers
`<translation>…</translation>`. Tags such as <PERSON> must come back in number and order; the row's order lists them.
References are parallel sentences; pieces have none, and are not scored.
"""

from collections.abc import Mapping, Sequence

from mixgrid import parse
from mixgrid.languages import LANGUAGES, fold, language, tags
from mixgrid.records import Item, Parsed
from mixgrid.tasks.base import Raw, Setting, Task

UNITS = ("phrase", "sentence", "subtree", "word")
ANSWER = frozenset(
    map(fold, ("translation", "traducere", "traducerea", "übersetzung", "traduction", "traduzione", "terjemahan"))
)


class Translation:
    """What does it say in the other language?"""

    name = "translation"
    settings: Mapping[str, Setting] = {"zero-shot": Setting("zero-shot", "translation/zero-shot.jinja")}
    classes: tuple[str, ...] = ()
    score = "translation"
    parser_version = f"translation-1/parse-{parse.VERSION}"
    tags: parse.Tags | None = None

    def accepts(self, item: Item) -> bool:
        """A text that is not blank, from one language into another."""
        return bool(item.text and item.text.strip()) and len(language(item.language).parts) == 2

    def order(self, item: Item) -> tuple[str, ...]:
        """The tags of the text, which the translation must keep."""
        return tags(item.text or "")

    def context(self, item: Item, order: Sequence[str], shots: Sequence[Item]) -> Mapping[str, object]:
        """The text, what it is, the languages, the tags; around a sub-tree, its sentence. There are no shots."""
        source, target = (LANGUAGES[code].english for code in language(item.language).parts)
        unit = item.category if item.category in UNITS else "sentence"
        around = item.topic if unit == "subtree" else None
        return {
            "text": item.text, "unit": unit, "around": around, "source": source, "target": target, "tags": order,
        }  # fmt: skip

    def parse(self, raw: Raw, order: Sequence[str]) -> Parsed:
        """The translation in the last answer tag, cleaned, if it has the tags."""
        return parse.rewritten(raw, ANSWER, order)

    def gold(self, item: Item) -> str:
        """The first reference; none of a piece."""
        return next((reference.strip() for reference in item.references if reference.strip()), "")


TRANSLATION: Task = Translation()
