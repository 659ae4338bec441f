"""Real vLLM inside the caller's process: on GPUs the `vllm` package, without one vLLM's CPU build, one code path.

One thread owns the engine and steps it; callers tokenise in their own threads and hand requests over a queue. Batches
that overlap are decoded together, so the engine does not drain at the end of each, and one bad row cannot fail the
rest. Measured traps of the CPU build (block size, chunked prefill with seeds, threads) are settled in `_cpu_settings`.
"""

import dataclasses
import os
import queue
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from mixgrid.engines.base import Ask, EngineDied, EngineSpec, cpu_build
from mixgrid.engines.chat import ChatTokenizer
from mixgrid.engines.checkpoints import fetches, resolve
from mixgrid.engines.gpus import TAKES, wait_until_free
from mixgrid.records import Answer

# Arguments of vLLM that can change an answer and so have no place in `engine_args`, which are no part of a request's
# identity; and the key of the model's entry that says the same, if there is one.
CHANGES_ANSWERS = {
    "dtype": "dtype",
    "generation_config": "sampling",
    "hf_overrides": None,
    "kv_cache_dtype": None,
    "max_model_len": "context_length",
    "model": "checkpoint",
    "override_generation_config": "sampling",
    "quantization": "quantization",
    "revision": "revision",
    "seed": None,
    "tokenizer": None,
    "tokenizer_revision": "revision",
}


@dataclass(frozen=True)
class _Job:
    """One request on its way to the engine."""

    token_ids: list[int]
    params: Any  # vllm.SamplingParams
    begun: str  # of the answer, by the template: the mark of a thought
    folded: bool
    done: "Future[Answer]"
    since: float


class VllmEngine:
    """A loaded vLLM engine that answers from any thread."""

    def __init__(self, spec: EngineSpec) -> None:
        on_gpu = not cpu_build()
        if not on_gpu:
            _cpu_environment(spec.replicas)
        arguments = _arguments(spec, on_gpu)  # a checkpoint that is not on this node is told within a second
        if on_gpu:
            wait_until_free(float(arguments.get("gpu_memory_utilization", TAKES)))
        import vllm  # only now: it reads the environment while it is imported

        entry = spec.entry
        self._context = entry.context_length
        llm = vllm.LLM(**arguments)
        self._engine = llm.llm_engine
        self.chat = ChatTokenizer(llm.get_tokenizer(), entry)
        self.fingerprint = f"vllm-{vllm.__version__}-{'cuda' if on_gpu else 'cpu'}-{entry.dtype}-tp{max(spec.gpus, 1)}"
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._running: dict[str, _Job] = {}
        self.finished = 0
        self._death: EngineDied | None = None
        self._alive = threading.Lock()  # held to hand a job over, and to die: no job can slip in after the last look
        self._thread = threading.Thread(target=self._run, name="vllm-engine", daemon=True)
        self._thread.start()

    def answer(self, asks: Sequence[Ask]) -> list[Answer]:
        """The answers, in the order of `asks`; blocks the calling thread only."""
        waiting = [self._submit(ask) for ask in asks]
        return [future.result() for future in waiting]

    def close(self) -> None:
        """End the engine's thread; what is under way is finished first."""
        self._jobs.put(None)
        self._thread.join()

    def cache_counts(self) -> tuple[int, int]:
        """(prompt tokens looked up, prompt tokens found) in the prefix cache, by the engine's own counters."""
        found = {m.name: getattr(m, "value", 0) for m in self._engine.get_metrics()}
        return int(found.get("vllm:prefix_cache_queries", 0)), int(found.get("vllm:prefix_cache_hits", 0))

    def _submit(self, ask: Ask) -> "Future[Answer]":
        """Tokenise, check, and hand over; a row that cannot be asked is answered at once."""
        done: Future[Answer] = Future()
        folded = self.chat.folds(ask.messages)
        try:
            ids = self.chat.token_ids(ask.messages, ask.thinking)
        except (TypeError, UnicodeEncodeError):  # a lone surrogate has no UTF-8
            done.set_result(Answer(status="failed", reason="bad_text", system_folded=folded))
            return done
        if len(ids) >= self._context:
            done.set_result(Answer(status="failed", reason="too_long", prompt_tokens=len(ids), system_folded=folded))
            return done
        params = _params(ask, keep_special=self.chat.special_marks)
        job = _Job(ids, params, self.chat.begun_thought(ids), folded, done, time.monotonic())
        with self._alive:
            if self._death:
                raise self._death
            self._jobs.put(job)
        return done

    def _run(self) -> None:
        """The engine's thread: take what is waiting, step, hand back what is finished."""
        try:
            while self._admit():
                for output in self._engine.step():
                    if output.finished:
                        self._finish(output)
        finally:  # closed, or any error at all: what still waits must not wait for ever
            self._die(EngineDied(f"vLLM's engine died: {sys.exc_info()[1]!r}"))

    def _admit(self) -> bool:
        """Move waiting jobs into the engine; wait for one when the engine is empty. False: close."""
        while not self._running or not self._jobs.empty():
            job = self._jobs.get()
            if job is None:
                return False
            self._add(job)
        return True

    def _add(self, job: _Job) -> None:
        name = str(id(job))
        try:
            self._engine.add_request(name, {"prompt_token_ids": job.token_ids}, job.params)
        except ValueError:  # vLLM refuses this request's values; the engine itself stays clean
            job.done.set_result(
                Answer(status="failed", reason="rejected", prompt_tokens=len(job.token_ids), system_folded=job.folded)
            )
        else:
            self._running[name] = job

    def _finish(self, output: Any) -> None:
        job, best = self._running.pop(output.request_id), output.outputs[0]
        self.finished += 1
        job.done.set_result(
            Answer(
                text=job.begun + best.text,
                finish_reason=best.finish_reason or "",
                prompt_tokens=len(job.token_ids),
                completion_tokens=len(best.token_ids),
                cached_tokens=output.num_cached_tokens or 0,
                latency_s=time.monotonic() - job.since,
                seed_honoured=True,
                system_folded=job.folded,
            )
        )

    def _die(self, death: EngineDied) -> None:
        waiting = list(self._running.values())
        with self._alive:
            self._death = death
            while not self._jobs.empty():
                job = self._jobs.get()
                waiting += [job] if job else []
        for job in waiting:
            job.done.set_exception(death)


def _params(ask: Ask, *, keep_special: bool) -> Any:
    """Sampling parameters for vLLM; a field that is None keeps vLLM's neutral default, never the checkpoint's.

    `keep_special` tokens in the text; the one that ends the answer is never part of it.
    """
    from vllm.sampling_params import RequestOutputKind, SamplingParams, StructuredOutputsParams

    fields = {k: v for k, v in dataclasses.asdict(ask.sampling).items() if v is not None}
    fields["stop"] = list(ask.sampling.stop)
    if regex := fields.pop("regex", None):
        fields["structured_outputs"] = StructuredOutputsParams(regex=regex)
    return SamplingParams(
        **fields, seed=ask.seed, output_kind=RequestOutputKind.FINAL_ONLY, skip_special_tokens=not keep_special
    )


def _arguments(spec: EngineSpec, on_gpu: bool) -> dict[str, Any]:
    """Arguments of `vllm.LLM`."""
    entry = spec.entry
    arguments: dict[str, Any] = {
        "model": str(resolve(entry.checkpoint, entry.revision, fetch=fetches())),
        "max_model_len": entry.context_length,
        "dtype": entry.dtype,
        "quantization": entry.quantization,
        "enable_prefix_caching": True,
        "tensor_parallel_size": max(spec.gpus, 1),
        "seed": 0,
        "generation_config": "vllm",
        **({} if on_gpu else _cpu_settings(entry.context_length)),
        **entry.engine_args,
    }
    return {name: value for name, value in arguments.items() if value is not None}


def _cpu_settings(context_length: int) -> dict[str, Any]:
    """Engine arguments of the CPU build: seeds crash with chunked prefill, 128-token blocks share too little."""
    return {
        "enforce_eager": True,
        "enable_chunked_prefill": False,
        "max_num_batched_tokens": max(context_length, 4096),
        "block_size": 32,
    }


def _cpu_environment(replicas: int) -> None:
    """VLLM's CPU build in this process: one share of the cores each, no child processes, nothing from the network."""
    threads = max(1, len(os.sched_getaffinity(0)) // replicas)
    os.environ.update(
        VLLM_TARGET_DEVICE="cpu", VLLM_ENABLE_V1_MULTIPROCESSING="0", VLLM_CPU_OMP_THREADS_BIND="nobind",
        OMP_NUM_THREADS=str(threads), VLLM_NO_USAGE_STATS="1",
    )  # fmt: skip
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")
