"""Multiple-choice questions about a code-mixed dialogue (PINGPONG).

An item is a dialogue, a question and its options, of which one is right. Of a question that the dialogue does not
answer (a negation, an antonym or another entity was put in, it contradicts the dialogue, or asks the impossible; see
`Item.category`), the right option is "No correct answer". That option is always the last, E; the others stand in an
order drawn from a hash, which the row records. The model answers `{"answer": "C"}`; the value is the option's text and
the note its letter, so that a liking for a position can be reported.
"""

from collections.abc import Mapping, Sequence

from mixgrid import parse
from mixgrid.languages import language
from mixgrid.records import Item, Parsed, balanced_order
from mixgrid.tasks.base import Raw, Setting, Task, shot_settings, transcript

KEYS = ("answer", "jawaban", "amsa", "réponse", "إجابة")
NO_ANSWER = frozenset(
    parse.spelled(text)
    for text in (
        "No correct answer", "There is no correct answer", "Tidak ada jawaban yang benar",
        "Tidak ada jawaban yang tepat", "Ora ana jawaban sing bener", "Teu aya jawaban anu bener",
        "Babu amsa daidai", "Babu amsar da ta dace", "لا توجد إجابة صحيحة", "Aucune réponse correcte",
        "Aucune bonne réponse",
    )
)  # fmt: skip


class DialogueQa:
    """Which option answers the question?"""

    name = "dialogue-qa"
    settings: Mapping[str, Setting] = shot_settings("dialogue-qa", (0, 1))
    classes: tuple[str, ...] = ()
    score = "choice"
    parser_version = f"dialogue-qa-1/parse-{parse.VERSION}"
    tags: parse.Tags | None = None

    def accepts(self, item: Item) -> bool:
        """A question with at least two options, the right one among them. It may come without a dialogue."""
        return bool(item.question and item.question.strip()) and len(item.options) > 1 and item.label in item.options

    def order(self, item: Item) -> tuple[str, ...]:
        """Balanced over sources and the same for twins; what says that no option is right stands last."""
        last = tuple(option for option in item.options if parse.spelled(option) in NO_ANSWER)
        return (*balanced_order([option for option in item.options if option not in last], item.source_id), *last)

    def context(self, item: Item, order: Sequence[str], shots: Sequence[Item]) -> Mapping[str, object]:
        """The dialogue, the question, its lettered options; and example dialogues, each with its questions."""
        dialogues: dict[str, list[Item]] = {}
        for shot in shots:
            dialogues.setdefault(shot.source_id, []).append(shot)
        return {
            **self._asked(item, order),
            "languages": language(item.language).english,
            "no_answer": next((option for option in order if parse.spelled(option) in NO_ANSWER), None),
            "examples": [
                {
                    "dialogue": transcript(items[0].turns),
                    "questions": [{**self._asked(one, self.order(one)), "answer": one.label} for one in items],
                }
                for items in dialogues.values()
            ],
        }

    def _asked(self, item: Item, order: Sequence[str]) -> dict[str, object]:
        return {
            "dialogue": transcript(item.turns),
            "question": item.question,
            "options": {chr(ord("A") + n): option for n, option in enumerate(order)},
            "letters": {option: chr(ord("A") + n) for n, option in enumerate(order)},
        }

    def parse(self, raw: Raw, order: Sequence[str]) -> Parsed:
        """The option that the answer's letter stands for, in the order that the prompt showed."""
        found = parse.json_field(raw, KEYS)
        read = parse.letter(found.value, order) if found.value is not None else found
        if read.value is None:
            return read
        return Parsed("ok", order[ord(read.value) - ord("A")], note=f"option {read.value}")

    def gold(self, item: Item) -> str:
        """The right option's text."""
        assert item.label is not None, f"item {item.item_id!r} has no right option, so the task does not accept it"
        return item.label


DIALOGUE_QA: Task = DialogueQa()
