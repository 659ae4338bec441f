"""Options of multiple-choice questions, and which of them is right.

PINGPONG   chosen, rejected1, …, rejected4          the label is the text of `chosen`
ID-CSQA    choices.text, choices.label, answer: C   the label is an id: `option_ids`
Molweni    answers, and none of the question        others' answers become options: `distractors`
"""

from collections.abc import Mapping
from typing import Any

from mixgrid.corpora.base import RowError
from mixgrid.corpora.catalogue import Columns, Distractors
from mixgrid.corpora.cells import strings
from mixgrid.languages import fold
from mixgrid.schemas import digest

LETTERS = 26  # A to Z: an option beyond could not be answered


def options(columns: Columns, values: Mapping[str, Any], item_id: str) -> tuple[str, ...]:
    """The row's options; an empty one, one given twice, or more of them than letters is an error of the row."""
    found = _options(columns, values, item_id)
    if len(found) > LETTERS:
        raise RowError(f"{len(found)} options, and the letters that name them end at Z; give {LETTERS} at most")
    return found


def _options(columns: Columns, values: Mapping[str, Any], item_id: str) -> tuple[str, ...]:
    given = strings(values, columns.options)
    if columns.distractors:
        return _with_distractors(columns.distractors, values, [text for text in given if text.strip()], item_id)
    for number, text in enumerate(given, start=1):
        if not text.strip():
            raise RowError(f"option {number} is empty")
    if twice := next((text for n, text in enumerate(given) if text.strip() in map(str.strip, given[:n])), None):
        raise RowError(f"two options are {twice!r}, so no letter is right alone")
    return given


def _with_distractors(rule: Distractors, values: Mapping[str, Any], given: list[str], item_id: str) -> tuple[str, ...]:
    drawn = sorted(set(strings(values, [rule.column])), key=lambda text: digest([item_id, text]))
    found = list(given)
    for text in drawn:
        if len(found) < rule.upto and text.strip() and not any(_overlap(text, other) for other in found):
            found.append(text)
    return (*found, rule.last)


def _overlap(one: str, other: str) -> bool:
    return fold(one) in fold(other) or fold(other) in fold(one)


def right(columns: Columns, values: Mapping[str, Any], found: tuple[str, ...], label: str | None) -> str | None:
    """The right option's text, where the row has options; `label` may be its id."""
    if not found or label is None:
        return label
    if columns.option_ids:
        ids = strings(values, [columns.option_ids])
        if ids.count(label) != 1 or len(ids) != len(found):
            raise RowError(f"label {label!r} is not one of the {len(found)} options' ids: {', '.join(ids)}")
        return found[ids.index(label)]
    if label not in found:
        raise RowError(f"label {label!r} is none of the options")
    return label
