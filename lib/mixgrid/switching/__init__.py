"""Switching methods by name: which pieces of a sentence go into another language, and how they are put back.

    method = build("random", "ro", {"share": 0.5}, where)      # UserError: an option that the method does not have

Each is a frozen dataclass whose fields after `language` are the options that a manifest may give it.
"""

import dataclasses
from collections.abc import Mapping

from pydantic import TypeAdapter, ValidationError

from mixgrid.errors import UserError, allowed
from mixgrid.switching.base import Method
from mixgrid.switching.dependency import Dependency
from mixgrid.switching.llm import Llm
from mixgrid.switching.phrase import Phrase
from mixgrid.switching.random import Random
from mixgrid.yamlfile import plain

METHODS: dict[str, type[Method]] = {
    "dependency": Dependency,
    "llm": Llm,
    "phrase": Phrase,
    "random": Random,
}


def build(name: str, language: str, options: Mapping[str, object], where: str) -> Method:
    """A method for one source language; `where` begins the sentence about what is wrong with a name or an option."""
    if name not in METHODS:
        raise UserError(f"{where}: there is no switching method {name!r}; {allowed(name, METHODS)}")
    known = [field.name for field in dataclasses.fields(METHODS[name]) if field.name != "language"]  # type: ignore[arg-type]
    for option in options:
        if option not in known:
            raise UserError(f"{where}.{name}: there is no option {option!r}; {allowed(option, known)}")
    try:
        return TypeAdapter(METHODS[name]).validate_python({"language": language, **options}, strict=False)
    except ValidationError as error:
        found = error.errors()[0]
        raise UserError(f"{where}.{name}.{'.'.join(map(str, found['loc']))}: {plain(found)}") from None
