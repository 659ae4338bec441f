"""Options that several verbs share, and how they print."""

import dataclasses
import json
from typing import Annotated, Any

import typer

ManifestPath = Annotated[str, typer.Argument(metavar="MANIFEST", help="The grid's YAML file.")]
StoreUrl = Annotated[
    str | None,
    typer.Option("--store", help="A folder or s3://bucket/prefix; else the manifest's `store`, else ./mixgrid-store."),
]
Limit = Annotated[
    int | None, typer.Option("--limit", min=1, help="At most this many items of each corpus, whole clusters first.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
Namespace = Annotated[str, typer.Option("--namespace", help="The part of the store to look into.")]


def say(text: str) -> None:
    """Print a line of output."""
    typer.echo(text)


def warn(sentences: Any) -> None:
    """Print warnings where they do not mix with output."""
    for sentence in sentences:
        typer.echo(f"warning: {sentence}", err=True)


def say_json(value: Any) -> None:
    """Print a record, or a list of them, as JSON."""
    typer.echo(json.dumps(_plain(value), ensure_ascii=False, indent=1))


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {key: _plain(v) for key, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, list | tuple) else value
