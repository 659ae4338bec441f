"""`parse --explain`: every step of the reading is named, and the last line is what the task's parser says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixgrid.parse import thoughts, visible
from mixgrid.tasks import TASKS
from mixgrid.tasks.base import Raw
from mixgrid.tasks.explain import explain

ORDER = ("Solo", "Medan", "Bandung", "Bogor", "No correct answer")
PIECES = st.sampled_from(["<think>", "</think>", "<raspuns>", "</raspuns>", "<rationament>", "</rationament>", "satiră",
                          '{"answer": "A"}', '{"answer"', "\ud800", "&lt;", "x"])  # fmt: skip


def test_a_letter_is_followed_to_its_option() -> None:
    raw = Raw('<think>maybe {"answer": "A"}</think>{"answer": "C", "answer": "B"} {"answer": "b."}', "hm", "stop")
    assert explain(TASKS["dialogue-qa"], raw, ORDER).split("\n") == [
        "raw       83 characters, finish_reason stop",
        "reasoning 2 characters in a column of their own, never searched",
        'reasoning 21 characters set apart, never searched: maybe {"answer": "A"}',
        'left      {"answer": "C", "answer": "B"} {"answer": "b."}',
        "seen      JSON object refused: duplicate key 'answer'",
        'seen      JSON object: {"answer": "b."}',
        "order     A Solo; B Medan; C Bandung; D Bogor; E No correct answer",
        "read      ok → Medan (option B)",
    ]


@pytest.mark.parametrize(
    ("raw", "lines"),
    [
        (
            Raw("<think>It is satire because", finish_reason="length"),
            ["never closed", "(nothing)", "truncated_reasoning"],
        ),
        (Raw("", status="failed", reason="too_long"), ["failed: too_long", "empty (too_long)"]),
        (Raw("<raspuns>satiră sau factual</raspuns>"), ["answer tag: satiră sau factual", "ambiguous (satiră sau"]),
        (Raw("<raspuns>satiră"), ["answer tag that is never closed: satiră", "ok → satire"]),
        (Raw("so</think>x"), ["2 characters set apart, never searched: so", "left      x"]),
    ],
)
def test_what_went_wrong_is_said(raw: Raw, lines: list[str]) -> None:
    text = explain(TASKS["satire"], raw)
    for line in lines:
        assert line in text


@given(st.lists(PIECES, max_size=10).map("".join), st.sampled_from(sorted(TASKS)), st.sampled_from(["stop", "length"]))
def test_the_last_line_is_the_parsers_word_for_any_text(text: str, task: str, finish: str) -> None:
    raw = Raw(text, finish_reason=finish)
    *_, last = explain(TASKS[task], raw, ORDER).split("\n")
    assert last.startswith(f"read      {TASKS[task].parse(raw, ORDER).status}")
    last.encode("utf-8")


@given(st.lists(PIECES, max_size=10).map("".join))
def test_what_is_shown_as_reasoning_and_what_is_left_are_the_whole_text(text: str) -> None:
    shown = sum(len(piece) for piece in thoughts(text)) + len(visible(Raw(text)).text)
    assert shown <= len(text)
    assert set(text.replace("x", "")) >= set("".join(thoughts(text)).replace("x", ""))
