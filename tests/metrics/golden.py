"""Outside values: the files of tests/golden, each made with the program that it names."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "golden"


def golden(name: str) -> Any:
    """One file's content."""
    return json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
