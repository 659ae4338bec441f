"""The dialogue-qa task: which letter stands for what, and that E is always "No correct answer"."""

import dataclasses
import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixgrid.prompts import render
from mixgrid.records import Item, Turn
from mixgrid.tasks.base import Raw, transcript
from mixgrid.tasks.dialogue_qa import DIALOGUE_QA

TURNS = (Turn("0", "A", "di mana?"), Turn("1", "B", "di <GPE> ya, @A"))
OPTIONS = ("Solo", "Medan", "Bandung", "Bogor", "No correct answer")
ITEM = Item(
    "toy", "1", "d1", None, "d1", "test", "jv-id-en", "none", 0, turns=TURNS, topic="secret", question="Di mana B?",
    options=OPTIONS, category="answerable", label="Solo",
)  # fmt: skip


def prompt(setting: str = "0-shot", item: Item = ITEM, shots: tuple[Item, ...] = ()) -> str:
    (message,) = render(
        DIALOGUE_QA.settings[setting].template, DIALOGUE_QA.context(item, DIALOGUE_QA.order(item), shots)
    )
    return message.content


@pytest.mark.parametrize(
    "last",
    ["No correct answer", "no correct answer.", "Tidak ada jawaban yang benar", "Babu amsa daidai",
     "لا توجد إجابة صحيحة", "Aucune réponse correcte"],
)  # fmt: skip
def test_no_correct_answer_is_always_e_in_any_language(last: str) -> None:
    for place in range(5):
        options = [*OPTIONS[:4]]
        options.insert(place, last)
        item = dataclasses.replace(ITEM, options=tuple(options), item_hash="")
        assert DIALOGUE_QA.order(item)[4] == last
        assert f'choose the option "{last}"' in prompt(item=item)


def test_a_to_d_are_balanced_over_dialogues_wherever_the_release_puts_the_right_one() -> None:
    orders = [DIALOGUE_QA.order(dataclasses.replace(ITEM, source_id=str(n))) for n in range(800)]
    letters = Counter("ABCDE"[order.index("Solo")] for order in orders)
    assert sorted(letters) == ["A", "B", "C", "D"]
    assert min(letters.values()) > 160
    shuffled = dataclasses.replace(ITEM, options=OPTIONS[::-1], item_hash="")
    assert DIALOGUE_QA.order(shuffled) == DIALOGUE_QA.order(ITEM)


def test_questions_of_one_dialogue_have_orders_of_their_own() -> None:
    items = [dataclasses.replace(ITEM, options=tuple(f"{n}{o}" for o in "wxyz"), item_hash="") for n in range(40)]
    assert len({tuple(o[1:] for o in DIALOGUE_QA.order(item)) for item in items}) > 12


@given(st.permutations(OPTIONS[:4]), st.sampled_from("ABCDE"))
def test_a_letter_means_the_option_at_its_place_in_the_recorded_order(order: list[str], letter: str) -> None:
    shown = (*order, OPTIONS[4])
    read = DIALOGUE_QA.parse(Raw(json.dumps({"answer": letter})), shown)
    assert (read.value, read.note) == (shown["ABCDE".index(letter)], f"option {letter}")


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ('{"answer": "F"}', "invalid_label"),
        ('{"answer": "A or B"}', "ambiguous"),
        ('{"answer": "A. Medan"}', "ambiguous"),  # A is Solo
        ('{"answer": ["A"]}', "bad_format"),
        ('{"answer": 1}', "bad_format"),
        ('{"answer": null}', "bad_format"),
        ('{"answer": "A", "answer": "B"}', "bad_format"),
        ('{"answer": ""}', "empty"),
        ("A", "bad_format"),
        ("The answer is A.", "bad_format"),
        ('{"reasoning": "it is A", "answer": "', "bad_format"),
        ("<think>{\"answer\": \"A\"}", "bad_format"),
    ],
)  # fmt: skip
def test_nothing_but_one_option_in_json_is_an_answer(text: str, status: str) -> None:
    assert (DIALOGUE_QA.parse(Raw(text), OPTIONS).status, DIALOGUE_QA.parse(Raw(text), OPTIONS).value) == (status, None)


@pytest.mark.parametrize(
    "text", ['{"jawaban": "b"}', '{"Answer": "(B)"}', '{"answer": "B. Medan"}', '{"réponse": "Medan"}']
)
def test_translated_keys_and_the_options_text_are_read(text: str) -> None:
    assert DIALOGUE_QA.parse(Raw(text), OPTIONS).value == "Medan"


def test_the_shared_part_of_a_dialogues_questions_comes_first() -> None:
    """Instructions, the dialogue, then what differs: a prefix cache serves ten questions with one dialogue."""
    other = dataclasses.replace(
        ITEM, question="Siapa A?", options=("x", "y", "z", "w", "No correct answer"), item_hash=""
    )
    first, second = prompt(), prompt(item=other)
    shared = first.index("Question: ")
    assert first[:shared] == second[:shared]
    assert transcript(TURNS) in first[:shared]


def test_the_prompt_shows_what_is_asked_and_nothing_else() -> None:
    text = prompt()
    assert "Javanese-Indonesian-English" in text
    assert text.endswith("\n".join(f"{'ABCDE'[n]}. {o}" for n, o in enumerate(DIALOGUE_QA.order(ITEM))))
    assert "secret" not in text
    assert "answerable" not in text
    assert "Example" not in text
    assert '"reasoning"' not in text
    assert '"reasoning"' in prompt("0-shot-reasoning")


def test_an_example_dialogue_comes_once_with_its_questions_and_their_letters() -> None:
    train = dataclasses.replace(ITEM, item_id="2", source_id="d2", turns=(Turn("0", "C", "contoh"),), item_hash="")
    shots = (train, dataclasses.replace(train, item_id="3", question="Apa?", label="No correct answer", item_hash=""))
    text = prompt("1-shot", shots=shots)
    assert text.count("C: contoh") == 1
    assert "Example question: Apa?" in text
    solo = "ABCDE"[DIALOGUE_QA.order(train).index("Solo")]
    assert [line for line in text.split("\n") if line.startswith("The right")] == [
        f"The right option is {solo}.", "The right option is E."
    ]  # fmt: skip
    assert text.index("contoh") < text.index("di mana?")


def test_a_question_without_a_dialogue_or_that_last_option_is_asked_too() -> None:
    item = dataclasses.replace(ITEM, turns=(), options=("a", "b", "c", "d", "e"), label="e", item_hash="")
    assert DIALOGUE_QA.accepts(item)
    assert "Dialogue:" not in prompt(item=item)
    assert "choose the option" not in prompt(item=item)


@pytest.mark.parametrize("fields", [{"question": None}, {"question": " "}, {"options": ()}, {"options": ("Solo",)},
                                    {"label": None}, {"label": "Jakarta"}])  # fmt: skip
def test_a_row_that_has_no_right_option_is_not_for_this_task(fields: dict[str, object]) -> None:
    assert not DIALOGUE_QA.accepts(dataclasses.replace(ITEM, item_hash="", **fields))  # type: ignore[arg-type]


@pytest.mark.parametrize("setting", sorted(DIALOGUE_QA.settings))
def test_copying_the_prompt_is_no_answer(setting: str) -> None:
    assert DIALOGUE_QA.parse(Raw(prompt(setting, shots=(ITEM,))), DIALOGUE_QA.order(ITEM)).value is None


def test_a_turn_cannot_pose_as_another_speakers() -> None:
    turns = (Turn("a", "A", "x\nB: forged"), Turn("b", "B", "ya", reply_to="a"))
    assert transcript(turns) == "1. A: x\n   B: forged\n2. B (reply to 1): ya"
    assert transcript(turns[:1]) == "A: x\n   B: forged"
