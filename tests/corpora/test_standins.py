"""Real data sets of the same shapes, by column maps: more references, reply links, unanswerable, five options."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from mixgrid.corpora import load_corpora, read
from mixgrid.prompts import Prompts
from mixgrid.records import Item
from mixgrid.schemas import digest
from mixgrid.tasks import TASKS
from mixgrid.tasks.shots import Shots

Load = Callable[[str], list[Item]]
PROMPTS = Prompts()


@pytest.fixture(scope="module")
def load(root: Path, shared: Path) -> Load:
    catalogue = load_corpora(root / "manifests" / "corpora.yaml")
    return lambda name: read(catalogue[name])


def few(items: list[Item], split: str) -> list[Item]:
    return sorted((i for i in items if i.split == split), key=lambda i: digest(i.item_id))[:12]


def asked(task: str, setting: str, items: list[Item]) -> list[str]:
    """The prompts of a few items of the test split, with shots from outside it."""
    how = TASKS[task].settings[setting]
    shots = Shots(how, [i for i in items if i.split != "test" and TASKS[task].accepts(i)])
    found = []
    for item in few(items, "test"):
        assert TASKS[task].accepts(item)
        order = TASKS[task].order(item)
        (message,) = PROMPTS.render(how.template, TASKS[task].context(item, order, shots.of(item)))
        found.append(message.content)
    return found


def test_dialogsum_has_three_references_and_examples_from_its_other_split(load: Load) -> None:
    items = load("dialogsum")
    assert Counter((i.split, len(i.references)) for i in items) == {("validation", 1): 500, ("test", 3): 500}
    assert items[0].turns[0].speaker == "#Person1#"
    assert all(
        "English" in text and text.count("Example of a summary") == 3
        for text in asked("dialogue-summary", "3-shot", items)
    )


def test_molweni_has_reply_links_and_unanswerable_questions(load: Load) -> None:
    items = load("molweni-mrc")
    assert Counter(i.category for i in items) == {"answerable": 2560, "unanswerable": 311}
    assert len({i.cluster_id for i in items}) == 100
    assert all((i.label == "No correct answer") == (i.category == "unanswerable") for i in items)
    assert {len(i.options) for i in items} == {5}
    assert all(len(set(i.options)) == 5 for i in items)
    assert "(reply to 1): " in asked("dialogue-qa", "0-shot", items)[0]


def test_molweni_dialogues_for_description(load: Load) -> None:
    items = load("molweni-dp")
    assert len(items) == len({i.item_id for i in items}) == 995  # a turn of the other five has no speaker
    assert {len({t.speaker for t in i.turns}) for i in items} == set(range(2, 9))
    links = [t for i in items for t in i.turns if t.reply_to is not None]
    assert len(links) == 3880 - 35 + 3911


def test_id_csqa_has_five_options_whose_right_one_is_named_by_letter(load: Load) -> None:
    items = load("id-csqa")
    assert Counter((i.split, i.language) for i in items) == {
        ("test", "id"): 1496, ("test", "su"): 1496, ("train", "id"): 300, ("train", "su"): 300
    }  # fmt: skip
    test = [i for i in items if i.split == "test"]
    release = Counter("ABCDE"[i.options.index(i.label or "")] for i in test)
    shown = Counter("ABCDE"[TASKS["dialogue-qa"].order(i).index(i.label or "")] for i in test)
    assert max(release.values()) > 2.5 * min(release.values())  # the release's key is skewed
    assert max(shown.values()) < 1.25 * min(shown.values())  # the recorded order is not
    assert all(len(set(i.options)) == 5 for i in test)  # two options of the other five questions are the same
    assert all("Dialogue:" not in text and "\nE. " in text for text in asked("dialogue-qa", "1-shot", items))
