"""Jobs on a cluster by Ray's job server (HTTP): submit, follow, stop, and how one ended.

The server's own `ray job` command turns every failure into exit code 1; the code that the driver ended with is kept in
the job's record, and read from there.
"""

import logging
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray
import requests
from ray._private.runtime_env.packaging import GCS_STORAGE_MAX_SIZE
from ray.exceptions import AuthenticationError
from ray.job_submission import JobSubmissionClient

from mixgrid.cluster.upload import Upload
from mixgrid.errors import Incomplete, MixgridError, UserError

LIMIT = GCS_STORAGE_MAX_SIZE  # bytes of a job's files
DEFAULT = "http://127.0.0.1:8265"
_CODES = (1, 2, 3, 4, 5)  # of errors.py; a driver that ends with another one was killed
_POLL_S = 1.0
_PATIENCE_S = 60.0  # for a server that is away while a job is followed: a tunnel that is opened again, say
_FIRST_AGENT_S = 60.0  # a head takes jobs some seconds after it answers


class JobFailed(MixgridError):  # noqa: N818 (an outcome, as the other errors are)
    """A job that ended with an exit code of its own, which this process ends with too."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@dataclass(frozen=True)
class Usage:
    """A cluster at this moment. GPUs are held by actors; `gpu_busy` is the mean load of those that report one, in %."""

    nodes: int
    cpus: tuple[float, float]  # held, there
    gpus: tuple[float, float]
    gpu_busy: float | None
    waiting: int  # demands that no node has room for
    jobs: tuple[str, ...]  # running ones of mixgrid


def address_of(given: str | None) -> str:
    """The job server: what is given, else RAY_API_SERVER_ADDRESS, else the end of a tunnel on this machine."""
    return given or os.environ.get("RAY_API_SERVER_ADDRESS") or DEFAULT


class JobServer:
    """A cluster's job server, reached and of this Ray's version, or UserError."""

    def __init__(self, address: str) -> None:
        self.address = address
        try:
            with self._explained():
                self._client = JobSubmissionClient(address)
                theirs = self._get("/api/version")["ray_version"]
        except Incomplete as error:
            raise UserError(str(error)) from error  # nothing has been started yet
        if theirs != ray.__version__:
            raise UserError(
                f"{address}: the cluster runs Ray {theirs}, this machine {ray.__version__}: rows of the two "
                "would not be comparable; start the cluster from the images of ray_cluster.yaml, or submit with the "
                "mixgrid that is locked to its version"
            )

    def submit(self, upload: Upload, entrypoint: str, variables: Mapping[str, str], metadata: Mapping[str, str]) -> str:
        """Send the files and start the command; gives the job's id."""
        logging.getLogger("ray").setLevel(logging.WARNING)  # else it tells the names of its archives
        with tempfile.TemporaryDirectory(prefix="mixgrid-job-") as folder, self._explained():
            upload.write(Path(folder))
            environment = {"working_dir": folder, "env_vars": dict(variables)}
            return self._start(entrypoint, environment, dict(metadata))

    def _start(self, entrypoint: str, environment: dict[str, Any], metadata: dict[str, str]) -> str:
        deadline = time.monotonic() + _FIRST_AGENT_S
        while True:
            try:
                return str(self._client.submit_job(entrypoint=entrypoint, runtime_env=environment, metadata=metadata))
            except RuntimeError as error:
                if "No available agent" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(2)

    def follow(self, job: str) -> Iterator[str]:
        """What the job writes, as it comes, until it ends."""
        seen, away_since = 0, None
        while True:
            try:
                with self._explained():
                    over = self._client.get_job_status(job).is_terminal()
                    text = self._client.get_job_logs(job)
                away_since = None
            except Incomplete:
                away_since = away_since or time.monotonic()
                if time.monotonic() > away_since + _PATIENCE_S:
                    raise
                time.sleep(_POLL_S)
                continue
            if text[seen:]:
                yield text[seen:]
                seen = len(text)
            if over:
                return
            time.sleep(_POLL_S)

    def logs(self, job: str) -> str:
        """What the job has written so far."""
        with self._explained():
            return str(self._client.get_job_logs(job))

    def check_ended_well(self, job: str) -> None:
        """Nothing where the job succeeded; else the error whose exit code is the driver's own."""
        with self._explained():
            info = self._client.get_job_info(job)
        state = str(info.status.value)
        if state == "SUCCEEDED":
            return
        if state == "STOPPED":
            raise Incomplete(f"job {job} was stopped; what was answered is kept, the same submit goes on")
        if state != "FAILED":
            raise Incomplete(f"job {job} is {state.lower()}")
        code = info.driver_exit_code
        if code not in _CODES:
            why = f"its driver ended with {code}" if code else " ".join(str(info.message).split())[:300]
            raise Incomplete(f"job {job} died ({why}); what was answered is kept, the same submit goes on")
        raise JobFailed(f"job {job} ended with exit code {code}; `mixgrid logs {job}` says why", code)

    def stop(self, job: str) -> str:
        """Ask the job to end, and wait until it has; gives the state that it ended in."""
        with self._explained():
            self._client.stop_job(job)
            deadline = time.monotonic() + _PATIENCE_S
            while not (status := self._client.get_job_status(job)).is_terminal():
                if time.monotonic() > deadline:
                    raise Incomplete(f"job {job} has been asked to stop, and is still {status.value.lower()}")
                time.sleep(_POLL_S / 2)
            return str(status.value).lower()

    def usage(self) -> Usage:
        """Nodes, what is held of them, what waits, and mixgrid's running jobs."""
        with self._explained():
            load = self._get("/api/cluster_status")["data"]["clusterStatus"]["loadMetricsReport"]
            summary = self._get("/nodes?view=summary")["data"]["summary"]
            jobs = self._client.list_jobs()
        held = {name: (float(used), float(there)) for name, (used, there) in load["usage"].items()}
        busy = [gpu["utilizationGpu"] for node in summary for gpu in node.get("gpus") or ()]
        known = [float(load) for load in busy if load is not None]
        ours = [j.submission_id for j in jobs if "mixgrid" in (j.metadata or {}) and not j.status.is_terminal()]
        return Usage(
            nodes=sum(node["raylet"].get("state") == "ALIVE" for node in summary),
            cpus=held.get("CPU", (0.0, 0.0)),
            gpus=held.get("GPU", (0.0, 0.0)),
            gpu_busy=sum(known) / len(known) if known else None,
            waiting=sum(count for _, count in load["resourceDemand"]),
            jobs=tuple(sorted(filter(None, ours))),
        )

    def _get(self, endpoint: str) -> Any:
        """A document of the dashboard, with the client's authentication."""
        answer = self._client._do_request("GET", endpoint)
        answer.raise_for_status()
        return answer.json()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what Ray's client raises into a sentence; Incomplete where the server may come back."""
        try:
            yield
        except AuthenticationError as error:
            raise UserError(
                f"{self.address}: the cluster wants its token ({_first_line(error)}); set RAY_AUTH_MODE=token and "
                "RAY_AUTH_TOKEN, or RAY_AUTH_TOKEN_PATH, as on the head"
            ) from error
        except (ConnectionError, requests.RequestException) as error:
            raise Incomplete(
                f"{self.address}: no Ray job server answers ({_first_line(error)}); open the tunnel (`ray dashboard "
                "ray_cluster.yaml`), or name the server with --address"
            ) from error
        except RuntimeError as error:
            raise UserError(f"{self.address}: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
