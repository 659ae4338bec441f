"""The README is true: its commands exist and run, its lists are the code's, its first screen comes first."""

import dataclasses
import re
import shlex
from decimal import Decimal
from pathlib import Path

import pytest
import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from typer.main import get_command

from mixgrid.annotate import COEFFICIENTS
from mixgrid.cli import app
from mixgrid.corpora import READERS
from mixgrid.corpora.catalogue import (
    CATEGORIES,
    SWITCHING,
    Columns,
    CorpusEntry,
    DeclaredCount,
    Distractors,
    SourceFile,
    TokenColumns,
)
from mixgrid.describe import MEASURES, TAGGERS
from mixgrid.engines import ENGINES
from mixgrid.generate.recipe import Recipe
from mixgrid.languages import LANGUAGES
from mixgrid.manifest import Api, Manifest, ModelEntry, PriceEntry, SamplingFields
from mixgrid.metrics import FAMILIES
from mixgrid.nightly.manifest import Jumps, NightManifest, Paid
from mixgrid.report import FORMATS
from mixgrid.switching import METHODS
from mixgrid.tasks import TASKS

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text("utf-8")
KEYS = (ROOT / "manifests" / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"```bash\n(.*?)```", README, re.DOTALL)
COMMANDS = [line.split("#")[0].strip() for block in BLOCKS for line in block.replace("\\\n", " ").splitlines()]
DICTS: dict[str, object] = {
    "COEFFICIENTS": COEFFICIENTS, "ENGINES": ENGINES, "FAMILIES": FAMILIES, "FORMATS": FORMATS,
    "LANGUAGES": LANGUAGES, "METHODS": METHODS, "MEASURES": MEASURES, "READERS": READERS,
    "TAGGERS": TAGGERS, "TASKS": TASKS,
}  # fmt: skip


def test_the_first_command_stands_in_the_first_forty_lines_with_its_output() -> None:
    lines = README.splitlines()
    assert lines.index("scripts/quickstart") < 40
    assert "```text" in lines[:40]
    assert len(lines) < 230


@pytest.mark.parametrize("command", [c for c in COMMANDS if c])
def test_every_command_of_the_readme_is_known_and_run_by_a_test(command: str) -> None:
    """Scripts are there and executable; `ray` lines are what tests/test_jobs.py submits, word for word."""
    words = shlex.split(command)
    if words[0].startswith("scripts/"):
        assert (ROOT / words[0]).stat().st_mode & 0o111, f"{words[0]} cannot be executed"
    elif words[:3] == ["ray", "job", "submit"]:
        helper = (ROOT / "tests" / "rayhead.py").read_text("utf-8")
        assert all(f'"{word}"' in helper for word in ("--runtime-env", "jobs/runtime_env.yaml", "--working-dir"))
        job = words[words.index("python") + 1]
        assert Path(job).stem in (ROOT / "tests" / "test_jobs.py").read_text("utf-8")
    elif words[0] == "mixgrid":
        known = {option for p in get_command(app).commands[words[1]].params for option in p.opts}  # type: ignore[attr-defined]
        assert {word for word in words if word.startswith("--")} <= known
        assert f'"{words[1]}"' in (ROOT / "tests" / "cluster" / "test_newcomer.py").read_text("utf-8")
    else:
        assert words[:2] in (["export", "RAY_AUTH_MODE=token"], ["ray", "start"])


def test_the_crontab_line_names_a_time_a_verb_and_a_manifest() -> None:
    (line,) = re.findall(r"```cron\n(.*)\n```", README)
    *time, command = line.split(maxsplit=5)
    assert len(time) == 5
    words = shlex.split(command.split("&&")[1])
    assert words[1:3] == ["submit", "manifests/nightly.yaml"]
    assert (ROOT / words[2]).is_file()
    assert words[words.index("--job") + 1] in get_command(app).commands  # type: ignore[attr-defined]


def test_the_command_table_names_every_verb() -> None:
    named = set(re.findall(r"^\| `mixgrid (\w+)", README, re.MULTILINE))
    assert named == set(get_command(app).commands)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("section", "kind"), [("The manifest", Manifest), ("Making a corpus", Recipe)])
def test_the_table_of_a_manifest_names_every_key(section: str, kind: type[BaseModel]) -> None:
    text = README.split(f"## {section}")[1].split("## ")[0]
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    assert {key for row in rows for key in re.findall(r"`(\w+)`", row)} == set(kind.model_fields)


def default(field: FieldInfo) -> str:
    """A key's default as the tables of manifests/README.md show it."""
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, BaseModel) or value in (None, "", [], {}):
        return "–"
    plain = float(value) if isinstance(value, Decimal) else value
    return f"`{yaml.safe_dump(plain, default_flow_style=True).splitlines()[0]}`"


@pytest.mark.parametrize(
    ("title", "kind"),
    [
        ("A corpus", CorpusEntry), ("`files`", SourceFile), ("`columns`", Columns),
        ("`columns.distractors`", Distractors),
        ("`columns.tokens`", TokenColumns), ("`counts`", DeclaredCount), ("A model", ModelEntry),
        ("`sampling`", SamplingFields), ("`price`", PriceEntry), ("`api`", Api), ("The file", NightManifest),
        ("`paid`", Paid), ("`jumps`", Jumps),
    ],
)  # fmt: skip
def test_the_tables_beside_the_manifests_name_every_key_and_its_default(title: str, kind: type[BaseModel]) -> None:
    text = KEYS.split(f"\n### {title}")[1].split("\n#")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| .+ \| (.+) \|$", text, re.MULTILINE))
    assert rows == {key: default(field) for key, field in kind.model_fields.items()}


def test_the_table_of_settings_is_the_tasks() -> None:
    text = KEYS.split("## Settings of the tasks")[1].split("\n## ")[0]
    told = {task: re.findall(r"`(.+?)`", names) for task, names in re.findall(r"^\| `(.+?)` \| (.+) \|$", text, re.M)}
    assert told == {name: list(task.settings) for name, task in TASKS.items()}


def test_the_categories_and_methods_told_are_those_that_are_taken() -> None:
    for key, known in (("category", CATEGORIES), ("switching", SWITCHING)):
        (row,) = re.findall(rf"^\| `{key}` \| (.+) \| – \|$", KEYS, re.MULTILINE)
        assert set(re.findall(r"`(.+?)`", row)) == set(known)


def test_the_methods_options_are_those_that_they_take() -> None:
    row = next(line for line in README.splitlines() if line.startswith("| `switching` | methods"))
    told = {name: set(re.findall(r"\w+", options)) for name, options in re.findall(r"`(\w+): {(.*?)}`", row)}
    fields = {name: {f.name for f in dataclasses.fields(m)} for name, m in METHODS.items()}  # type: ignore[arg-type]
    assert told == {name: found - {"language"} for name, found in fields.items()}


def test_the_table_of_additions_is_the_code() -> None:
    section = README.split("## To add")[1].split("## ")[0]
    for name, file in re.findall(r"`([A-Z]+)` in `([\w/.]+)`", section):
        assert DICTS[name], f"{name} is empty"
        assert re.search(rf"^{name}\b", (ROOT / "lib" / "mixgrid" / file).read_text("utf-8"), re.MULTILINE)
    for path in re.findall(r"`(lib/mixgrid/\w+)/<name>", section):
        assert (ROOT / path).is_dir()


def test_the_tree_names_what_is_there() -> None:
    tree = README.split("## The tree")[1]
    named = set(re.findall(r"^      (\w+(?:\.py)?)/? ", tree, re.MULTILINE))
    there = {p.name for p in (ROOT / "lib" / "mixgrid").iterdir() if p.suffix in {"", ".py"} and p.name[0] not in "_."}
    assert there - named <= {"templates", "py.typed"}
    assert named <= there
