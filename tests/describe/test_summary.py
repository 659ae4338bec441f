"""From items to rows to slices: each level says what it is the mean of, and what is not defined is counted."""

from typing import Any

import pytest

from mixgrid.describe import MEASURES, mixing
from mixgrid.describe.base import LEVELS, Mix
from mixgrid.describe.rows import Describer, Row, Sample, from_rows, to_rows
from mixgrid.describe.summary import Measured, summarise
from mixgrid.describe.tags import Gold, Spans
from mixgrid.records import Item, Token, Turn


def item(n: int, text: str | None = None, tags: str = "", **fields: Any) -> Item:
    """`tags`: a letter a word; `.` is neutral."""
    tokens = tuple(Token("w", "" if tag == "." else tag) for tag in tags)
    known = {"language": "tr-de", "switching": "none", **fields}
    return Item("c", f"i{n}", f"s{n}", None, "1", "test", variant=0, text=text, tokens=tokens, **known)


def rows_of(*items: Item) -> list[Row]:
    return Describer(MEASURES, Gold())([Sample(each) for each in items])


def one(found: list[Measured], measure: str, level: str, **where: Any) -> Measured:
    wanted = {"language": "all", "switching": "all", "speakers": 0, "measure": measure, "level": level, **where}
    (match,) = (m for m in found if all(getattr(m, key) == value for key, value in wanted.items()))
    return match


MIXED, PLAIN = item(1, "w w w w", "aabb"), item(2, "w w", "bb", switching="random")


def test_the_levels_are_three_numbers() -> None:
    found = summarise(rows_of(MIXED, PLAIN), MEASURES, "sig")
    assert one(found, "cmi", "item").value == 25
    assert one(found, "cmi", "item").sd == pytest.approx(50 / 2**0.5)
    assert one(found, "cmi", "item").total == 50
    assert one(found, "cmi", "corpus").value == pytest.approx(100 * (1 - 4 / 6))
    assert one(found, "cmi", "corpus").sd is None
    assert one(found, "i_index", "corpus").value == pytest.approx(1 / 5)
    assert one(found, "cmi_2016_corpus", "corpus").value == mixing.cmi_2016_corpus([[Mix.of("aabb")], [Mix.of("bb")]])
    assert one(found, "cmi", "item").signature == "cmi|level:item|sig"
    assert one(found, "cmi", "item", switching="random").n == 1


def test_what_is_not_defined_is_counted_and_never_a_number() -> None:
    found = one(summarise(rows_of(MIXED, PLAIN), MEASURES, ""), "burstiness", "item")
    assert (found.n, found.undefined) == (1, 1)
    assert found.value == pytest.approx(-1)
    assert found.note == "not defined for 1: fewer than two runs of one language"
    alone = one(summarise(rows_of(PLAIN), MEASURES, ""), "burstiness", "item")
    assert (alone.value, alone.sd, alone.total, alone.n) == (None, None, None, 0)


def test_what_has_no_tags_takes_no_part_in_mixing_but_in_all_else() -> None:
    untagged = item(3, "yeni köprü", language="tr")
    found = summarise(rows_of(MIXED, untagged), MEASURES, "")
    assert one(found, "cmi", "item").n == one(found, "cmi", "utterance").n == 1
    assert one(found, "words", "item").n == 2
    assert not [m for m in found if m.language == "tr" and m.measure == "cmi"]
    (row,) = rows_of(untagged)
    assert (row.item.untagged, row.item.mixes, row.values["cmi"]) == ("no gold tags", (), None)


def test_a_dialogue_is_one_text_and_its_turns_are_utterances() -> None:
    turns = (Turn("0", "A", "bu ev"), Turn("1", "B", "das Haus"), Turn("2", "B", "ev", "0"))

    class Half:
        """The first turn in one language, the rest in another."""

        signature = "half"

        def check(self, combinations: object) -> None:
            """Everything is known."""

        def __call__(self, item: Item) -> list[list[str]]:
            return [["tr", "tr"], ["de", "de"], ["tr"]]

    describer = Describer(MEASURES, Half())
    rows = describer([Sample(item(1, turns=turns)), Sample(item(2, turns=turns[:1]))])
    assert [row.item.speakers for row in rows] == [2, 1]
    assert rows[0].item.distances == (2,)
    found = summarise(rows[:1], MEASURES, "")
    assert one(found, "cmi", "utterance").n == 3
    assert one(found, "cmi", "utterance").value == 0
    assert one(found, "cmi", "item").value == pytest.approx(40)
    both = summarise(rows, MEASURES, "")
    assert one(both, "turns", "item").value == 2
    assert one(both, "turns", "item", speakers=2).value == 3
    assert (one(both, "replies", "item").total, one(both, "reply_distance", "item").value) == (1, 1)
    assert (one(both, "imbalance", "item").n, one(both, "imbalance", "item").undefined) == (1, 1)


def test_slices_do_not_depend_on_the_order_of_rows() -> None:
    rows = rows_of(MIXED, PLAIN, item(3, "w", "a"))
    assert summarise(rows, MEASURES, "") == summarise(rows[::-1], MEASURES, "")


def test_rows_survive_parquet() -> None:
    rows = rows_of(MIXED, PLAIN, item(3, turns=(Turn("0", "A", "x"),)))
    table = to_rows(rows)
    assert from_rows(table) == rows
    assert table.schema.field("measure_cmi").type == "double"
    assert table["measure_burstiness"].to_pylist() == [-1.0, None, None]


def test_nothing_becomes_nothing() -> None:
    assert summarise([], MEASURES, "") == []
    assert Describer(MEASURES, Spans())([]) == []


def test_the_dict_is_sorted_and_every_measure_has_levels() -> None:
    assert list(MEASURES) == sorted(MEASURES)
    assert {measure.group for measure in MEASURES.values()} == set(LEVELS)
