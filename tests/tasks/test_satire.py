"""The satire task: what its prompts say, and which words count as its labels."""

import csv
import dataclasses
from pathlib import Path

import pytest

from mixgrid.languages import normalise, words
from mixgrid.prompts import render
from mixgrid.records import Item
from mixgrid.tasks.base import Raw
from mixgrid.tasks.satire import SATIRE

ITEM = Item("toy", "1", "s1", None, "c1", "test", "ro-en", "phrase", 1, text="Mâine plouă with money.", label="satire")


def prompt(setting: str, item: Item = ITEM, order: tuple[str, ...] = ("satire", "factual")) -> str:
    (message,) = render(SATIRE.settings[setting].template, SATIRE.context(item, order, ()))
    assert message.role == "user"  # one message, so that models without a system role are asked the same
    return message.content


@pytest.mark.parametrize("setting", sorted(SATIRE.settings))
def test_the_sentence_stands_last_and_as_it_is(setting: str) -> None:
    hard = dataclasses.replace(ITEM, text="Sfârşit {loadposition <ORG>\n a\u200bb {{ x }} \n", item_hash="")
    assert prompt(setting, hard).endswith(hard.text or "?")
    start = prompt(setting).removesuffix(ITEM.text or "?")
    assert prompt(setting, hard).startswith(start)  # the instructions are a shared prefix


@pytest.mark.parametrize("setting", sorted(SATIRE.settings))
def test_classes_stand_in_the_recorded_order(setting: str) -> None:
    assert "satiră sau factual" in prompt(setting)
    assert "factual sau satiră" in prompt(setting, order=("factual", "satire"))


@pytest.mark.parametrize(
    ("tag", "wanted"),
    [
        ("ro", "scrisă în limba română."),
        ("ro-en", "în limba română, iar unele cuvinte sau grupuri de cuvinte sunt în limba engleză."),
        ("ro-de", "sunt în limba germană."),
        ("ro-fr", "sunt în limba franceză."),
        ("ro-it", "sunt în limba italiană."),
        ("ro-en-de", "sunt în limba engleză sau în limba germană."),
    ],
)
@pytest.mark.parametrize("setting", ["zero-shot", "chain-of-thought"])
def test_the_languages_are_named_in_romanian(setting: str, tag: str, wanted: str) -> None:
    assert wanted in prompt(setting, dataclasses.replace(ITEM, language=tag))


def test_each_setting_asks_for_what_it_is_for() -> None:
    assert "<raspuns>" in prompt("zero-shot")
    assert "rationament" not in prompt("zero-shot")
    assert prompt("chain-of-thought").index("<rationament>") < prompt("chain-of-thought").index("<raspuns>")
    assert "<" not in prompt("fine-tuning")
    assert max(len(prompt(setting)) for setting in SATIRE.settings) < 600  # the embedded model reads slowly


def test_items_without_a_sentence_or_a_known_label_are_not_for_this_task() -> None:
    assert SATIRE.accepts(ITEM)
    assert not SATIRE.accepts(dataclasses.replace(ITEM, label=None))
    assert not SATIRE.accepts(dataclasses.replace(ITEM, label="ironie"))
    assert not SATIRE.accepts(dataclasses.replace(ITEM, text=" \n", item_hash=""))
    assert not SATIRE.accepts(dataclasses.replace(ITEM, text=None, item_hash=""))


def test_numbers_of_the_classes_follow_the_paper() -> None:
    assert SATIRE.classes == ("factual", "satire")


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("satiră", "satire"),
        ("Satira", "satire"),
        ("satirică", "satire"),
        ("SATIRIC.", "satire"),
        ("factual", "factual"),
        ("factuală", "factual"),
        ("factuala", "factual"),
    ],
)
def test_inflections_of_the_demanded_words_are_labels(word: str, value: str) -> None:
    assert SATIRE.parse(Raw(f"<raspuns>{word}</raspuns>"), ()).value == value


@pytest.mark.parametrize("word", ["satire", "satură", "ironie", "ironic", "fals", "real", "0", "1", "clasa"])
def test_other_words_for_a_class_are_invalid_as_in_the_paper(word: str) -> None:
    assert SATIRE.parse(Raw(f"<raspuns>{word}</raspuns>"), ()).status == "invalid_label"


@pytest.mark.parametrize(
    ("text", "status", "value"),
    [
        ("RĂSPUNS: satiră", "bad_format", None),  # the official form, which the paper's prompts no longer ask for
        ("factual", "bad_format", None),
        ("<raspuns>factual, nu satiră</raspuns>", "ambiguous", None),  # there always read as factual
        ("İİİ ŉ <RASPUNS>satiră</RASPUNS>", "ok", "satire"),  # letters that grow under upper() shift nothing
    ],
)
def test_the_official_parser_s_traps_are_none_here(text: str, status: str, value: str | None) -> None:
    read = SATIRE.parse(Raw(text), SATIRE.classes)
    assert (read.status, read.value) == (status, value)


def test_copying_the_prompt_is_no_answer() -> None:
    assert SATIRE.parse(Raw(prompt("zero-shot")), ()).value is None
    assert SATIRE.parse(Raw(prompt("chain-of-thought")), ()).value is None


def test_every_real_sentence_reaches_the_prompt_whole(shared: Path) -> None:
    with (shared / "data" / "selerosa" / "selerosa.csv").open(encoding="utf-8", newline="") as file:
        sentences = [row["sentence"] for row in csv.DictReader(file)]
    assert len(sentences) == 13_873
    for text in sentences[::25] + [s for s in sentences if "{" in s or "\n" in s or "\u200b" in s]:
        assert prompt("zero-shot", dataclasses.replace(ITEM, language="ro", text=text, item_hash="")).endswith(text)
        compared = normalise(text, "ro")
        assert normalise(compared, "ro") == compared
        assert not set("şţŞŢ") & set(compared)
        assert words(" ".join(words(compared))) == words(compared)
