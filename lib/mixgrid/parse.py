"""How raw answers are read: pure functions, one for each answer form, that never raise and never credit a guess.

What a model thought is set apart first and never searched. Then the last complete answer counts, and it has to match an
alias exactly (after folding); anything else becomes a status that says what was wrong.

>>> tagged(Raw("<think>satiră?</think><Răspuns>Factuală.</Răspuns>"), TAGS, aliases({"factual": ["factuală"]})).value
'factual'
"""

import html
import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mixgrid.languages import LANGUAGES, fold
from mixgrid.records import Parsed, ParseStatus

VERSION = "1"  # part of every task's parser version: raise it whenever an answer could be read otherwise


@dataclass(frozen=True)
class Raw:
    """What came back for one item, as parsers see it."""

    text: str
    reasoning: str | None = None
    finish_reason: str = "stop"
    status: str = "ok"
    reason: str = ""


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
_THINK = frozenset({"think", "thinking", "thought"})
_TAG = re.compile(r"<\s*(?:(/)\s*)?([^\s<>/]{1,40})(?:\s[^<>]*?)?(/?)>")


@dataclass(frozen=True)
class Visible:
    """The part of an output that may hold the answer."""

    text: str
    unfinished: bool  # reasoning was begun and never closed


def outside(text: str, names: frozenset[str]) -> Visible:
    """Text without what stands inside the named tags.

    A closing tag with no opening one ends reasoning that the chat template began. A tag that stays open hides the rest.
    """
    kept: list[str] = []
    at, inside = 0, False
    for match in _TAG.finditer(text):
        if fold(match[2]) not in names or match[3]:
            continue
        if match[1]:
            kept = kept if inside else []
            at, inside = match.end(), False
        elif not inside:
            kept.append(text[at : match.start()])
            inside = True
    return Visible("".join(kept) if inside else "".join([*kept, text[at:]]), inside)


def visible(raw: Raw, tags: Tags = TAGS, entities: bool = False) -> Visible:
    """An output without its reasoning, the model's own and what the prompt asked for; `entities` are unescaped.

    Not in JSON, which a `&quot;` would break.
    """
    own = outside(raw.text, _THINK)
    asked = outside(html.unescape(own.text) if entities else own.text, tags.reasoning)
    cut_short = raw.finish_reason == "length" and bool(raw.reasoning) and not raw.text.strip()
    return Visible(asked.text.strip(), own.unfinished or asked.unfinished or cut_short)


def tagged(raw: Raw, tags: Tags, lookup: Mapping[str, str]) -> Parsed:
    """The class that the last answer tag names."""
    seen = visible(raw, tags, entities=True)
    content = last_tag(seen.text, tags.answer, finished=raw.finish_reason != "length") if _usable(raw) else None
    return missing(raw, seen, "no answer tag") if content is None else label(content, lookup)


def last_tag(text: str, names: frozenset[str], finished: bool = True) -> str | None:
    """What the last complete pair of the named tags holds; failing that, what follows an open one in a finished text.

    Names are compared folded, and a pair may mix them (`<raspuns>…</answer>`).
    """
    found: str | None = None
    opened: int | None = None
    for match in _TAG.finditer(text):
        if fold(match[2]) not in names:
            continue
        if match[3]:
            found = ""
        elif not match[1]:
            opened = match.end()
        elif opened is not None:
            found, opened = text[opened : match.start()], None
    if found is None and opened is not None and finished:
        found = text[opened:].split("</", 1)[0]  # a misspelt closing tag ends it too
    return found


def aliases(names: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """A lookup from folded alias to class; an alias of two classes raises ValueError."""
    lookup: dict[str, str] = {}
    for name, spellings in names.items():
        for spelling in spellings:
            if lookup.setdefault(bare(spelling), name) != name:
                raise ValueError(f"alias {spelling!r} names both {lookup[bare(spelling)]!r} and {name!r}")
    return lookup


def bare(text: str) -> str:
    """Folded text without the quotes, marks and spaces around it, its inner spaces single."""
    folded = " ".join(fold(text).split())
    start, end = 0, len(folded)
    while start < end and unicodedata.category(folded[start])[0] in "PSZC":
        start += 1
    while end > start and unicodedata.category(folded[end - 1])[0] in "PSZC":
        end -= 1
    return folded[start:end]


def label(content: str, lookup: Mapping[str, str]) -> Parsed:
    """The class whose alias the content is. Never part of it, never the closest one."""
    text = bare(content)
    if text in lookup:
        return Parsed("ok", lookup[text])
    spaced = " ".join(["", *re.findall(r"\w+", text), ""])
    mentioned = sorted({name for alias, name in lookup.items() if f" {alias} " in spaced})
    if len(mentioned) > 1:
        return Parsed("ambiguous", note=f"{excerpt(content)} names {', '.join(mentioned)}")
    if not text:
        return Parsed("empty", note="the answer tag is empty")
    return Parsed("refused" if refuses(content) else "invalid_label", note=excerpt(content))


def json_object(raw: Raw, read: Callable[[Mapping[str, object]], Parsed], tags: Tags = TAGS) -> Parsed:
    """What `read` makes, given folded keys, of the last JSON object that it accepts; failing that, why it did not."""
    seen = visible(raw, tags)
    results = [found if isinstance(found, Parsed) else read(found) for found in _objects(seen.text)]
    accepted = [result for result in results if result.status == "ok"]
    if not _usable(raw) or not results:
        return missing(raw, seen, "no JSON object")
    if not accepted and results[-1].status == "bad_format" and raw.finish_reason == "length":
        return missing(raw, seen, results[-1].note)
    return (accepted or results)[-1]


def _objects(text: str) -> Iterator[dict[str, object] | Parsed]:
    """The outermost JSON objects of a text, wherever they stand; one that JSON allows but we refuse says why."""
    at = text.find("{")
    while at >= 0:
        try:
            end = _PLAIN.raw_decode(text, at)[1]
        except RecursionError:  # nested past all sense: no answer, and each level would be tried again
            return
        except ValueError:
            end = at + 1
        else:
            try:
                yield _STRICT.decode(text[at:end])
            except ValueError as error:
                yield Parsed("bad_format", note=excerpt(str(error)))
        at = text.find("{", end)


def _pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    folded = {fold(key): value for key, value in pairs}
    for key, _ in pairs:
        if sum(fold(other) == fold(key) for other, _ in pairs) > 1:
            raise ValueError(f"duplicate key {key!r}")
    return folded


def _finite(literal: str) -> float:
    if not math.isfinite(float(literal)):
        raise ValueError(f"{literal} is not a finite number")
    return float(literal)


_PLAIN = json.JSONDecoder(strict=False)  # not strict: a raw newline in a string is no reason to lose an answer
_STRICT = json.JSONDecoder(strict=False, object_pairs_hook=_pairs, parse_constant=_finite, parse_float=_finite)


def json_flags(raw: Raw, names: Sequence[str]) -> Parsed:
    """Binary labels, each 0 or 1 (or false or true), as canonical JSON in the order of `names`."""
    return json_object(raw, lambda found: _flags(found, names))


def _flags(found: Mapping[str, object], names: Sequence[str]) -> Parsed:
    for name in names:
        value = found.get(fold(name), "")
        if fold(name) not in found:
            return Parsed("bad_format", note=f"no key {name!r}")
        if not isinstance(value, int) or value not in (0, 1):
            return Parsed("invalid_label", note=excerpt(f"{name}: {json.dumps(value, ensure_ascii=False)}"))
    return Parsed("ok", json.dumps({name: int(bool(found[fold(name)])) for name in names}, separators=(",", ":")))


def json_field(raw: Raw, keys: Sequence[str]) -> Parsed:
    """The text under the one of `keys` that an object has."""
    return json_object(raw, lambda found: _field(found, keys))


def _field(found: Mapping[str, object], keys: Sequence[str]) -> Parsed:
    values = [found[fold(key)] for key in keys if fold(key) in found]
    if len(values) != 1:
        return Parsed("bad_format", note=f"{len(values)} of the keys {', '.join(keys)}")
    (value,) = values
    if not isinstance(value, str) or any("\ud800" <= c <= "\udfff" for c in value):
        return Parsed("bad_format", note=excerpt(f"{keys[0]}: not text, or text with half a character: {value!r}"))
    return Parsed("ok", value) if value.strip() else Parsed("empty", note=f"{keys[0]} is empty")


_LETTER = re.compile(r"""[\s"'“”‘’«»(\[*`]*([a-z])(?:[\s"'“”‘’«»)\].:,*`]+|$)(.*)""", re.DOTALL)


def letter(content: str, options: Sequence[str]) -> Parsed:
    """The letter of the option that an answer names by letter (`C`, `(c)`), letter and text (`C. Bandung`), or text.

    A letter beside another option's text, several letters, or a text that two options share: ambiguous.
    """
    texts = [bare(option) for option in options]
    named = {i for i, text in enumerate(texts) if text and text == bare(content)}
    match = _LETTER.fullmatch(fold(content))
    at = ord(match[1]) - ord("a") if match else len(options)
    if match and at < len(options):
        if not bare(match[2]):
            return Parsed("ok", chr(ord("A") + at))
        beside = {i for i, text in enumerate(texts) if text and text == bare(match[2])}
        named |= ({at} if at in beside else {at} | beside) if beside else set()
    if len(named) == 1:
        return Parsed("ok", chr(ord("A") + named.pop()))
    letters = set(re.findall(r"\b[A-Z]\b", content)) & {chr(ord("A") + i) for i in range(len(options))}
    if named or len(letters) > 1:
        return Parsed("ambiguous", note=excerpt(content))
    return Parsed("refused" if refuses(content) else "invalid_label", note=excerpt(content))


def missing(raw: Raw, seen: Visible, wanted: str) -> Parsed:
    """Why an output holds no answer."""
    why = "the reasoning was never closed" if seen.unfinished else wanted
    return Parsed(_missing_status(raw, seen), note=raw.reason or f"{why}: {excerpt(seen.text)}")


def _missing_status(raw: Raw, seen: Visible) -> ParseStatus:
    if raw.reason in ("refused", "filtered") or raw.finish_reason in ("content_filter", "refusal"):
        return "refused"
    if raw.finish_reason == "length" and _usable(raw):
        return "truncated_reasoning" if seen.unfinished else "truncated"
    if not _usable(raw) or not (seen.text or seen.unfinished):
        return "empty"
    return "refused" if refuses(seen.text) else "bad_format"


def _usable(raw: Raw) -> bool:
    return raw.status == "ok"


_REFUSALS = (
    "nu pot răspunde", "nu pot să", "nu pot oferi", "nu pot clasifica", "nu pot îndeplini", "îmi pare rău",
    "ca model de limbaj", "ca model lingvistic", "i can't", "i cannot", "i'm sorry", "i am sorry", "i'm unable",
    "i am unable", "i won't", "as an ai", "as a language model", "es tut mir leid", "ich kann nicht",
    "je suis désolé", "je ne peux pas", "mi dispiace", "non posso", "maaf", "saya tidak bisa", "saya tidak dapat",
    "ba zan iya", "عذرا", "لا أستطيع", "لا يمكنني", "দুঃখিত",
)  # fmt: skip
_REFUSAL = re.compile(rf"(?<!\w)(?:{'|'.join(re.escape(fold(phrase)) for phrase in _REFUSALS)})(?!\w)")


def refuses(text: str) -> bool:
    """Whether a text without an answer opens like a refusal."""
    return _REFUSAL.search(fold(text[:200].replace("’", "'"))) is not None


def excerpt(text: str, size: int = 80) -> str:
    """The start of a text for a note, on one line, as UTF-8 can hold it."""
    line = " ".join(text.split())
    short = line if len(line) <= size else line[: size - 1] + "…"
    return short.encode("utf-8", "backslashreplace").decode()
