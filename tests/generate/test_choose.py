"""Choices depend on their own sentence alone, and what is asked is asked once."""

from collections import Counter
from pathlib import Path

from mixgrid.generate.choose import Choice, choices, request, requests
from mixgrid.generate.recipe import Job
from tests.generate.samples import open_job, rows


def by_place(job: Job) -> dict[tuple[str, str, str, int], Choice]:
    return {(c.sentence.item_id, c.target, c.method, c.k): c for c in choices(job)}


def said_twice(text: str) -> list[dict[str, object]]:
    one = {"cluster_id": "a", "split": "test", "language": "ro", "text": text, "label": "satire"}
    return [{"item_id": name, **one} for name in ("x", "y")]


def test_there_is_a_choice_for_every_sentence_language_method_and_number(tmp_path: Path) -> None:
    found = Counter((c.method, c.target) for c in choices(open_job(tmp_path)))
    assert found == dict.fromkeys([(m, t) for m in ("random", "phrase", "llm") for t in ("en", "de")], len(rows()) * 3)


def test_other_sentences_change_nothing(tmp_path: Path) -> None:
    alone = by_place(open_job(tmp_path, sentences=rows()[:1]))
    among = by_place(open_job(tmp_path, sentences=rows()[::-1]))
    assert {key: among[key] for key in alone} == alone


def test_other_methods_languages_and_numbers_change_nothing(tmp_path: Path) -> None:
    few = by_place(open_job(tmp_path, switching={"random": {}}, languages=["de"], variants=2))
    many = by_place(open_job(tmp_path, variants=4))
    assert {key: many[key] for key in few} == few


def test_languages_and_seeds_draw_apart(tmp_path: Path) -> None:
    one, two = by_place(open_job(tmp_path)), by_place(open_job(tmp_path, seed=2))
    key = ("s2", "en", "random", 1)
    assert one[key].pieces != one["s2", "de", "random", 1].pieces
    assert one[key].pieces != two[key].pieces


def test_methods_variants_and_sentences_share_translations(tmp_path: Path) -> None:
    whole = "Primăria vopsește garduri"
    job = open_job(
        tmp_path,
        sentences=said_twice(whole),
        switching={"random": {"share": 1}, "phrase": {"share": 1}},
    )
    asked = requests(job, choices(job))["translation"]
    assert sorted((i.language, i.category, i.text) for i in asked) == sorted(
        (f"ro-{t}", unit, text)
        for t in ("en", "de")
        for unit, text in (*(("word", word) for word in whole.split()), ("phrase", whole))
    )  # fmt: skip
    assert [i.item_id for i in asked] == sorted(i.item_id for i in asked)


def test_a_whole_sentence_is_asked_anew_for_each_variant(tmp_path: Path) -> None:
    job = open_job(tmp_path, sentences=said_twice("Un pod."), switching={"llm": {}})
    asked = requests(job, choices(job))["code-mixing"]
    assert len({i.item_id for i in asked}) == 2 * 2 * 3
    assert {i.text for i in asked} == {"Un pod."}


def test_only_a_subtree_is_shown_with_its_sentence(tmp_path: Path) -> None:
    from tests.switching.parsers import parser_with

    text = "Primarul a inaugurat un pod."
    parser = parser_with(tmp_path / "parser", {text: [2, 2, 2, 4, 2, 2]})
    job = open_job(tmp_path, sentences=said_twice(text), switching={"random": {}, "dependency": {"parser": parser}})
    found = list(choices(job))
    (items,) = requests(job, found).values()
    assert {request(job, c, piece) for c in found for piece in c.pieces} == {("translation", i.item_id) for i in items}
    assert {(i.category, i.topic is not None) for i in items} == {("subtree", True), ("word", False)}
    (subtree,) = {i.text for i in items if i.category == "subtree"}
    assert subtree == "un pod"
