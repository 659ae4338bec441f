"""What all text metrics share: the door, the statuses, the rules for several references."""

from collections.abc import Callable

import numpy as np
import pytest

from mixgrid.errors import UserError
from mixgrid.metrics import bleu, chrf, meteor, rouge, texts
from mixgrid.metrics.texts import Pairs, TextScores

METRICS = (bleu.score, chrf.score, meteor.score, rouge.score)
Score = Callable[..., TextScores]


@pytest.mark.parametrize("score", METRICS)
def test_a_plain_string_is_refused_instead_of_scored_letter_by_letter(score: Score) -> None:
    with pytest.raises(TypeError, match="item 0 are not a list"):
        score(["a b"], ["a b"])
    with pytest.raises(TypeError, match="not one string"):
        score("a b", [["a b"]])
    with pytest.raises(TypeError, match="prediction 1 is NoneType"):
        score(["a", None], [["a"], ["a"]])


@pytest.mark.parametrize("score", METRICS)
def test_lists_that_do_not_go_item_by_item_are_refused(score: Score) -> None:
    with pytest.raises(ValueError, match="1 predictions, 2 lists of references"):
        score(["a"], [["a"], ["b"]])
    with pytest.raises(UserError, match="item 1 has no reference"):
        score(["a", "b"], [["a"], []])


@pytest.mark.parametrize("score", METRICS)
def test_no_items_give_no_scores(score: Score) -> None:
    scores = score([], [])
    assert scores.statuses == ()
    assert all(len(values) == 0 for values in (*scores.values.values(), *scores.sums.values()))


@pytest.mark.parametrize("score", METRICS)
def test_rows_keep_their_places_and_blank_ones_score_zero(score: Score) -> None:
    scores = score(["one two", " \n", "three four"], [["one two"], ["one two"], ["\t", "three four"]])
    assert scores.statuses == ("ok", "empty", "ok")
    assert scores.counts() == {"empty": 1, "ok": 2}
    for values in scores.values.values():
        assert values[1] == 0
    alone = score(["three four"], [["\t", "three four"]])
    for name, values in scores.values.items():
        assert values[2] == alone.values[name][0]


@pytest.mark.parametrize("score", METRICS)
def test_order_of_items_does_not_matter(score: Score) -> None:
    predictions = ["satu dua tiga", "ɗaya biyu", "un deux trois quatre cinq"]
    references = [["satu dua"], ["ɗaya biyu uku", "biyu"], ["un deux quatre"]]
    there = score(predictions, references)
    back = score(predictions[::-1], references[::-1])
    for name, values in there.values.items():
        assert np.array_equal(values, back.values[name][::-1])


@pytest.mark.parametrize("score", METRICS)
def test_romanian_letters_are_folded_for_romanian_only(score: Score) -> None:
    old, new = "aceşti oameni ştiu foarte multe", "acești oameni știu foarte multe"
    same = score([old], [[old]], languages=["ro-en"])
    folded = score([new], [[old]], languages=["ro-en"])
    turkish = score([new], [[old]], languages=["tr"])
    for name, values in same.values.items():
        assert folded.values[name] == values
        assert turkish.values[name] < values
    assert "norm:1" in folded.signature
    assert "norm:no" in score([new], [[old]]).signature


def test_text_that_the_tokenizer_cannot_see_is_not_called_empty() -> None:
    for score in (rouge.score, meteor.score):
        assert score(["বাংলা"], [["বাংলা"]], tokenizer="compat").statuses == ("no_words",)
        assert score(["বাংলা"], [["বাংলা"]]).statuses == ("ok",)
        assert score(["🙂 !"], [["বাংলা"]]).statuses == ("no_words",)


def test_lone_surrogates_and_bidi_marks_are_separators() -> None:
    for score in (rouge.score, meteor.score, chrf.score, bleu.score):
        assert score(["a \ud800 b\u202e c d"], [["a \ud800 b\u202e c d"]]).statuses == ("ok",)


def test_an_unknown_rule_for_several_references_is_refused() -> None:
    for score in (rouge.score, meteor.score, chrf.score):
        with pytest.raises(UserError, match="unknown rule 'men'"):
            score(["a"], [["a"]], multi="men")


def test_a_missing_package_names_the_extra() -> None:
    with pytest.raises(UserError, match=r"mixgrid\[score\]"):
        texts.load("no_such_package_here")


def test_ragged_references_go_by_rank() -> None:
    pairs = Pairs.of(["a", "b"], [["1"], ["2", "3"]])
    assert pairs.ranks() == [["1", "2"], [None, "3"]]
    assert pairs.flat() == (["a", "b", "b"], ["1", "2", "3"])
    assert pairs.starts().tolist() == [0, 1]


def test_ties_between_references_go_to_the_first() -> None:
    values = np.array([0.5, 0.5, 0.2, 0.1, 0.3])
    assert texts.best(values, np.array([0, 3])).tolist() == [0, 4]
    assert texts.mean(values, np.array([0, 3])) == pytest.approx([0.4, 0.2])
