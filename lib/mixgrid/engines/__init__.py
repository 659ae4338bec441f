"""The engines, by the name that models.yaml uses."""

import importlib
from typing import cast

from mixgrid.engines.base import Engine, EngineSpec
from mixgrid.engines.paid import PaidEngine
from mixgrid.errors import UserError

ENGINES = {
    "canned": "mixgrid.engines.canned:CannedEngine",
    "openai": "mixgrid.engines.openai:OpenAIEngine",
    "openai-batch": "mixgrid.engines.openai_batch:BatchEngine",
    "vllm": "mixgrid.engines.vllm:VllmEngine",
}

APIS = ("openai", "openai-batch")  # they ask a server, which may want money
PLANNED = ("classical", "encoder")  # a model may name them; no grid can run them yet


def build(spec: EngineSpec) -> Engine:
    """Load the engine that a model entry names; with a purse, it asks nothing that is paid for."""
    module, name = ENGINES[spec.entry.engine].split(":")
    kind = getattr(importlib.import_module(module), name)
    try:
        engine = cast(Engine, kind(spec))
    except (TypeError, ValueError) as error:  # an argument that the engine does not know, or a value that it refuses
        says = (str(error).splitlines() or [type(error).__name__])[0]
        raise UserError(f"models.yaml: model '{spec.model}': its engine refuses its entry ({says}); mend it") from error
    return PaidEngine(engine, spec.purse) if spec.purse else engine
