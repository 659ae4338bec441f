"""Translations: corpus scores are sacrebleu's own, whatever was added up in which order, and lost answers cost."""

import dataclasses

import numpy as np
import pytest
import sacrebleu

from mixgrid.metrics.base import Answer, Array, Policies
from mixgrid.metrics.translation import Translation
from mixgrid.records import Item

SAID = ["He is looking after the shop.", "The new bridge opens to-morrow in town.", "", "I do not know it."]
MEANT = [
    "He's looking after the store.",
    "The new bridge opens tomorrow in the town.",
    "We went home.",
    "I don't know.",
]
FACTS = [("en", (text,)) for text in MEANT]
ITEM = Item("toy", "1", "s", None, "c", "test", "id-en", "none", 0, text="x", references=("a store", " ", "a shop"))


def values(stats: Array, family: Translation) -> dict[str, float | None]:
    return {metric.name: metric.value(stats)[0] for metric in family.metrics}


def summed(answers: list[Answer], policies: Policies | None = None) -> dict[str, float | None]:
    family = Translation((), policies)
    return values(family.statistics(FACTS[: len(answers)], answers).sum(axis=0), family)


def read(texts: list[str]) -> list[Answer]:
    return [Answer("ok", text) for text in texts]


def test_corpus_scores_are_sacrebleu_s() -> None:
    found = summed(read(SAID))
    assert found["bleu_corpus"] == pytest.approx(sacrebleu.BLEU().corpus_score(SAID, [MEANT]).score / 100)
    assert found["chrf++_corpus"] == pytest.approx(sacrebleu.CHRF(word_order=2).corpus_score(SAID, [MEANT]).score / 100)


def test_sentence_scores_are_means_of_sacrebleu_s() -> None:
    found = summed(read(SAID))
    by_one = [
        sacrebleu.BLEU(effective_order=True).sentence_score(s, [m]).score for s, m in zip(SAID, MEANT, strict=True)
    ]
    assert found["bleu_sentence"] == pytest.approx(np.mean(by_one) / 100)
    by_one = [sacrebleu.CHRF(word_order=2).sentence_score(s, [m]).score for s, m in zip(SAID, MEANT, strict=True)]
    assert found["chrf++_sentence"] == pytest.approx(np.mean(by_one) / 100)


@pytest.mark.parametrize("lost", ["unparsed", "failed"])
def test_what_was_not_answered_is_scored_as_no_text_or_dropped(lost: str) -> None:
    answers = [*read(SAID[:2]), Answer(lost), *read(SAID[3:])]  # type: ignore[arg-type]
    as_empty = summed(read(SAID))
    found = summed(answers)
    for name in ("bleu_corpus", "chrf++_corpus", "bleu_sentence", "chrf++_sentence"):
        assert found[name] == pytest.approx(as_empty[name])
    assert found[lost] == 0.25
    dropped = summed(answers, Policies(unparsed="drop", failed="drop"))
    rest_said, rest_meant = [*SAID[:2], SAID[3]], [*MEANT[:2], MEANT[3]]
    assert dropped["bleu_corpus"] == pytest.approx(sacrebleu.BLEU().corpus_score(rest_said, [rest_meant]).score / 100)


def test_perfect_is_one_and_totals_take_leading_axes() -> None:
    family = Translation()
    stats = family.statistics(FACTS, read(MEANT))
    assert values(stats.sum(axis=0), family)["bleu_corpus"] == pytest.approx(1)
    assert values(stats.sum(axis=0), family)["chrf++_corpus"] == pytest.approx(1)
    for metric in family.metrics:
        each = metric.total(np.stack([stats.sum(axis=0), stats[:2].sum(axis=0)]))
        assert each[1] == pytest.approx(float(metric.total(stats[:2].sum(axis=0))))


def test_pieces_without_a_reference_have_rates_and_no_score() -> None:
    family = Translation()
    stats = family.statistics([("en", ()), ("en", ())], [Answer("ok", "fence"), Answer("unparsed")]).sum(axis=0)
    found = {metric.name: metric.value(stats) for metric in family.metrics}
    assert found["bleu_corpus"] == (None, "n/a (no references)")
    assert found["unparsed"] == (0.5, "")
    mixed = family.statistics([FACTS[0], ("en", ())], read(["He's looking after the store.", "fence"])).sum(axis=0)
    assert values(mixed, family)["bleu_corpus"] == pytest.approx(1)


def test_facts_are_the_language_that_is_translated_into_and_the_references() -> None:
    assert Translation().facts(ITEM, "a store") == ("en", ("a store", "a shop"))
    assert Translation().facts(dataclasses.replace(ITEM, references=()), "") == ("en", ())


def test_the_signature_names_package_tokenizer_and_version() -> None:
    signature = Translation().signature
    assert "tok:13a" in signature
    assert "nw:2" in signature
    assert f"version:{sacrebleu.__version__}" in signature


def test_classes_are_refused() -> None:
    with pytest.raises(ValueError, match="not the classes"):
        Translation(("a", "b"))
