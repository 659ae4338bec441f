"""`mixgrid parse`: one raw answer from a file or the input, read as reduce reads it, with its steps on request."""

import io
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Mixgrid

OPTIONS = [word for option in ("Solo", "Medan", "No correct answer") for word in ("--order", option)]


@pytest.fixture
def answer(tmp_path: Path) -> Path:
    file = tmp_path / "answer.txt"
    file.write_bytes("<think>factual?</think>\r\n<raspuns>satiră</raspuns>\n".encode())
    return file


def test_an_answer_is_read_to_its_class(mixgrid: Mixgrid, answer: Path) -> None:
    ended = mixgrid("parse", "satire", answer)
    assert (ended.code, ended.out, ended.err) == (0, "ok satire\n", "")
    assert mixgrid("parse", "satire", answer, "--json").json == {"status": "ok", "value": "satire", "note": ""}


def test_an_ending_that_is_none_is_refused_as_it_could_credit_an_answer_that_was_cut(
    mixgrid: Mixgrid, answer: Path
) -> None:
    ended = mixgrid("parse", "satire", answer, "--finish-reason", "lenght")
    assert ended.code == 2
    assert "did you mean 'length'" in ended.err


def test_each_step_is_shown_on_request(mixgrid: Mixgrid, answer: Path) -> None:
    lines = mixgrid("parse", "satire", answer, "--explain").out.splitlines()
    assert lines[0] == "raw       51 characters, finish_reason stop"
    assert "reasoning 8 characters set apart, never searched: factual?" in lines
    assert lines[-1] == "read      ok → satire"
    found = mixgrid("parse", "satire", answer, "--explain", "--json").json
    assert (found["value"], found["steps"]) == ("satire", lines)


def test_a_letter_is_followed_to_its_option(tmp_path: Path, mixgrid: Mixgrid) -> None:
    file = tmp_path / "qa.txt"
    file.write_text('{"answer": "B"}', "utf-8")
    assert mixgrid("parse", "dialogue-qa", file, *OPTIONS).out == "ok Medan option B\n"
    assert (
        "order     A Solo; B Medan; C No correct answer"
        in mixgrid("parse", "dialogue-qa", file, *OPTIONS, "--explain").out
    )


def test_what_cannot_be_read_is_no_error_of_the_command(mixgrid: Mixgrid, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.TextIOWrapper(io.BytesIO(b"<think>It is satire because"))
    monkeypatch.setattr(sys, "stdin", raw)
    ended = mixgrid("parse", "satire", "--finish-reason", "length")
    assert ended.code == 0
    assert ended.out.startswith("truncated_reasoning ")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["satir"], "there is no task 'satir'; did you mean 'satire'?"),
        (["dialogue-qa"], "an answer to 'dialogue-qa' is a letter; give its options by --order"),
        (["satire", "nowhere.txt"], "nowhere.txt: cannot be read (No such file or directory); name a text file"),
        (["satire", "{latin1}"], "not UTF-8 (byte 1); save the answer as UTF-8"),
    ],
)
def test_bad_usage_is_one_sentence(tmp_path: Path, mixgrid: Mixgrid, arguments: list[str], says: str) -> None:
    (tmp_path / "latin1").write_bytes(b"a\xe9b")
    ended = mixgrid("parse", *(text.format(latin1=tmp_path / "latin1") for text in arguments))
    assert (ended.code, ended.out) == (2, "")
    assert says in ended.err
    assert ended.err.count("\n") == 1
