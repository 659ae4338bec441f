"""Answers in a JSON object: binary flags, or text under a key."""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from mixgrid.languages import fold
from mixgrid.parse.base import TAGS, Raw, Tags, excerpt, missing, visible
from mixgrid.records import Parsed


def json_object(raw: Raw, read: Callable[[Mapping[str, object]], Parsed], tags: Tags = TAGS) -> Parsed:
    """What `read` makes, given folded keys, of the last JSON object that it accepts; failing that, why it did not."""
    seen = visible(raw, tags)
    results = [found if isinstance(found, Parsed) else read(found) for found in objects(seen.text)]
    accepted = [result for result in results if result.status == "ok"]
    if not raw.usable or not results:
        return missing(raw, seen, "no JSON object")
    if not accepted and results[-1].status == "bad_format" and raw.finish_reason == "length":
        return missing(raw, seen, results[-1].note)
    return (accepted or results)[-1]


def objects(text: str) -> Iterator[dict[str, object] | Parsed]:
    """The outermost JSON objects of a text, wherever they stand; one that JSON allows but we refuse says why.

    What stands inside a broken object may be part of its reasoning, so nothing there is taken.
    """
    opened = _OPEN.search(text)
    while opened:
        at = opened.start()
        try:
            end = _PLAIN.raw_decode(text, at)[1]
        except RecursionError:  # nested past all sense: no answer, and each level would be tried again
            return
        except ValueError:
            end = _after(text, at) if _KEY.match(text, at) else at + 1
        else:
            try:
                yield _STRICT.decode(text[at:end])
            except ValueError as error:
                yield Parsed("bad_format", note=excerpt(str(error)))
        opened = _OPEN.search(text, end)


_OPEN = re.compile(r'\{(?=\s*["}])')  # any other brace opens no object, and a failed attempt costs the text before it
_KEY = re.compile(r'\{\s*"')
_BRACE = re.compile("[{}]")


def _after(text: str, at: int) -> int:
    """Where the brace that opens at `at` is closed again by count; the end of the text where it never is."""
    depth = 0
    for match in _BRACE.finditer(text, at):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return match.end()
    return len(text)


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
