"""One model's engine actors on Ray: blocks of work go in, receipts come out; the rows stay with the actors."""

import logging
import os
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import ray
import ray.data
from ray import ObjectRef
from ray._private import ray_constants
from ray.exceptions import RayActorError, RayError

from mixgrid.actor import EngineActor, pack
from mixgrid.engines.base import EngineSpec, cpu_build
from mixgrid.errors import Incomplete, UserError
from mixgrid.manifest import ModelEntry, Resources
from mixgrid.records import Receipt, Run, Work
from mixgrid.schemas import from_table
from mixgrid.store import Store

_CREATION = "raised in its creation task"  # so Ray says of an actor whose engine could not be loaded
RESTARTS = 3  # of an actor, after its engine or its node died, before the model is given up for this call


def connect() -> None:
    """Use the cluster of RAY_ADDRESS (set by Ray inside a job), or start Ray here, on the loopback address only."""
    if ray.is_initialized():
        return
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", "`ray_remote_args_fn` is deprecated")  # Ray is pinned; nothing else sets restarts
    address = os.environ.get("RAY_ADDRESS")
    os.environ.setdefault("RAY_raylet_start_wait_time_s", "180")  # a busy laptop takes longer than Ray expects
    if not address:  # else Ray takes 127.0.0.1 for another name of the machine, and listens on every interface
        os.environ[ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR] = "0"  # what the processes that Ray starts go by
        ray_constants.ENABLE_RAY_CLUSTER = False  # what this one goes by, which read it when it imported Ray
    try:
        ray.init(
            address=address or "local", log_to_driver=False, logging_level=logging.WARNING,
            **({} if address else {"include_dashboard": False, "_node_ip_address": "127.0.0.1"}),
        )  # fmt: skip
    except ValueError as error:
        if not address:
            raise
        raise UserError(f"RAY_ADDRESS={address}: {error}; write host:port, or unset it for a Ray here") from error
    except ConnectionError as error:
        raise Incomplete(
            f"RAY_ADDRESS={address}: no Ray cluster answers there ({error}); set RAY_AUTH_MODE=token where it wants a "
            "token, or unset RAY_ADDRESS for a Ray here"
        ) from error


@dataclass(frozen=True)
class Pool:
    """One model's engines on the cluster, and where their rows go."""

    model: str
    entry: ModelEntry
    resources: Resources
    runs: Mapping[str, Run]
    store: Store
    namespace: str

    def put(self, block: list[Work]) -> "ObjectRef[pa.Table]":
        """Hand a block to Ray, which spills to disk what does not fit in memory."""
        return ray.put(pack(block))

    def answer(self, blocks: "list[ObjectRef[pa.Table]]") -> Iterator[Receipt]:
        """Answer the blocks; a receipt for each part, as it is written. Incomplete where Ray or an engine gives up."""
        ray.data.DataContext.get_current().enable_progress_bars = False
        spec = EngineSpec(self.model, self.entry, self._gpus(), min(self.resources.replicas, len(blocks)))
        context = {"spec": spec, "runs": dict(self.runs), "store": self.store, "namespace": self.namespace}
        receipts = ray.data.from_arrow_refs(blocks).map_batches(
            EngineActor,
            fn_constructor_kwargs=context,
            batch_size=1,  # a row is a whole block of work, so Ray Data can neither merge blocks nor split them
            batch_format="pyarrow",
            num_gpus=spec.gpus,
            num_cpus=self.resources.cpus,
            compute=ray.data.ActorPoolStrategy(
                size=spec.replicas,
                max_tasks_in_flight_per_actor=self.resources.batches_in_flight,
                max_concurrent_calls_per_actor=self.resources.batches_in_flight,
                enable_true_multi_threading=True,
            ),
            ray_remote_args_fn=lambda: {"max_restarts": RESTARTS, "max_task_retries": RESTARTS},
        )
        try:
            for batch in receipts.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
                yield from from_table(Receipt, batch)
        except RayError as error:
            raise Incomplete(f"model {self.model}: {_reason(error)}") from error

    def _gpus(self) -> int:
        """GPUs for each engine: none where only vLLM's CPU build is installed and the cluster has no GPU to fake it."""
        there = ray.cluster_resources().get("GPU", 0) > 0
        wanted = self.entry.engine == "vllm" and not cpu_build()  # an autoscaler may still bring the GPUs
        return self.resources.gpus if there or wanted else 0


def _reason(error: RayError) -> str:
    """What happened, out of a Ray error that carries stack traces: our own error, else the end of the first trace."""
    if isinstance(error, RayActorError) and _CREATION not in str(error):
        return f"its engine's process died {RESTARTS + 1} times over the same block (Ray's logs say how)"
    ours = [line for line in str(error).splitlines() if line.startswith("mixgrid.") and ": " in line]
    if ours:
        return ours[-1].partition(": ")[2]
    first = str(error).split("\n\nThe above exception was the direct cause", 1)[0].strip()
    return first.splitlines()[-1].strip() if first else type(error).__name__
