"""64-bit words stand for digests: equal for equal texts, whatever column they are read in."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from mixgrid.reduce.population import first_words, lists_as_text, words
from mixgrid.schemas import digest

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40) | st.integers(0, 300).map(lambda i: f"{i:032x}")


@given(st.lists(texts, max_size=12))
def test_a_word_depends_on_its_text_alone(column: list[str]) -> None:
    together = words(pa.array(column, pa.string()))
    assert together.tolist() == [int(words(pa.array([text]))[0]) for text in column]
    assert len(set(together.tolist())) == len(set(column))


def test_digests_are_told_apart_by_their_last_digit() -> None:
    column = pa.array([f"{i:064x}" for i in range(1000)])
    assert len(set(words(column).tolist())) == 1000
    assert words(column.slice(10, 3)).tolist() == words(column)[10:13].tolist()


def test_first_words_sort_as_digests_do() -> None:
    column = [digest(i) for i in range(200)]
    found = first_words(pa.array(column))
    assert [column[i] for i in found.argsort()] == sorted(column)


def test_chunks_and_nulls() -> None:
    column = pa.chunked_array([["a", None], [], ["a", ""]], type=pa.string())
    found = words(column)
    assert found[0] == found[2] != found[1] == found[3]


def test_lists_are_told_apart_where_a_text_holds_the_separator() -> None:
    column = pa.chunked_array([pa.array([["a", "b"], ["a\x1fb"], [], ["a", "b"]], pa.list_(pa.string()))])
    found = lists_as_text(column).to_pylist()
    assert found[0] == found[3]
    assert len(set(found)) == 3
