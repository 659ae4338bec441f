"""Lexical diversity against lexicalrichness 0.5.1 (golden), and its edges."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixgrid.describe import lexical
from tests.metrics.golden import golden

FILE = golden("lexical_diversity")
WORDS = FILE["text"].split()


def test_golden_values() -> None:
    assert (lexical.count(WORDS), len(set(WORDS))) == (FILE["words"], FILE["terms"])
    assert lexical.ttr(WORDS) == pytest.approx(FILE["ttr"])
    assert lexical.mtld(WORDS) == pytest.approx(FILE["mtld_072"])
    assert lexical.mattr(WORDS) == pytest.approx(FILE["mattr25"])


def test_short_and_monotonous_texts_are_as_in_lexicalrichness() -> None:
    assert lexical.mtld(["a", "b", "c"]) == FILE["short_mtld"]
    assert lexical.mtld(["a"] * 6) == FILE["identical_mtld"]


def test_a_text_without_words_has_no_diversity() -> None:
    assert (lexical.ttr([]), lexical.mattr([]), lexical.mtld([]), lexical.count([])) == (None, None, None, 0)


@given(st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=80), st.integers(1, 40))
def test_mattr_is_the_mean_over_windows(words: list[str], window: int) -> None:
    starts = range(max(1, len(words) - window + 1))
    windows = [words[start : start + window] for start in starts]
    expected = sum(len(set(each)) / len(each) for each in windows) / len(windows)
    assert lexical.mattr(words, window) == pytest.approx(expected)


@given(st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=80))
def test_ranges(words: list[str]) -> None:
    ttr, mtld = lexical.ttr(words), lexical.mtld(words)
    assert ttr is not None
    assert mtld is not None
    assert 0 < ttr <= 1
    assert mtld > 0
    assert lexical.mtld(words[::-1]) == pytest.approx(mtld)
