"""What is sent for a request, and what is read out of an answer, however odd it is."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixgrid.budget.base import Hold
from mixgrid.engines.base import Ask
from mixgrid.engines.wire import Wire, json_object
from mixgrid.records import Answer, Message, Sampling
from tests.paid import entry

HOLD = Hold("h", "r", Decimal(1), datetime.now(UTC).date(), "w")
URL = "https://openrouter.ai/api/v1"


def ask(seed: int | None = 7, thinking: bool | None = None, **sampling: Any) -> Ask:
    messages = (Message("system", "Fii scurt."), Message("user", "Unde e gardul?"))
    return Ask("r", messages, Sampling(**{"temperature": 0.5, "max_tokens": 9, **sampling}), seed, thinking)


def body(request: Ask | None = None, **changes: Any) -> dict[str, Any]:
    return Wire(entry(URL, **changes)).body(request or ask())


def test_only_what_is_set_is_sent() -> None:
    assert body() == {
        "model": "m",
        "messages": [{"role": "system", "content": "Fii scurt."}, {"role": "user", "content": "Unde e gardul?"}],
        "max_tokens": 9, "temperature": 0.5, "seed": 7,
    }  # fmt: skip
    assert "seed" not in body(ask(seed=None))


def test_decoding_fields_and_forms_are_sent_where_they_are_set() -> None:
    sent = body(ask(top_p=0.9, top_k=5, min_p=0.1, stop=("x",), presence_penalty=0.5, regex="a|b"))
    assert {name: sent[name] for name in ("top_p", "top_k", "min_p", "stop", "presence_penalty")} == {
        "top_p": 0.9, "top_k": 5, "min_p": 0.1, "stop": ["x"], "presence_penalty": 0.5,
    }  # fmt: skip
    assert sent["structured_outputs"] == {"regex": "a|b"}


def test_the_entry_s_quirks_are_obeyed() -> None:
    sent = body(
        limit_key="max_completion_tokens", leaves_out=["temperature", "seed"], reasoning_effort="low",
        system_role=False, response_format={"type": "json_object"}, providers=["Nebius", "DeepInfra"],
    )  # fmt: skip
    assert sent == {
        "model": "m", "messages": [{"role": "user", "content": "Fii scurt.\n\nUnde e gardul?"}],
        "max_completion_tokens": 9, "reasoning_effort": "low", "response_format": {"type": "json_object"},
        "provider": {"order": ["Nebius", "DeepInfra"], "only": ["Nebius", "DeepInfra"], "allow_fallbacks": False},
    }  # fmt: skip


def test_a_thinking_switch_goes_to_the_server_s_template() -> None:
    assert body(ask(thinking=True), thinking_switch="enable_thinking")["chat_template_kwargs"] == {
        "enable_thinking": True
    }


def test_a_parameter_is_dropped_only_where_it_was_sent_and_is_not_the_question() -> None:
    wire = Wire(entry(URL, providers=["a"]))
    sent = wire.body(ask())
    assert [wire.drop(name, sent) for name in ("seed", "seed", "top_k", "messages", "model", "provider", "x")] == [
        True, True, False, False, False, False, False,
    ]  # fmt: skip
    assert (wire.drop("max_tokens", sent), wire.drop("max_tokens", sent)) == (True, True)
    again = wire.body(ask())
    assert "seed" not in again
    assert again["max_completion_tokens"] == 9
    assert not wire.drop("max_completion_tokens", again)  # it knows neither name: the answer would have no bound


def read(message: object, finish: object = "stop", usage: object = None, **fields: Any) -> Answer | None:
    wire = Wire(entry(URL))
    response = {"choices": [{"message": message, "finish_reason": finish}], "usage": usage, **fields}
    return wire.answer(response, wire.asked(ask(), HOLD), 0.5, 1.5, "openai-3")


def test_an_answer_carries_all_that_is_known_of_it() -> None:
    usage = {
        "prompt_tokens": 20, "completion_tokens": 9, "total_tokens": 29,
        "prompt_tokens_details": {"cached_tokens": 16}, "completion_tokens_details": {"reasoning_tokens": 5},
    }  # fmt: skip
    found = read({"content": "da", "reasoning": "hm"}, "length", usage, provider="Nebius", model="kimi-k2-0711")
    assert found == Answer(
        "da", "hm", finish_reason="length", prompt_tokens=20, completion_tokens=9, reasoning_tokens=5,
        cached_tokens=16, cost_usd=0.5, latency_s=1.5, engine="openai-3 Nebius kimi-k2-0711",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": None}, ""),
        ({"content": [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]}, "ab"),
        ({"content": "a\u2028\u202eb\u200d"}, "a\u2028\u202eb\u200d"),
        ({"content": json.loads('"half \\ud83d"')}, "half \ufffd\ufffd\ufffd"),
        ({"content": 7}, ""),
    ],
)
def test_text_is_kept_as_it_came_and_has_utf8(message: object, text: str) -> None:
    found = read(message)
    assert found
    assert found.text == text
    found.text.encode()


@pytest.mark.parametrize("response", [{}, {"choices": []}, {"choices": [{}]}, {"choices": [{"message": None}]}])
def test_a_response_without_a_message_is_no_answer(response: dict[str, Any]) -> None:
    wire = Wire(entry(URL))
    assert wire.answer(response, wire.asked(ask(), HOLD), 0.0, 0.0, "c") is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(message=JSON, finish=JSON, usage=JSON, provider=JSON, model=JSON)
def test_no_response_breaks_it(message: object, finish: object, usage: object, provider: object, model: object) -> None:
    for found in (read(message, finish, usage, provider=provider, model=model), read({"content": message}, finish)):
        if found:
            "".join((found.text, found.engine, found.finish_reason)).encode()


def test_half_a_body_is_no_json() -> None:
    assert json_object(b'{"a": 1}') == {"a": 1}
    assert [json_object(text) for text in (b'{"a"', b"[1]", b"", b"\xff", "[" * 100_000)] == [None] * 5
