"""What every parser starts from: the raw answer, its part that may hold an answer, and why there is none."""

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from mixgrid.languages import LANGUAGES, fold
from mixgrid.records import Parsed, ParseStatus

VERSION = "6"  # part of every task's parser version: raise it whenever an answer could be read otherwise


@dataclass(frozen=True)
class Raw:
    """What came back for one item, as parsers see it."""

    text: str
    reasoning: str | None = None
    finish_reason: str = "stop"
    status: str = "ok"
    reason: str = ""

    @property
    def usable(self) -> bool:
        """Whether the engine answered at all."""
        return self.status == "ok"


@dataclass(frozen=True)
class Tags:
    """Folded names of the tags that hold the answer and the reasoning that a prompt asked for."""

    answer: frozenset[str]
    reasoning: frozenset[str]

    @classmethod
    def of(cls, answer: Iterable[str], reasoning: Iterable[str]) -> "Tags":
        """Fold the names once."""
        return cls(frozenset(map(fold, answer)), frozenset(map(fold, reasoning)))


TAGS = Tags.of(
    (word for one in LANGUAGES.values() for word in one.answer_words),
    (word for one in LANGUAGES.values() for word in one.reasoning_words),
)
THINK = frozenset({
    "analysis", "ant_thinking", "antthinking", "chain_of_thought", "cot", "inner_monologue", "longcat_think", "reason",
    "reasoning", "reflection", "scratchpad", "think", "thinking", "thought", "thoughts",
})  # fmt: skip
# Marks of thought that look like tags and are none: (begins, ends). Their tokens are special ones, which an engine has
# to be told to keep in its text. Gemma 4's; Cohere's Command; OpenThinker's; Apertus's; MedGemma's.
_MARKS = (
    ("<|channel>", "<channel|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<unused94>", "<unused95>"),
)
_ENDS = {fold(mark[1:-1]): n == 1 for pair in _MARKS for n, mark in enumerate(pair)}
_CHANNEL = "|channel|"  # gpt-oss's: <|channel|>analysis<|message|>…, until <|channel|>final<|message|>…
_FINAL = re.compile(r"final(?:[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>)?")
# Marks of an answer that follows a thought, no part of it: Cohere's Command; OpenThinker's.
_ANSWER = re.compile(r"<\|(?:(?:START|END)_RESPONSE|(?:begin|end)_of_solution)\|>")
TAG = re.compile(r"<\s*(?:(\|?/)\s*)?([^\s<>/]{1,40})(?:\s[^<>]*?)?(/?)>")
# A tag in another dress: [THINK] (Magistral), ◁think▷ (Kimi), and one that something has escaped. Only thoughts' count,
# and only bare ones: `[thinking about it]` is an aside. No two parts of it match the same blanks, so it takes one pass.
_DRESSED = re.compile(
    r"(?:[\[◁]|&(?:amp;)*(?:lt|\#0*60|\#x0*3c);)\s*(?:(/)\s*)?([^\s<>/&;\[\]◁▷]{1,40})\s*"
    r"(?:[\]▷]|&(?:amp;)*(?:gt|\#0*62|\#x0*3e);)",
    re.IGNORECASE,
)
_THOUGHTS = THINK | TAGS.reasoning


@dataclass(frozen=True)
class Visible:
    """The part of an output that may hold the answer."""

    text: str
    unfinished: bool  # reasoning was begun and never closed


def outside(text: str, names: frozenset[str]) -> Visible:
    """Text without what stands inside the named tags.

    A closing tag with no opening one ends reasoning that the chat template began. A tag that stays open hides the rest.
    """
    if not any(tag.name in names for tag in scan(text)):
        return Visible(text, False)
    pieces, unfinished = _pieces(text, names)
    return Visible("".join(piece for inside, piece in pieces if not inside), unfinished)


def begun(prompt: str) -> str:
    """The mark of a thought with which a prompt ends, if it does: the answer then goes on inside that thought."""
    for tag in scan(prompt)[-1:]:
        if tag.name in THINK and not tag.closing and not prompt[tag.end :].strip():
            return prompt[tag.start :]
    return ""


def thoughts(text: str, tags: Tags = TAGS) -> list[str]:
    """What stands inside the tags of reasoning: what `visible` leaves out, to show it.

    Without thoughts of which there is only the name, by which some templates and models say that they do not think.
    """
    own, _ = _pieces(text, THINK)
    rest = "".join(piece for inside, piece in own if not inside)
    asked, _ = _pieces(rest, tags.reasoning)
    return [piece for inside, piece in (*own, *asked) if inside and piece.strip() not in ("", "thought")]


def _pieces(text: str, names: frozenset[str]) -> tuple[list[tuple[bool, str]], bool]:
    """The text cut at the named tags, each piece with whether it is inside; and whether the last tag stays open."""
    pieces: list[tuple[bool, str]] = []
    at, inside = 0, False
    for tag in scan(text):
        if tag.name not in names or tag.empty:
            continue
        if tag.closing:
            pieces = pieces if inside else [(True, piece) for _, piece in pieces]
            pieces.append((True, text[at : tag.start]))
            at, inside = tag.end, False
        elif not inside:
            pieces.append((False, text[at : tag.start]))
            at, inside = tag.end, True
    pieces.append((inside, text[at:]))
    return pieces, inside


class Found(NamedTuple):
    """A tag in a text, its name folded."""

    name: str
    closing: bool
    empty: bool  # `<a/>`
    start: int
    end: int


@lru_cache(maxsize=2)  # an answer is read for its own reasoning, for what was asked for, and for the answer
def scan(text: str) -> tuple[Found, ...]:
    """Every tag of a text, and every mark of thought. `find` leaps to where one may begin, and no regex creeps."""
    tags = []
    at = text.find("<")
    while at >= 0:
        match = TAG.match(text, at)
        if match:
            tags.append(_found(match))
        at = text.find("<", match.end() if match else at + 1)
    if any(sign in text for sign in "[◁&"):
        dressed = [tag for match in _DRESSED.finditer(text) if (tag := _found(match)).name in _THOUGHTS]
        tags = sorted([*tags, *dressed], key=lambda tag: tag.start)
    return tuple(tags)


def _found(match: re.Match[str]) -> Found:
    """A tag. A mark of thought, and a thought's name between signs (`<|think|>`, `<seed:think>`), is a `think`."""
    name, closing, end = fold(match[2]), bool(match[1]), match.end()
    if name == _CHANNEL:
        final = _FINAL.match(match.string, end)
        name, closing, end = "think", final is not None, final.end() if final else end
    elif name in _ENDS:
        name, closing = "think", _ENDS[name]
    elif name.strip("|[]").rpartition(":")[2] in THINK:
        name = "think"
    return Found(name, closing, match.re is TAG and bool(match[3]), match.start(), end)


def visible(raw: Raw, tags: Tags = TAGS, entities: bool = False) -> Visible:
    """An output without its reasoning, the model's own and what the prompt asked for; `entities` are unescaped.

    Not in JSON, which a `&quot;` would break.
    """
    own = outside(raw.text, THINK)
    asked = outside(html.unescape(own.text) if entities else own.text, tags.reasoning | THINK)
    cut_short = raw.finish_reason == "length" and bool(raw.reasoning) and not raw.text.strip()
    return Visible(_ANSWER.sub("", asked.text).strip(), own.unfinished or asked.unfinished or cut_short)


def missing(raw: Raw, seen: Visible, wanted: str) -> Parsed:
    """Why an output holds no answer."""
    why = "the reasoning was never closed" if seen.unfinished else wanted
    return Parsed(_missing_status(raw, seen), note=raw.reason or f"{why}: {excerpt(seen.text)}")


def _missing_status(raw: Raw, seen: Visible) -> ParseStatus:
    if raw.reason in ("refused", "filtered") or raw.finish_reason in ("content_filter", "refusal"):
        return "refused"
    if raw.finish_reason == "length" and raw.usable:
        return "truncated_reasoning" if seen.unfinished else "truncated"
    if not raw.usable or not (seen.text or seen.unfinished):
        return "empty"
    return "refused" if refuses(seen.text) else "bad_format"


_REFUSALS = (
    "nu pot răspunde", "nu pot să", "nu pot oferi", "nu pot clasifica", "nu pot îndeplini", "îmi pare rău",
    "ca model de limbaj", "ca model lingvistic", "i can't", "i cannot", "i'm sorry", "i am sorry", "i'm unable",
    "i am unable", "i won't", "as an ai", "as a language model", "es tut mir leid", "ich kann nicht",
    "je suis désolé", "je ne peux pas", "mi dispiace", "non posso", "maaf", "saya tidak bisa", "saya tidak dapat",
    "ba zan iya", "عذرا", "لا أستطيع", "لا يمكنني", "দুঃখিত",
)  # fmt: skip
_REFUSAL = re.compile(rf"(?<!\w)(?:{'|'.join(re.escape(fold(phrase)) for phrase in _REFUSALS)})(?!\w)")


def refuses(text: str, only_at_start: bool = False) -> bool:
    """Whether a text without an answer opens like a refusal; `only_at_start` where a summary may quote one."""
    opening = fold(text[:200].replace("’", "'")).lstrip()
    return (_REFUSAL.match if only_at_start else _REFUSAL.search)(opening) is not None


def excerpt(text: str, size: int = 80) -> str:
    """The start of a text for a note, on one line, as UTF-8 can hold it."""
    line = " ".join(text.split())
    short = line if len(line) <= size else line[: size - 1] + "…"
    return short.encode("utf-8", "backslashreplace").decode()
