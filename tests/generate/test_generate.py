"""A generation from recipe to snapshot, answered without Ray: what is made, what is rejected, and that it goes on."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import mixgrid.generate as module
from mixgrid.corpora import load, load_corpora, read
from mixgrid.errors import Incomplete, UserError
from mixgrid.generate import Generation, generate
from mixgrid.generate.assemble import Reject
from mixgrid.generate.recipe import Job
from mixgrid.generate.summary import tables
from mixgrid.languages import tags
from mixgrid.plan.grid import Grid, resolve
from mixgrid.records import Item, Token
from mixgrid.schemas import from_table
from mixgrid.switching.weave import unweave
from tests.generate.samples import ask, open_job, rows


@pytest.fixture
def no_ray(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Asking is done by the actor's code in this process; the list says how many rows each call may ask, then all."""
    allowed: list[int] = []

    def answer(grid: Grid, watch: object = None) -> None:
        if allowed:
            ask(grid, allowed.pop(0))
            raise Incomplete("killed")
        ask(grid)

    monkeypatch.setattr(module, "answer", answer)
    return allowed


def items_of(job: Job, made: Generation) -> list[Item]:
    return load(job.store, made.snapshot.corpus, made.snapshot.digest)


def rejects_of(job: Job, made: Generation) -> list[Reject]:
    (part,) = job.store.parts(made.snapshot.folder, "rejects").whole
    return from_table(Reject, job.store.read(part))


def test_every_variant_is_there_or_has_a_reason(tmp_path: Path, no_ray: list[int]) -> None:
    job = open_job(tmp_path)
    made = generate(job)
    items, rejects = items_of(job, made), rejects_of(job, made)
    mixed = {(i.twin_id, i.language, i.switching, i.variant) for i in items if i.switching != "none"}
    lacking = {(r.item_id, r.language, r.switching, r.variant) for r in rejects}
    everything = {
        (row["item_id"], f"ro-{target}", method, k)
        for row in rows() for target in ("en", "de") for method in ("random", "phrase", "llm") for k in (1, 2, 3)
    }  # fmt: skip
    assert mixed | lacking == everything
    assert not mixed & lacking
    assert {"duplicate", "not_translated", "single_word", "tag_lost", "no_word"} <= {r.reason for r in rejects}
    assert made.snapshot.items == len(items) == len(mixed) + len(rows())


def test_variants_carry_their_sentence_s_fields_and_spans(tmp_path: Path, no_ray: list[int]) -> None:
    job = open_job(tmp_path)
    items = {i.item_id: i for i in items_of(job, generate(job))}
    for item in items.values():
        if item.switching == "none":
            assert (item.variant, item.twin_id, item.spans) == (0, None, ())
            continue
        twin = items[item.twin_id or ""]
        assert item.item_id == f"{twin.item_id}-{item.language[3:]}-{item.switching}-{item.variant}"
        for name in ("source_id", "cluster_id", "split", "label"):
            assert getattr(item, name) == getattr(twin, name)
        assert item.text != twin.text
        assert tags(item.text or "") == tags(twin.text or "")
        assert bool(item.spans) == (item.switching != "llm")
        if item.spans:
            assert unweave(item.text or "", item.spans) == twin.text


def test_gold_tags_of_words_stay_with_the_original(tmp_path: Path, no_ray: list[int]) -> None:
    job = open_job(tmp_path, sentences=rows()[:1], switching={"random": {}})
    (sentence,) = job.sentences
    tagged = replace(job, sentences=(replace(sentence, tokens=(Token("Primarul", "ro"),)),))
    assert {bool(i.tokens) == (i.switching == "none") for i in items_of(tagged, generate(tagged))} == {True}


def test_no_two_variants_of_a_sentence_by_one_method_are_the_same(tmp_path: Path, no_ray: list[int]) -> None:
    job = open_job(tmp_path)
    texts = [(i.twin_id, i.language, i.switching, i.text) for i in items_of(job, generate(job)) if i.twin_id]
    assert len(texts) == len(set(texts))


def test_a_killed_generation_goes_on_to_the_corpus_of_an_unbroken_one(tmp_path: Path, no_ray: list[int]) -> None:
    log = tmp_path / "asked.txt"
    toy = {"engine_args": {"answers": ["<translation>a b</translation><mixed>Un the</mixed>"], "log_to": str(log)}}
    whole = generate(open_job(tmp_path / "one", toy=toy))
    log.unlink()
    no_ray += [10, 25]
    job = open_job(tmp_path / "two", toy=toy)
    for _ in range(2):
        with pytest.raises(Incomplete):
            generate(job)
    again = generate(job)
    assert again.snapshot == whole.snapshot
    asked = log.read_text("utf-8").split()
    assert len(asked) == len(set(asked)) > 35


def test_what_is_not_answered_is_no_reject(tmp_path: Path, no_ray: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "answer", lambda grid, watch=None: ask(grid, 5))
    with pytest.raises(Incomplete, match="rows are pending"):
        generate(open_job(tmp_path))
    assert not list((tmp_path / "store" / "corpora" / "made").glob("*"))


def test_a_sentence_s_variants_do_not_depend_on_the_others(tmp_path: Path, no_ray: list[int]) -> None:
    few, many = open_job(tmp_path / "few", sentences=rows()[:2]), open_job(tmp_path / "many")
    found = {i.item_id: i for i in items_of(many, generate(many))}
    for item in items_of(few, generate(few)):
        assert found[item.item_id] == item


def test_asked_again_nothing_is_asked_and_the_same_corpus_is_there(tmp_path: Path, no_ray: list[int]) -> None:
    job = open_job(tmp_path)
    assert generate(job).snapshot == generate(job).snapshot
    assert len(list((tmp_path / "store" / "corpora" / "made").iterdir())) == 1


def test_nothing_to_ask_is_a_corpus_of_originals(tmp_path: Path, no_ray: list[int]) -> None:
    job = open_job(tmp_path, switching={"random": {"share": 0}})
    made = generate(job)
    assert made.outcome is None
    assert {i.switching for i in items_of(job, made)} == {"none"}


def test_the_summary_counts_what_is_there(tmp_path: Path, no_ray: list[int]) -> None:
    job = open_job(tmp_path)
    made = generate(job)
    items, rejects = items_of(job, made), rejects_of(job, made)
    told = made.summary
    mixed = [i for i in items if i.switching != "none"]
    assert sum(cell.variants for cell in told.cells) == len(mixed) == told.sizes[-1].mixed
    assert sum(n for cell in told.cells for n in cell.rejects.values()) == len(rejects)
    assert [size.split for size in told.sizes] == ["test", "train", "all"]
    assert told.sizes[-1].sentences == len(rows())
    assert sum(told.sizes[-1].labels.values()) == len(mixed)
    assert told.levels[0] >= told.levels[1] >= told.levels[2]
    assert sum(told.levels) == len(mixed)
    text = tables(told)
    assert all(method in text for method in ("random", "phrase", "llm"))
    assert job.store.get_json(f"{made.snapshot.folder}/generation.json")["summary"]["corpus"] == "made"


def test_a_share_of_switched_words_is_what_was_drawn(tmp_path: Path, no_ray: list[int]) -> None:
    one = {
        "item_id": "x",
        "split": "test",
        "language": "ro",
        "label": "satire",
        "cluster_id": "x",
        "text": "unu doi trei patru cinci sase",
    }
    toy = {"engine_args": {"answers": ["<translation>a b</translation>"]}}
    made = generate(open_job(tmp_path, sentences=[one], switching={"random": {"share": 0.5}}, toy=toy))
    assert {cell.share for cell in made.summary.cells} == {0.5}
    assert {cell.spans for cell in made.summary.cells} == {3.0}


# The made corpus, by name


def named(job: Job, made: Generation, folder: Path, **changes: Any) -> Path:
    """The catalogue with the entry that the command prints."""
    path = folder / "corpora.yaml"
    path.write_text("corpora:\n" + made.entry(job), "utf-8")
    return path


def test_the_entry_names_the_corpus_for_a_grid(tmp_path: Path, no_ray: list[int]) -> None:
    job = open_job(tmp_path)
    made = generate(job)
    named(job, made, tmp_path / "manifests")
    (tmp_path / "manifests" / "grid.yaml").write_text(
        "{name: g, corpora: [{name: made}], tasks: [satire], models: [toy], settings: [zero-shot], seeds: [1], "
        "switching: [random, none]}", "utf-8",
    )  # fmt: skip
    grid = resolve(tmp_path / "manifests" / "grid.yaml", str(tmp_path / "store"))
    assert grid.slices[0].snapshot == made.snapshot.digest
    assert {i.switching for i in grid.groups[0].items} == {"random", "none"}


def test_the_only_state_needs_no_digest_and_one_of_several_does(tmp_path: Path, no_ray: list[int]) -> None:
    job = open_job(tmp_path)
    made = generate(job)
    path = named(job, made, tmp_path)
    path.write_text(path.read_text("utf-8").replace("  made:", "  other:").replace(f"/{made.snapshot.digest[:16]}", ""))
    other = load_corpora(path)["other"]
    assert [replace(i, corpus="made") for i in read(other)] == items_of(job, made)
    generate(replace(job, recipe=job.recipe.model_copy(update={"seed": 2})))
    with pytest.raises(UserError, match=r"several states of it: .*add one of them to the path"):
        read(other)


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("{store}/corpora/none", "does not hold it. Make it with `mixgrid generate`"),
        ("{store}/made", "is not STORE/corpora/NAME"),
        ("{store}/corpora/made/aaaaaaaaaaaaaaaa", "no whole snapshot aaaaaaaaaaaaaaaa"),
    ],
)
def test_a_snapshot_that_is_not_there_is_a_sentence(tmp_path: Path, path: str, sentence: str) -> None:
    place = path.format(store=tmp_path / "store")
    (tmp_path / "corpora.yaml").write_text(
        f"corpora: {{x: {{reader: snapshot, path: {place}, licence: none, tasks: []}}}}", "utf-8"
    )
    with pytest.raises(UserError, match=sentence):
        read(load_corpora(tmp_path / "corpora.yaml")["x"])
