"""A recipe at the door: what it names is found, or one sentence says what is wrong, before anything starts."""

from pathlib import Path
from typing import Any

import pytest

from mixgrid.errors import UserError
from mixgrid.generate.choose import choices, requests
from mixgrid.manifest import SamplingOverride
from mixgrid.plan.grid import Grid
from tests.generate.samples import open_job, rows

TURKISH = {
    "item_id": "t",
    "cluster_id": "t",
    "split": "test",
    "language": "tr",
    "text": "Köprü açıldı.",
    "label": "factual",
}


def grid_of(folder: Path, **changes: Any) -> Grid:
    job = open_job(folder, **changes)
    return job.grid(requests(job, choices(job)))


def test_all_splits_are_taken_unless_some_are_named(tmp_path: Path) -> None:
    assert {s.split for s in open_job(tmp_path).sentences} == {"test", "train"}
    assert {s.split for s in open_job(tmp_path, splits=["train"]).sentences} == {"train"}


def test_a_limit_takes_whole_clusters_first(tmp_path: Path) -> None:
    job = open_job(tmp_path).limited(4)
    assert len(job.sentences) == 4
    assert len({s.cluster_id for s in job.sentences}) == 2


def test_a_corpus_of_several_languages_is_made_one_at_a_time(tmp_path: Path) -> None:
    job = open_job(tmp_path, sentences=[*rows(), TURKISH], source="tr", languages=["de"], switching={"phrase": {}})
    assert [s.item_id for s in job.sentences] == ["t"]
    assert job.mixed("de") == "tr-de"


def test_sentences_that_are_mixed_already_are_left_alone(tmp_path: Path) -> None:
    assert not any(
        s.language == "ro-en"
        for s in open_job(tmp_path, sentences=[*rows(), {**TURKISH, "language": "ro-en"}]).sentences
    )


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"corpus": "plane"}, r"key 'corpus': there is no corpus 'plane'; did you mean 'plain'\?"),
        ({"splits": ["dev"]}, r"key 'splits': corpus 'plain' has no split 'dev'; .*test, train"),
        ({"languages": ["xx"]}, r"key 'languages': 'xx' cannot be mixed into 'ro': language 'ro-xx' is not known"),
        ({"languages": ["ro"]}, r"key 'languages': 'ro' cannot be mixed into 'ro'"),
        ({"languages": ["en", "en"]}, r"key 'languages': 'en' stands there twice"),
        ({"switching": {"randm": {}}}, r"key 'switching': there is no switching method 'randm'"),
        ({"switching": {"random": {"share": 2}}}, r"key 'switching'\.random\.share"),
        ({"switching": {}}, "key 'switching'"),
        ({"variants": 0}, "key 'variants'"),
        ({"model": "tay"}, r"there is no model 'tay'; did you mean 'toy'\?"),
        ({"toy": {"languages": ["ro-en"]}}, r"key 'model': 'toy' is a model for ro-en only"),
        ({"source": "en"}, r"key 'source': 'en' is not the language of unmixed sentences in 'plain'; Allowed: ro"),
        ({"sentences": [*rows(), TURKISH]}, r"key 'source': say which of several languages is .*Allowed: ro, tr"),
        ({"swiching": {}}, r"unknown key 'swiching'; did you mean 'switching'\?"),
        ({"sampling": [{"task": "satire", "temperature": 0.1}]}, r"sampling\.0\.task.*'satire' is not in this grid"),
        ({"sampling": [{"max_tokens": 9999}]}, r"sampling\.0\.max_tokens': 9999 tokens .* leave a prompt no room"),
        ({"templates": "nowhere"}, "there is no folder"),
    ],
)
def test_what_cannot_be_is_a_sentence(tmp_path: Path, changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        open_job(tmp_path, **changes)
    assert not (tmp_path / "store").exists()


def test_whole_sentences_are_asked_at_the_paper_s_temperature_and_pieces_as_the_model_does(tmp_path: Path) -> None:
    found = {run.task: run.sampling.temperature for run in grid_of(tmp_path).runs}
    assert found == {"code-mixing": 0.8, "translation": 0.5}
    override = [SamplingOverride(task="code-mixing", temperature=0.3).model_dump(exclude_none=True)]
    found = {run.task: run.sampling.temperature for run in grid_of(tmp_path, sampling=override).runs}
    assert found == {"code-mixing": 0.3, "translation": 0.5}


def test_each_task_asks_its_own_corpus_once(tmp_path: Path) -> None:
    grid = grid_of(tmp_path)
    assert {(run.corpus, run.task) for run in grid.runs} == {
        ("made.code-mixing", "code-mixing"), ("made.translation", "translation")
    }  # fmt: skip
    assert len(grid.runs) == 2
    assert [run.task for run in grid_of(tmp_path, switching={"random": {}}).runs] == ["translation"]
    assert [run.task for run in grid_of(tmp_path, switching={"llm": {}}).runs] == ["code-mixing"]


def test_files_beside_the_manifest_are_found_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "stop.txt").write_text("și\nde\n", "utf-8")
    monkeypatch.chdir("/")
    job = open_job(tmp_path, switching={"phrase": {"stopwords": "stop.txt"}})
    assert job.methods["phrase"].stopwords == str(tmp_path / "manifests" / "stop.txt")  # type: ignore[attr-defined]
