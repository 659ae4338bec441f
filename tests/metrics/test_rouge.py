"""ROUGE against rouge-score 0.1.2: its golden values, and itself on random text, both tokenizers, both backends."""

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score import rouge_scorer

from mixgrid.errors import UserError
from mixgrid.metrics import rouge, texts, tokenizers
from mixgrid.metrics.rouge import PARTS, TYPES
from tests.metrics.golden import golden

FILE = golden("rouge")
MANY = FILE["multi_reference"]


class _Words:
    """Our tokenizer, as rouge-score takes one."""

    def tokenize(self, text: str) -> list[str]:
        return tokenizers.words(text)


@pytest.fixture(autouse=True)
def _fresh_backend() -> Iterator[None]:
    rouge.backend.cache_clear()
    yield
    rouge.backend.cache_clear()


@pytest.fixture(params=["native", "reference"])
def _each_backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = getattr(rouge, request.param)()
    monkeypatch.setattr(rouge, "backend", lambda: chosen)


def row(scores: texts.TextScores, name: str, place: int = 0) -> list[float]:
    return [float(scores.values[f"{name}_{part}"][place]) for part in PARTS]


@pytest.mark.usefixtures("_each_backend")
@pytest.mark.parametrize("tokenizer", ["compat", "unicode"])
def test_golden_pairs_exactly(tokenizer: str) -> None:
    pairs = FILE["pairs"]
    scores = rouge.score([p["prediction"] for p in pairs], [[p["reference"]] for p in pairs], tokenizer=tokenizer)
    key = "default" if tokenizer == "compat" else tokenizer
    for place, pair in enumerate(pairs):
        for name in TYPES:
            assert row(scores, name, place) == pair[key][name], (pair["name"], name)


@pytest.mark.parametrize("pair", FILE["pairs"], ids=lambda pair: pair["name"])
def test_golden_stemmed_values_are_rouge_scores_alone(pair: Mapping[str, Any]) -> None:
    """The stemmer is English and not offered; its golden values hold the library that we compare with."""
    found = rouge_scorer.RougeScorer(list(TYPES), use_stemmer=True).score(pair["reference"], pair["prediction"])
    assert {name: list(found[name]) for name in TYPES} == pair["stemmer"]


@pytest.mark.usefixtures("_each_backend")
def test_golden_several_references_by_the_best_f_per_type_or_the_mean() -> None:
    best = rouge.score([MANY["prediction"]], [MANY["references"]])
    mean = rouge.score([MANY["prediction"]], [MANY["references"]], multi="mean")
    for name in TYPES:
        assert row(best, name) == MANY["score_multi_max_f"][name]
        assert mean.values[f"{name}_f"][0] == pytest.approx(MANY["mean_f"][name], abs=1e-15)
        assert row(mean, name) == pytest.approx(np.mean(MANY["each"][name], axis=0).tolist(), abs=1e-15)
    assert best.signature.endswith("refs:max")
    assert mean.signature.endswith("refs:mean")


@pytest.mark.usefixtures("_each_backend")
def test_golden_each_reference_alone() -> None:
    each = rouge.score([MANY["prediction"]] * 3, [[text] for text in MANY["references"]])
    for name in TYPES:
        assert [row(each, name, place) for place in range(3)] == MANY["each"][name]


@pytest.mark.usefixtures("_each_backend")
@pytest.mark.parametrize("lines", ["with_newlines", "without_newlines"])
def test_golden_lsum_splits_at_newlines_only(lines: str) -> None:
    file = FILE["rougeLsum"]
    cut = "\n" if lines == "with_newlines" else " "
    scores = rouge.score([file["prediction"].replace("\n", cut)], [[file["reference"].replace("\n", cut)]])
    for name in ("rougeL", "rougeLsum"):
        assert scores.values[f"{name}_f"][0] == pytest.approx(file[lines][name], abs=1e-15)


TEXT = st.lists(st.sampled_from(["a", "B", "ɗaya", "আজকে", "في", "x-y", "ţ", "3.14", "\n", " ", "", "İ"]), max_size=30)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(TEXT, st.lists(TEXT, min_size=1, max_size=3)), min_size=1, max_size=4))
def test_unicode_parity_with_rouge_score_given_our_tokenizer(rows: list[tuple[list[str], list[list[str]]]]) -> None:
    """Numbered words on the native code, against rouge-score on the words themselves: equal to the last bit."""
    predictions = [" ".join(words) for words, _ in rows]
    references = [[" ".join(words) for words in many] for _, many in rows]
    ours = rouge.score(predictions, references)
    theirs = rouge_scorer.RougeScorer(list(TYPES), tokenizer=_Words())
    _same(ours, [theirs.score_multi(many, one) for one, many in zip(predictions, references, strict=True)])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.text(), st.lists(st.text(), min_size=1, max_size=3)), min_size=1, max_size=4))
def test_compat_parity_with_rouge_score_on_any_text(rows: list[tuple[str, list[str]]]) -> None:
    ours = rouge.score([one for one, _ in rows], [many for _, many in rows], tokenizer="compat")
    theirs = rouge_scorer.RougeScorer(list(TYPES))
    _same(ours, [theirs.score_multi(many, one) for one, many in rows])


def test_parity_on_long_texts_with_lines() -> None:
    rng = random.Random(20261130)
    vocabulary = [*"abcdefghij", "ɗaya", "şi", "\n", "আজ"]
    some = [" ".join(rng.choices(vocabulary, k=rng.randint(60, 120))) for _ in range(40)]
    for tokenizer, given_ in (("compat", None), ("unicode", _Words())):
        ours = rouge.score(some[:20], [[text] for text in some[20:]], tokenizer=tokenizer)
        theirs = rouge_scorer.RougeScorer(list(TYPES), tokenizer=given_)
        _same(ours, [theirs.score(r, p) for p, r in zip(some[:20], some[20:], strict=True)])


def _same(ours: texts.TextScores, theirs: Sequence[Mapping[str, Any]]) -> None:
    for name in TYPES:
        assert [row(ours, name, place) for place in range(len(theirs))] == [list(one[name]) for one in theirs]


def test_the_default_tokenizer_sees_only_the_shared_french_word() -> None:
    """The trap that `unicode` is the default for (google/adk-python #3111)."""
    pair = (["في رأيك la tech"], [["كتاب جديد la tech"]])
    assert rouge.score(*pair, tokenizer="compat").values["rouge1_f"][0] == 1.0
    assert rouge.score(*pair).values["rouge1_f"][0] == 0.5


def test_short_empty_and_long_texts_have_defined_values() -> None:
    one = rouge.score(["kata"], [["kata"]])
    assert [one.values[f"{name}_f"][0] for name in TYPES] == [1, 0, 0, 0, 1, 1]
    none = rouge.score(["", "a", ""], [["a"], [""], [""]])
    assert all((values == 0).all() for values in none.values.values())
    assert none.statuses == ("empty",) * 3
    long = " ".join(f"w{i}" for i in range(5000))
    assert rouge.score([long], [[long]]).values["rouge4_f"][0] == 1  # nothing is cut off


def test_more_pairs_than_a_chunk_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    predictions = [f"a b {i % 3}" for i in range(25)]
    whole = rouge.score(predictions, [["a 1 b", "2"]] * 25)
    monkeypatch.setattr(rouge, "CHUNK", 7)
    parts = rouge.score(predictions, [["a 1 b", "2"]] * 25)
    assert all(np.array_equal(whole.values[name], parts.values[name]) for name in whole.values)


def test_the_fast_package_is_used_and_named() -> None:
    assert rouge.score(["a"], [["a"]]).signature.startswith("rouge(rouge-score-rs-0.2.1)|stem:no|tok:unicode(words-1/")


def test_without_the_fast_package_rouge_score_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    load = texts.load

    def refuse(module: str) -> Any:
        if module.startswith("rouge_score_rs"):
            raise UserError("not installed")
        return load(module)

    monkeypatch.setattr(texts, "load", refuse)
    scores = rouge.score(["the cat was under the bed"], [["The cat was found under the bed."]])
    assert row(scores, "rouge2") == FILE["pairs"][0]["unicode"]["rouge2"]
    assert scores.signature.startswith("rouge(rouge-score-0.1.2)|")


def test_a_fast_package_that_disagrees_by_one_bit_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    native = rouge.native()

    class OffByABit:
        def score(self, target: str, prediction: str) -> Mapping[str, tuple[float, float, float]]:
            right = dict(native.full.score(target, prediction))
            p, r, f = right["rougeLsum"]
            return right | {"rougeLsum": (p, r, float(np.nextafter(f, 2)))}

    monkeypatch.setattr(rouge, "native", lambda: rouge.Backend(OffByABit(), native.short, "rouge-score-rs-9"))
    assert rouge.backend().name == "rouge-score-0.1.2"


def test_names_of_words_are_no_words_of_any_text() -> None:
    """Words get ASCII names behind a run of zeros; a text with such a run, and the name itself, must not match them."""
    name = f"{rouge.ZEROS}x0"
    scores = rouge.score([f"ɗaya {name} 00{rouge.ZEROS}x0", name], [["ɗaya"], ["ɗaya"]])
    assert scores.values["rouge1_f"].tolist() == [0.5, 0]
