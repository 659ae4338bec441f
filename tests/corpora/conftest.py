"""Catalogues of one corpus, written as a user would write them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from mixgrid.corpora import Corpus, load_corpora

Declare = Callable[..., Corpus]

MAP: dict[str, Any] = {
    "columns": {"item_id": "id", "text": "text", "label": "label"},
    "constants": {"split": "test", "language": "bn-en", "switching": "random"},
}


@pytest.fixture
def declare(tmp_path: Path) -> Declare:
    """A corpus `c` read by `table`, with the map above unless the keys say otherwise."""

    def declare(path: Path | str | None, **keys: Any) -> Corpus:
        entry = {
            "reader": "table",
            "path": path and str(path),
            "licence": "Apache-2.0",
            "tasks": ["satire"],
            **MAP,
            **keys,
        }
        catalogue = tmp_path / "corpora.yaml"
        catalogue.write_text(yaml.safe_dump({"corpora": {"c": entry}}), encoding="utf-8")
        return load_corpora(catalogue)["c"]

    return declare


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, bytes | list[dict[str, Any]]], Path]:
    """A file beside the catalogue, from bytes or from records."""

    def write(name: str, content: bytes | list[dict[str, Any]]) -> Path:
        path = tmp_path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in content)
            path.write_text("".join(lines), encoding="utf-8", newline="")
        return path

    return write
