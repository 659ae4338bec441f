"""The tasks, by name."""

from mixgrid.tasks.base import Task
from mixgrid.tasks.satire import SATIRE

TASKS: dict[str, Task] = {
    "satire": SATIRE,
}
