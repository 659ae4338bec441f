"""A YAML file as an object of pydantic's, and what is wrong with it as a sentence.

    read_yaml("manifests/smoke.yaml", Manifest)     # UserError: file, key, value, what would be right

Pydantic stays behind this door: its errors name types and positions, and people want the key, their value and a remedy.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from mixgrid.errors import UserError, allowed

M = TypeVar("M", bound=BaseModel)


def read_yaml(path: str | Path, kind: type[M]) -> M:
    """A YAML file as a frozen object of `kind`; anything wrong is one UserError with file, key, value and remedy."""
    data = _yaml(Path(path), kind)
    _refuse_another(Path(path), kind, data)
    try:
        return kind.model_validate(data, context=Path(path).parent)
    except ValidationError as error:
        found = sorted(
            _folded(data, error.errors()), key=lambda e: e["type"] != "extra_forbidden"
        )  # a slip comes first
        raise UserError("\n".join(_sentence(Path(path), kind, e) for e in found[:5])) from None


def plain(error: ErrorDetails) -> str:
    """What pydantic finds wrong with a value, in the words of somebody who knows YAML and no Python."""
    context = error.get("ctx", {})
    match error["type"]:
        case "model_type" | "model_attributes_type" | "dict_type":
            return "write keys and values below it"
        case "string_pattern_mismatch":
            return "write a name of letters, digits and . _ -, at most 100 of them, that begins with a letter or digit"
        case "too_short":
            return f"name at least {context['min_length']}"
        case "too_long":
            return f"name at most {context['max_length']}, not {context['actual_length']}"
        case _:
            return error["msg"].removeprefix("Value error, ").replace("Input should be", "it should be")


# The key by which each kind of file is known, what it is, and who takes it.
_KINDS = {
    "grid": ("a nightly job", "give it to `mixgrid nightly`"),
    "corpus": ("a recipe of a corpus", "give it to `mixgrid generate`"),
    "rules": ("a policy", "give it to `mixgrid gate MANIFEST --policy`"),
    "tasks": ("a grid", "give it to `mixgrid plan`, `run`, `reduce` and their like"),
    "models": ("a catalogue of models", "it stands beside a manifest and is never given to a command"),
    "corpora": ("a catalogue of corpora", "it stands beside a manifest and is never given to a command"),
}


def _kind(keys: Mapping[str, Any]) -> str:
    """A grid has lists under `models` and `corpora`, a catalogue has entries by name."""
    found = (key for key in _KINDS if key in keys)
    return next((key for key in found if key not in ("models", "corpora") or not isinstance(keys[key], list)), "")


def _refuse_another(path: Path, kind: type[BaseModel], data: dict[str, Any]) -> None:
    """UserError where the file is whole, but of another kind than is wanted here."""
    found, wanted = _kind(data), _kind(kind.model_fields)
    if found and wanted and found != wanted and wanted not in data:
        what, remedy = _KINDS[found]
        raise UserError(f"{path}: this file is {what} (it has the key '{found}'), not {_KINDS[wanted][0]}; {remedy}")


class _UniqueLoader(yaml.SafeLoader):
    """SafeLoader that refuses a key given twice, where YAML would silently keep the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        own = (key for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge")  # `<<: *anchor` may be hidden
        keys: list[Any] = []  # not a set: a list as a key is refused below, in words
        for place in own:
            key = self.construct_object(place, deep=True)
            if key in keys:
                raise yaml.constructor.ConstructorError(None, None, f"key {key!r} stands there twice", place.start_mark)
            keys.append(key)
        return super().construct_mapping(node, deep)


def _yaml(path: Path, kind: type[BaseModel]) -> dict[str, Any]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); give the path of a YAML file") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 (byte {error.start}); save the file as UTF-8") from None
    try:
        data = yaml.load(text, _UniqueLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: a date such as 2026-13-45
        says = " ".join(str(error).split()).replace('in "<unicode string>", ', "at ")
        raise UserError(f"{path}: not YAML: {says}") from None
    if not isinstance(data, dict) or not data:
        what = "empty" if not data else f"a {type(data).__name__}"
        keys = " and ".join(f"`{name}:`" for name, field in list(kind.model_fields.items())[:2] if field.is_required())
        raise UserError(f"{path}: the file is {what}; it must hold keys such as {keys} (see README)")
    return data


def _folded(data: Any, errors: list[ErrorDetails]) -> list[ErrorDetails]:
    """One error where pydantic gives one for each kind that a value may be of, at the key that the file has."""
    found: dict[tuple[int | str, ...], ErrorDetails] = {}
    for error in errors:
        loc = _place(data, error)
        says = plain(error)
        if loc in found and says not in found[loc]["msg"]:
            says = f"{found[loc]['msg']}; or: {says}"
        found[loc] = {**error, "loc": loc, "msg": says}
    inner = {loc[:n] for loc in found for n in range(len(loc))}
    return [error for loc, error in found.items() if loc not in inner]


def _place(data: Any, error: ErrorDetails) -> tuple[int | str, ...]:
    """Where the error is, without the names of kinds that pydantic puts between the file's keys."""
    kept: list[int | str] = []
    for part in error["loc"]:
        try:
            data = data[part]
        except (TypeError, LookupError):
            continue
        kept.append(part)
    lacks = error["type"] == "missing"
    return (*kept, error["loc"][-1]) if lacks else tuple(kept)


def _sentence(path: Path, kind: type[BaseModel], error: ErrorDetails) -> str:
    """One pydantic error as a sentence: file, key, value, what would be right."""
    key = ".".join(str(part) for part in error["loc"]) or "(top)"
    if error["type"] == "extra_forbidden":
        return f"{path}: unknown key '{key}'; {allowed(str(error['loc'][-1]), _fields_at(kind, error['loc'][:-1]))}"
    if error["type"] == "missing":
        return f"{path}: key '{key}' is missing; add it (see README)"
    value = repr(error["input"])
    return f"{path}: key '{key}': {value if len(value) < 80 else value[:77] + '...'} is not right: {error['msg']}"


def _fields_at(kind: type[BaseModel], loc: tuple[int | str, ...]) -> list[str]:
    """The keys of the model nested at `loc`."""
    for part in loc:
        if part in kind.model_fields:
            kind = _inner_model(kind.model_fields[str(part)].annotation) or kind
    return list(kind.model_fields)


def _inner_model(hint: Any) -> type[BaseModel] | None:
    """The pydantic model inside list[…], dict[…, …] or … | None."""
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return hint
    found = [_inner_model(arg) for arg in getattr(hint, "__args__", ())]
    return next((model for model in found if model), None)
