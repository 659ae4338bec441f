"""An engine's GPUs are seen to be free before it loads: what was there before may take its time to go."""

import logging
import os
import shutil
import subprocess
import time
from dataclasses import dataclass

from mixgrid.errors import MixgridError

log = logging.getLogger(__name__)

PATIENCE_S = 120.0
LOOK_S = 2.0
TAKES = 0.9  # of a GPU's memory, by vLLM's own default


@dataclass(frozen=True)
class Gpu:
    """One GPU, memory in MiB."""

    index: str
    used: float
    total: float


def wait_until_free(takes: float = TAKES, patience_s: float = PATIENCE_S, look_s: float = LOOK_S) -> None:
    """Return once each GPU has that share of its memory free; MixgridError where one stays busy.

    A machine without NVIDIA's tool, where a test or another maker's GPUs may be, is taken as it is.
    """
    deadline = time.monotonic() + patience_s
    while busy := [gpu for gpu in _visible() if gpu.total - gpu.used < takes * gpu.total]:
        if time.monotonic() > deadline:
            found = ", ".join(f"GPU {gpu.index}: {gpu.used:.0f} of {gpu.total:.0f} MiB" for gpu in busy)
            raise MixgridError(
                f"GPU memory is in use on {os.uname().nodename} ({found}) and was not freed within {patience_s:.0f} s; "
                "see nvidia-smi there, end what holds it, or lower engine_args.gpu_memory_utilization"
            )
        log.warning("waiting for GPU memory that another process holds")
        time.sleep(look_s)


def _visible() -> list[Gpu]:
    """The GPUs that Ray gave to this process; none where there is nothing to ask."""
    tool, mine = shutil.which("nvidia-smi"), os.environ.get("CUDA_VISIBLE_DEVICES")
    if not tool or mine == "":
        return []
    command = [tool, "--query-gpu=index,memory.used,memory.total", "--format=csv,noheader,nounits"]
    try:
        asked = [*command, f"--id={mine}"] if mine else command
        told = subprocess.run(asked, capture_output=True, text=True, timeout=30, check=True)
        rows = [line.split(",") for line in told.stdout.splitlines()]
        return [Gpu(index.strip(), float(used), float(total)) for index, used, total in rows]
    except (OSError, subprocess.SubprocessError, ValueError) as error:  # a MIG slice tells no numbers
        log.warning("free GPU memory cannot be looked at: %s", error)
        return []
