"""Code-mixing of a whole sentence by a model: what the switching method `llm` asks.

An item is a sentence in the first language of its tag, to be mixed with the others: `ro-en`, "Primarul a inaugurat un
pod." → "The mayor a inaugurat un bridge.". The model answers `<mixed>…</mixed>`. Tags such as <PERSON> must come back
in number and order; the row's order lists them. References, where a corpus has them, are sentences that people mixed.
"""

from collections.abc import Mapping, Sequence

from mixgrid import parse
from mixgrid.languages import LANGUAGES, fold, language, tags
from mixgrid.records import Item, Parsed
from mixgrid.tasks.base import Raw, Setting, Task

ANSWER = frozenset(map(fold, ("mixed", "code-mixed", "mixt", "gemischt", "mixte", "misto", "campuran")))


class CodeMixing:
    """How would a bilingual speaker mix it?"""

    name = "code-mixing"
    settings: Mapping[str, Setting] = {"zero-shot": Setting("zero-shot", "code-mixing/zero-shot.jinja")}
    classes: tuple[str, ...] = ()
    score = "translation"
    parser_version = f"code-mixing-1/parse-{parse.VERSION}"
    tags: parse.Tags | None = None

    def accepts(self, item: Item) -> bool:
        """A sentence that is not blank, in a combination of languages."""
        return bool(item.text and item.text.strip()) and len(language(item.language).parts) > 1

    def order(self, item: Item) -> tuple[str, ...]:
        """The tags of the sentence, which the mixed one must keep."""
        return tags(item.text or "")

    def context(self, item: Item, order: Sequence[str], shots: Sequence[Item]) -> Mapping[str, object]:
        """The sentence, its language, those to mix in, and the tags. There are no shots."""
        matrix, *embedded = (LANGUAGES[code].english for code in language(item.language).parts)
        return {"text": item.text, "matrix": matrix, "embedded": embedded, "tags": order}

    def parse(self, raw: Raw, order: Sequence[str]) -> Parsed:
        """The sentence in the last answer tag, cleaned, if it has the tags."""
        return parse.rewritten(raw, ANSWER, order)

    def gold(self, item: Item) -> str:
        """The first reference, if there is one."""
        return next((reference.strip() for reference in item.references if reference.strip()), "")


CODE_MIXING: Task = CodeMixing()
