"""What each method chooses, on sentences where the answer can be seen."""

from pathlib import Path

import pytest

from mixgrid.errors import UserError
from mixgrid.switching import build
from mixgrid.switching.base import selections, tokens
from tests.switching.parsers import parser_with


def texts(sentence: str, name: str, **options: object) -> list[list[str]]:
    """The text of every group."""
    (found,) = build(name, "ro", options, "m").groups([sentence])
    return [[sentence[piece.start : piece.end] for piece in group] for group in found]


def parsed(folder: Path, sentence: str, heads: list[int], seen: str | None = None) -> list[str]:
    parser = parser_with(folder / "parser", {seen or sentence: heads})
    return [text for (text,) in texts(sentence, "dependency", parser=parser)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Ce-ți spun: s-a dus într-un târziu!", ["Ce-ți", "spun", "s-a", "dus", "într-un", "târziu"]),
        ("<PERSON> și <GPE>, pe @URL cu #podul la www.pod.ro", ["și", "pe", "cu", "la"]),
        ("2.500 de lei, 3x", ["de", "lei", "3x"]),
        ("হাতে বই", ["হাতে", "বই"]),
        ("l’été d'ici", ["l’été", "d'ici"]),
        ("mers -a dus - gard", ["mers", "a", "dus", "gard"]),
        ("_gard_ <b>pod</b>", ["gard", "b", "pod", "b"]),
    ],
)
def test_words_keep_their_clitics_and_leave_tags_and_figures_alone(text: str, found: list[str]) -> None:
    assert [text[token.start : token.end] for token in tokens(text)] == found


@pytest.mark.parametrize(("share", "words"), [(0.5, 3), (0.25, 2), (1.0, 6), (0.01, 1)])
def test_random_takes_its_share_of_the_words_but_one_at_least(share: float, words: int) -> None:
    text = "Primarul <PERSON> a inaugurat azi un pod."
    method = build("random", "ro", {"share": share}, "m")
    (groups,) = method.groups([text])
    (choice,) = selections(method, text, groups, [1])
    assert len(choice) == words


def test_a_phrase_that_stands_there_twice_is_one_choice_with_two_places() -> None:
    found = texts("Pod nou! Primăria vrea un pod nou și podul nou este gata.", "phrase")
    assert ["Pod nou", "pod nou"] in found
    assert ["podul nou"] in found


def test_a_phrase_inside_a_word_or_a_longer_phrase_is_not_its_place() -> None:
    found = texts("Gard, și gardul de gard viu este gardian.", "phrase")
    assert ["Gard"] in found
    assert ["gard viu"] in found
    assert not any("gard" in group for group in found)


@pytest.mark.parametrize("joined", ["și", "şi"])
def test_stop_words_are_known_in_old_and_new_letters(joined: str) -> None:
    assert texts(f"pod nou {joined} gard verde", "phrase") == [["pod nou"], ["gard verde"]]


def test_phrases_end_at_tags_quotes_and_lines() -> None:
    found = texts("podul <PERSON> nou\npodari harnici „gard verde”", "phrase")
    assert found == [["podul"], ["nou"], ["podari harnici"], ["gard verde"]]


def test_letters_that_grow_when_they_are_written_small_do_not_move_a_phrase() -> None:
    assert ["gard verde"] in texts("İİİİ, și gard verde", "phrase")


def test_a_language_without_stop_words_needs_a_file_of_them(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no stop words for 'jv'; give `stopwords: FILE`"):
        build("phrase", "jv", {}, "m")
    (tmp_path / "jv.txt").write_text("lan\nsing\n", "utf-8")
    method = build("phrase", "jv", {"stopwords": str(tmp_path / "jv.txt")}, "m")
    text = "Pasar gedhe lan kreteg anyar"
    (groups,) = method.groups([text])
    assert [text[p.start : p.end] for (p,) in groups] == ["Pasar gedhe", "kreteg anyar"]


def test_an_empty_file_of_stop_words_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\n", "utf-8")
    with pytest.raises(UserError, match="is empty"):
        build("phrase", "ro", {"stopwords": str(tmp_path / "empty.txt")}, "m")


def test_subtrees_are_whole_and_never_the_sentence(tmp_path: Path) -> None:
    #        0        1 2         3  4   5     6      7
    text = "Primarul a inaugurat un pod peste Dunăre."
    assert parsed(tmp_path, text, [2, 2, 2, 4, 2, 6, 4, 2]) == [
        "Primarul", "a", "un", "un pod peste Dunăre", "peste", "peste Dunăre"
    ]  # fmt: skip


def test_a_subtree_with_a_gap_or_an_open_bracket_is_not_self_contained(tmp_path: Path) -> None:
    text = "Pod (nou) aici e"  # pod ← aici: a gap at "nou"; nou ← "(" without ")"
    found = parsed(tmp_path, text, [5, 2, 5, 5, 0, 5])
    assert "Pod (nou) aici" not in found
    assert "nou" in found


def test_tags_stay_whole_in_a_subtree_and_punctuation_at_its_ends_stays_out(tmp_path: Path) -> None:
    text = "A vorbit, despre <PERSON>, ieri."
    found = parsed(tmp_path, text, [1, 1, 4, 4, 1, 4, 1, 1], "A vorbit, despre Xpersonx, ieri.")
    assert "despre <PERSON>" in found
    assert all(text.count("<") == 1 and piece.count("<") == piece.count(">") for piece in found)


def test_a_subtree_takes_the_word_that_its_clitic_hangs_on(tmp_path: Path) -> None:
    text = "Ieri el s-a dus"  # spaCy takes s-a apart
    found = parsed(tmp_path, text, [4, 4, 3, 4, 4]) if len(text.split()) == 4 else []
    assert all(piece in ("Ieri", "el", "s-a") for piece in found)
    assert "s-a" in found


def test_subtrees_of_several_words_come_first_and_then_single_words(tmp_path: Path) -> None:
    text = "Primarul a inaugurat un pod peste Dunăre."
    parser = parser_with(tmp_path / "parser", {text: [2, 2, 2, 4, 2, 6, 4, 2]})
    method = build("dependency", "ro", {"parser": parser}, "m")
    (groups,) = method.groups([text])
    found = selections(method, text, groups, range(7))
    assert [choice[0].unit for choice in found[:6] if not isinstance(choice, str)] == ["subtree"] * 2 + ["word"] * 4
    assert found[6] == "no_more"


def test_a_pipeline_without_a_parser_is_refused(tmp_path: Path) -> None:
    import spacy

    spacy.blank("ro").to_disk(tmp_path / "blank")
    with pytest.raises(UserError, match="has no parser"):
        build("dependency", "ro", {"parser": str(tmp_path / "blank")}, "m")


def test_llm_takes_the_sentence_whole() -> None:
    assert texts("Un pod.", "llm") == [["Un pod."]]
    assert texts("<PERSON> 25%", "llm") == []
