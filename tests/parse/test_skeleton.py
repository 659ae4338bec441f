"""Skeletons: what a reader of tags makes of a text cut to its tags is what it makes of the text."""

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mixgrid.parse import TAGS, Raw, aliases, tagged
from mixgrid.parse.skeleton import skeletons

LOOKUP = aliases({"factual": ["factual", "factuală"], "satire": ["satiră", "satirică"]})
TAG_LIKE = (
    "<raspuns>", "</raspuns>", "<răspuns>", "</RĂSPUNS>", "<answer>", "</answer>", "<rationament>", "</rationament>",
    "<think>", "</think>", "< answer >", "</ answer>", '<answer id="1">', "<answer/>", "<b>", "</b>", "<>", "<satiră>",
    "[THINK]", "[/THINK]", "◁think▷", "&lt;think&gt;", "<|channel|>", "<analysis>", "</analysis>",
)  # fmt: skip
WORDS = ("satiră", "factual", "Satirică.", "&lt;", "&", "<", ">", "/", " ", "\n", "x" * 70, "ț", "💡")
PLAIN = st.builds(
    lambda thought, said, between, after, tags: f"{thought}{between}{tags[0]}{said}{tags[1]}{after}",
    st.sampled_from(["", "<think>hm</think>", "hm</think>", "<rationament>factual?\n</rationament>", "vorbe "]),
    st.sampled_from(["satiră", " Factuală. ", "satiră factual", "", "nimic", "> satiră"]),
    st.sampled_from(["", "\n", "Deci: ", "& ", "> "]),
    st.sampled_from(["", " gata.", " <b>", "\n\n"]),
    st.sampled_from([("<raspuns>", "</raspuns>"), ("<RĂSPUNS>", "</answer>"), ("<b>", "</b>"), ("<answer>", "")]),
)
ANY = st.lists(st.sampled_from(TAG_LIKE + WORDS), max_size=9).map("".join)
TEXTS = st.lists(st.one_of(PLAIN, ANY, st.text(max_size=12), st.none()), max_size=8)


@given(TEXTS)
@example(["<raspuns>x<satiră></raspuns>", "<answer>sat<b>iră</answer>", "<think><answer>satiră</answer>", None])
@settings(max_examples=300)
def test_a_class_read_in_the_skeleton_is_the_class_of_the_text(texts: list[str | None]) -> None:
    whole = [None if text is None else text.encode("utf-8", "ignore").decode() for text in texts]
    for text, cut in zip(whole, skeletons(pa.array(whole, pa.string()), TAGS).to_pylist(), strict=True):
        for finish in ("stop", "length", "content_filter"):
            if cut is not None and (read := tagged(Raw(cut, finish_reason=finish), TAGS, LOOKUP)).status == "ok":
                assert text is not None
                assert tagged(Raw(text, finish_reason=finish), TAGS, LOOKUP) == read
                assert tagged(Raw(text, "o gândire", finish), TAGS, LOOKUP) == read


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("Deci <raspuns>satiră</raspuns>.", "<raspuns>satiră</raspuns>"),
        ("<rationament>a > b</rationament>\n<răspuns> satiră </răspuns>",
         "<rationament></rationament><răspuns> satiră </răspuns>"),
        ("gând</think><answer>factual</answer>", "</think><answer>factual</answer>"),
        ("<raspuns>satiră &amp; factual</raspuns>", None),
        ("<raspuns>satiră</raspuns><raspuns>factual</raspuns>", None),
        ("<b>satiră</b>", None),
        ("[THINK]<raspuns>satiră</raspuns>", None),
        ("◁think▷<raspuns>satiră</raspuns>", None),
        ("satiră", None),
        (None, None),
        ("", None),
    ],
)  # fmt: skip
def test_plain_answers_alone_are_cut(text: str | None, cut: str | None) -> None:
    assert skeletons(pa.array([text], pa.string()), TAGS).to_pylist() == [cut]


def test_a_slice_of_a_column_and_a_column_longer_than_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mixgrid.parse.skeleton.BLOCK", 7)
    texts = pa.array([f"{'ă' * n}<raspuns>satiră</raspuns>" for n in range(9)] + ["nimic"])
    cut = "<raspuns>satiră</raspuns>"
    assert skeletons(texts.slice(3), TAGS).to_pylist() == [cut] * 6 + [None]
    assert skeletons(texts.slice(0, 0), TAGS).to_pylist() == []
