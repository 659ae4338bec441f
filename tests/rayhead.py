"""A Ray head on loopback for tests, in processes of its own: jobs go to it as from a laptop, and it can be killed."""

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.servers import free_port, listens

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent


@dataclass
class RayHead:
    """One head: where its dashboard listens, and the environment in which it and its jobs run."""

    process: subprocess.Popen[bytes]
    port: int
    dashboard: int
    env: Mapping[str, str]
    log: Path

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.dashboard}"

    def submit(self, arguments: Sequence[str], timeout: float = 300) -> subprocess.CompletedProcess[str]:
        """The literal command of the README, without this head's secrets in its environment."""
        command = [
            "ray", "job", "submit", "--address", self.address, "--runtime-env", "jobs/runtime_env.yaml",
            "--working-dir", ".", "--", "python", *arguments,
        ]  # fmt: skip
        plain = {k: v for k, v in self.env.items() if not k.startswith("AWS_")}
        for _ in range(30):
            done = subprocess.run(
                [str(BIN / command[0]), *command[1:]],
                cwd=ROOT, env=plain, capture_output=True, text=True, timeout=timeout, check=False,
            )  # fmt: skip
            if "No available agent" not in done.stdout + done.stderr:  # a head takes jobs some seconds after it answers
                break
            time.sleep(2)
        return done

    def kill(self) -> None:
        """Kill -9 of every process of the head at once."""
        end(self.process.pid)
        self.process.wait()


def end(pid: int) -> None:
    """Kill -9 a process and all that it started."""
    try:
        family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    for process in family:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(family, timeout=20)


@contextmanager
def ray_head(env: Mapping[str, str], cpus: int = 2, gpus: int = 0) -> Iterator[RayHead]:
    """Start a head whose workers see `env`, and end it with all of its processes."""
    folder = tempfile.mkdtemp(prefix="ray-")  # short: a socket's path has 107 characters at most
    port, dashboard = free_port(), free_port()
    own = {
        **env,
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # else every listener is on all interfaces
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(16),  # known to this head and its clients alone
        "PATH": f"{BIN}{os.pathsep}{env.get('PATH', os.defpath)}",
    }
    command = [
        str(BIN / "ray"), "start", "--head", "--node-ip-address=127.0.0.1", f"--port={port}", f"--num-cpus={cpus}",
        f"--num-gpus={gpus}", "--dashboard-host=127.0.0.1", f"--dashboard-port={dashboard}", "--disable-usage-stats",
        f"--dashboard-agent-listen-port={free_port()}",  # the default may be another cluster's
        "--object-store-memory=300000000", f"--temp-dir={folder}", "--block",
    ]  # fmt: skip
    log = Path(folder) / "start.log"
    with log.open("wb") as out:
        process = subprocess.Popen(command, env=own, stdout=out, stderr=out, start_new_session=True)
    head = RayHead(process, port, dashboard, own, log)
    try:
        _wait_for(head)
        yield head
    finally:
        head.kill()
        shutil.rmtree(folder, ignore_errors=True)


def _wait_for(head: RayHead) -> None:
    deadline = time.monotonic() + 300
    while not (listens(head.dashboard) and "Ray runtime started" in head.log.read_text("utf-8", "replace")):
        if head.process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"Ray did not start: {head.log.read_text('utf-8', 'replace')[-2000:]}")
        time.sleep(0.2)
