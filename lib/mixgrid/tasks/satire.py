"""Satire detection in Romanian news sentences, monolingual (SeLeRoSa) or code-mixed (CS-SeLeRoSa).

An item is one sentence with a label: "Primarul a inaugurat a boring gate." → `satire`. The prompts are Romanian and ask
for an XML-like answer, `<raspuns>satiră</raspuns>`. An answer that can't be read is an error of its class (metrics/).
"""

from collections.abc import Mapping, Sequence

from mixgrid import parse
from mixgrid.languages import LANGUAGES, language
from mixgrid.records import Item, Parsed, balanced_order
from mixgrid.tasks.base import Raw, Setting, Task

# The class names that the prompts show. As in the paper, another word for the class (satire, ironie, satură) is an
# invalid label: only inflections of the demanded word are taken.
LABELS = {"factual": "factual", "satire": "satiră"}
_LOOKUP = parse.aliases(
    {
        "factual": ("factual", "factuală", "factuale", "factuali", "factualul", "factuala"),
        "satire": ("satiră", "satira", "satiric", "satirică", "satirice", "satirici", "satiricul", "satirica"),
    }
)


class Satire:
    """Is the sentence satire or a fact?"""

    name = "satire"
    settings: Mapping[str, Setting] = {
        "chain-of-thought": Setting("chain-of-thought", "satire/chain-of-thought.jinja"),
        "fine-tuning": Setting("fine-tuning", "satire/fine-tuning.jinja"),
        "zero-shot": Setting("zero-shot", "satire/zero-shot.jinja"),
    }
    classes: tuple[str, ...] = ("factual", "satire")
    score = "classification"
    parser_version = f"satire-1/parse-{parse.VERSION}"
    tags: parse.Tags | None = parse.TAGS

    def accepts(self, item: Item) -> bool:
        """A sentence that is not blank, with one of the two labels."""
        return bool(item.text and item.text.strip()) and item.label in self.classes

    def order(self, item: Item) -> tuple[str, ...]:
        """Balanced over sources, and the same for a sentence's twin and variants."""
        return balanced_order(self.classes, item.source_id)

    def context(self, item: Item, order: Sequence[str], shots: Sequence[Item]) -> Mapping[str, object]:
        """The sentence, its languages by their Romanian names, and the class names in order; there are no shots."""
        matrix, *embedded = (LANGUAGES[code].romanian for code in language(item.language).parts)
        return {
            "text": item.text,
            "matrix": matrix,
            "embedded": embedded,
            "classes": [LABELS[name] for name in order],
            "labels": LABELS,
        }

    def parse(self, raw: Raw, order: Sequence[str]) -> Parsed:
        """The class in the last answer tag, in any of the languages' words for the tag."""
        return parse.tagged(raw, parse.TAGS, _LOOKUP)

    def gold(self, item: Item) -> str:
        """The label."""
        assert item.label is not None, f"item {item.item_id!r} has no label, so the task does not accept it"
        return item.label


SATIRE: Task = Satire()
