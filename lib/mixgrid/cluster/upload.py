"""What travels with a submitted job: mixgrid's own files, the manifest, and the files that it names. Nothing else.

    upload = pack("manifests/smoke.yaml")
    upload.largest()                        # the ten that weigh most
    upload.write(folder)                    # the job's working folder: mixgrid/ and grid/

A list of what goes along, not of what stays: a key file beside the manifest stays, as nothing names it. What is named
is still looked through for the values of this shell's keys and tokens.
"""

import os
import re
import shutil
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import yaml

import mixgrid
from mixgrid.errors import UserError

PACKAGE = ("*.py", "*.typed", "*.jinja", "*.jsonl", "*.json", "*.yaml", "*.csv", "*.txt", "*.css", "*.js")
NEVER = (".*", "__pycache__", "*.pyc", "*.pem", "*.key", "*.p12", "*.pfx", "id_*", "*credential*", "*secret*", "*.env")
_SECRET_NAME = re.compile(r"(KEY|KEY_ID|TOKEN|SECRET|PASSWORD|PASSWD)$")
_SHORTEST_SECRET = 8  # characters; a shorter value stands in texts by chance
CATALOGUES = ("models.yaml", "corpora.yaml")


@dataclass(frozen=True)
class File:
    """One file that travels: where it is, its name in the job's folder, its bytes."""

    source: Path
    name: str
    size: int


@dataclass(frozen=True)
class Upload:
    """Everything that a job brings along. `elsewhere`: named paths that nodes have to have by themselves."""

    files: tuple[File, ...]
    manifest: str
    elsewhere: tuple[str, ...]

    @property
    def size(self) -> int:
        """Bytes in all; Ray's archive is not compressed."""
        return sum(file.size for file in self.files)

    def largest(self, at_most: int = 10) -> list[File]:
        """The files that weigh most."""
        return sorted(self.files, key=lambda file: (-file.size, file.name))[:at_most]

    def check(self, limit: int, environment: Mapping[str, str] = os.environ) -> None:
        """UserError where Ray would refuse the size, or where a key of this shell would go along."""
        if self.size >= limit:
            big = ", ".join(f"{file.source} ({mib(file.size)})" for file in self.largest(3))
            raise UserError(
                f"{mib(self.size)} would travel, and Ray takes less than {mib(limit)}; largest: {big}; put large "
                "corpora into the store or on a hub and name them as s3://… or hf://… in corpora.yaml"
            )
        secrets = {
            k: v.encode() for k, v in environment.items() if _SECRET_NAME.search(k) and len(v) >= _SHORTEST_SECRET
        }
        for file in self.files if secrets else ():
            data = file.source.read_bytes()
            for name, value in secrets.items():
                if value in data:
                    raise UserError(
                        f"{file.source} holds the value of {name} of this shell, and would travel with the job: take "
                        "it out; nodes get keys from their own environment, a role, or a Kubernetes Secret"
                    )

    def write(self, folder: Path) -> None:
        """Lay the files out below `folder`."""
        for file in self.files:
            place = folder / file.name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file.source, place)


def pack(manifest: str | Path) -> Upload:
    """The upload for a manifest: paths keep their places to one another, so that the YAML means the same there."""
    path = Path(os.path.normpath(Path(manifest).absolute()))  # a linked catalogue names files from the link's place
    named, elsewhere = dict[Path, None](), set[str]()
    _name(path, named, elsewhere)
    root = os.path.commonpath([file.parent for file in named])
    ours = [_file(file, f"grid/{file.relative_to(root).as_posix()}") for file in named]
    return Upload((*_package(), *ours), f"grid/{path.relative_to(root).as_posix()}", tuple(sorted(elsewhere)))


def _package() -> Iterator[File]:
    root = Path(mixgrid.__file__).parent
    for file in sorted(root.rglob("*")):
        below = file.relative_to(root)
        if file.is_file() and any(fnmatch(file.name, p) for p in PACKAGE) and not _ignored(below):
            yield _file(file, f"mixgrid/{below.as_posix()}")


def _file(source: Path, name: str) -> File:
    return File(source, name, source.stat().st_size)


def _ignored(path: Path) -> bool:
    """Whether a file in a folder stays at home: hidden, compiled, or named like a key."""
    return any(fnmatch(part.lower(), pattern) for part in path.parts for pattern in NEVER)


def _name(manifest: Path, named: dict[Path, None], elsewhere: set[str]) -> None:
    """Add the manifest, its catalogues, and the files that its values name, through other manifests too."""
    if manifest in named:
        return
    named[manifest] = None
    document = _yaml(manifest)
    values = set(_strings(document))
    for catalogue in CATALOGUES:
        if (file := manifest.parent / catalogue).is_file():
            named[file] = None
            values.update(_of_catalogue(_yaml(file), values))
    for value in sorted(values):
        place = Path(os.path.normpath(manifest.parent / value))
        if value.startswith(("/", "~")):
            elsewhere.update([value] if _exists(Path(value).expanduser()) else ())
        elif _exists(place) and place.is_file():
            _name(place, named, elsewhere) if place.suffix in (".yaml", ".yml") else named.setdefault(place)
    templates = document.get("templates") if isinstance(document, dict) else None
    named.update(dict.fromkeys(_folder(manifest.parent / templates) if isinstance(templates, str) else ()))


def _of_catalogue(document: Any, names: Collection[str]) -> Iterator[str]:
    """What the chosen corpora read, and the chat templates of all models: a catalogue is read whole."""
    entries = document if isinstance(document, dict) else {}
    for entry in _entries(entries.get("models")).values():
        yield from [str(entry["chat_template"])] if entry.get("chat_template") else []
    for name, entry in _entries(entries.get("corpora")).items():
        if name in names:
            yield from [str(entry["path"])] if entry.get("path") else []
            yield from (str(f["path"]) for f in entry.get("files") or () if isinstance(f, dict) and "path" in f)


def _entries(value: Any) -> dict[str, dict[str, Any]]:
    return {k: v for k, v in value.items() if isinstance(v, dict)} if isinstance(value, dict) else {}


def _exists(path: Path) -> bool:
    """Whether something has this path; a long text, or one with a zero byte, is no path at all."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _folder(place: Path) -> list[Path]:
    """What a folder of templates holds, less what never travels."""
    return [f for f in sorted(place.rglob("*")) if f.is_file() and not _ignored(f.relative_to(place))]


def _strings(value: Any) -> Iterator[str]:
    """Every text among a document's values."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def _yaml(file: Path) -> Any:
    try:
        return yaml.safe_load(file.read_text("utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UserError(f"{file}: cannot be read as YAML ({str(error).splitlines()[0]})") from error


def mib(size: int) -> str:
    """Bytes for people."""
    return f"{size / 2**20:.1f} MiB"
