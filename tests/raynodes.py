"""A Ray cluster of several nodes on loopback for tests, each a raylet of its own, any of which can be killed.

with ray_nodes(server.env(os.environ), workers=2) as nodes:
    subprocess.run(command, env=nodes.env)                      # a driver, at the head
    nodes.kill(0)                                               # kill -9 of a node with all that runs there
"""

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from tests.rayhead import BIN, end

# In a process of its own: Ray reads its settings when it is imported, and a test's process may be another Ray's driver.
CLUSTER = """
import sys
from ray.cluster_utils import Cluster
size = {"node_ip_address": "127.0.0.1", "object_store_memory": int(sys.argv[3])}
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **size})
def add():
    return cluster.add_node(num_cpus=int(sys.argv[2]), **size)
workers = [add() for _ in range(int(sys.argv[1]))]
print("up", cluster.address, flush=True)
for line in sys.stdin:
    if line.strip() == "add":
        workers.append(add())
    elif line.strip() == "head":
        cluster.head_node.kill_gcs_server(check_alive=False)
        cluster.head_node.kill_raylet(check_alive=False)
    else:
        cluster.remove_node(workers[int(line)], allow_graceful=False)
    print("done", flush=True)
"""


@dataclass
class RayNodes:
    """The cluster's process, and the environment of its drivers."""

    process: subprocess.Popen[str]
    env: dict[str, str]

    def kill(self, worker: int) -> None:
        """Lose a node, counted in the order in which they came."""
        self.tell(str(worker))

    def add(self) -> None:
        """Bring another node."""
        self.tell("add")

    def tell(self, line: str) -> None:
        """Have a command done."""
        assert self.process.stdin
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        self.hear("done")

    def hear(self, word: str) -> str:
        """What follows a word that the cluster says at the beginning of a line."""
        assert self.process.stdout
        for line in self.process.stdout:
            if line.startswith(word):
                return line.removeprefix(word).strip()
        raise RuntimeError(f"the cluster ended before it said {word!r}")


@contextmanager
def ray_nodes(env: Mapping[str, str], workers: int, cpus: int = 1, shared: int = 150_000_000) -> Iterator[RayNodes]:
    """A head without CPUs and so many workers, whose processes see `env`, each with so many bytes for objects."""
    own = {
        **env,
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # else every listener is on all interfaces
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(16),
        "PATH": f"{BIN}{os.pathsep}{env.get('PATH', os.defpath)}",
    }
    command = [sys.executable, "-c", CLUSTER, str(workers), str(cpus), str(shared)]
    process = subprocess.Popen(
        command, env=own, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    nodes = RayNodes(process, own)
    try:
        own["RAY_ADDRESS"] = nodes.hear("up")
        yield nodes
    finally:
        end(process.pid)
        process.communicate()
