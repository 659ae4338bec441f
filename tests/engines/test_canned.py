"""The canned engine: the same answers in every process, and every mode that a flow has to stand."""

import time
from typing import Any

import pytest

from mixgrid.engines.base import Ask, EngineDied, EngineSpec
from mixgrid.engines.canned import CannedEngine
from mixgrid.manifest import ModelEntry
from mixgrid.records import Message, Sampling


def engine(**args: Any) -> CannedEngine:
    fields = {name: args.pop(name) for name in ("context_length", "system_role") if name in args}
    entry = ModelEntry(engine="canned", checkpoint="none", **{"context_length": 100, **fields}, engine_args=args)
    return CannedEngine(EngineSpec("toy", entry))


def asks(n: int, content: str = "unu doi trei") -> list[Ask]:
    return [Ask(f"{i:032x}", (Message("user", content),), Sampling(), i) for i in range(n)]


def test_answers_come_from_the_list_and_depend_on_the_request_alone() -> None:
    one = engine(answers=["a", "b", "c"]).answer(asks(90))
    two = engine(answers=["a", "b", "c"]).answer(asks(90)[::-1])[::-1]
    assert one == two
    assert {answer.text for answer in one} == {"a", "b", "c"}
    assert {(answer.status, answer.finish_reason, answer.seed_honoured) for answer in one} == {("ok", "stop", True)}
    assert {(answer.prompt_tokens, answer.completion_tokens) for answer in one} == {(3, 1)}


def test_without_a_list_it_answers_in_the_satire_form() -> None:
    texts = {answer.text for answer in engine().answer(asks(30))}
    assert texts == {"<raspuns>satiră</raspuns>", "<raspuns>factual</raspuns>"}


def test_shares_of_answers_are_refused_and_malformed() -> None:
    found = engine(refused_share=0.25, malformed_share=0.5, answers=["abcdef"]).answer(asks(2000))
    refused = sum(answer.reason == "refused" for answer in found)
    cut = sum(answer.text == "abc" for answer in found)
    assert 420 < refused < 580
    assert 900 < cut < 1100
    assert all((answer.status == "failed") == (answer.reason == "refused") for answer in found)
    assert refused + cut + sum(answer.text == "abcdef" for answer in found) == 2000


def test_a_prompt_as_long_as_the_context_is_a_failed_row_among_good_ones() -> None:
    long = Ask("0" * 32, (Message("user", "a " * 100),), Sampling(), 1)
    good, bad = engine().answer([*asks(1), long])
    assert (bad.status, bad.reason, bad.prompt_tokens, bad.text) == ("failed", "too_long", 100, "")
    assert good.status == "ok"
    fits = Ask("0" * 32, (Message("user", "a " * 99),), Sampling(), 1)
    assert engine().answer([fits])[0].status == "ok"


def test_a_system_text_is_folded_where_the_model_has_no_system_role() -> None:
    ask = Ask("0" * 32, (Message("system", "fii scurt"), Message("user", "unu")), Sampling(), 1)
    (kept,) = engine().answer([ask])
    (folded,) = engine(system_role=False).answer([ask])
    assert (kept.system_folded, folded.system_folded) == (False, True)
    assert kept.prompt_tokens == folded.prompt_tokens == 3


def test_it_dies_on_its_word_and_on_no_other() -> None:
    poisoned = engine(die_on="doi")
    with pytest.raises(EngineDied, match="'doi'"):
        poisoned.answer(asks(2))
    assert poisoned.answer(asks(1, "trei"))[0].status == "ok"


def test_it_can_be_slow() -> None:
    since = time.monotonic()
    engine(delay_ms=20).answer(asks(5))
    assert time.monotonic() - since >= 0.1


def test_its_name_is_its_fingerprint() -> None:
    assert engine().fingerprint == "canned"
