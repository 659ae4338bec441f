"""The manifest's key `metrics`: how answers are scored, refused by name where it cannot be."""

from pathlib import Path
from typing import Any

import pytest

from mixgrid.corpora.snapshot import write_snapshot
from mixgrid.errors import UserError
from mixgrid.manifest import load
from mixgrid.metrics.base import Policies
from mixgrid.metrics.bertscore import Encoder
from mixgrid.reduce.grid import policies, reduce_grid
from tests.helpers import ask, corpus_rows, open_grid, small_grid


def given(folder: Path, **metrics: Any) -> Policies:
    return policies(load(small_grid(folder, metrics=metrics)), folder)


def test_nothing_said_is_the_default(tmp_path: Path) -> None:
    assert given(tmp_path) == Policies()


def test_policies_and_an_encoder_are_taken(tmp_path: Path) -> None:
    found = given(tmp_path, unparsed="drop", references="mean", bertscore={"model": "some/model", "layers": 9})
    assert found == Policies(unparsed="drop", references="mean", encoder=Encoder("some/model", layers=9))


def test_an_encoder_s_folder_lies_beside_the_manifest(tmp_path: Path) -> None:
    (tmp_path / "minilm").mkdir()
    found = given(tmp_path, bertscore={"model": "minilm", "baseline": [0.1, 0.2, 0.3]})
    assert found.encoder == Encoder(str(tmp_path / "minilm"), baseline=(0.1, 0.2, 0.3))


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ({"bertscore": {"modle": "x"}}, "unknown key 'metrics.bertscore.modle'; did you mean 'model'?"),
        ({"bertscore": {"model": ""}}, "key 'metrics.bertscore.model'"),
        ({"bertscore": {"model": "x", "baseline": [0.1]}}, "key 'metrics.bertscore.baseline'"),
        ({"unparsed": "ignore"}, "key 'metrics.unparsed': 'ignore' is not right"),
        ({"refs": "max"}, "unknown key 'metrics.refs'"),
    ],
)
def test_what_cannot_be_is_refused_by_name(tmp_path: Path, metrics: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as error:
        given(tmp_path, **metrics)
    assert message in str(error.value)


def test_policies_survive_the_reduction_s_account(tmp_path: Path) -> None:
    found = given(tmp_path, failed="wrong", bertscore={"model": "m", "baseline": [0.1, 0.2, 0.3]})
    plain = {**vars(found), "encoder": {**vars(found.encoder), "baseline": [0.1, 0.2, 0.3], "idf_texts": []}}
    assert Policies.of(plain) == found


def test_items_that_the_task_does_not_take_are_told_with_the_scores(tmp_path: Path) -> None:
    rows = corpus_rows()
    rows[0]["label"] = "Satire"
    grid = open_grid(tmp_path, rows=rows)
    write_snapshot(grid.slices[0].whole, grid.store)
    ask(grid)
    assert grid.left_out()[0] in reduce_grid(grid).warnings
