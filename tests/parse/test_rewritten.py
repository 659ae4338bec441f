"""Translations and mixed sentences, out of what models wrote around and into them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixgrid.languages import tags
from mixgrid.parse import Raw, rewritten
from mixgrid.records import Parsed

NAMES = frozenset({"translation"})


def read(text: str, *kept: str, **fields: str) -> Parsed:
    return rewritten(Raw(text, **fields), NAMES, kept)


@pytest.mark.parametrize(
    "answer",
    [
        "<translation>the fence</translation>",
        'Sure!\n<Translation> "the fence" </translation>\nNote: the word can also mean a barrier.',
        "<translation>**the fence**</translation>",
        "<think><translation>gate</translation></think>`hm` <translation>`the fence`</translation>",
        "<translation>the fence",
        "&lt;translation&gt;the fence&lt;/translation&gt;",
        "<translation>gate</translation> no: <translation>„the fence”</translation>",
    ],
)
def test_quotes_markup_and_explanations_go(answer: str) -> None:
    assert read(answer) == Parsed("ok", "the fence")


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("<PERSON> of <GPE>", "<PERSON> of <GPE>"),
        ("< person > of &lt;Gpe&gt;", "<PERSON> of <GPE>"),
        ("<PERSON>  of <GPE >.", "<PERSON>  of <GPE>."),
    ],
)
def test_tags_are_mended(answer: str, value: str) -> None:
    assert read(f"<translation>{answer}</translation>", "<PERSON>", "<GPE>") == Parsed("ok", value)


@pytest.mark.parametrize(
    "answer",
    ["<GPE> of <PERSON>", "of <GPE>", "<PERSON> <PERSON> of <GPE>", "PERSON of GPE", "<PERSON>Ion</PERSON> of <GPE>",
     "<PERSOANĂ> of <GPE>", "<PERSON> of <b><GPE></b>", "<PERSON/> of <GPE>"],
)  # fmt: skip
def test_tags_in_another_number_order_or_form_are_no_translation(answer: str) -> None:
    found = read(f"<translation>{answer}</translation>", "<PERSON>", "<GPE>")
    assert (found.status, found.value) == ("invalid_label", None)


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (Raw("the fence"), "bad_format"),
        (Raw("<translation></translation>"), "empty"),
        (Raw("<translation>…</translation>"), "empty"),
        (Raw("<translation>\"\"</translation>"), "empty"),
        (Raw("<translation>the fen", finish_reason="length"), "truncated"),
        (Raw("I'm sorry, but I cannot translate this."), "refused"),
        (Raw("", status="failed", reason="refused"), "refused"),
        (Raw("", status="failed", reason="too_long"), "empty"),
        (Raw("<translation>the \ud83d fence</translation>"), "bad_format"),
        (Raw("<translation>the \x00 fence</translation>"), "bad_format"),
    ],
)  # fmt: skip
def test_what_is_no_translation_says_why(raw: Raw, status: str) -> None:
    found = rewritten(raw, NAMES, ())
    assert (found.status, found.value) == (status, None)


def test_a_translation_may_begin_like_a_refusal() -> None:
    assert read("<translation>I'm sorry, but the bridge is closed.</translation>").status == "ok"


@given(st.text(st.sampled_from("<>/PERSONGE translion&lt;\"'*„” \n\x00\ud800é")))
def test_a_value_has_words_and_just_the_tags_asked_for(text: str) -> None:
    for kept in ((), ("<PERSON>",), ("<PERSON>", "<GPE>")):
        for answer in (text, f"<translation>{text}</translation>"):
            found = read(answer, *kept)
            if found.status == "ok":
                assert found.value
                assert tags(found.value) == kept
                found.value.encode()
            else:
                assert found.value is None
