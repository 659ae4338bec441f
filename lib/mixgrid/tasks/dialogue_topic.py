"""The topic of a code-mixed dialogue, one of five (PINGPONG).

An item is a dialogue and its class. The model answers `{"topic": "Daily Life"}`, with an explanation before it where
the setting asks for one. The topic that the speakers were given is not shown: the classes were derived from it.
"""

from collections.abc import Mapping, Sequence

from mixgrid import parse
from mixgrid.languages import language
from mixgrid.records import Item, Parsed, balanced_order
from mixgrid.tasks.base import Raw, Setting, Task, shot_settings, transcript

KEYS = ("topic", "answer", "label", "topik", "maudu'i", "sujet", "موضوع")
# Each class as the prompt names it, with what it takes in, and what else counts as its name: spellings of the whole
# name and its translations. Half a name ("Culture") or an example ("Sports") is an invalid label.
CLASSES = {
    "Science/Technology": "research, discoveries, new technology",
    "Entertainment": "sports, music, films, games, travel for pleasure",
    "Social/Culture": "languages, customs, traditions, work and social life",
    "Education": "schools, universities, curricula, studying",
    "Daily Life": "personal experiences, love, habits, errands",
}
_LOOKUP = parse.aliases(
    {
        "Science/Technology": (
            "Science/Technology", "Science and Technology", "Sci/Tech", "Sains/Teknologi", "Sains dan Teknologi",
            "Kimiyya/Fasaha", "Kimiyya da Fasaha", "Science/Technologie", "Science et technologie", "علوم/تكنولوجيا",
            "العلوم والتكنولوجيا",
        ),
        "Entertainment": ("Entertainment", "Hiburan", "Nishaɗi", "Nishadi", "Divertissement", "ترفيه", "الترفيه"),
        "Social/Culture": (
            "Social/Culture", "Social and Culture", "Social/Cultural", "Society/Culture", "Society and Culture",
            "Soc/Cul", "Sosial/Budaya", "Sosial dan Budaya", "Zamantakewa/Al'ada", "Zamantakewa da Al'ada",
            "Social/Culturel", "Société/Culture", "Société et culture", "اجتماعي/ثقافي", "المجتمع والثقافة",
        ),
        "Education": ("Education", "Pendidikan", "Ilimi", "Éducation", "تعليم", "التعليم"),
        "Daily Life": (
            "Daily Life", "Everyday Life", "Kehidupan Sehari-hari", "Rayuwar yau da kullum", "Vie quotidienne",
            "الحياة اليومية",
        ),
    }
)  # fmt: skip


class DialogueTopic:
    """What is the dialogue about?"""

    name = "dialogue-topic"
    settings: Mapping[str, Setting] = shot_settings("dialogue-topic", (0, 1))
    classes: tuple[str, ...] = tuple(CLASSES)
    score = "classification"
    parser_version = f"dialogue-topic-1/parse-{parse.VERSION}"
    tags: parse.Tags | None = None

    def accepts(self, item: Item) -> bool:
        """A dialogue with one of the five classes."""
        return bool(item.turns) and item.label in self.classes

    def order(self, item: Item) -> tuple[str, ...]:
        """Balanced over dialogues."""
        return balanced_order(self.classes, item.source_id)

    def context(self, item: Item, order: Sequence[str], shots: Sequence[Item]) -> Mapping[str, object]:
        """The dialogue, the classes in order with what they take in, and example dialogues with their class."""
        return {
            "dialogue": transcript(item.turns),
            "languages": language(item.language).english,
            "classes": {name: CLASSES[name] for name in order},
            "examples": [{"dialogue": transcript(shot.turns), "topic": shot.label} for shot in shots],
        }

    def parse(self, raw: Raw, order: Sequence[str]) -> Parsed:
        """The class that the last JSON object names."""
        found = parse.json_field(raw, KEYS)
        return parse.label(found.value, _LOOKUP) if found.value is not None else found

    def gold(self, item: Item) -> str:
        """The class."""
        assert item.label is not None, f"item {item.item_id!r} has no class, so the task does not accept it"
        return item.label


DIALOGUE_TOPIC: Task = DialogueTopic()
