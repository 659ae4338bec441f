"""METEOR against nltk 3.10.4: golden values, and itself with the plain stemmer on random text."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.translate import meteor_score as nltk_meteor

from mixgrid.metrics import meteor, tokenizers
from tests.metrics.golden import golden

FILE = golden("meteor")


class _NoSynonyms:
    def synsets(self, _word: str) -> list[object]:
        return []


@pytest.mark.parametrize("row", FILE["rows"], ids=lambda row: " ".join(row["hypothesis"])[:20])
def test_golden_rows(row: dict[str, Any]) -> None:
    found = meteor.score([" ".join(row["hypothesis"])], [[" ".join(row["reference"])]])
    assert found.values["meteor"][0] == row["meteor_nowordnet"]
    assert row["params"] == {"alpha": 0.9, "beta": 3.0, "gamma": 0.5}  # nltk's defaults, which we leave alone


def test_golden_several_references_take_the_best() -> None:
    many = FILE["multi"]
    references = [[" ".join(words) for words in many["refs"]]]
    hypothesis = " ".join(many["hyp"])
    assert meteor.score([hypothesis], references).values["meteor"][0] == many["value"]
    each = meteor.score([hypothesis] * 2, [[text] for text in references[0]]).values["meteor"]
    assert meteor.score([hypothesis], references, multi="mean").values["meteor"][0] == pytest.approx(each.mean())


def test_golden_edges() -> None:
    edge = FILE["edge"]
    found = meteor.score(["", "a b", ""], [["a b"], [""], [""]])
    assert found.values["meteor"].tolist() == [edge["empty_hyp"], edge["empty_ref"], edge["both"]]
    assert found.statuses == ("empty",) * 3
    assert edge["str_input"].startswith("TypeError")


def test_golden_wordnet_is_never_asked_for() -> None:
    """By nltk alone this input dies for want of a download, but only because a word stays unmatched."""
    assert FILE["default_without_data"] == "LookupError"
    assert meteor.score(["x y z"], [["a b c"]]).values["meteor"][0] == 0


def test_one_word_and_long_texts() -> None:
    assert meteor.score(["kata"], [["kata"]]).values["meteor"][0] == 0.5
    long = " ".join(f"w{i}" for i in range(5000))
    assert meteor.score([long], [[long]]).values["meteor"][0] == pytest.approx(1)


def test_both_tokenizations_are_named() -> None:
    pair = (["ديجا infrastructures"], [["راهي infrastructures"]])
    compat, unicode = meteor.score(*pair, tokenizer="compat"), meteor.score(*pair)
    assert compat.values["meteor"][0] == 0.5
    assert unicode.values["meteor"][0] == 0.25
    assert compat.signature == "meteor(nltk-3.10.4, exact+stem)|tok:compat|norm:no|refs:max"
    assert unicode.signature.startswith("meteor(nltk-3.10.4, exact+stem)|tok:unicode(words-1/unicode-")


WORDS = st.lists(
    st.one_of(st.sampled_from(["walk", "walks", "Walking", "relation", "relational", "ɗaya", "আজকে"]), st.text()),
    max_size=25,
)


@settings(max_examples=150, deadline=None)
@given(WORDS, st.lists(WORDS, min_size=1, max_size=3))
def test_remembered_stems_change_nothing(hypothesis: list[str], references: list[list[str]]) -> None:
    one, many = " ".join(hypothesis), [" ".join(words) for words in references]
    theirs = nltk_meteor.meteor_score(
        [tokenizers.words(text) for text in many], tokenizers.words(one), wordnet=_NoSynonyms()
    )
    assert meteor.score([one], [many]).values["meteor"][0] == theirs
