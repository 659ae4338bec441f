"""Dialogues written by a model, to stand beside those of people on the same topics (PINGPONG §3.4, Tables 4 and 20).

An item is a dialogue of people with its topic; the model sees the topic, the languages, the names and the length, and
writes another one: `{"messages": [{"speaker": "A", "text": "kapan?", "reply_to": null}, …]}`. Nothing is right or wrong
in it; it is scored by whether it can be read and keeps to what was asked, and measured by `mixgrid describe`.
"""

import json
from collections.abc import Mapping, Sequence

from mixgrid import parse
from mixgrid.languages import LANGUAGES, language
from mixgrid.records import Item, Parsed, Turn
from mixgrid.tasks.base import Raw, Setting, Task

KEYS = ("messages", "dialogue", "turns", "conversation", "percakapan", "dialog", "pesan")


class DialogueWriting:
    """What would these people say?"""

    name = "dialogue-writing"
    settings: Mapping[str, Setting] = {"0-shot": Setting("0-shot", "dialogue-writing/0-shot.jinja")}
    classes: tuple[str, ...] = ()
    score = "dialogue"
    parser_version = f"dialogue-writing-1/parse-{parse.VERSION}"
    tags: parse.Tags | None = None

    def accepts(self, item: Item) -> bool:
        """A dialogue with a topic; in one language it is a dialogue to compare mixed ones with. It needs no gold."""
        return bool(item.turns and item.topic)

    def order(self, item: Item) -> tuple[str, ...]:
        """The speakers' names, as they come in."""
        return tuple(dict.fromkeys(turn.speaker for turn in item.turns))

    def context(self, item: Item, order: Sequence[str], shots: Sequence[Item]) -> Mapping[str, object]:
        """Topic, languages, names and length; nothing of what was said. There are no shots."""
        languages = [LANGUAGES[code].english for code in language(item.language).parts]
        return {"topic": item.topic, "languages": languages, "speakers": order, "turns": len(item.turns)}

    def parse(self, raw: Raw, order: Sequence[str]) -> Parsed:
        """The messages of the last JSON object that has them all right, as JSON."""
        return parse.json_object(raw, lambda found: _messages(found, order))

    def gold(self, item: Item) -> str:
        """What the people said: one way among many."""
        place = {turn.turn_id: number for number, turn in enumerate(item.turns, start=1)}
        return _json([(t.speaker, t.text, place[t.reply_to] if t.reply_to is not None else None) for t in item.turns])


def turns_of(value: str) -> tuple[Turn, ...]:
    """The turns of a value that `parse` gave."""
    return tuple(
        Turn(str(number), each["speaker"], each["text"], None if each["reply_to"] is None else str(each["reply_to"]))
        for number, each in enumerate(json.loads(value), start=1)
    )


Message = tuple[str, str, int | None]


def _json(messages: Sequence[Message]) -> str:
    named = [dict(zip(("speaker", "text", "reply_to"), message, strict=True)) for message in messages]
    return json.dumps(named, ensure_ascii=False, separators=(",", ":"))


def _messages(found: Mapping[str, object], order: Sequence[str]) -> Parsed:
    listed = [found[key] for key in KEYS if key in found]
    if len(listed) != 1 or not isinstance(listed[0], list):
        return Parsed("bad_format", note=f"not one list under one of {', '.join(KEYS)}")
    messages: list[Message] = []
    for number, each in enumerate(listed[0], start=1):
        message = _message(each, number)
        if isinstance(message, str):
            return Parsed("bad_format", note=parse.excerpt(f"message {number}: {message}"))
        if message[0] not in order:
            return Parsed("invalid_label", note=parse.excerpt(f"message {number}: nobody is called {message[0]!r}"))
        messages.append(message)
    return Parsed("ok", _json(messages)) if messages else Parsed("empty", note="no messages")


def _message(each: object, number: int) -> Message | str:
    """One message, or what is wrong with it."""
    if not isinstance(each, Mapping):
        return "no object"
    speaker, text, reply = each.get("speaker"), each.get("text"), each.get("reply_to")
    if not isinstance(speaker, str) or not isinstance(text, str) or not text.strip():
        return "no speaker, or no text"
    if any("\ud800" <= char <= "\udfff" for char in text):
        return "half a character"
    if reply is not None and (isinstance(reply, bool) or not isinstance(reply, int) or not 0 < reply < number):
        return f"it replies to {reply!r}, which is no earlier message"
    return speaker, text, reply


DIALOGUE_WRITING: Task = DialogueWriting()
