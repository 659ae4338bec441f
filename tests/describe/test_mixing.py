"""Mixing measures against the golden values (statistics.md §1.15), and what must hold for every sequence of tags."""

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixgrid.describe import MEASURES, mixing
from mixgrid.describe.base import NEUTRAL, Mix
from tests.metrics.golden import golden

FILE = golden("code_mixing")
CASES = [pytest.param(case, id=case["name"]) for case in FILE["cases"]]
each_case = pytest.mark.parametrize("case", CASES)

# The golden file's name → ours.
ALWAYS: dict[str, Callable[[Mix], float | None]] = {
    "P_switch_skipO": mixing.switch_points,
    "P_switch_adjacent_only": mixing.switch_points_adjacent,
    "cmi_2014_0_100": mixing.cmi,
    "cmi_2016_utt_0_100": mixing.cmi_2016,
    "cmi_unhalved_0_1_(N-max+P)/N": mixing.cmi_unhalved,
    "spf_P/(N-1)": mixing.spf,
    "spf_P/(n-1)": mixing.spf_all_words,
    "I_index": mixing.i_index,
    "M_index": mixing.m_index,
    "language_entropy_bits": mixing.language_entropy,
}
SOMETIMES = {"burstiness_ddof1": mixing.burstiness, "memory": mixing.memory, "span_entropy_bits": mixing.span_entropy}
MIXING = [measure for measure in MEASURES.values() if measure.group == "mixing"]


def mix_of(case: dict[str, Any]) -> Mix:
    return Mix.of([NEUTRAL if tag == "O" else tag for tag in case["tags"]], case["k"])


@each_case
def test_golden_values(case: dict[str, Any]) -> None:
    mix = mix_of(case)
    assert (mix.words, mix.tagged, list(mix.lengths), mix.parts) == (
        case["n"], case["N_lang_tokens"], case["spans"], case["k"],
    )  # fmt: skip
    for name, measure in ALWAYS.items():
        assert measure(mix) == (None if case[name] is None else pytest.approx(case[name], abs=1e-12)), name
    for name, measure in SOMETIMES.items():  # the golden file leaves out what is not defined
        assert measure(mix) == (pytest.approx(case[name], abs=1e-12) if name in case else None), name


def test_published_example_of_cs_metrics() -> None:
    """agoel00/cs_metrics, README."""
    mix = mix_of(FILE["cases"][0])
    published = FILE["published_examples"]["cs_metrics_README"]
    assert mixing.cmi(mix) == pytest.approx(published["cmi"])
    assert mixing.m_index(mix) == pytest.approx(published["mindex"])
    assert mixing.language_entropy(mix) == pytest.approx(published["entropy"])
    assert mixing.burstiness(mix) == pytest.approx(published["burstiness"])


def test_the_corpus_form_of_2016_by_hand() -> None:
    """Two items: ab|bb and a; U = 3, S = 1, one utterance whose commonest language is another than the one before."""
    first = [Mix.of(["a", "a", "b"]), Mix.of(["b", "b"])]
    second = [Mix.of(["a", NEUTRAL])]
    # sums: 1 - (2 - 1)/3 = 2/3; 1 - 2/2 = 0 with δ = 1; 1 - 1/1 = 0
    assert mixing.cmi_2016_corpus([first, second]) == pytest.approx(100 / 3 * ((2 / 3 + 1) / 2 + 5 / 6))
    assert mixing.cmi_2016_corpus([]) is None
    assert mixing.cmi_2016_corpus([[Mix.of([])], [Mix.of([NEUTRAL])]]) == 0


def test_the_indices_that_pingpong_prints_need_the_unhalved_form() -> None:
    """Table 3: its CMI of SU-ID-EN is above the greatest value that the form of 2014 can give for three languages."""
    row = next(row for row in FILE["pingpong_table3"] if row["lang"] == "SU-ID-EN")
    most = mixing.cmi(Mix.of(["su", "id", "en"], 3)) / 100
    assert most == pytest.approx(row["max_2014"])
    assert row["avg_cmi"] > most
    assert mixing.cmi_unhalved(Mix.of(["su", "id", "en"], 3)) > row["avg_cmi"]


tags = st.lists(st.sampled_from(["a", "b", "c", NEUTRAL]), max_size=30)


@given(tags)
def test_values_are_in_their_ranges(words: list[str]) -> None:
    mix = Mix.of(words)
    bounds = {"0 to 100": (0, 100), "0 to 1": (0, 1), "-1 to 1": (-1, 1), "0 to 2": (0, 2)}
    for measure in MIXING:
        value = measure.of(mix)
        if value is None:
            assert measure.undefined
            continue
        assert math.isfinite(value)
        low, high = bounds.get(measure.unit, (0, math.inf))
        assert low - 1e-9 <= value <= high + 1e-9, measure.title
    assert mixing.cmi(mix) <= 100 * (1 - 1 / mix.parts) + 1e-9


@given(st.sampled_from("ab"), st.lists(st.booleans(), max_size=20))
def test_one_language_mixes_nothing(tag: str, neutral: list[bool]) -> None:
    mix = Mix.of([NEUTRAL if skip else tag for skip in neutral])
    for name in ("cmi", "cmi_2016", "cmi_unhalved", "spf", "spf_all_words", "switch_points", "switch_points_adjacent"):
        assert MEASURES[name].of(mix) == 0, name
    assert mixing.language_entropy(mix) in (0, None)
    assert mixing.m_index(mix) in (0, None)
    assert mixing.burstiness(mix) is None


@given(tags, st.permutations(["a", "b", "c"]))
def test_the_names_of_the_languages_do_not_matter(words: list[str], names: list[str]) -> None:
    renamed = dict(zip(["a", "b", "c"], names, strict=True)) | {NEUTRAL: NEUTRAL}
    for measure in MIXING:
        before, after = measure.of(Mix.of(words)), measure.of(Mix.of([renamed[tag] for tag in words]))
        assert before == pytest.approx(after)


@given(tags.flatmap(lambda words: st.tuples(st.just(words), st.permutations(words))))
def test_shares_do_not_depend_on_the_order_of_words(both: tuple[list[str], list[str]]) -> None:
    before, after = map(Mix.of, both)
    for measure in (mixing.cmi, mixing.m_index, mixing.language_entropy):
        assert measure(before) == pytest.approx(measure(after))


@given(tags)
def test_what_looks_at_switches_is_the_same_from_behind(words: list[str]) -> None:
    for measure in MIXING:
        there, back = measure.of(Mix.of(words)), measure.of(Mix.of(words[::-1]))
        assert there == pytest.approx(back, abs=1e-9)


@given(st.lists(tags, max_size=6))
def test_joined_texts_are_one_text(texts: list[list[str]]) -> None:
    joined, whole = Mix.joined(map(Mix.of, texts)), Mix.of([tag for words in texts for tag in words])
    assert (joined.languages, joined.lengths, joined.words) == (whole.languages, whole.lengths, whole.words)
    assert joined.adjacent <= whole.adjacent
    for measure in (mixing.cmi, mixing.i_index, mixing.burstiness, mixing.span_entropy):
        assert measure(joined) == measure(whole)
