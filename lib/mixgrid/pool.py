"""One model's engine actors on Ray: blocks of work go in, receipts come out; the rows stay with the actors."""

import logging
import os
from collections.abc import Iterable, Iterator, Mapping

import ray
import ray.data
from ray.exceptions import RayActorError, RayError

from mixgrid.actor import EngineActor
from mixgrid.engines.base import EngineSpec
from mixgrid.errors import Incomplete
from mixgrid.manifest import ModelEntry, Resources
from mixgrid.records import Receipt, Run, Work, from_table, to_table
from mixgrid.store import Store

_CREATION = "raised in its creation task"  # so Ray says of an actor whose engine could not be loaded
RESTARTS = 3  # of an actor, after its engine or its node died, before the model is given up for this call


def connect() -> None:
    """Use the cluster of RAY_ADDRESS (set by Ray inside a job), or start Ray here, on the loopback address only."""
    if ray.is_initialized():
        return
    logging.getLogger("ray.data").setLevel(logging.WARNING)
    if os.environ.get("RAY_ADDRESS"):
        ray.init(log_to_driver=False)
        return
    os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # else Ray listens on every interface of the machine
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    ray.init(
        address="local", include_dashboard=False, log_to_driver=False, _node_ip_address="127.0.0.1",
        logging_level=logging.WARNING,
    )  # fmt: skip


def spec_for(model: str, entry: ModelEntry, resources: Resources, blocks: int) -> EngineSpec:
    """How the model's engines fit this cluster: on GPUs where it has any, else on CPUs; never more than blocks."""
    on_gpu = resources.gpus > 0 and ray.cluster_resources().get("GPU", 0) > 0
    return EngineSpec(model, entry, resources.gpus if on_gpu else 0, min(resources.replicas, blocks))


def answer(
    spec: EngineSpec, resources: Resources, runs: Mapping[str, Run], store: Store, namespace: str,
    work: Iterable[list[Work]],
) -> Iterator[Receipt]:  # fmt: skip
    """Run blocks of work through the model's actors. Raises Incomplete where Ray or an engine gives up."""
    refs = [ray.put(to_table(Work, rows)) for rows in work]
    ray.data.DataContext.get_current().enable_progress_bars = False
    receipts = ray.data.from_arrow_refs(refs).map_batches(
        EngineActor,
        fn_constructor_kwargs={"spec": spec, "runs": dict(runs), "store": store, "namespace": namespace},
        batch_size=None,  # a block is a batch is a part
        batch_format="pyarrow",
        num_gpus=spec.gpus,
        num_cpus=resources.cpus,
        compute=ray.data.ActorPoolStrategy(
            size=spec.replicas,
            max_tasks_in_flight_per_actor=resources.batches_in_flight,
            max_concurrent_calls_per_actor=resources.batches_in_flight,
            enable_true_multi_threading=True,
        ),
        ray_remote_args_fn=lambda: {"max_restarts": RESTARTS, "max_task_retries": RESTARTS},
    )
    try:
        for batch in receipts.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
            yield from from_table(Receipt, batch)
    except RayError as error:
        raise Incomplete(f"model {spec.model}: {_reason(error)}") from error


def _reason(error: RayError) -> str:
    """What happened, out of a Ray error that carries stack traces: our own error, else the end of the first trace."""
    if isinstance(error, RayActorError) and _CREATION not in str(error):
        return f"its engine's process died {RESTARTS + 1} times over the same block (Ray's logs say how)"
    ours = [line for line in str(error).splitlines() if line.startswith("mixgrid.") and ": " in line]
    if ours:
        return ours[-1].partition(": ")[2]
    first = str(error).split("\n\nThe above exception was the direct cause", 1)[0].strip()
    return first.splitlines()[-1].strip() if first else type(error).__name__
