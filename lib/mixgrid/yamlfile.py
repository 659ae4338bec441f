"""A YAML file as an object of pydantic's, and what is wrong with it as a sentence.

    read_yaml("manifests/smoke.yaml", Manifest)     # UserError: file, key, value, what would be right

Pydantic stays behind this door: its errors name types and positions, and people want the key, their value and a remedy.
"""

from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from mixgrid.errors import UserError, allowed

M = TypeVar("M", bound=BaseModel)


def read_yaml(path: str | Path, kind: type[M]) -> M:
    """A YAML file as a frozen object of `kind`; anything wrong is one UserError with file, key, value and remedy."""
    data = _yaml(Path(path))
    try:
        return kind.model_validate(data, context=Path(path).parent)
    except ValidationError as error:
        found = sorted(
            _folded(data, error.errors()), key=lambda e: e["type"] != "extra_forbidden"
        )  # a slip comes first
        raise UserError("\n".join(_sentence(Path(path), kind, e) for e in found[:5])) from None


class _UniqueLoader(yaml.SafeLoader):
    """SafeLoader that refuses a key given twice, where YAML would silently keep the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        own = (key for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge")  # `<<: *anchor` may be hidden
        keys = [self.construct_object(key, deep=True) for key in own]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(None, None, f"key {key!r} stands there twice", node.start_mark)
        return super().construct_mapping(node, deep)


def _yaml(path: Path) -> dict[str, Any]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); give the path of a YAML file") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 (byte {error.start}); save the file as UTF-8") from None
    try:
        data = yaml.load(text, _UniqueLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: a date such as 2026-13-45
        raise UserError(f"{path}: not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(data, dict) or not data:
        kind = "empty" if not data else f"a {type(data).__name__}"
        raise UserError(f"{path}: the file is {kind}; it must hold keys such as `name:` and `models:` (see README)")
    return data


def _folded(data: Any, errors: list[ErrorDetails]) -> list[ErrorDetails]:
    """One error where pydantic gives one for each type that a value may have, under a key that the file lacks."""
    found: dict[tuple[int | str, ...], ErrorDetails] = {}
    for error in errors:
        loc = error["loc"]
        if error["type"].endswith("_type") and not _is_key(data, loc):
            loc = loc[:-1]
        others = f"{found[loc]['msg']}; or: " if loc in found else ""
        found[loc] = {**error, "loc": loc, "msg": others + error["msg"]}
    return list(found.values())


def _is_key(data: Any, loc: tuple[int | str, ...]) -> bool:
    for part in loc:
        try:
            data = data[part]
        except (TypeError, LookupError):
            return False
    return True


def _sentence(path: Path, kind: type[BaseModel], error: ErrorDetails) -> str:
    """One pydantic error as a sentence: file, key, value, what would be right."""
    key = ".".join(str(part) for part in error["loc"]) or "(top)"
    if error["type"] == "extra_forbidden":
        return f"{path}: unknown key '{key}'; {allowed(str(error['loc'][-1]), _fields_at(kind, error['loc'][:-1]))}"
    if error["type"] == "missing":
        return f"{path}: key '{key}' is missing; add it (see README, The manifest)"
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
