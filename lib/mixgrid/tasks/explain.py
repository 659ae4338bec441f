"""How one raw answer is read, step by step, for `mixgrid parse --explain`. It reads nothing itself: the task does.

>>> from mixgrid.tasks.satire import SATIRE
>>> print(explain(SATIRE, Raw("<think>hm</think><raspuns>satiră</raspuns>")))
raw       42 characters, finish_reason stop
reasoning 2 characters set apart, never searched: hm
left      <raspuns>satiră</raspuns>
seen      answer tag: satiră
read      ok → satire
"""

import json
from collections.abc import Iterator, Sequence

from mixgrid import parse
from mixgrid.records import Parsed
from mixgrid.tasks.base import Raw, Task


def explain(task: Task, raw: Raw, order: Sequence[str] = ()) -> str:
    """One line a step. `order` is the row's, for a task whose answer names an option by its letter."""
    steps = [*_before(raw), *_seen(raw), *_options(order), *_result(task.parse(raw, order))]
    return "\n".join(f"{name:<9} {text}" for name, text in steps)


def _before(raw: Raw) -> Iterator[tuple[str, str]]:
    """What came, and what of it may hold an answer."""
    ended = f"finish_reason {raw.finish_reason or '(none)'}"
    yield "raw", f"{len(raw.text)} characters, {ended if raw.usable else f'{raw.status}: {raw.reason}'}"
    if raw.reasoning:
        yield "reasoning", f"{len(raw.reasoning)} characters in a column of their own, never searched"
    left = parse.visible(raw)
    for thought in parse.thoughts(raw.text):
        yield "reasoning", f"{len(thought)} characters set apart, never searched: {parse.excerpt(thought)}"
    if left.unfinished:
        yield "reasoning", "begun and never closed: what follows it is no answer"
    yield "left", parse.excerpt(left.text, 400) or "(nothing)"


def _seen(raw: Raw) -> Iterator[tuple[str, str]]:
    """The answers that stand there, in any form; the last of the task's form counts."""
    pairs, opened = parse.tag_pairs(parse.visible(raw, entities=True).text, parse.TAGS.answer)
    for content in pairs:
        yield "seen", f"answer tag: {parse.excerpt(content) or '(empty)'}"
    if opened is not None:
        yield "seen", f"answer tag that is never closed: {parse.excerpt(opened)}"
    for found in parse.objects(parse.visible(raw).text):
        if isinstance(found, Parsed):
            yield "seen", f"JSON object refused: {found.note}"
        else:
            yield "seen", f"JSON object: {_short(found)}"


def _short(found: dict[str, object]) -> str:
    return parse.excerpt(json.dumps(found, ensure_ascii=False, default=str), 200)


def _options(order: Sequence[str]) -> Iterator[tuple[str, str]]:
    if order:
        yield "order", "; ".join(f"{chr(ord('A') + n)} {parse.excerpt(option, 40)}" for n, option in enumerate(order))


def _result(read: Parsed) -> Iterator[tuple[str, str]]:
    value = f" → {parse.excerpt(read.value, 200)}" if read.value is not None else ""
    yield "read", f"{read.status}{value}{f' ({read.note})' if read.note else ''}"
