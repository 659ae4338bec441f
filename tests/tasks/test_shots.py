"""Few-shot examples: from outside the split, the same for all, never the item's own, and enough of them."""

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixgrid.errors import UserError
from mixgrid.records import Item, Turn
from mixgrid.tasks import TASKS
from mixgrid.tasks.base import Setting
from mixgrid.tasks.shots import PER_SOURCE, Shots

BASE = Item("toy", "t", "t", None, "t", "test", "id-en", "none", 0, turns=(Turn("0", "A", "test"),))


def pool_item(n: int, **fields: Any) -> Item:
    fields = {"turns": (Turn("0", "A", f"train {n}"),), **fields}
    return dataclasses.replace(
        BASE, item_id=f"p{n}", source_id=f"p{n}", cluster_id=f"p{n}", split="train", item_hash="", **fields
    )


POOL = [pool_item(n) for n in range(20)]
ONE, THREE = Setting("1-shot", "x", 1), Setting("3-shot", "x", 3)


def ids(items: tuple[Item, ...]) -> list[str]:
    return [item.item_id for item in items]


def test_without_shots_nothing_is_drawn() -> None:
    assert Shots(Setting("0-shot", "x"), POOL).of(BASE) == ()


def test_every_item_of_a_language_gets_the_same_examples_whatever_the_order_of_the_pool() -> None:
    drawn = Shots(THREE, POOL).of(BASE)
    assert len(set(ids(drawn))) == 3
    assert Shots(THREE, POOL[::-1]).of(dataclasses.replace(BASE, item_id="u", source_id="u", cluster_id="u")) == drawn
    assert Shots(ONE, POOL).of(BASE) == drawn[:1]  # more shots go on where fewer end


def test_another_draw_seed_draws_others() -> None:
    draws = {tuple(ids(Shots(dataclasses.replace(THREE, shot_seed=seed), POOL).of(BASE))) for seed in range(8)}
    assert len(draws) > 4


@pytest.mark.parametrize("link", ["cluster_id", "source_id", "twin_id", "turns"])
def test_an_example_is_never_the_items_own(link: str) -> None:
    """Whatever the item shares with an example: cluster, source, twin, or just the dialogue under another id."""
    first = Shots(ONE, POOL).of(BASE)[0]
    shared: dict[str, Any] = {link: first.item_id if link == "twin_id" else getattr(first, link)}
    item = dataclasses.replace(BASE, item_hash="", **shared)
    assert ids(Shots(ONE, POOL).of(item)) == ids(Shots(Setting("2", "x", 2), POOL).of(BASE))[1:]


@given(st.sets(st.integers(0, 19), max_size=8), st.integers(0, 3), st.integers(0, 99))
def test_examples_never_touch_the_item_and_are_as_many_as_asked(own: set[int], shots: int, seed: int) -> None:
    pool = [dataclasses.replace(item, cluster_id="t") if n in own else item for n, item in enumerate(POOL)]
    drawn = Shots(Setting("n", "x", shots, seed), pool).of(BASE)
    assert len(drawn) == shots
    assert not {item.cluster_id for item in drawn} & {"t"}


def test_examples_are_of_the_items_language() -> None:
    with pytest.raises(UserError, match=r"'toy': setting '1-shot' shows 1 examples, .* 't' there are 0 in ha-en"):
        Shots(ONE, POOL).of(dataclasses.replace(BASE, language="ha-en"))


def test_a_corpus_with_too_few_rows_outside_the_split_is_refused() -> None:
    with pytest.raises(UserError, match="outside the split 'test'; add rows of another split"):
        Shots(THREE, POOL[:2]).of(BASE)
    with pytest.raises(UserError, match="there are 0 in id-en"):
        Shots(ONE, []).of(BASE)


def test_a_dialogue_brings_its_questions_but_not_more_than_a_few() -> None:
    questions = [
        dataclasses.replace(pool_item(n), source_id="d", cluster_id="d", question=f"q{n}", item_hash="")
        for n in range(9)
    ]
    drawn = Shots(ONE, questions).of(BASE)
    assert len(drawn) == PER_SOURCE
    assert ids(drawn) == sorted(ids(drawn))


def test_summaries_count_one_by_one() -> None:
    """The release keeps one dialogue for examples; its three summaries are the three shots."""
    three = pool_item(1, references=("a", "b", "c"))
    assert [i.references for i in Shots(THREE, [three]).of(BASE)] == [("a", "b", "c")]
    assert [i.references for i in Shots(ONE, [three]).of(BASE)] == [("a",)]
    two = [pool_item(n, references=(f"{n}a", f"{n}b")) for n in range(2)]
    assert sorted(len(i.references) for i in Shots(THREE, two).of(BASE)) == [1, 2]
    with pytest.raises(UserError, match="shows 3 examples"):
        Shots(THREE, [pool_item(1, references=("a", "b"))]).of(BASE)


@pytest.mark.parametrize(("task", "shots"), [("dialogue-qa", {0, 1}), ("dialogue-summary", {0, 1, 3}),
                                             ("dialogue-topic", {0, 1})])  # fmt: skip
def test_settings_are_the_papers_times_three_ways_to_reason(task: str, shots: set[int]) -> None:
    settings = TASKS[task].settings.values()
    assert {s.shots for s in settings} == shots
    for count in shots:
        of = {s.name.removeprefix(f"{count}-shot"): s for s in settings if s.shots == count}
        assert {name: (s.thinking, "reasoning" in s.template) for name, s in of.items()} == {
            "": (False, False), "-reasoning": (False, True), "-thinking": (True, False),
        }  # fmt: skip
