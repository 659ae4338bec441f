"""The tasks, by name."""

from mixgrid.tasks.base import Task
from mixgrid.tasks.dialogue_qa import DIALOGUE_QA
from mixgrid.tasks.dialogue_summary import DIALOGUE_SUMMARY
from mixgrid.tasks.dialogue_topic import DIALOGUE_TOPIC
from mixgrid.tasks.implicit_meaning import IMPLICIT_MEANING
from mixgrid.tasks.satire import SATIRE

TASKS: dict[str, Task] = {
    "dialogue-qa": DIALOGUE_QA,
    "dialogue-summary": DIALOGUE_SUMMARY,
    "dialogue-topic": DIALOGUE_TOPIC,
    "implicit-meaning": IMPLICIT_MEANING,
    "satire": SATIRE,
}
