"""The tasks, by name."""

from mixgrid.tasks.base import Task
from mixgrid.tasks.code_mixing import CODE_MIXING
from mixgrid.tasks.dialogue_qa import DIALOGUE_QA
from mixgrid.tasks.dialogue_summary import DIALOGUE_SUMMARY
from mixgrid.tasks.dialogue_topic import DIALOGUE_TOPIC
from mixgrid.tasks.dialogue_writing import DIALOGUE_WRITING
from mixgrid.tasks.implicit_meaning import IMPLICIT_MEANING
from mixgrid.tasks.satire import SATIRE
from mixgrid.tasks.translation import TRANSLATION

TASKS: dict[str, Task] = {
    "code-mixing": CODE_MIXING,
    "dialogue-qa": DIALOGUE_QA,
    "dialogue-summary": DIALOGUE_SUMMARY,
    "dialogue-topic": DIALOGUE_TOPIC,
    "dialogue-writing": DIALOGUE_WRITING,
    "implicit-meaning": IMPLICIT_MEANING,
    "satire": SATIRE,
    "translation": TRANSLATION,
}
