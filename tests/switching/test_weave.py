"""The seams: what a translation looks like in the sentence, and that it comes out again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixgrid.switching.base import Piece
from mixgrid.switching.weave import Said, fit, unweave, weave


@pytest.mark.parametrize(
    ("original", "said", "language", "fitted"),
    [
        ("gardul", "The fence", "en", "the fence"),
        ("Gardul", "the fence", "en", "The fence"),
        ("gardul", "Der Zaun", "de", "Der Zaun"),
        ("gardul", "Zaun", "de", "Zaun"),
        ("eu", "I", "en", "I"),
        ("eu cred", "I think", "en", "I think"),
        ("gardul", "NATO fence", "en", "NATO fence"),
        ("ATENȚIE", "attention", "en", "ATTENTION"),
        ("Ă", "a", "fr", "A"),
        ("gardul", "the fence.", "en", "the fence"),
        ("gardul", "– the fence…", "en", "the fence"),
        ("gardul.", "The fence.", "en", "the fence."),
        ("gardul", '"the fence"', "en", "the fence"),
        ("„gardul”", "the fence", "en", "„the fence”"),
        ("„Da”, a zis", "“Yes”, he said", "en", "“Yes”, he said"),
        ("gard  viu", "  hedge ", "en", "hedge"),
        ("un gard\nun pod", "a fence\n\na bridge", "en", "a fence\na bridge"),
        ("lui <PERSON>", "of <PERSON>", "en", "of <PERSON>"),
        ("groß", "ßig", "de", "ßig"),
        ("গাড়ি", "car", "en", "car"),
        ("gard", "سياج", "ar", "سياج"),
        ("într-un gard", "dans l'enclos", "fr", "dans l'enclos"),
    ],
)
def test_case_punctuation_quotes_and_lines_are_the_original_s(
    original: str, said: str, language: str, fitted: str
) -> None:
    assert fit(original, said, language) == Said(fitted)


@pytest.mark.parametrize(
    ("original", "said", "reason"),
    [
        ("gard", "gard", "unchanged"),
        ("gard", "Gard.", "unchanged"),
        ("cafe\u0301", "caf\u00e9", "unchanged"),
        ("gard", "", "not_translated"),
        ("gard", "…", "not_translated"),
        ("gard", "fence / barrier", "not_translated"),
        ("gard", "fence (barrier)", "not_translated"),
        ("gard", "**fence**x", "not_translated"),
        ("gard", "fence\nIt is a noun.", "not_translated"),
        ("gard", "the word may be translated in several ways that depend on the sentence", "not_translated"),
        ("lui <PERSON>", "of PERSON", "tag_lost"),
        ("<PERSON> și <GPE>", "<GPE> and <PERSON>", "tag_lost"),
        ("gard", "<PERSON> fence", "tag_lost"),
    ],
)
def test_what_cannot_stand_there_says_why(original: str, said: str, reason: str) -> None:
    assert fit(original, said, "en") == Said("", reason)  # type: ignore[arg-type]


def test_spans_lie_in_the_mixed_text_and_know_what_was_there() -> None:
    text = "Primarul a inaugurat un pod."
    pieces = (Piece(0, 8, "word"), Piece(11, 20, "word"), Piece(24, 27, "word"))
    woven = weave(text, pieces, [Said("the mayor"), Said("", "not_translated"), Said("bridge.")], "en")
    assert woven.text == "The mayor a inaugurat un bridge."
    assert [(s.start, s.end, s.original, s.translation, s.language) for s in woven.spans] == [
        (0, 9, "Primarul", "The mayor", "en"), (25, 31, "pod", "bridge", "en")
    ]  # fmt: skip
    assert woven.left == ("not_translated",)
    assert unweave(woven.text, woven.spans) == text


def test_nothing_chosen_changes_nothing() -> None:
    assert weave("Un pod.", (), [], "en").text == "Un pod."


@pytest.mark.parametrize("said", ["\u0301bridge", "bridge 👩\u200d", "🏽bridge"])
def test_a_translation_that_would_grow_into_its_neighbours_is_left_out(said: str) -> None:
    woven = weave("un pod👩", (Piece(3, 6, "word"),), [Said(said)], "en")
    assert (woven.text, woven.spans, woven.left) == ("un pod👩", (), ("not_translated",))


@given(st.text(max_size=12), st.text(max_size=12), st.sampled_from(["en", "de", "fr"]))
def test_a_fitted_translation_has_words_and_is_another_text(original: str, said: str, language: str) -> None:
    found = fit(original, said, language)
    assert (found.reason is None) == bool(found.text)
    assert found.text != original or not found.text
