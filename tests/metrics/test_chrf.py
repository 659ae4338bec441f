"""chrF++ against sacrebleu 2.6.0: golden values, its public scores, and its bootstrap on our counts."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu import CHRF

from mixgrid.metrics import chrf
from tests.metrics.golden import golden

FILE = golden("chrf")
PAIRS = FILE["pairs"]
MANY = FILE["multi"]


def test_golden_sentences() -> None:
    found = chrf.score([p["prediction"] for p in PAIRS], [[p["reference"]] for p in PAIRS])
    assert found.values["chrf++_sentence"].tolist() == [p["chrfpp_sentence"] for p in PAIRS]
    blank = {p["name"] for p, status in zip(PAIRS, found.statuses, strict=True) if status == "empty"}
    assert blank == {"empty_prediction", "both_empty"}


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair["name"])
def test_golden_variants_are_other_numbers_by_sacrebleu(pair: dict[str, str]) -> None:
    """No words, no case, or epsilon smoothing: what ours must not be taken for."""
    variants = {
        "chrf_sentence": CHRF(),
        "chrfpp_lower": CHRF(word_order=2, lowercase=True),
        "chrfpp_eps": CHRF(word_order=2, eps_smoothing=True),
    }
    for name, metric in variants.items():
        assert metric.sentence_score(pair["prediction"], [pair["reference"]]).score == pair[name]


def test_golden_corpus_is_not_the_mean_of_sentences() -> None:
    found = chrf.score([p["prediction"] for p in PAIRS[:4]], [[p["reference"]] for p in PAIRS[:4]])
    corpus = chrf.total(found.sums["chrf++_corpus"].sum(axis=0))
    assert corpus == pytest.approx(FILE["corpus_first4"], abs=1e-12)
    assert found.values["chrf++_sentence"].mean() == pytest.approx(FILE["mean_sentence_first4"], abs=1e-12)


def test_golden_several_references() -> None:
    references = MANY["references"]
    assert chrf.score([MANY["prediction"]], [references]).values["chrf++_sentence"][0] == MANY["score"]
    each = chrf.score([MANY["prediction"]] * 3, [[text] for text in references])
    assert each.values["chrf++_sentence"].tolist() == MANY["each"]
    mean = chrf.score([MANY["prediction"]], [references], multi="mean")
    assert mean.values["chrf++_sentence"][0] == pytest.approx(np.mean(MANY["each"]))
    assert not mean.sums


def test_golden_ragged_references_and_signature() -> None:
    ragged = chrf.score(["a b c", "x"], [["a b c"], ["y", "x"]])
    assert ragged.values["chrf++_sentence"].tolist() == [float(FILE["ragged_none"])] * 2
    assert ragged.signature == f"chrf++({FILE['signature']})|tok:characters|norm:no|refs:max"


TEXT = st.text(st.sampled_from("ab ɗ.,!আ\n"), max_size=20)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(TEXT, st.lists(TEXT, min_size=1, max_size=3)), min_size=1, max_size=6))
def test_parity_with_sacrebleus_public_scores(rows: list[tuple[str, list[str]]]) -> None:
    predictions, references = [one for one, _ in rows], [many for _, many in rows]
    found = chrf.score(predictions, references)
    metric = CHRF(word_order=2)
    sentences = [metric.sentence_score(one, many).score for one, many in rows]
    assert found.values["chrf++_sentence"] == pytest.approx(sentences, abs=1e-12)
    deep = max(map(len, references))
    streams: Any = [[many[rank] if rank < len(many) else None for many in references] for rank in range(deep)]
    corpus = metric.corpus_score(predictions, streams).score
    assert chrf.total(found.sums["chrf++_corpus"].sum(axis=0)) == pytest.approx(corpus, abs=1e-12)


def test_a_resample_of_counts_is_the_corpus_score_of_the_resampled_items() -> None:
    predictions, references = [p["prediction"] for p in PAIRS], [[p["reference"]] for p in PAIRS]
    weights = np.random.default_rng(7).multinomial(len(PAIRS), [1 / len(PAIRS)] * len(PAIRS), size=5)
    totals = chrf.total(weights @ chrf.score(predictions, references).sums["chrf++_corpus"])
    assert totals.shape == (5,)
    for draw, value in zip(weights, totals, strict=True):
        places = np.repeat(np.arange(len(PAIRS)), draw)
        drawn = CHRF(word_order=2).corpus_score([predictions[i] for i in places], [[references[i][0] for i in places]])
        assert value == pytest.approx(drawn.score, abs=1e-12)
