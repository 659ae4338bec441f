"""What holds for every switching method, over the dict of methods, on hard sentences and on any text."""

import random
from collections.abc import Iterator
from typing import get_args

import pytest
import regex
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mixgrid.corpora.catalogue import SWITCHING
from mixgrid.errors import UserError
from mixgrid.languages import tags, words
from mixgrid.switching import METHODS, build
from mixgrid.switching.base import Chosen, Group, Method, Reason, selections, tokens
from mixgrid.switching.weave import Said, unweave, weave
from tests.switching.parsers import parser_with
from tests.switching.samples import SENTENCES

SPANS = [name for name in METHODS if name != "llm"]
ANY = st.lists(
    st.sampled_from(
        [
            "gard",
            "Podul",
            " ",
            "<PERSON>",
            "s-a",
            ", ",
            "„",
            "”",
            "\u0301",
            "\u200d",
            "👩‍👧",
            "🏽",
            "আমি",
            "\n",
            "ț",
            "@URL",
            " 5",
            "@ion",
            "é",
            ".",
        ]
    )
    | st.text(max_size=3),
    max_size=14,
).map("".join)
ANSWERS = st.sampled_from(
    ["the fence", "Le pont", '"bridge".', "\u0301x", "🏽", "", "<GPE>", "un\ndeux", "red\u200d", "ß", "\u0600"]
)


@pytest.fixture(scope="module")
def methods(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Method]:
    parser = parser_with(tmp_path_factory.mktemp("parser"), {})
    return {name: build(name, "ro", {"parser": parser} if name == "dependency" else {}, "m") for name in METHODS}


def groups(method: Method, text: str) -> tuple[Group, ...]:
    return next(method.groups([text]))


def chosen(method: Method, text: str, seeds: int = 4) -> Iterator[Chosen]:
    for found in selections(method, text, groups(method, text), range(seeds)):
        if not isinstance(found, str):
            yield found


def clusters(text: str) -> list[str]:
    return [match.group() for match in regex.finditer(r"\X", text)]


def test_the_dict_is_sorted_and_is_what_a_corpus_may_say() -> None:
    assert list(METHODS) == sorted(METHODS)
    assert set(METHODS) == set(SWITCHING) - {"none"}
    assert all(METHODS[name].name == name for name in METHODS)


@pytest.mark.parametrize("name", METHODS)
def test_the_same_seed_chooses_the_same_whatever_stands_beside_the_sentence(
    methods: dict[str, Method], name: str
) -> None:
    together = list(methods[name].groups(SENTENCES))
    for text, found in zip(SENTENCES, together, strict=True):
        assert groups(methods[name], text) == found
        assert list(chosen(methods[name], text)) == list(chosen(methods[name], text))


@pytest.mark.parametrize("name", SPANS)
def test_choices_are_distinct_and_a_missing_one_has_a_reason(methods: dict[str, Method], name: str) -> None:
    for text in SENTENCES:
        found = selections(methods[name], text, groups(methods[name], text), range(40))
        choices = [choice for choice in found if not isinstance(choice, str)]
        assert len(choices) == len(set(choices))
        assert {choice for choice in found if isinstance(choice, str)} <= set(get_args(Reason))
        if len(tokens(text)) == 1:
            assert found[-1] == "single_word"


@pytest.mark.parametrize("name", METHODS)
@given(text=ANY)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_pieces_are_ordered_and_cut_no_word_tag_or_grapheme_cluster(
    methods: dict[str, Method], name: str, text: str
) -> None:
    whole = {0}
    for cluster in clusters(text):
        whole.add(max(whole) + len(cluster))
    for choice in chosen(methods[name], text):
        places = [place for piece in choice for place in (piece.start, piece.end)]
        assert places == sorted(places)
        assert all(piece.start < piece.end for piece in choice)
        assert set(places) <= whole
        kept = sum(len(tags(text[piece.start : piece.end])) for piece in choice)
        around = "".join(text[s:e] for s, e in zip([0, *places[1::2]], [*places[::2], len(text)], strict=True))
        assert kept + len(tags(around)) == len(tags(text)) or name == "llm"
        if name in ("random", "phrase"):
            assert not kept


@pytest.mark.parametrize("name", SPANS)
@given(text=ANY, answers=st.lists(ANSWERS, min_size=30, max_size=30), target=st.sampled_from(["en", "de"]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_spans_put_back_give_the_original_whatever_a_model_said(
    methods: dict[str, Method], name: str, text: str, answers: list[str], target: str
) -> None:
    for choice in chosen(methods[name], text, seeds=2):
        woven = weave(text, choice, [Said(a) for a, _ in zip(answers * 9, choice, strict=False)], target)
        assert unweave(woven.text, woven.spans) == text
        assert len(woven.spans) + len(woven.left) == len(choice)
        assert all(woven.text[s.start : s.end] == s.translation != s.original for s in woven.spans)
        assert tags(woven.text) == tags(text)
        assert words(woven.text)
        cuts = {0}
        for cluster in clusters(woven.text):
            cuts.add(max(cuts) + len(cluster))
        assert {place for span in woven.spans for place in (span.start, span.end)} <= cuts


@pytest.mark.parametrize("name", ["random", "phrase"])
def test_a_share_of_nothing_changes_nothing(name: str) -> None:
    method = build(name, "ro", {"share": 0}, "m")
    for text in SENTENCES:
        assert list(chosen(method, text)) == []


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("randm", {}, r"m: there is no switching method 'randm'; did you mean 'random'\?"),
        ("random", {"shar": 0.5}, r"m\.random: there is no option 'shar'; did you mean 'share'\?"),
        ("phrase", {"max_words": 0}, r"m\.phrase\.max_words: .*greater than or equal to 1"),
        ("random", {"share": 1.5}, r"m\.random\.share: .*less than or equal to 1"),
        ("random", {"language": "en"}, "there is no option 'language'"),
        ("dependency", {}, r"m\.dependency\.parser: .*required"),
        ("dependency", {"parser": "ro_core_news_xx"}, "neither an installed spaCy pipeline nor a folder"),
        ("phrase", {"stopwords": "/no/such/file"}, "is no UTF-8 file"),
    ],
)
def test_what_cannot_be_is_a_sentence(name: str, options: dict[str, object], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        build(name, "ro", options, "m")


def test_dice_make_variants_of_a_sentence_differ(methods: dict[str, Method]) -> None:
    found = {methods["random"].draw(groups(methods["random"], SENTENCES[0]), (), random.Random(n)) for n in range(20)}
    assert len(found) > 10
