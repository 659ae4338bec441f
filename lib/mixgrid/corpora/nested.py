r"""Cells that hold a structure: dialogues and replaced spans.

dialogue   "Ani: kamu where?\nBudi: di rumah, @Ani"      → two turns; a line without a speaker goes on with the turn,
                                                       and so does one that is indented by three more than the first
           "1. Ani: kamu where?\n2. Budi (reply to 1): …" → the same with a reply, as `tasks.base.transcript` writes it
           [{"speaker": "Ani", "text": "kamu where?"}, {"speaker": "Budi", "text": "…", "reply_to": "0"}]
spans      [{"start": 11, "end": 19, "original": "promis", "translation": "promised", "language": "en"}]
"""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mixgrid.corpora.base import RowError
from mixgrid.records import Span, Turn

# Neither `https://…` nor `12:30` at the beginning of a line is somebody who speaks.
_SPEAKER = re.compile(r"\s*(?!\d+:\d)(?P<speaker>[^\s:][^:\n]{0,49}?)\s*:(?!//)\s?(?P<text>.*)", re.DOTALL)
_NUMBER = re.compile(
    r"(?P<number>[1-9]\d*)\. (?P<speaker>[^\s:][^:\n]*?)(?: \(reply to (?P<reply>\d+)\))?: (?P<text>.*)", re.DOTALL
)
_MENTION = re.compile(r"@([\w.-]*\w)")


def turns(value: Any, replies: Any = None) -> tuple[Turn, ...]:
    """The turns of a dialogue, from lines of text or from a list (a JSON list in a csv cell too).

    `replies` are links {x, y} between turns by number, from 0: turn y replies to turn x.
    """
    if isinstance(value, str) and not value.lstrip().startswith("["):
        found = _numbered(value) or _lines(value)
    else:
        found = _mentioned([_turn(number, record) for number, record in enumerate(_list("dialogue", value))])
    if not found:
        raise RowError("empty dialogue")
    found = _linked(found, _list("replies", replies))
    _refuse_blanks(found)
    _refuse_loose_ends(found)
    return tuple(found)


def _linked(found: list[Turn], links: list[Any]) -> list[Turn]:
    """The turns with the first link of each that has one."""
    target: dict[int, int] = {}
    for link in links:
        x, y = (link.get("x"), link.get("y")) if isinstance(link, Mapping) else (None, None)
        if not (isinstance(x, int) and isinstance(y, int) and 0 <= x < len(found) and 0 <= y < len(found)):
            raise RowError(f"the link {str(link)[:60]} does not name two of the {len(found)} turns as x and y")
        target.setdefault(y, x)
    return [replace(turn, reply_to=found[target[n]].turn_id) if n in target else turn for n, turn in enumerate(found)]


def _mentioned(found: list[Turn]) -> list[Turn]:
    """The turns with the speakers that their texts name by @, where a record does not list them itself."""
    speakers = {turn.speaker for turn in found}
    return [turn if turn.mentions else replace(turn, mentions=_mentions(turn.text, speakers)) for turn in found]


def _mentions(text: str, speakers: set[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in _MENTION.findall(text) if name in speakers))


def _refuse_blanks(found: list[Turn]) -> None:
    for number, turn in enumerate(found):
        if not turn.speaker.strip():
            raise RowError(f"turn {number} of the dialogue has a blank speaker")
        if not turn.text.strip():
            raise RowError(f"turn {number} of the dialogue, by {turn.speaker!r}, says nothing")


def _refuse_loose_ends(found: list[Turn]) -> None:
    ids = [turn.turn_id for turn in found]
    for turn in found:
        if ids.count(turn.turn_id) > 1:
            raise RowError(f"two turns of the dialogue are {turn.turn_id!r}")
        if turn.reply_to is not None and turn.reply_to not in ids:
            raise RowError(f"turn {turn.turn_id!r} of the dialogue replies to {turn.reply_to!r}, which is no turn")
        if turn.reply_to == turn.turn_id:
            raise RowError(f"turn {turn.turn_id!r} of the dialogue replies to itself")


def _numbered(text: str) -> list[Turn]:
    """Turns of numbered lines, whose continuations are indented; none if a line is neither."""
    found: list[Turn] = []
    for line in (line.removesuffix("\r") for line in text.rstrip("\n").split("\n")):
        match = _NUMBER.fullmatch(line)
        if match and int(match["number"]) == len(found) + 1:
            found.append(Turn(match["number"], match["speaker"], match["text"], match["reply"]))
        elif found and line.startswith("   "):
            found[-1] = replace(found[-1], text=f"{found[-1].text}\n{line[3:]}")
        else:
            return []
    return _mentioned(found)


def _lines(text: str) -> list[Turn]:
    spoken: list[tuple[str, str]] = []
    lines = text.split("\n")
    first = next((line for line in lines if line.strip()), "")
    deeper = first[: len(first) - len(first.lstrip())] + "   "
    for line in lines:
        indented = bool(spoken) and line.startswith(deeper)
        match = None if indented else _SPEAKER.fullmatch(line.removesuffix("\r"))
        if match:
            spoken.append((match["speaker"], match["text"]))
        elif spoken:
            spoken[-1] = (spoken[-1][0], f"{spoken[-1][1]}\n{line.removeprefix(deeper)}")
        elif line.strip():
            raise RowError(f"the dialogue begins without a speaker: {line[:40]!r}")
    if len(spoken) == 1 and any(line.startswith(deeper) and _SPEAKER.fullmatch(line.strip()) for line in lines):
        raise RowError("the dialogue is one turn, and its indented lines look like turns: indent all lines alike")
    return _mentioned([Turn(str(number), *turn) for number, turn in enumerate(spoken)])


def _turn(number: int, record: Any) -> Turn:
    speaker, text = (record.get("speaker"), record.get("text")) if isinstance(record, Mapping) else (None, None)
    if not isinstance(speaker, str) or not isinstance(text, str):
        raise RowError(f"turn {number} of the dialogue lacks `speaker` or `text`")
    reply_to = record.get("reply_to")
    return Turn(
        turn_id=str(record.get("turn_id", number)),
        speaker=speaker,
        text=text,
        reply_to=None if reply_to is None else str(reply_to),
        mentions=tuple(str(name) for name in record.get("mentions") or ()),
    )


def spans(value: Any, text: str | None) -> tuple[Span, ...]:
    """Replaced spans in the order of the text; each must stand where it says."""
    found = tuple(_span(record) for record in _list("spans", value))
    end = 0
    for span in found:
        if not end <= span.start <= span.end or (text or "")[span.start : span.end] != span.translation:
            raise RowError(f"span {span.start}..{span.end} does not hold {span.translation!r} in the text")
        end = span.end
    return found


def _span(record: Any) -> Span:
    try:
        start, end = record["start"], record["end"]
        words = record["original"], record["translation"], record["language"]
    except (TypeError, KeyError):
        raise RowError("a span lacks start, end, original, translation or language") from None
    if not (isinstance(start, int) and isinstance(end, int) and all(isinstance(word, str) for word in words)):
        raise RowError("a span's start and end are whole numbers, the rest is text")
    return Span(start, end, *words)


def _list(what: str, value: Any) -> list[Any]:
    if value is None or value == "":
        return []
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        raise RowError(f"{what} is no JSON list: {value[:40]!r}") from None
    if not isinstance(found, list):
        raise RowError(f"{what} is no list")
    return found
