"""Languages: tags, the comparison normaliser, the tokenizer, folding."""

import itertools
import json
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixgrid.errors import UserError
from mixgrid.languages import LANGUAGES, fold, language, normalise, tags, word_places, words

GOLDEN = Path(__file__).parent / "golden" / "unicode_tokenizers.json"
TRICKY = st.text(
    st.characters() | st.sampled_from("şţȘțİıßſΣςﬁ\u0300\u0326\u0327\u0345\u0640\u200c\u200d\ufe0fবাংলকـَّ_ ")
)


@pytest.mark.parametrize("tag", ["ro-en", "ro-de", "ro-fr", "ro-it", "id-en", "jv-id-en", "su-id-en", "ha-en", "bn-en"])
def test_a_combination_is_its_languages_matrix_first(tag: str) -> None:
    assert language(tag).parts == tuple(tag.split("-"))
    assert language(tag).english == "-".join(LANGUAGES[code].english for code in tag.split("-"))


def test_a_code_with_a_hyphen_is_one_language_in_a_combination() -> None:
    found = language("ar-dz-fr")
    assert found.parts == ("ar-dz", "fr")
    assert found.scripts == ("Arab", "Latn")
    assert found.english == "Algerian Arabic-French"


def test_romanian_names_are_for_the_prompts() -> None:
    names = {code: LANGUAGES[code].romanian for code in ("de", "en", "fr", "it")}
    assert names == {"de": "germană", "en": "engleză", "fr": "franceză", "it": "italiană"}


def test_the_languages_are_sorted_by_their_code() -> None:
    assert list(LANGUAGES) == sorted(LANGUAGES)
    assert all(code == one.tag for code, one in LANGUAGES.items())


@pytest.mark.parametrize("tag", ["ro-ne", "ro_en", "xx", "", "ro-", "ro-ro", "RO-EN"])
def test_an_unknown_tag_is_refused(tag: str) -> None:
    with pytest.raises(UserError, match=r"not known; .*Allowed: ar, ar-dz"):
        language(tag)


def test_a_misspelt_combination_names_the_nearest() -> None:
    with pytest.raises(UserError, match="did you mean 'ro-en'"):
        language("ro-enn")


@pytest.mark.parametrize(
    ("tag", "text", "wanted"),
    [
        ("ro", "aplicaţii şi ŞTIRI Ţară", "aplicații și ȘTIRI Țară"),
        ("ro-en", "şi the boss", "și the boss"),
        ("ro", "s\u0327i t\u0327i s\u0326i", "și ți și"),  # decomposed, with either mark
        ("tr", "şeker", "şeker"),
        ("fr", "e\u0301te\u0301 ţ", "été ţ"),
        ("bn-en", "\u09a1\u09bc", "\u09a1\u09bc"),  # NFC excludes this composition
    ],
)
def test_the_comma_letters_are_unified_for_romanian_only(tag: str, text: str, wanted: str) -> None:
    assert normalise(text, tag) == wanted


@given(TRICKY, st.sampled_from(["ro", "ro-en", "tr", "ar", "bn-en", "ha-en"]))
def test_normalising_twice_is_normalising_once(text: str, tag: str) -> None:
    assert normalise(normalise(text, tag), tag) == normalise(text, tag)


@given(TRICKY)
def test_cutting_into_words_is_idempotent(text: str) -> None:
    normalised = normalise(text, "ro")
    assert words(" ".join(words(normalised))) == words(normalised)


@given(TRICKY)
def test_words_hold_letters_marks_digits_and_inner_joiners_only(text: str) -> None:
    for word in words(text):
        assert unicodedata.category(word[0])[0] in "LN"
        assert all(unicodedata.category(c)[0] in "LMN" or c in "\u200c\u200d" for c in word)
        assert word[-1] not in "\u200c\u200d"


def test_no_mark_inside_a_word_cuts_it() -> None:
    marks = [c for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(c)[0] == "M"]
    assert len(marks) > 2000
    assert all(len(words(f"क{mark}त")) == 1 for mark in marks)


def test_no_letter_or_digit_of_any_script_is_lost() -> None:
    every = [c for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(c)[0] in "LN"][::7]
    assert words(" ".join(every)) == [
        unicodedata.normalize("NFC", unicodedata.normalize("NFC", c).lower()) for c in every
    ]


@pytest.mark.parametrize("case", json.loads(GOLDEN.read_text(encoding="utf-8")), ids=lambda case: case["text"][:12])
def test_words_agree_with_an_independent_tokenizer(case: dict[str, object]) -> None:
    assert words(str(case["text"])) == case["utok"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("বাংলা ভালো।", ["বাংলা", "ভালো"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("كَتَبَ، نعم", ["كَتَبَ", "نعم"]),
        ("สวัสดี", ["สวัสดี"]),
        ("ɓarawo ƙasa ɗaki ƴa", ["ɓarawo", "ƙasa", "ɗaki", "ƴa"]),
        ("șase țase", ["șase", "țase"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),
        ("❤️ 👩\u200d💻 ok", ["ok"]),
        ("snake_case <PERSON>", ["snake", "case", "person"]),
        ("İstanbul", ["i̇stanbul"]),  # two code points in lower case, one word
        ("كـــتب ﻻ", ["كـــتب", "ﻻ"]),  # tatweel is a letter, and no presentation form is rewritten
        ("ƴa 'ya", ["ƴa", "ya"]),
    ],
)
def test_every_script_keeps_its_words_whole(text: str, wanted: list[str]) -> None:
    assert words(text) == wanted


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Răspuns", "raspuns"), ("ETICHETĂ", "eticheta"), ("raţionament", "raționament"), ("إجابَة", "اجابة"),
        ("Straße", "STRASSE"),
    ],
)  # fmt: skip
def test_folding_forgets_case_and_diacritics(one: str, other: str) -> None:
    assert fold(one) == fold(other)


def test_folding_keeps_the_vowel_signs_of_bengali() -> None:
    assert fold("হ্যাঁ") != fold("হ")


@given(TRICKY)
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(TRICKY)
def test_places_hold_the_words_of_a_text_that_is_in_lower_case_and_composed(text: str) -> None:
    text = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).lower())
    assert [text[start:end] for start, end in word_places(text)] == words(text)


@given(TRICKY)
def test_places_are_in_order_and_apart(text: str) -> None:
    places = word_places(text)
    assert all(start < end for start, end in places)
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(places))


def test_tags_are_in_capitals_and_keep_their_order() -> None:
    assert tags("<PERSON>, @URL și <GPE_2> <b> <person> @ion <PERSON>") == ("<PERSON>", "@URL", "<GPE_2>", "<PERSON>")
