"""The sample dialogues and posts keep their promises: every language, speaker count, kind of question and label."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from mixgrid.corpora import load_corpora, read
from mixgrid.records import Item
from mixgrid.tasks import TASKS
from mixgrid.tasks.shots import Shots

LANGUAGES = {"id-en", "jv-id-en", "su-id-en", "ha-en", "ar-dz-fr"}
KINDS = {"answerable", "negation", "antonym", "entity-swap", "mutual-exclusion", "impossible-condition"}
SAMPLES = ("dialogue-qa", "dialogue-summary", "dialogue-topic", "implicit-meaning", "satire")
Load = Callable[[str], list[Item]]


@pytest.fixture(scope="module")
def load(root: Path) -> Load:
    catalogue = load_corpora(root / "manifests" / "corpora.yaml")
    return lambda task: read(catalogue[f"{task}-sample"])


@pytest.mark.parametrize("task", SAMPLES)
def test_every_item_of_a_sample_can_be_asked_and_no_cluster_crosses_a_split(load: Load, task: str) -> None:
    items = load(task)
    assert all(TASKS[task].accepts(item) for item in items)
    assert len({(i.cluster_id, i.split) for i in items}) == len({i.cluster_id for i in items})


@pytest.mark.parametrize("task", SAMPLES[:3])
def test_every_shot_setting_finds_its_examples(load: Load, task: str) -> None:
    items = load(task)
    for setting in TASKS[task].settings.values():
        shots = Shots(setting, [i for i in items if i.split != "test"])
        for item in items:
            if item.split == "test":
                drawn = shots.of(item)
                assert {i.language for i in drawn} <= {item.language}
                assert not any(i.cluster_id == item.cluster_id for i in drawn)
                assert sum(len(i.references) or 1 for i in drawn) >= setting.shots


def test_dialogues_of_two_to_four_speakers_with_replies_from_afar(load: Load) -> None:
    items = load("dialogue-summary")
    assert {(i.language, i.split): 1 for i in items}.keys() == {(x, s) for x in LANGUAGES for s in ("train", "test")}
    assert Counter(len({t.speaker for t in i.turns}) for i in items) == {2: 9, 3: 4, 4: 2}
    far = 0
    for item in items:
        assert len(item.references) == 3 or (item.split == "test" and len(item.references) == 2)
        for place, turn in enumerate(item.turns):
            if turn.reply_to is not None:
                assert int(turn.reply_to) < place
                far += place - int(turn.reply_to) > 2
    assert far >= 12
    assert sum(bool(t.mentions) for i in items for t in i.turns) >= 4


def test_algerian_dialogues_come_in_both_scripts(load: Load) -> None:
    texts = ["".join(t.text for t in i.turns) for i in load("dialogue-topic") if i.language == "ar-dz-fr"]
    arabic = [any("\u0600" <= c <= "\u06ff" for c in text) for text in texts]
    assert set(arabic) == {True, False}


def test_questions_of_every_kind_in_every_language(load: Load) -> None:
    items = [i for i in load("dialogue-qa") if i.split == "test"]
    assert len(items) == 50
    assert {i.category for i in items} == KINDS
    assert {i.language for i in items} == LANGUAGES
    for item in items:
        order = TASKS["dialogue-qa"].order(item)
        assert len(set(order)) == 5
        assert (item.label == order[4]) == (item.category != "answerable")


def test_every_topic_is_there_and_posts_have_every_label(load: Load) -> None:
    assert {i.label for i in load("dialogue-topic")} == set(TASKS["dialogue-topic"].classes)
    posts = [i for i in load("implicit-meaning") if i.split == "test"]
    assert len(posts) == 20
    for name in TASKS["implicit-meaning"].classes:
        assert sum(flag.value for i in posts for flag in i.flags if flag.name == name) >= 4
    assert any(not any(f.value for f in i.flags) for i in posts)
    assert posts[6].item_id == "007"
