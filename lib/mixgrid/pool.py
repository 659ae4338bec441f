"""One model's engine actors on Ray: blocks of work go in, receipts come out; the rows stay with the actors."""

import gc
import logging
import os
import tempfile
import traceback
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
import ray
import ray.data
from ray import ObjectRef
from ray._private import auto_init_hook, ray_constants
from ray.actor import ActorHandle
from ray.exceptions import RayActorError, RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from mixgrid.actor import EngineActor, pack
from mixgrid.budget.base import Purse
from mixgrid.capacity import room
from mixgrid.engines import APIS
from mixgrid.engines.base import EngineSpec, cpu_build
from mixgrid.errors import Incomplete, MixgridError, UserError
from mixgrid.manifest import ModelEntry, Resources
from mixgrid.plan.events import tell
from mixgrid.records import Receipt, Run, Work
from mixgrid.schemas import from_table
from mixgrid.store import Store
from mixgrid.suspects import Orders, Piece, Suspects

log = logging.getLogger(__name__)

_CREATION = "raised in its creation task"  # so Ray says of an actor whose engine could not be loaded


def local() -> bool:
    """Whether the engines will run on this machine: no cluster is named."""
    return not os.environ.get("RAY_ADDRESS")


def connect() -> None:
    """Use the cluster of RAY_ADDRESS (set by Ray inside a job), or start Ray here, on the loopback address only."""
    auto_init_hook.enable_auto_connect = False  # a thread that outlives Ray would join any other cluster of the machine
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
    except (OSError, RuntimeError) as error:  # of its folder, its ports, or one of its processes
        raise Incomplete(
            f"Ray did not start ({error}); see that memory is free, and that its folder can be written and has room "
            f"({os.environ.get('RAY_TMPDIR', tempfile.gettempdir())}; RAY_TMPDIR names another)"
        ) from error


@dataclass(frozen=True)
class SharedBook:
    """The suspects of one model's call, as every engine's process sees them: they live in an actor at the driver."""

    handle: "ActorHandle[Suspects]"

    @classmethod
    def open(cls, restarts: int, engines: int) -> "SharedBook":
        """Beside the driver, so that no other node's loss takes it away."""
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        return cls(ray.remote(num_cpus=0, scheduling_strategy=here)(Suspects).remote(restarts, engines))

    def starts(self) -> str:
        """As Suspects does."""
        give_up: str = ray.get(self.handle.starts.remote())
        return give_up

    def take(self, block: str, rows: int, who: str) -> Orders:
        """As Suspects does."""
        orders: Orders = ray.get(self.handle.take.remote(block, rows, who))
        return orders

    def asks(self, block: str, piece: Piece, who: str) -> None:
        """As Suspects does."""
        ray.get(self.handle.asks.remote(block, piece, who))

    def done(self, block: str, piece: Piece) -> None:
        """As Suspects does."""
        ray.get(self.handle.done.remote(block, piece))

    def died(self, who: str, why: str) -> None:
        """As Suspects does."""
        ray.get(self.handle.died.remote(who, why))

    def missed(self) -> tuple[str, ...]:
        """As Suspects does."""
        missed: tuple[str, ...] = ray.get(self.handle.missed.remote())
        return missed


@dataclass(frozen=True)
class Pool:
    """One model's engines on the cluster, and where their rows go."""

    model: str
    entry: ModelEntry
    resources: Resources
    runs: Mapping[str, Run]
    store: Store
    namespace: str
    purse: Purse | None = None  # of a model that costs money

    def put(self, block: list[Work]) -> "ObjectRef[pa.Table]":
        """Hand a block to Ray, which spills to disk what does not fit in memory."""
        return ray.put(pack(block))

    def answer(self, blocks: "list[ObjectRef[pa.Table]]") -> Iterator[Receipt]:
        """Answer the blocks; a receipt for each part, as it is written. Incomplete where Ray or an engine gives up.

        As many engines as there are blocks for, and room; Ray lets the others wait, and ends each that has no more
        to do, so that the next model's may start.
        """
        ray.data.DataContext.get_current().enable_progress_bars = False
        spec = self._spec(len(blocks))
        book = SharedBook.open(self.resources.restarts, spec.replicas)
        context = {
            "spec": spec, "runs": dict(self.runs), "store": self.store, "namespace": self.namespace,
            "book": book, "patience_s": self.resources.hung_after_s,
        }  # fmt: skip
        again = {"max_restarts": self.resources.restarts, "max_task_retries": self.resources.restarts}
        receipts = ray.data.from_arrow_refs(blocks).map_batches(
            EngineActor,
            fn_constructor_kwargs=context,
            batch_size=1,  # a row is a whole block of work, so Ray Data can neither merge blocks nor split them
            batch_format="pyarrow",
            num_gpus=spec.gpus,  # of one node: an engine's GPUs are its tensor parallel size
            num_cpus=self._cpus(spec),
            compute=ray.data.ActorPoolStrategy(
                size=spec.replicas,
                max_tasks_in_flight_per_actor=self.resources.batches_in_flight,
                max_concurrent_calls_per_actor=self.resources.batches_in_flight,
                enable_true_multi_threading=True,
            ),
            ray_remote_args_fn=lambda: again,
        )
        try:
            for batch in receipts.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
                yield from from_table(Receipt, batch)
        except RayError as error:
            told = self._explained(error)
            _let_go(error)
            raise told from error
        for line in book.missed():
            tell(self.store, self.namespace, self.model, line)

    def _spec(self, blocks: int) -> EngineSpec:
        """The engines that are asked for; UserError where the cluster can never have one."""
        wanted = min(self.resources.replicas, blocks)
        gpus = gpus_of(self.entry, self.resources)
        spec = EngineSpec(self.model, self.entry, gpus, wanted, self.purse)
        cpus = self._cpus(spec)
        there = room(cpus, spec.gpus)
        if there.engines >= wanted or not there.certain:
            return spec
        if not there.engines:
            raise UserError(
                f"model {self.model}: one engine needs {spec.gpus} GPUs and {cpus:g} CPUs of one node, and the largest "
                f"that this cluster has or may get has {there.largest}; set resources.{self.model}, or add nodes"
            )
        log.warning("model %s: %d engines asked for, room for %d", self.model, wanted, there.engines)
        return replace(spec, replicas=there.engines)

    def _cpus(self, spec: EngineSpec) -> float:
        """CPUs for each engine: vLLM without a GPU takes its share of a node, as it computes on all of its cores."""
        if self.entry.engine != "vllm" or spec.gpus:
            return self.resources.cpus
        largest = max(node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"])
        return max(self.resources.cpus, float(largest // spec.replicas))

    def _explained(self, error: RayError) -> MixgridError:
        """What happened, out of a Ray error that carries stack traces: our own error, else the end of the first one."""
        if isinstance(error, RayActorError) and _CREATION not in str(error):
            return Incomplete(f"model {self.model}: its engine's process died too often (Ray's logs say how)")
        ours = [line for line in str(error).splitlines() if line.startswith("mixgrid.") and ": " in line]
        if ours:
            name, _, text = ours[-1].partition(": ")
            kind = UserError if name.endswith(".UserError") else Incomplete
            return kind(f"model {self.model}: {text}")
        first = str(error).split("\n\nThe above exception was the direct cause", 1)[0].strip()
        return Incomplete(f"model {self.model}: {first.splitlines()[-1].strip() if first else type(error).__name__}")


def _let_go(error: BaseException | None) -> None:
    """Free the engines of a call that failed, now: the frames of Ray Data's error hold their handles, in a circle that
    Python breaks only when its collector happens to run, and until then no other model's engine has their room.
    """
    while error:
        traceback.clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__
    gc.collect()


def gpus_of(entry: ModelEntry, resources: Resources) -> int:
    """GPUs for each engine: none for a server's client, nor for vLLM's CPU build where none is there to fake it."""
    if entry.engine in APIS:
        return 0
    there = ray.cluster_resources().get("GPU", 0) > 0
    wanted = entry.engine == "vllm" and not cpu_build()  # an autoscaler may still bring the GPUs
    return resources.gpus if there or wanted else 0
