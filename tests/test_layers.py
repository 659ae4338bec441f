"""Imports go one way, through the rooms of the design; heavy packages stay where they are needed."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "lib" / "mixgrid"

# Lowest first: a module imports from lower rooms, or from its own room (without cycles).
FAMILIES = ("annotate", "corpora", "describe", "engines", "metrics", "switching", "tasks", "train")
ROOMS = (
    ("", "errors", "hub", "visible"),
    ("schemas",),
    ("records", "languages"),
    ("store", "manifest", "yamlfile"),
    ("prompts", "parse", "pricing", "budget"),
    FAMILIES,  # and these never from each other
    ("significance",),
    ("plan",),
    ("observe",),
    ("capacity", "suspects", "watchdog"),
    ("actor",),
    ("pool",),
    ("predict", "reduce"),
    ("generate", "sweep", "compare", "survey"),
    ("report",),
    ("nightly",),
    ("cluster", "cli", "__main__"),
)
LEVEL = {name: level for level, room in enumerate(ROOMS) for name in room}

# Who may import what weighs seconds or gigabytes.
FLOWS = ("pool", "predict", "reduce", "generate", "sweep", "compare", "nightly", "survey")
HEAVY = {
    "ray": (
        *FLOWS,
        "capacity",
        "cluster",
        "observe",
        "engines",
        "train",
        "annotate",
        "describe",
        "switching",
        "corpora",
    ),
    "torch": ("engines", "metrics", "train"),
    "transformers": ("engines", "metrics", "train"),
    "vllm": ("engines",),
}

WITHOUT = """
import importlib.abc, sys

class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.split(".")[0] in {"datasets", "peft", "spacy", "torch", "transformers", "trl", "vllm"}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Refuse())
import mixgrid.cli
"""


@cache
def modules() -> dict[str, Path]:
    """Dotted name below mixgrid → file; the package itself is ''."""
    files = {file.relative_to(PACKAGE).with_suffix(""): file for file in sorted(PACKAGE.rglob("*.py"))}
    return {".".join(part for part in path.parts if part != "__init__"): file for path, file in files.items()}


def imports(name: str, file: Path) -> Iterator[str]:
    """Every dotted name that a module imports, wherever in the file; `from a import b` counts as a.b."""
    package = (name if file.name == "__init__.py" else name.rpartition(".")[0]).split(".")
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            up = ["mixgrid", *package][: len(package) + 2 - node.level] if node.level else []
            base = ".".join(part for part in [*up, node.module] if part)
            yield from (f"{base}.{alias.name}" for alias in node.names)


def own_imports(name: str, file: Path) -> Iterator[str]:
    """The modules of mixgrid among them, as dotted names below mixgrid."""
    known = modules()
    for target in imports(name, file):
        if target == "mixgrid" or target.startswith("mixgrid."):
            below = target.removeprefix("mixgrid").removeprefix(".")
            yield below if below in known else below.rpartition(".")[0]


def room(name: str) -> str:
    return name.split(".")[0]


@pytest.mark.parametrize("name", modules())
def test_a_module_has_a_room_and_imports_only_from_below(name: str) -> None:
    assert room(name) in LEVEL, f"{name} is in no room of the design"
    for target in own_imports(name, modules()[name]):
        assert room(target) in LEVEL, f"{target} is in no room of the design"
        assert LEVEL[room(target)] <= LEVEL[room(name)], f"{name} imports {target}, from a room above"
        if room(name) in FAMILIES and room(target) in FAMILIES:
            assert room(target) == room(name), f"{name} imports {target}, of a sibling family"


@pytest.mark.parametrize("name", [name for name in modules() if room(name) in FAMILIES])
def test_inside_a_family_nobody_imports_its_front_door(name: str) -> None:
    """The dict in __init__ names every member; a member that imports it ties all of them into one knot."""
    file = modules()[name]
    if file.name != "__init__.py":
        assert room(name) not in set(own_imports(name, file))


def test_no_cycles() -> None:
    graph = {name: set(own_imports(name, file)) - {name} for name, file in modules().items()}
    TopologicalSorter(graph).prepare()  # raises CycleError with the cycle


@pytest.mark.parametrize("name", modules())
def test_heavy_packages_only_where_they_are_needed(name: str) -> None:
    found = {target.split(".")[0] for target in imports(name, modules()[name])}
    for package in found & set(HEAVY):
        assert room(name) in HEAVY[package], f"{name} imports {package}"


def test_the_command_starts_without_heavy_packages() -> None:
    """A laptop has none of them."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, cwd=ROOT / "lib", check=False
    )
    assert done.returncode == 0, done.stderr
