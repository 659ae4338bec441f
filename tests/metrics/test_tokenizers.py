"""The two tokenizers against rouge-score's own, and the unicode one against its definition."""

import re
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.tokenizers import DefaultTokenizer

from mixgrid import languages
from mixgrid.errors import UserError
from mixgrid.metrics import tokenizers
from tests.metrics.golden import golden

DEFAULT: Any = DefaultTokenizer()
MIXED = st.text(
    alphabet=st.one_of(st.characters(), st.sampled_from("aİΣßſѢ আজি ي\u064e\u200c\u200d\ufe0f_'’-\n\x1c\x85"))
)


@pytest.mark.parametrize("row", golden("unicode_tokenizers"), ids=lambda row: row["text"])
def test_unicode_tokens_are_the_golden_ones(row: dict[str, Any]) -> None:
    assert tokenizers.words(row["text"]) == row["utok"]


@pytest.mark.parametrize("row", golden("unicode_tokenizers"), ids=lambda row: row["text"])
def test_the_fast_packages_own_unicode_tokenizer_is_another_one(row: dict[str, Any]) -> None:
    """Why it is not used: it differs on apostrophes, decimals, underscores and ligatures."""
    from rouge_score_rs import tokenizers as native

    unicode: Any = native.UnicodeTokenizer()
    theirs = unicode.tokenize(row["text"])
    assert theirs == row["rouge_score_rs_unicode_v1"]
    special = any(sign in row["text"] for sign in ("d'amico", "3.14", "Straße"))
    assert (theirs != tokenizers.words(row["text"])) == special


@pytest.mark.parametrize("pair", golden("rouge")["pairs"], ids=lambda pair: pair["name"])
def test_the_golden_references_have_the_golden_tokens(pair: dict[str, Any]) -> None:
    assert tokenizers.compat(pair["reference"]) == pair["default_tokens_ref"]
    assert tokenizers.words(pair["reference"]) == pair["unicode_tokens_ref"]
    naive = re.findall(r"\w+", unicodedata.normalize("NFC", pair["reference"]).lower())
    assert naive == pair["w_tokens_ref"]
    assert (naive != tokenizers.words(pair["reference"])) == (pair["name"] == "bangla")  # \w loses its vowel signs


@given(MIXED)
def test_compat_is_rouge_scores_tokenizer(text: str) -> None:
    assert tokenizers.compat(text) == DEFAULT.tokenize(text)


@given(MIXED)
def test_chunk_by_chunk_is_the_same_as_at_once(text: str) -> None:
    """The memory works on chunks between white space; neither tokenizer may look across it."""
    assert tokenizers.words(text) == languages.words(text)
    assert tokenizers.compat(text) == [word for chunk in text.split() for word in tokenizers.compat(chunk)]


@given(MIXED)
def test_words_of_words_are_the_same_words(text: str) -> None:
    found = tokenizers.words(text)
    assert tokenizers.words(" ".join(found)) == found


@given(MIXED)
def test_words_are_made_of_letters_marks_and_digits_of_every_script(text: str) -> None:
    for word in tokenizers.words(text):
        assert word
        assert all(unicodedata.category(sign)[0] in "LMN" or sign in "\u200c\u200d" for sign in word)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("বাংলা ভালো", ["বাংলা", "ভালো"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("كَتَبَ الدرس،", ["كَتَبَ", "الدرس"]),
        ("می\u200cروم", ["می\u200cروم"]),
        ("ɓarawo ƙasa ɗaki ƴa", ["ɓarawo", "ƙasa", "ɗaki", "ƴa"]),
        ("👩\u200d💻 ❤\ufe0f ok", ["ok"]),
        ("", []),
    ],
)
def test_marks_and_joiners_stay_inside_words(text: str, expected: list[str]) -> None:
    assert tokenizers.words(text) == expected


def test_an_unknown_tokenizer_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UserError, match="did you mean 'unicode'"):
        tokenizers.tokenizer("unicod")
