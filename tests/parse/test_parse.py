"""Answer parsing: every way in which answers were seen to go wrong, and that nothing is ever guessed."""

import json
import re
import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixgrid.languages import fold
from mixgrid.parse import (
    TAGS,
    Raw,
    aliases,
    begun,
    json_field,
    json_flags,
    label,
    last_tag,
    letter,
    objects,
    outside,
    prose,
    tagged,
    thoughts,
    visible,
)
from mixgrid.parse.base import TAG, THINK, Visible, scan
from mixgrid.records import Parsed

LOOKUP = aliases({"factual": ["factual", "factuală"], "satire": ["satiră", "satirică"]})
OPTIONS = ("Medan", "Solo", "Bandung", "Medan kota", "No correct answer")
FLAGS = ("Humorous", "Sarcastic")
FINISH = st.sampled_from(["stop", "length", "content_filter", ""])
PIECES = st.sampled_from(
    ["<think>", "</think>", "[THINK]", "&lt;/think&gt;", "<|channel|>",
     "<|channel>", "<channel|>", "<raspuns>", "</răspuns>", "<rationament>", "</rationament>",
     "satiră", "factual", " ",
     "&lt;", '{"answer":', '"C"', "}", "{", "nu pot", "<PERSON>", "<raspuns/>",
     "NaN", '"Humorous":1', ",", "\ud800", "C", "\n"]
)  # fmt: skip
NOISY = st.text() | st.lists(PIECES | st.text(max_size=3), max_size=14).map("".join)


def read(text: str, finish_reason: str = "stop", reasoning: str | None = None) -> Parsed:
    return tagged(Raw(text, reasoning, finish_reason), TAGS, LOOKUP)


# Tags (cases 24, 25, 27, 28)


@pytest.mark.parametrize(
    "text",
    [
        "<raspuns>satiră</raspuns>",
        "<răspuns>satiră</răspuns>",
        "<RĂSPUNS> Satirică. </RASPUNS>",
        "<etichetă>satirica</etichetă>",
        "<answer>satira</answer>",
        "<label>satiră</răspuns>",  # mixed names
        "<jawaban>satiră</jawaban>",
        "<label>satira",  # never closed, at the end
        "<raspuns>satiră</raspunss>",  # misspelt closing tag
        "< raspuns >satiră< / raspuns >",
        '<raspuns tip="clasa">satiră</raspuns>',
        "&lt;raspuns&gt;satir&#259;&lt;/raspuns&gt;",
        "<raspuns>„satiră”</raspuns>",
        "<raspuns>**satiră** 😂</raspuns>",
        "R&D crește cu >75% < 80 & <raspuns>satiră</raspuns>",
        "<PERSON> a zis <GPE>: <raspuns>satiră</raspuns>",
        "<raspuns>factual</raspuns> ba nu: <raspuns>satiră</raspuns>",
        "<raspuns>satiră</raspuns> <raspuns>factu",  # the last complete pair
        "```xml\n<raspuns>\nsatiră\n</raspuns>\n```",
        "<raspuns><eticheta>satiră</eticheta></raspuns>",
    ],
)
def test_an_answer_in_a_known_tag_is_read(text: str) -> None:
    assert read(text) == Parsed("ok", "satire")


@pytest.mark.parametrize(
    "text",
    [
        "<think>it could be <raspuns>factual</raspuns></think><raspuns>satiră</raspuns>",
        "it could be factual\n</think>\n<raspuns>satiră</raspuns>",  # the opener is in the chat template
        "<raspuns>factual</raspuns></think><raspuns>satiră</raspuns>",
        "<THINK>a <think> b</think> c</think><raspuns>satiră</raspuns>",
        "<rationament>exemplu: <raspuns>factual</raspuns></rationament><raspuns>satiră</raspuns>",
        "<raționament>factual?</raţionament>\n<raspuns>satiră</raspuns>",
        "<raspuns>satiră</raspuns>\n<rationament>nu e <raspuns>factual</raspuns></rationament>",
        "<think>[0.2, 0.8]</think><raspuns>satiră</raspuns><think>factual</think>",
        "<think>I close with </rationament></think><raspuns>satiră</raspuns>",
        "<|channel>thought\nsau <raspuns>factual</raspuns>?\n<channel|><raspuns>satiră</raspuns>",  # Gemma 4
        "sau <raspuns>factual</raspuns>?<channel|>\n<raspuns>satiră</raspuns>",
        "<|START_THINKING|><raspuns>factual</raspuns><|END_THINKING|><raspuns>satiră</raspuns>",  # Command
        "[THINK]<raspuns>factual</raspuns>[/THINK]<raspuns>satiră</raspuns>",  # Magistral
        "<|channel|>analysis<|message|><raspuns>factual</raspuns><|end|><|start|>assistant<|channel|>final<|message|>"
        "<raspuns>satiră</raspuns>",  # gpt-oss
        "[1] Nota [sic]: <raspuns>satiră</raspuns>",
        "[thinking about it] [analysis: none] ◁cot or not▷ <raspuns>satiră</raspuns>",  # asides
        "<|think|><raspuns>factual</raspuns><|/think|><raspuns>satiră</raspuns>",
    ],
)
def test_reasoning_is_set_apart_before_the_answer_is_looked_for(text: str) -> None:
    assert read(text) == Parsed("ok", "satire")


@pytest.mark.parametrize(
    ("text", "finish_reason", "status"),
    [
        ("<think>It is satire because", "length", "truncated_reasoning"),
        ("<think>so <raspuns>satiră</raspuns> would", "length", "truncated_reasoning"),
        ("<rationament>E <raspuns>satiră</raspuns> dacă", "length", "truncated_reasoning"),
        ("<think>It is <raspuns>satiră</raspuns>", "stop", "bad_format"),
        ("a</think> b <think> <raspuns>satiră</raspuns>", "length", "truncated_reasoning"),
        ("<|channel>thought\nE <raspuns>satiră</raspuns> dacă", "length", "truncated_reasoning"),
        ("<|channel>thought\nE <raspuns>satiră</raspuns>", "stop", "bad_format"),
        ("<|channel>thought\nE <raspuns>satiră</raspuns><channel|>", "stop", "empty"),
        ("[THINK]<raspuns>satiră</raspuns>", "stop", "bad_format"),
        ("[THINK]<raspuns>satiră</raspuns>", "length", "truncated_reasoning"),
        ("&lt;think&gt;<raspuns>satiră</raspuns>", "stop", "bad_format"),
        ("<|channel|>analysis<|message|><raspuns>satiră</raspuns>", "stop", "bad_format"),
        ("<raspuns>satir", "length", "truncated"),
        ("<raspuns>satiră", "length", "truncated"),
        ("Propoziția pare", "length", "truncated"),
        ("<raspuns>satiră</raspuns><think>a</think> b</think> c", "stop", "bad_format"),
        ("satiră", "stop", "bad_format"),
        ("Clasa este satiră.", "stop", "bad_format"),
        ("nu este satiră, este factual", "stop", "bad_format"),
        ("<clasă-x>satiră</clasă-x>", "stop", "bad_format"),
        ("satiră</raspuns>", "stop", "bad_format"),
        ("<raspuns>nu este satiră, este factual</raspuns>", "stop", "ambiguous"),
        ("<raspuns>satiră sau factual</raspuns>", "stop", "ambiguous"),
        ("<raspuns>nu este satiră</raspuns>", "stop", "invalid_label"),
        ("<raspuns>satire</raspuns>", "stop", "invalid_label"),
        ("<raspuns>satură</raspuns>", "stop", "invalid_label"),
        ("<raspuns>ironie</raspuns>", "length", "invalid_label"),
        ("<raspuns></raspuns>", "stop", "empty"),
        ("<raspuns/>", "stop", "empty"),
        ("", "stop", "empty"),
        (" \n\u200b ", "stop", "bad_format"),
        ("<think>hm</think>\n", "stop", "empty"),
        ("Îmi pare rău, nu pot răspunde.", "stop", "refused"),
        ("I can’t help with that.", "stop", "refused"),
        ("<raspuns>Nu pot să clasific</raspuns>", "stop", "refused"),
        ("No answer", "content_filter", "refused"),
        ("", "content_filter", "refused"),  # 200 with nothing in it (case 31)
    ],
)
def test_what_holds_no_answer_says_why(text: str, finish_reason: str, status: str) -> None:
    parsed = read(text, finish_reason)
    assert (parsed.status, parsed.value) == (status, None)
    assert parsed.note


def test_a_refusal_counts_only_without_an_answer() -> None:
    assert read("Îmi pare rău, dar <raspuns>satiră</raspuns>").value == "satire"


def test_reasoning_in_its_own_column_is_never_searched() -> None:
    assert read("", "length", "e <raspuns>satiră</raspuns>").status == "truncated_reasoning"
    assert read("", "stop", "e <raspuns>satiră</raspuns>").status == "empty"
    assert read("<raspuns>factual</raspuns>", "stop", "satiră").value == "factual"


@pytest.mark.parametrize(("reason", "status"), [("refused", "refused"), ("filtered", "refused"), ("too_long", "empty")])
def test_a_failed_row_has_no_answer(reason: str, status: str) -> None:
    raw = Raw("<raspuns>satiră</raspuns>", status="failed", reason=reason)
    assert tagged(raw, TAGS, LOOKUP) == Parsed(status, note=reason)  # type: ignore[arg-type]
    assert json_field(Raw('{"a":"b"}', status="failed", reason=reason), ["a"]).status == status


def test_an_alias_of_two_classes_is_refused() -> None:
    with pytest.raises(ValueError, match="names both"):
        aliases({"one": ["Da"], "two": ["dă"]})


def test_labels_match_whole_never_in_part_or_nearly() -> None:
    assert [label(text, LOOKUP).status for text in ("satiră.", "satirăx", "satir", "o satiră")] == [
        "ok", "invalid_label", "invalid_label", "invalid_label",
    ]  # fmt: skip


def test_a_tag_that_stays_open_hides_the_rest() -> None:
    seen = outside("before <think> after", frozenset({"think"}))
    assert (seen.text, seen.unfinished) == ("before ", True)


def test_hostile_spaces_do_not_stall_the_scanner() -> None:
    assert last_tag("<" + " " * 50_000 + "<a" + " x" * 50_000, frozenset({"a"})) is None


@pytest.mark.parametrize(
    ("prompt", "mark"),
    [
        ("assistant\n<think>\n", "<think>\n"),
        ("model\n<|channel>", "<|channel>"),
        ("model\n<|channel>thought\n<channel|>", ""),  # begun and ended by the template: it is not to think
        ("assistant\n<think>\n\n</think>\n\n", ""),
        ("a user wrote <think>\nassistant\n", ""),
        ("assistant\n<answer>", ""),
        ("assistant\n", ""),
    ],
)
def test_a_thought_that_the_template_began_is_known_by_the_prompt_s_end(prompt: str, mark: str) -> None:
    assert begun(prompt) == mark


def test_thoughts_of_nothing_are_none() -> None:
    assert thoughts("<|channel>thought\n<channel|>x<think>\n\n</think>") == []
    assert thoughts("<|channel>thought\nhm<channel|>x") == ["thought\nhm"]


# JSON (cases 20, 22, 23; issue 3)


@pytest.mark.parametrize(
    "text",
    [
        '{"answer":"C"}',
        '{"answer":"C"}. Note [1].',
        'Sure: ```json\n{"Answer": "C"}\n``` hope {it} helps',
        '{"answer":"A"} no, {"answer":"C"}',
        '{"answer":"C"} {"other":1}',
        '<think>[0.2, 0.8] {"answer":"A"}</think>{"answer":"C"}',
        '{"answer":"A"}</think>{"answer":"C"}',
        '{{"answer":"C"}}',
        '{"reasoning":"a {\\"answer\\":\\"A\\"} &quot;","answer":"C"}',
        '{"reasoning":"two\nlines","answer":"C"}',
    ],
)
def test_the_last_object_that_fits_is_the_answer(text: str) -> None:
    assert json_field(Raw(text), ["answer", "jawaban"]) == Parsed("ok", "C")


@pytest.mark.parametrize(
    ("text", "status", "note"),
    [
        ('{"answer":"A","answer":"B"}', "bad_format", "duplicate key 'answer'"),
        ('{"answer":"A","Answer":"B"}', "bad_format", "duplicate key 'answer'"),
        ('{"answer":NaN}', "bad_format", "NaN"),
        ('{"answer":-Infinity}', "bad_format", "-Infinity"),
        ('{"answer":"A","p":1e999}', "bad_format", "1e999"),
        ('{"answer":3}', "bad_format", "answer"),
        ('{"answer":"\\ud800"}', "bad_format", "half a character"),
        ('{"answer":" "}', "empty", "answer"),
        ('{"answer":"A","jawaban":"B"}', "bad_format", "2 of the keys"),
        ('{"reply":"A"}', "bad_format", "0 of the keys"),
        ('{"result":{"answer":"A"}}', "bad_format", "0 of the keys"),
        ("C", "bad_format", "no JSON object"),
        ('{"a":' * 3000, "bad_format", "no JSON object"),
        ('{"answer":' + "1" * 5000 + "}", "bad_format", "no JSON object"),
        ("I'm sorry, I cannot.", "refused", ""),
    ],
)
def test_an_object_that_does_not_fit_is_refused_by_name(text: str, status: str, note: str) -> None:
    parsed = json_field(Raw(text), ["answer", "jawaban"])
    assert (parsed.status, parsed.value) == (status, None)
    assert note in parsed.note


@pytest.mark.parametrize(
    ("text", "finish", "status"),
    [
        ('{"reasoning":"maybe {"answer":"A"} but', "length", "truncated"),
        ('{"reasoning":"maybe {"answer":"A"} but no","answer":"B"}', "stop", "bad_format"),
        ('{"reasoning": it is {"answer":"A"}', "stop", "bad_format"),
    ],
)
def test_no_answer_is_taken_from_inside_a_broken_object(text: str, finish: str, status: str) -> None:
    assert json_field(Raw(text, finish_reason=finish), ["answer"]).status == status


def test_after_a_broken_object_that_closes_an_answer_counts() -> None:
    assert json_field(Raw('Form: {"answer": <letter>}. So {"answer":"C"}'), ["answer"]).value == "C"


def test_a_cut_object_is_truncated() -> None:
    assert json_field(Raw('{"reply":1} {"answer":"A', finish_reason="length"), ["answer"]).status == "truncated"
    assert json_field(Raw('<think>{"answer":"A"}', finish_reason="length"), ["answer"]).status == "truncated_reasoning"


def test_binary_labels_come_back_in_canonical_form() -> None:
    parsed = json_flags(Raw('{"sarcastic": false, "HUMOROUS": 1, "why": "x"}'), FLAGS)
    assert parsed == Parsed("ok", '{"Humorous":1,"Sarcastic":0}')


@pytest.mark.parametrize("value", ["2", "-1", '"1"', "1.0", "null", "[1]", '"yes"'])
def test_a_label_that_is_not_binary_is_refused_by_name(value: str) -> None:
    parsed = json_flags(Raw(f'{{"Humorous":{value},"Sarcastic":0}}'), FLAGS)
    assert (parsed.status, parsed.value) == ("invalid_label", None)
    assert "Humorous" in parsed.note


def test_a_missing_label_is_named() -> None:
    assert json_flags(Raw('{"Humorous":1}'), FLAGS) == Parsed("bad_format", note="no key 'Sarcastic'")


# Letters


@pytest.mark.parametrize(
    "text", ["C", "c", " (C) ", "C.", "**C**", "C. Bandung", "c) bandung.", "Bandung", '"BANDUNG"']
)
def test_an_option_is_named_by_letter_or_text(text: str) -> None:
    assert letter(text, OPTIONS) == Parsed("ok", "C")


@pytest.mark.parametrize(
    ("text", "status"),
    [("C. Solo", "ambiguous"), ("A or C", "ambiguous"), ("A, C", "ambiguous"), ("F", "invalid_label"),
     ("Bandun", "invalid_label"), ("a city", "invalid_label"), ("", "invalid_label"), ("I cannot answer", "refused")],
)  # fmt: skip
def test_an_option_is_never_guessed(text: str, status: str) -> None:
    assert (letter(text, OPTIONS).status, letter(text, OPTIONS).value) == (status, None)


def test_a_text_that_two_options_share_is_ambiguous() -> None:
    assert letter("same", ("Same", "same", "other")).status == "ambiguous"
    assert letter("B. same", ("Same", "same", "other")) == Parsed("ok", "B")


@pytest.mark.parametrize(("text", "wanted"), [("5", "B"), ("-5", "A"), ("5 %", "C"), ("$5", "D")])
def test_signs_are_part_of_an_option(text: str, wanted: str) -> None:
    assert letter(text, ("-5", "5", "5 %", "$5")) == Parsed("ok", wanted)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("IZMIR", "A"), ("İzmir", "A"), ("كَتَبَ", "B"), ("كـتب", "B"), ("ƴancin", "C"), ("'yancin", None), ("ƁARAWO", "D")],
)
def test_options_in_any_script_are_compared_without_case_marks_or_tatweel(text: str, wanted: str | None) -> None:
    assert letter(text, ("izmir", "كتب", "ƴancin", "ɓarawo")).value == wanted


# Free text


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        (" A meminta maaf kepada B.\n", Parsed("ok", "A meminta maaf kepada B.")),
        ("Maaf, saya tidak bisa meringkas.", Parsed("refused", note="Maaf, saya tidak bisa meringkas.")),
        (" \n", Parsed("empty", note="the text has no word")),
    ],
)
def test_free_text_is_taken_whole_unless_it_opens_with_a_refusal(text: str, parsed: Parsed) -> None:
    assert prose(text) == parsed


# Properties


@given(NOISY, FINISH, st.none() | st.text(max_size=5))
def test_parsing_never_raises_and_gives_a_value_only_when_ok(text: str, finish: str, reasoning: str | None) -> None:
    raw = Raw(text, reasoning, finish)
    parsed = [
        tagged(raw, TAGS, LOOKUP), json_field(raw, ["answer"]), json_flags(raw, FLAGS), letter(text, OPTIONS),
    ]  # fmt: skip
    for one in parsed:
        assert (one.value is not None) == (one.status == "ok")
        one.note.encode("utf-8")  # notes go into tables
    assert parsed[0].value in (None, "satire", "factual")


@given(st.text(), FINISH)
def test_unfinished_reasoning_never_yields_an_answer(thought: str, finish: str) -> None:
    text = "<think><raspuns>satiră</raspuns>" + thought.replace("<", "")
    assert tagged(Raw(text, finish_reason=finish), TAGS, LOOKUP).value is None


@pytest.mark.parametrize("blank", [" ", "\n"])
@pytest.mark.parametrize("begins", ["[", "◁", "&lt;", "<", "◁a", "[a", "&lt;a", "<a"])
def test_blanks_without_end_after_what_may_begin_a_mark_are_read_in_one_pass(begins: str, blank: str) -> None:
    """Models fall into them. By the square of their number, these would take an hour."""
    assert scan(begins + blank * 300_000) == scan((begins + blank) * 100_000) == ()


@pytest.mark.parametrize(
    "text",
    [
        "<|channel|>analysis<|message|>Pendek.<|end|><|start|>assistant<|channel|>final<|message|>Ani pulang.",
        "<|channel|>final<|message|>Ani pulang.",
        "<|channel|>final <|constrain|>text<|message|>Ani pulang.",
        "<|START_THINKING|>Pendek.<|END_THINKING|><|START_RESPONSE|>Ani pulang.<|END_RESPONSE|>",
        "<|begin_of_thought|>Pendek.<|end_of_thought|>\n<|begin_of_solution|>\nAni pulang.\n<|end_of_solution|>",
    ],
)
def test_of_the_marks_of_an_answer_nothing_is_left(text: str) -> None:
    assert visible(Raw(text)) == Visible("Ani pulang.", False)


DRESSES = [  # every way in which a thought's name is made a mark: (begins, ends)
    (dress.format(name), dress.format("/" + name))
    for name in sorted(THINK | TAGS.reasoning)
    for dress in ("<{}>", "< {} >", "[{}]", "◁{}▷", "&lt;{}&gt;", "&amp;lt;{}&amp;gt;", "&#60;{}&#x3E;")
]
SIGNS = [("<|" + name + "|>", end + name + "|>") for name in sorted(THINK) for end in ("</|", "<|/")]
PAIRS = [
    ("<|channel>", "<channel|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<unused94>", "<unused95>"),
    ("<seed:think>", "</seed:think>"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
]
READERS: tuple[tuple[str, Callable[[Raw], Parsed]], ...] = (
    ("<raspuns>satiră</raspuns>", lambda raw: tagged(raw, TAGS, LOOKUP)),
    ('{"answer":"C"}', lambda raw: json_field(raw, ["answer"])),
)
MARK = st.sampled_from([*DRESSES, *SIGNS, *PAIRS])
THOUGHT = st.text().map(lambda text: re.sub(r"[<>\[\]◁▷&{}]", "", text))


@given(MARK, st.booleans(), THOUGHT, THOUGHT, FINISH)
def test_no_mark_of_a_thought_that_stays_open_yields_an_answer(
    mark: tuple[str, str], loud: bool, before: str, thought: str, finish: str
) -> None:
    begins = mark[0].upper() if loud and mark in DRESSES else mark[0]
    for answer, reader in READERS:
        parsed = reader(Raw(f"{before}{begins}{thought}{answer}", finish_reason=finish))
        assert parsed.value is None
        assert parsed.status == {"length": "truncated_reasoning", "content_filter": "refused"}.get(
            finish, parsed.status
        )


@given(MARK, THOUGHT, FINISH)
def test_after_a_thought_that_is_closed_the_answer_counts(mark: tuple[str, str], thought: str, finish: str) -> None:
    for answer, reader in READERS:
        other = answer.replace("satiră", "factual").replace('"C"', '"A"')
        text = f"{mark[0]}{thought}{other}{mark[1]}{answer}"
        for whole in (text, text.removeprefix(mark[0])):  # the opener may be in the chat template
            assert reader(Raw(whole, finish_reason=finish)) == reader(Raw(answer))


@given(st.text(), st.text(), st.sampled_from(sorted(LOOKUP)), FINISH)
def test_a_demanded_form_is_read_through_noise(before: str, after: str, alias: str, finish: str) -> None:
    before, after = (re.sub(r"[<&\[◁]", "", noise) for noise in (before, after))
    raw = Raw(f"{before}<raspuns>{alias}</raspuns>{after}", finish_reason=finish)
    assert tagged(raw, TAGS, LOOKUP) == Parsed("ok", LOOKUP[alias])


@given(st.text(), st.text(st.characters(codec="utf-8", exclude_characters="<")), st.booleans())
def test_a_field_is_read_through_noise(noise: str, value: str, escaped: bool) -> None:
    noise = noise.replace("<", "").replace("{", "")
    answer = json.dumps({"answer": f"x{value}"}, ensure_ascii=escaped)
    assert json_field(Raw(f"{noise}{answer}{noise}"), ["answer"]) == Parsed("ok", f"x{value}")


@given(st.text(alphabet="<>/ a-ăthink\n", max_size=60))
def test_leaping_to_tags_finds_what_the_regex_finds(text: str) -> None:
    found = [(tag.name, tag.closing, tag.empty, tag.start, tag.end) for tag in scan(text)]
    assert found == [(fold(m[2]), bool(m[1]), bool(m[3]), m.start(), m.end()) for m in TAG.finditer(text)]


def test_a_flood_of_braces_is_not_decoded_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each attempt that fails counts the lines before it: 200,000 of them took two minutes."""
    module = sys.modules["mixgrid.parse.objects"]  # mixgrid.parse has a function of that name
    tried: list[int] = []

    class Counting(json.JSONDecoder):
        def raw_decode(self, s: str, idx: int = 0) -> tuple[object, int]:
            tried.append(idx)
            return super().raw_decode(s, idx)

    monkeypatch.setattr(module, "_PLAIN", Counting(strict=False))
    assert list(objects("{" * 1000 + '"a": 1}' + "{ [" * 1000 + "{ }")) == [{"a": 1}, {}]
    assert len(tried) == 2
