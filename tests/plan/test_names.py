"""The key that is blamed is the one that is wrong, and what cannot be asked is refused before anything is written."""

from pathlib import Path
from typing import Any

import pytest

from mixgrid.errors import UserError
from mixgrid.plan.estimate import estimate
from mixgrid.plan.grid import resolve
from tests.helpers import TOY, corpus_rows, small_grid


def refused(folder: Path, **changes: Any) -> str:
    """The sentence with which the plan and the estimate of a small grid end alike."""
    path = small_grid(folder, **changes)
    with pytest.raises(UserError) as caught:
        resolve(path, str(folder / "store"))
    with pytest.raises(UserError) as estimated:
        estimate(path)
    assert str(caught.value) == str(estimated.value)
    assert not (folder / "store").exists()
    return str(caught.value)


def test_a_misspelt_model_is_not_the_fault_of_its_right_name_elsewhere(tmp_path: Path) -> None:
    says = refused(tmp_path, asked=["tiy"], resources={"toy": {}}, sampling=[{"model": "toy", "top_p": 0.5}])
    assert "grid.yaml: key 'models': there is no model 'tiy'; did you mean 'toy'?" in says


def test_languages_and_methods_that_never_meet_are_both_named_with_what_there_is(tmp_path: Path) -> None:
    says = refused(tmp_path, languages=["ro"], switching=["random"])
    assert "keys 'languages' and 'switching': no item is in one of ro and mixed by one of random; " in says
    assert says.endswith("there are ro/none, ro-en/random")


def test_a_split_that_a_corpus_lacks_is_named_with_file_and_key(tmp_path: Path) -> None:
    says = refused(tmp_path, corpora=[{"name": "mini", "split": "tst"}])
    assert "grid.yaml: key 'corpora': corpus 'mini' has no split 'tst'; did you mean 'test'?" in says


def test_ids_that_two_items_share_are_named_with_file_and_key(tmp_path: Path) -> None:
    rows = corpus_rows()
    says = refused(tmp_path, rows=[*rows, rows[1]])
    assert "corpora.yaml: corpus 'mini', key 'columns.item_id': 1 item ids stand there more than once: 's0-en'" in says


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"sampling": [{"top_p": 0.9}, {"max_tokens": 4096}]}, "grid.yaml: key 'sampling.1.max_tokens': 4096 tokens"),
        (
            {"sampling": [], "models": {"toy": {**TOY, "sampling": {"satire": {"max_tokens": 5000}}}}},
            "models.yaml: model 'toy', key 'sampling.satire.max_tokens': 5000 tokens",
        ),
        (
            {"sampling": [], "models": {"toy": {**TOY, "context_length": 1024}}},
            "models.yaml: model 'toy', key 'sampling.default.max_tokens': 2048 tokens",
        ),
    ],
    ids=["manifest", "model", "nobody"],
)
def test_an_answer_as_long_as_the_whole_context_is_refused_where_it_is_asked_for(
    tmp_path: Path, changes: dict[str, Any], says: str
) -> None:
    found = refused(tmp_path, **changes)
    assert says in found
    assert "for an answer to satire/zero-shot leave a prompt no room in the model's `context_length` of" in found


def test_more_candidates_than_any_vocabulary_has_are_refused(tmp_path: Path) -> None:
    says = refused(tmp_path, sampling=[{"top_k": 1_000_001}])
    assert "grid.yaml: key 'sampling.0.top_k': 1000001 is not right: it should be less than or equal to" in says


def test_what_the_items_carry_is_said_where_a_column_was_not_named(tmp_path: Path) -> None:
    path = small_grid(tmp_path)
    catalogue = path.parent / "corpora.yaml"
    catalogue.write_text(catalogue.read_text("utf-8").replace("      label: label\n", ""), "utf-8")
    with pytest.raises(
        UserError, match=r"can be asked by task 'satire' .*; items of 'mini' carry text: name the other"
    ):
        resolve(path, str(tmp_path / "store"))


def test_labels_that_the_task_does_not_know_are_blamed_and_not_the_task(tmp_path: Path) -> None:
    path = small_grid(tmp_path, rows=[{**row, "label": "ironie"} for row in corpus_rows()])
    with pytest.raises(UserError) as caught:
        resolve(path, str(tmp_path / "store"))
    assert "grid.yaml: key 'tasks': no item of mini can be asked by task 'satire'" in str(caught.value)
    assert (
        "labels of corpus 'mini' are 'ironie', and the task knows factual, satire: say under `values.label` of 'mini'"
        in str(caught.value)
    )
    assert str(path.parent / "corpora.yaml") in str(caught.value)
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    ("task", "setting", "near"),
    [
        ("dialogue-qa", "zero-shot", "0-shot"),
        ("dialogue-summary", "three-shot-reasoning", "3-shot-reasoning"),
        ("satire", "0-shot", "zero-shot"),
        ("satire", "chain-of-thougt", "chain-of-thought"),
    ],
)
def test_the_nearest_setting_has_the_same_number_of_shots(tmp_path: Path, task: str, setting: str, near: str) -> None:
    says = refused(tmp_path, tasks=[task], settings=[setting])
    assert f"key 'settings': task '{task}' has none of {setting}; did you mean '{near}'?" in says
