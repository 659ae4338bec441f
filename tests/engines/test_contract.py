"""What holds for every engine of the family, without loading a heavy one."""

import importlib.util
import inspect
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixgrid.engines import ENGINES, build
from mixgrid.engines.base import Ask, Engine, EngineSpec, fold_system
from mixgrid.manifest import ModelEntry
from mixgrid.records import Answer, Message, Prediction, Sampling

LIGHT = ("canned",)


def test_engines_are_listed_in_order_by_module_and_object() -> None:
    assert list(ENGINES) == sorted(ENGINES)
    assert all(place.count(":") == 1 for place in ENGINES.values())


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_s_module_defines_the_class_and_says_what_it_is(name: str) -> None:
    module, wanted = ENGINES[name].split(":")
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    made = getattr(importlib.import_module(module), wanted)
    for method in ("answer", "close"):
        own, family = (inspect.signature(getattr(kind, method)).parameters for kind in (made, Engine))
        assert own == family
        assert getattr(made, method).__doc__


def test_importing_every_engine_s_module_loads_nothing_heavy() -> None:
    modules = ", ".join(place.split(":")[0] for place in ENGINES.values())
    program = f"import sys, {modules}; print([m for m in ('torch', 'vllm', 'transformers', 'ray') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("name", LIGHT)
def test_a_built_engine_answers_each_request_in_order(name: str) -> None:
    engine = build(EngineSpec("toy", ModelEntry(engine=name, checkpoint="none", context_length=64)))
    asks = [Ask(f"{n:032x}", (Message("user", f"text {n}"),), Sampling(), n) for n in range(9)]
    whole = engine.answer(asks)
    assert whole == [engine.answer([ask])[0] for ask in asks]
    assert engine.answer([]) == []
    assert engine.fingerprint
    engine.close()


def test_what_an_engine_answers_fits_a_prediction() -> None:
    kept = set(Answer.__dataclass_fields__) & set(Prediction.__dataclass_fields__)
    assert kept == set(Answer.__dataclass_fields__)


MESSAGES = st.lists(st.builds(Message, st.sampled_from(["user", "assistant"]), st.text()), min_size=1, max_size=3)


@given(st.text(), MESSAGES)
def test_folding_keeps_every_text_and_leaves_no_system_role(system: str, rest: list[Message]) -> None:
    folded = fold_system([Message("system", system), *rest])
    assert [m.role for m in folded] == [m.role for m in rest]
    assert folded[0].content == f"{system}\n\n{rest[0].content}"
    assert folded[1:] == tuple(rest[1:])


@given(MESSAGES)
def test_messages_without_a_system_text_are_left_as_they_are(messages: list[Message]) -> None:
    assert fold_system(messages) == tuple(messages)
    assert fold_system([]) == ()
