"""The engines, by the name that models.yaml uses."""

import importlib
from typing import cast

from mixgrid.engines.base import Engine, EngineSpec
from mixgrid.engines.paid import PaidEngine

ENGINES = {
    "canned": "mixgrid.engines.canned:CannedEngine",
    "vllm": "mixgrid.engines.vllm:VllmEngine",
}

APIS = ("openai", "openai-batch")  # they ask a server, which may want money
PLANNED = ("classical", "encoder", "openai", "openai-batch")  # a model may name them; no grid can run them yet


def build(spec: EngineSpec) -> Engine:
    """Load the engine that a model entry names; with a purse, it asks nothing that is paid for."""
    module, name = ENGINES[spec.entry.engine].split(":")
    engine = cast(Engine, getattr(importlib.import_module(module), name)(spec))
    return PaidEngine(engine, spec.purse) if spec.purse else engine
