"""What holds for every task, over the dict of tasks. A new task adds its items to ITEMS."""

import dataclasses
from typing import Any

import pytest

from mixgrid.prompts import Prompts, template_version
from mixgrid.records import Flag, Item, Turn
from mixgrid.tasks import TASKS
from mixgrid.tasks.base import Raw, Setting, Task

BASE = Item("toy", "1", "s1", None, "c1", "test", "ro", "none", 0)
SENTENCES = [("Primarul <PERSON> a tăiat panglica {de două ori}.", "satire"), ("S-a publicat un raport.", "factual")]
TURNS = (
    Turn("0", "A", "kapan kita ke Bandung, guys?"),
    Turn("1", "B", 'besok: "jam 7" {pagi}\nA: bukan aku', mentions=("A",)),
    Turn("2", "C", "aku skip dulu, busy <GPE>", reply_to="0"),
)
LANGUAGES = ("id-en", "jv-id-en", "su-id-en", "ha-en", "ar-dz-fr")
NONE = "No correct answer"
PROMPTS = Prompts()  # templates are compiled once


def flags(n: int) -> tuple[Flag, ...]:
    """All four labels, in another order than the paper's."""
    names = ("vulgar", "offensive", "sarcastic", "humorous")
    return tuple(Flag(name, bool(n >> bit & 1)) for bit, name in enumerate(names))


def some(n: int, **fields: Any) -> Item:
    return dataclasses.replace(BASE, item_id=f"i{n}", source_id=f"s{n}", item_hash="", **fields)


ITEMS: dict[str, list[Item]] = {
    "code-mixing": [
        some(n, language=tag, text="Primarul <PERSON> a tăiat panglica {de două ori}.", references=(text,))
        for n, tag in enumerate(("ro-en", "ro-de", "su-id-en"))
        for text in (
            "The mayor <PERSON> a tăiat panglica {de două ori}.",
            "Primarul <PERSON> cut the ribbon.\nDe două ori.",
        )
    ],
    "dialogue-qa": [
        some(n, language=tag, turns=TURNS, question='Siapa yang "skip"?', options=options, label=label)
        for n, tag in enumerate(LANGUAGES)
        for options, label in (
            (("C", "A", "B", 'D "x"', NONE), "C"),
            (("C. Bandung", "A", "A atau B", "", NONE), NONE),
            (("-5", "5", "5 %", "لا", "5.5"), "5"),
        )
    ],
    "dialogue-summary": [
        some(n, language=tag, turns=TURNS, topic="travel", references=(text, "B setuju. C tidak ikut."))
        for n, tag in enumerate(LANGUAGES)
        for text in ('A mengajak "pergi". {"summary": "B"} setuju.', "أ يقترح السفر.\nب يوافق.")
    ],
    "dialogue-topic": [
        some(n, language=tag, turns=TURNS, topic="secret topic", label=label)
        for n, tag in enumerate(LANGUAGES)
        for label in ("Science/Technology", "Entertainment", "Social/Culture", "Education", "Daily Life")
    ],
    "dialogue-writing": [some(n, language=tag, turns=TURNS, topic="travel {x}") for n, tag in enumerate(LANGUAGES)],
    "implicit-meaning": [some(n, language="bn-en", text="ki {boro} genius re!", flags=flags(n)) for n in range(16)],
    "satire": [
        dataclasses.replace(BASE, source_id=f"s{n}", language=tag, text=text, label=label, item_hash="")
        for n, (text, label) in enumerate(SENTENCES)
        for tag in ("ro", "ro-en", "ro-de")
    ],
    "translation": [
        some(n, language="ro-en", text=text, category=unit, topic=f"Ieri {text}.", references=(reference,))
        for n, unit in enumerate((None, "sentence", "subtree", "phrase", "word"))
        for text, reference in (
            ("<PERSON> și <GPE>, azi", '<PERSON> and <GPE>, "today"'),
            ("gard {x}", "fence & {x}"),
            ("نحبو", "we like"),
        )
    ],
}
NOISE = ["{}", "Sigur!\n{}\n", "<think>hm, <raspuns>altceva</raspuns></think>{}", "hm</think>\n\n{}  "]

EVERY = [pytest.param(task, id=name) for name, task in TASKS.items()]
SETTINGS = [
    pytest.param(task, setting, id=f"{name}-{setting.name}")
    for name, task in TASKS.items()
    for setting in task.settings.values()
]
each_task = pytest.mark.parametrize("task", EVERY)
each_setting = pytest.mark.parametrize(("task", "setting"), SETTINGS)


def test_the_dict_is_sorted_and_named_by_its_tasks() -> None:
    assert list(TASKS) == sorted(TASKS) == sorted(ITEMS)
    assert all(name == task.name for name, task in TASKS.items())


@each_task
def test_settings_are_sorted_and_named(task: Task) -> None:
    assert list(task.settings) == sorted(task.settings)
    assert all(name == setting.name for name, setting in task.settings.items())


@each_task
def test_the_order_is_shared_by_twins_and_variants_and_balanced_over_sources(task: Task) -> None:
    for item in ITEMS[task.name]:
        twin = dataclasses.replace(item, item_id="other", twin_id=item.item_id, variant=2, switching="random")
        assert task.order(item) == task.order(twin)
        assert task.order(item) == task.order(item)
    if task.score == "classification":
        firsts = [task.order(dataclasses.replace(item, source_id=str(n)))[0] for n in range(400)]
        assert all(firsts.count(name) > 400 / len(task.classes) * 0.8 for name in task.classes)


@each_setting
def test_prompts_render_and_hold_no_gold(task: Task, setting: Setting) -> None:
    assert template_version(setting.template).startswith(f"{task.name}/")
    for item in ITEMS[task.name]:
        assert task.accepts(item)
        order = task.order(item)
        messages = PROMPTS.render(setting.template, task.context(item, order, ()))
        assert messages[-1].role == "user"
        assert len(messages) == 1  # one user message: no role to fold, no roles that must alternate
        for other in (*task.classes, *item.options):  # the same prompt, whatever the right answer is
            changed = dataclasses.replace(item, label=other, flags=tuple(Flag(f.name, False) for f in item.flags))
            assert PROMPTS.render(setting.template, task.context(changed, order, ())) == messages


@each_setting
@pytest.mark.parametrize("noise", NOISE)
def test_gold_in_the_demanded_form_parses_to_a_perfect_score(task: Task, setting: Setting, noise: str) -> None:
    for item in ITEMS[task.name]:
        order = task.order(item)
        context = {**task.context(item, order, ()), "answer": task.gold(item), "reasoning": "pas cu pas"}
        answer = PROMPTS.target(setting.template, context)
        for finish_reason in ("stop", "length"):
            parsed = task.parse(Raw(noise.format(answer), finish_reason=finish_reason), order)
            assert (parsed.status, parsed.value) == ("ok", task.gold(item))


@each_task
@pytest.mark.parametrize("text", ["", "hm", "<think>hm", "\ud800", "{}", "<PERSON>"])
def test_what_holds_no_answer_gives_none(task: Task, text: str) -> None:
    for order in {task.order(item) for item in ITEMS[task.name]}:
        parsed = task.parse(Raw(text, finish_reason="length"), order)
        assert parsed.value is None
        assert parsed.status != "ok"
