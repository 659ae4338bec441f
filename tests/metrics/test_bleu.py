"""Corpus BLEU against sacrebleu 2.6.0's public scores."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu import BLEU

from mixgrid.metrics import bleu

PREDICTIONS = ["The dog bit the man.", "It was not unexpected.", "Omul l-a mușcat pe câine."]
REFERENCES = [
    ["The dog had bit the man.", "The dog bit the man."],
    ["No one was surprised."],
    ["Câinele l-a mușcat pe om.", "Omul l-a mușcat pe câine, zău."],
]


def test_counts_add_up_to_the_corpus_score() -> None:
    found = bleu.score(PREDICTIONS, REFERENCES)
    ranks: Any = [[many[0] for many in REFERENCES], [REFERENCES[0][1], None, REFERENCES[2][1]]]
    expected = BLEU().corpus_score(PREDICTIONS, ranks).score
    assert bleu.total(found.sums["bleu_corpus"].sum(axis=0)) == pytest.approx(expected, abs=1e-12)
    assert found.signature == (
        "bleu(nrefs:var|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0)|tok:13a|norm:no|refs:all"
    )


WORDS = st.lists(st.sampled_from(["a", "b", "c", "ɗ", "."]), max_size=12).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=5))
def test_parity_with_sacrebleus_public_scores(rows: list[tuple[str, str]]) -> None:
    predictions, references = [one for one, _ in rows], [[other] for _, other in rows]
    found = bleu.score(predictions, references)
    sentence = BLEU(effective_order=True)
    assert found.values["bleu_sentence"] == pytest.approx(
        [sentence.sentence_score(one, many).score for one, many in zip(predictions, references, strict=True)]
    )
    corpus = BLEU().corpus_score(predictions, [[other for _, other in rows]])
    assert bleu.total(found.sums["bleu_corpus"].sum(axis=0)) == pytest.approx(corpus.score, abs=1e-12)


def test_totals_keep_leading_axes() -> None:
    counts = bleu.score(PREDICTIONS, REFERENCES).sums["bleu_corpus"]
    weights = np.array([[[1, 1, 1], [3, 0, 0]]])
    totals = bleu.total(weights @ counts)
    assert totals.shape == (1, 2)
    assert totals[0, 1] == pytest.approx(100)
