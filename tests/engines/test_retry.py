"""What a failed try means, for the request, for the engine, and for the money."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mixgrid.engines.retry import (
    BACKOFF_MOST_S,
    backoff,
    of_body,
    of_no_response,
    of_response,
    redacted,
    remember,
    retry_after,
)

NOW = datetime(2026, 10, 21, 7, 27, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, 60.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:26:00 GMT"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2099 07:28:00 GMT"}, 300.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "-1"}, 0.0),
        ({"retry-after": "2.5"}, 2.5),
        ({"retry-after": "99999"}, 300.0),
        ({"retry-after": "abc"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "abc", "retry-after": "9"}, 9.0),
        ({}, None),
    ],
)
def test_retry_after_is_read_in_every_form_and_clamped(headers: dict[str, str], wait: float | None) -> None:
    assert retry_after(headers, NOW) == wait


@given(st.text(max_size=40))
def test_no_retry_after_breaks_it(text: str) -> None:
    wait = retry_after({"retry-after": text}, NOW)
    assert wait is None or 0.0 <= wait <= 300.0


def test_waits_have_full_jitter_below_an_exponential_bound() -> None:
    for tries, bound in ((0, 0.5), (1, 1.0), (3, 4.0), (50, BACKOFF_MOST_S)):
        drawn = [backoff(tries) for _ in range(400)]
        assert 0 <= min(drawn) < bound * 0.1
        assert bound * 0.9 < max(drawn) <= bound


def openai_error(message: str = "m", **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, "type": None, "param": None, "code": None, **fields}}


@pytest.mark.parametrize(
    ("status", "body", "kind", "unbilled", "reason"),
    [
        (429, openai_error(code="rate_limit_exceeded"), "busy", True, ""),
        (429, openai_error(type="insufficient_quota"), "fatal", True, ""),
        (429, openai_error(code="billing_hard_limit_reached"), "fatal", True, ""),
        (402, {"error": {"message": "Insufficient credits", "code": 402}}, "fatal", True, ""),
        (500, openai_error(), "again", False, ""),
        (502, "<html>bad gateway</html>", "again", False, ""),
        (503, None, "again", True, ""),
        (504, openai_error(), "again", False, ""),
        (529, openai_error("overloaded"), "again", True, ""),
        (408, openai_error(), "again", True, ""),
        (401, openai_error(), "fatal", True, ""),
        (404, openai_error("The model `x` does not exist", code="model_not_found"), "fatal", True, ""),
        (307, None, "fatal", True, ""),
        (400, openai_error(code="content_filter"), "row", True, "filtered"),
        (400, openai_error(code="content_policy_violation"), "row", True, "filtered"),
        (403, {"error": {"message": "Your input was flagged", "code": 403}}, "row", True, "filtered"),
        (400, openai_error(code="context_length_exceeded"), "row", True, "too_long"),
        (400, openai_error("This model's maximum context length is 1024 tokens."), "row", True, "too_long"),
        (413, None, "row", True, "too_long"),
        (400, openai_error("odd"), "row", True, "rejected"),
        (422, {"detail": "odd"}, "row", True, "rejected"),
    ],
)
def test_a_status_has_a_meaning(status: int, body: object, kind: str, unbilled: bool, reason: str) -> None:
    found = of_response(status, {}, body, proven=True)
    assert (found.kind, found.unbilled, found.reason, found.status) == (kind, unbilled, reason, status)


def test_a_bad_request_is_a_row_only_where_others_were_answered() -> None:
    assert of_response(400, {}, openai_error("odd"), proven=False).kind == "fatal"
    assert of_response(400, {}, openai_error("odd"), proven=True).kind == "row"


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (openai_error("Unsupported parameter: 'max_tokens' is not …", param="max_tokens"), "max_tokens"),
        (openai_error("Unsupported value: 'temperature' does not support 0.", param="temperature"), "temperature"),
        (openai_error("Unrecognized request argument supplied: top_k", param="top_k"), "top_k"),
        (openai_error("Unknown parameter: 'min_p'."), "min_p"),
        ({"error": {"message": "Extra inputs are not permitted: 'seed'", "code": 400}}, "seed"),
        (openai_error("odd", code="unsupported_parameter", param="reasoning_effort"), "reasoning_effort"),
    ],
)
def test_a_parameter_that_a_server_does_not_know_is_named(body: object, name: str) -> None:
    found = of_response(400, {}, body, proven=True)
    assert (found.kind, found.parameter, found.unbilled) == ("without", name, True)


def test_a_good_status_may_hold_a_failure() -> None:
    assert of_body(200, {"choices": [{}]}, True) is None
    cut = of_body(200, None, True)
    assert cut
    assert (cut.kind, cut.unbilled) == ("again", False)
    for code, kind, unbilled in ((502, "again", False), (429, "busy", True), ("odd", "again", False)):
        found = of_body(200, {"error": {"code": code, "message": "m"}}, True)
        assert found
        assert (found.kind, found.unbilled) == (kind, unbilled)


def test_only_a_connection_that_never_was_is_certain_to_cost_nothing() -> None:
    class ConnectError(Exception):
        pass

    assert of_no_response(ConnectError("refused")).unbilled
    assert not of_no_response(TimeoutError()).unbilled
    assert not of_no_response(ConnectionResetError("reset")).unbilled


def test_what_looks_like_a_key_is_not_repeated() -> None:
    said = of_response(500, {}, openai_error("key sk-proj-abcd1234 and Bearer xyz.abc"), True).sentence
    assert said == "HTTP 500: key (a key) and (a key)"
    assert redacted("a risk-free skill") == "a risk-free skill"


def test_the_key_itself_is_not_repeated_whatever_it_looks_like(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mixgrid.engines.retry._KEYS", set())
    remember("gsk_Odd/123+Form")
    remember("short")
    assert redacted("short: gsk_Odd/123+Form!") == "short: (a key)!"
    assert "gsk_Odd" not in str(of_response(400, {}, openai_error("unknown parameter", param="gsk_Odd/123+Form"), True))


@settings(max_examples=50)
@given(
    st.integers(300, 599),
    st.recursive(
        st.none() | st.text() | st.integers(),
        lambda x: st.lists(x) | st.dictionaries(st.sampled_from(["error", "message", "code", "param", "type"]), x),
    ),
)
def test_no_body_breaks_it(status: int, body: object) -> None:
    assert of_response(status, {}, body, proven=True).status == status
