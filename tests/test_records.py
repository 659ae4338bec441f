"""Records go to Arrow and back unchanged; identities depend on what can change an answer, and on nothing else."""

import dataclasses
import json
import subprocess
import sys
import types
import typing
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mixgrid import records
from mixgrid.manifest import ModelEntry
from mixgrid.plan.grid import run_digest
from mixgrid.records import (
    Item,
    Message,
    Prediction,
    Request,
    Run,
    Sampling,
    Turn,
    balanced_order,
    prompt_digest,
    request_id,
    request_seed,
)
from mixgrid.schemas import digest, from_table, plain, schema, to_table
from mixgrid.store.parts import decode, encode
from mixgrid.tasks.base import Setting

RECORDS = [
    record for record in vars(records).values() if dataclasses.is_dataclass(record) and isinstance(record, type)
]  # fmt: skip
HARD = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
LEAVES: dict[Any, st.SearchStrategy[Any]] = {
    str: HARD,
    int: st.integers(-(2**53), 2**53),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    datetime: st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)),
}


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Any value of a field's type: None, empty and nested ones too."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return st.none() | values(next(a for a in args if a is not types.NoneType))
    if origin is Literal:
        return st.sampled_from(args)
    if origin is tuple:
        return st.lists(values(args[0]), max_size=3).map(tuple)
    return rows(hint) if dataclasses.is_dataclass(hint) else LEAVES[hint]


def rows(record: Any) -> st.SearchStrategy[Any]:
    """Any record of a kind; hashes that it computes for itself are left to it."""
    own = {"item_hash"} if record is Item else {"row_sha256"} if record is Prediction else set()
    hints = {name: hint for name, hint in typing.get_type_hints(record).items() if name not in {*own, "__test__"}}
    return st.builds(record, **{name: values(hint) for name, hint in hints.items()})


@pytest.mark.parametrize("record", RECORDS, ids=lambda r: str(r.__name__))
@settings(max_examples=25)
@given(data=st.data())
def test_every_record_survives_parquet(record: type[Any], data: st.DataObject) -> None:
    kept = data.draw(st.lists(rows(record), max_size=3))
    assert from_table(record, decode("kept", encode(to_table(record, kept)), None)) == kept


def test_an_optional_field_is_nullable_and_a_required_one_is_not() -> None:
    fields = schema(Request)
    assert fields.field("seed").nullable
    assert not fields.field("item_id").nullable
    assert fields.field("order").type == pa.list_(pa.field("item", pa.string(), nullable=False))


def test_a_table_with_other_columns_is_refused() -> None:
    table = to_table(Message, [Message("user", "unu")])
    for other in (table.drop_columns(["role"]), table.append_column("more", table["role"])):
        with pytest.raises(ValueError, match="Message: columns"):
            from_table(Message, other)


def test_an_item_whose_text_was_changed_in_the_file_is_corrupt() -> None:
    item = Item("mini", "1", "1", None, "a", "test", "ro", "none", 0, text="unu")
    with pytest.raises(ValueError, match="does not match its hash"):
        dataclasses.replace(item, text="doi")


def test_gold_is_no_part_of_what_a_model_is_shown() -> None:
    item = Item("mini", "1", "1", None, "a", "test", "ro", "none", 0, text="unu", label="satire")
    assert dataclasses.replace(item, label="factual").item_hash == item.item_hash


def test_the_hash_of_an_item_sees_its_turns() -> None:
    def item(turn: Turn) -> Item:
        return Item("mini", "1", "1", None, "a", "test", "jv-id-en", "none", 0, turns=(turn,))

    spoken = Turn("0", "Ani", "piye?")
    assert item(spoken).item_hash != item(dataclasses.replace(spoken, reply_to="0")).item_hash


# Identities


def _elsewhere(code: str, **names: object) -> Any:
    """What an expression gives in another process, with another hash seed."""
    names_of_both = "from mixgrid.records import *; from mixgrid.schemas import digest, plain"
    program = f"import json, sys; {names_of_both}; n = json.loads(sys.argv[1]); print(json.dumps({code}))"
    command = [sys.executable, "-c", program, json.dumps(names)]
    lib = str(Path(records.__file__).parents[1])
    found = subprocess.run(
        command, env={"PYTHONPATH": lib, "PYTHONHASHSEED": "7"}, capture_output=True, check=True, timeout=120
    )
    return json.loads(found.stdout)


def test_identities_are_the_same_in_another_process() -> None:
    text = "Știrea „1”: 👩‍👩‍👧 \u2028 {x} \u202e"
    here = [
        prompt_digest([Message("user", text)]),
        request_id("p", "d", request_seed(3, text)),
        request_seed(3, text),
        list(balanced_order(["satire", "factual"], text)),
        digest(plain(Sampling(0.7, stop=("\n",)))),
    ]
    code = """[
        prompt_digest([Message("user", n["text"])]), request_id("p", "d", request_seed(3, n["text"])),
        request_seed(3, n["text"]), balanced_order(["satire", "factual"], n["text"]),
        digest(plain(Sampling(0.7, stop=("\\n",)))),
    ]"""
    assert _elsewhere(code, text=text) == here


@given(st.integers(0, 2**31 - 1), st.text(max_size=20))
def test_a_request_seed_fits_in_31_bits(run_seed: int, item_id: str) -> None:
    assert 0 <= request_seed(run_seed, item_id) < 2**31


def test_request_seeds_use_the_whole_range() -> None:
    seeds = {request_seed(1, str(n)) for n in range(2000)}
    assert len(seeds) > 1990
    assert max(seeds) > 2**31 * 0.99


@given(st.integers(0, 99), HARD, st.integers(0, 99), HARD)
def test_two_seeds_or_items_have_the_same_request_seed_only_if_equal(a: int, x: str, b: int, y: str) -> None:
    assert (request_seed(a, x) == request_seed(b, y)) == ((a, x) == (b, y))


@given(HARD, HARD)
def test_text_that_moves_between_messages_makes_another_prompt(a: str, b: str) -> None:
    joined = prompt_digest([Message("user", a + b)])
    assert prompt_digest([Message("user", a), Message("user", b)]) != joined
    assert prompt_digest([Message("system", a)]) != prompt_digest([Message("user", a)])


@given(st.text())
def test_a_digest_takes_any_text_even_lone_surrogates(text: str) -> None:
    assert digest([text]) == digest([text])
    assert digest([text]) != digest([text + "x"])


def test_numbers_that_are_no_json_have_no_digest() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        digest([float("nan")])


def test_prompt_run_and_seed_each_change_a_request_id() -> None:
    ids = {request_id("p", "d", 1), request_id("q", "d", 1), request_id("p", "e", 1), request_id("p", "d", 2)}
    assert len(ids | {request_id("p", "d", None)}) == 5


ENTRY = ModelEntry(engine="vllm", checkpoint="org/m", context_length=1024)
SETTING = Setting("zero-shot", "satire/zero-shot.jinja")


def test_every_sampling_field_changes_the_run_digest() -> None:
    changed: dict[str, Any] = {
        "temperature": 0.3, "top_p": 0.9, "top_k": 20, "min_p": 0.1, "repetition_penalty": 1.1, "presence_penalty": 0.5,
        "frequency_penalty": 0.5, "max_tokens": 7, "stop": ("\n",), "regex": "[ab]",
    }  # fmt: skip
    assert set(changed) == {f.name for f in dataclasses.fields(Sampling)}, "a new field is not tried here"
    digests = [run_digest(ENTRY, Sampling(**{name: value}), SETTING) for name, value in changed.items()]
    assert len({*digests, run_digest(ENTRY, Sampling(), SETTING)}) == len(changed) + 1


def test_everything_about_a_model_that_can_change_an_answer_changes_the_run_digest() -> None:
    changed = {
        "engine": "other", "checkpoint": "org/n", "revision": "abc", "adapter": "a", "context_length": 2048,
        "dtype": "float32", "quantization": "fp8", "chat_template": "{{ messages }}",
        "chat_template_args": {"enable_thinking": False}, "thinking_switch": "think", "system_role": False,
        "reasoning_effort": "low",
    }  # fmt: skip
    transport = {"sampling", "languages", "gpus", "engine_args", "note", "api", "price"}  # api: of other engines alone
    assert set(changed) | transport == set(ModelEntry.model_fields), "a new field of a model is not decided here"
    entries = [ENTRY.model_copy(update={name: value}) for name, value in changed.items()]
    thinking = dataclasses.replace(SETTING, thinking=True)  # without it, the switch is not touched
    assert len({run_digest(entry, Sampling(), thinking) for entry in [ENTRY, *entries]}) == len(changed) + 1


def test_options_of_speed_and_place_do_not_change_the_run_digest() -> None:
    moved = ENTRY.model_copy(update={"engine_args": {"max_num_seqs": 8}, "gpus": {"H200": 2}, "note": "fast"})
    assert run_digest(moved, Sampling(), SETTING) == run_digest(ENTRY, Sampling(), SETTING)


def test_a_canned_engine_s_answers_are_part_of_what_it_is() -> None:
    canned = ENTRY.model_copy(update={"engine": "canned"})
    other = canned.model_copy(update={"engine_args": {"answers": ["x"]}})
    assert run_digest(other, Sampling(), SETTING) != run_digest(canned, Sampling(), SETTING)
    slow = canned.model_copy(update={"engine_args": {"delay_ms": 5, "die_on": "x", "log_to": "file"}})
    assert run_digest(slow, Sampling(), SETTING) == run_digest(canned, Sampling(), SETTING)


def test_a_setting_s_thinking_changes_the_run_digest() -> None:
    """Where the model has a switch; where it has none, or the setting leaves it alone, the same request is asked."""
    settings = [dataclasses.replace(SETTING, thinking=t) for t in (None, True, False)]
    entry = ENTRY.model_copy(update={"thinking_switch": "think"})
    assert len({run_digest(entry, Sampling(), setting) for setting in settings}) == 3
    assert len({run_digest(ENTRY, Sampling(), setting) for setting in settings}) == 1
    assert run_digest(entry, Sampling(), SETTING) == run_digest(ENTRY, Sampling(), SETTING)


# The order of classes


def test_orders_are_balanced_over_sources() -> None:
    two = Counter(balanced_order(["factual", "satire"], f"s{n}") for n in range(2000))
    assert min(two.values()) > 900
    assert len(two) == 2
    first = Counter(balanced_order("abcd", f"s{n}")[0] for n in range(4000))
    assert 850 < min(first.values()) <= max(first.values()) < 1150


@given(st.permutations(["a", "b", "c", "d"]), HARD)
def test_an_order_is_drawn_from_the_names_not_from_how_they_are_listed(names: list[str], source: str) -> None:
    assert balanced_order(names, source) == balanced_order(sorted(names), source)


def test_a_row_s_digest_does_not_depend_on_where_it_was_read() -> None:
    run = Run("r", "c", "test", "h", "satire", "m", "zero-shot", 1, "v", "d", Sampling(stop=("\n",)))
    assert digest(plain(run)) == digest(plain(from_table(Run, to_table(Run, [run]))[0]))
