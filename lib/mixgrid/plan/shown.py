"""Whether a template shows the model what it is asked about.

A template of the user's own that lacks `{{ text }}` renders without complaint, and a grid would be paid for in which
every item is asked the same. So a group's first item is rendered again with another text, another dialogue and so on:
where the prompt stays as it was, the template is refused.
"""

from collections.abc import Iterable, Mapping

from mixgrid.prompts import Prompts
from mixgrid.records import Item
from mixgrid.tasks.base import Setting, Task
from mixgrid.tasks.shots import Shots

MUST = ("dialogue", "examples", "options", "question", "text")  # of what a task gives its templates


def dropped(prompts: Prompts, task: Task, setting: Setting, item: Item, pool: Iterable[Item]) -> list[str]:
    """Names of what the setting's template is given and does not show: another value makes no other prompt."""
    context = task.context(item, task.order(item), Shots(setting, pool).of(item))
    asked = prompts.render(setting.template, context)
    return [
        name
        for name in MUST
        if context.get(name) and prompts.render(setting.template, {**context, name: _other(context[name])}) == asked
    ]


def _other(value: object) -> object:
    """Another value of the same kind: no examples instead of some, a longer text, options with longer texts."""
    if isinstance(value, Mapping):
        return {name: _other(one) for name, one in value.items()}
    return [] if isinstance(value, list) else f"{value}."
