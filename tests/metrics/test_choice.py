"""Multiple choice: accuracy by category, and the pull of an option's place."""

import pytest

from mixgrid.metrics.base import Answer, Array, Policies
from mixgrid.metrics.choice import Choice
from mixgrid.records import Item

OPTIONS = ("Bandung", "Jakarta", "Medan", "tidak ada")


def item(gold: str, category: str = "answerable") -> Item:
    return Item(
        "c",
        "i",
        "s",
        None,
        "d",
        "test",
        "id-en",
        "llm",
        0,
        question="?",
        options=OPTIONS,
        label=gold,
        category=category,
    )


def total(rows: list[tuple[str, str, str | None, tuple[str, ...]]]) -> Array:
    """Statistics of (gold, category, said, order as shown)."""
    family = Choice()
    facts = [family.facts(item(gold, category), gold) for gold, category, _, _ in rows]
    answers = [Answer("unparsed" if s is None else "ok", s, order) for _, _, s, order in rows]
    summed: Array = family.statistics(facts, answers).sum(axis=0)
    return summed


def values(
    rows: list[tuple[str, str, str | None, tuple[str, ...]]], policies: Policies | None = None
) -> dict[str, object]:
    return {m.name: m.value(total(rows))[0] for m in Choice((), policies).metrics}


ROWS: list[tuple[str, str, str | None, tuple[str, ...]]] = [
    ("Bandung", "answerable", "Bandung", OPTIONS),
    ("Jakarta", "answerable", "Bandung", OPTIONS),
    ("tidak ada", "negation", "tidak ada", OPTIONS),
    ("tidak ada", "antonym", None, OPTIONS),
    ("tidak ada", "a new kind", "Medan", OPTIONS),
]


def test_accuracy_by_category() -> None:
    found = values(ROWS)
    assert found["accuracy"] == pytest.approx(2 / 5)
    assert found["accuracy_answerable"] == pytest.approx(1 / 2)
    assert found["accuracy_unanswerable"] == pytest.approx(1 / 3)
    assert (found["accuracy_negation"], found["accuracy_antonym"], found["accuracy_other"]) == (1.0, 0.0, 0.0)
    assert found["accuracy_entity-swap"] is None
    assert found["unparsed"] == pytest.approx(1 / 5)
    assert found["chance"] == pytest.approx(1 / 4)


def test_unparsed_may_be_dropped_but_is_never_credited() -> None:
    assert values(ROWS, Policies(unparsed="drop"))["accuracy"] == pytest.approx(2 / 4)


def test_missing_category_says_so() -> None:
    notes = {m.name: m.value(total(ROWS))[1] for m in Choice().metrics}
    assert notes["accuracy_entity-swap"] == "n/a (no question is entity-swap)"


def test_always_the_first_option_is_all_bias() -> None:
    orders = [OPTIONS[i:] + OPTIONS[:i] for i in range(4)]
    first = values([("Jakarta", "answerable", order[0], order) for order in orders])
    assert (first["chosen_at_1"], first["gold_at_1"]) == (1.0, pytest.approx(0.25))
    assert first["place_bias"] == pytest.approx(0.75)
    right = values([("Jakarta", "answerable", "Jakarta", order) for order in orders])
    assert (right["place_bias"], right["accuracy"]) == (pytest.approx(0.0), 1.0)


def test_gold_that_is_no_option_is_refused() -> None:
    with pytest.raises(ValueError, match="'Solo' is none of its options"):
        Choice().facts(item("Solo"), "Solo")
