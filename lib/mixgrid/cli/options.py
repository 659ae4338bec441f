"""Options that several verbs share, and how they print."""

import dataclasses
import json
import re
from typing import Annotated, Any

import typer

from mixgrid.visible import visible

_C1 = re.compile("[\x7f-\x9f]")  # JSON lets them stand, and some terminals obey them

ManifestPath = Annotated[str, typer.Argument(metavar="MANIFEST", help="The grid's YAML file.")]
StoreUrl = Annotated[
    str | None,
    typer.Option("--store", help="A folder or s3://bucket/prefix; else the manifest's `store`, else ./mixgrid-store."),
]
Limit = Annotated[
    int | None, typer.Option("--limit", min=1, help="At most this many items of each corpus, whole clusters first.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
AllowUnmatched = Annotated[
    bool, typer.Option("--allow-unmatched", help="Test the rows of a comparison that have a partner; count the others.")
]
AllowChanged = Annotated[
    bool, typer.Option("--allow-changed-items", help="Leave out rows about another text of their item; count them.")
]
Namespace = Annotated[str, typer.Option("--namespace", help="The part of the store to look into.")]


def say(text: str) -> None:
    """Print lines of output."""
    typer.echo(harmless(text))


def warn(sentences: Any) -> None:
    """Print warnings where they do not mix with output."""
    for sentence in sentences:
        typer.echo(harmless(f"warning: {sentence}"), err=True)


def say_json(value: Any) -> None:
    """Print a record, or a list of them, as JSON; money is text, for JSON's numbers are binary."""
    written = json.dumps(_plain(value), ensure_ascii=False, indent=1, default=str)
    typer.echo(_C1.sub(lambda match: f"\\u{ord(match[0]):04x}", written))


def harmless(text: str) -> str:
    """Lines that cannot steer a terminal: what a model or a data set wrote into them is spelled out where it would."""
    return "\n".join(visible(line) for line in text.split("\n"))


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {key: _plain(v) for key, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, list | tuple) else value
