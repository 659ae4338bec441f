"""Cells that hold dialogues: who speaks, and what only looks like a speaker."""

import pytest

from mixgrid.corpora.base import RowError
from mixgrid.corpora.nested import turns


@pytest.mark.parametrize("line", ["https://x.test/page?a=1", "http://x.test: see", "12:30 merge", "7:05"])
def test_an_address_or_a_time_at_the_beginning_of_a_line_is_nobody_who_speaks(line: str) -> None:
    found = turns(f"Ana: look\n{line}\nBudi: oke")
    assert [turn.speaker for turn in found] == ["Ana", "Budi"]
    assert found[0].text == f"look\n{line}"


def test_an_indented_line_goes_on_with_the_turn_and_is_nobody_who_speaks() -> None:
    """As `tasks.base.transcript` writes a turn of several lines, so that no text can pose as a speaker."""
    found = turns("Ana: the bill\n   Amount: 5\n   Due: monday\nBudi: oke")
    assert [(turn.speaker, turn.text) for turn in found] == [
        ("Ana", "the bill\nAmount: 5\nDue: monday"),
        ("Budi", "oke"),
    ]
    found = turns("    Ana: the bill\n       Amount: 5\n    Budi: oke")
    assert [(turn.speaker, turn.text) for turn in found] == [("Ana", "the bill\nAmount: 5"), ("Budi", "oke")]


def test_a_dialogue_whose_first_line_alone_is_not_indented_is_refused() -> None:
    with pytest.raises(RowError, match="is one turn, and its indented lines look like turns: indent all lines alike"):
        turns("Ani: hi\n    Budi: hello\n    Ani: bye")


@pytest.mark.parametrize("speaker", ["Ana", "Dr. Siti B.", "7", "user_12", "أمين"])
def test_a_name_before_a_colon_speaks(speaker: str) -> None:
    (one,) = turns(f"{speaker}: di https://x.test jam 12:30")
    assert (one.speaker, one.text) == (speaker, "di https://x.test jam 12:30")
