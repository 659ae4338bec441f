"""The size of a grid without its data: the counts that the catalogue declares; with it: what is there."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from mixgrid.errors import UserError
from mixgrid.plan.estimate import estimate
from mixgrid.plan.grid import resolve
from mixgrid.plan.summary import summary
from tests.helpers import TOY, small_grid
from tests.plan.test_cells import topics

COUNTS = [
    {"split": "test", "languages": ["ro"], "switching": ["none"], "items": 10, "words": 12.5},
    {"split": "test", "languages": ["ro-en", "ro-fr"], "switching": ["random", "llm"], "items": 30, "words": 12.5},
    {"split": "train", "languages": ["ro"], "switching": ["none"], "items": 900},
]


def absent_data(folder: Path, counts: list[dict[str, Any]] | None = None, **changes: Any) -> Path:
    """A small grid whose corpus is declared and not there."""
    path = small_grid(folder, **changes)
    file = path.parent / "corpora.yaml"
    data = yaml.safe_load(file.read_text("utf-8"))
    data["corpora"]["mini"] |= {"counts": COUNTS if counts is None else counts, "obtain": "Ask its makers"}
    file.write_text(yaml.safe_dump(data), "utf-8")
    (path.parent / "mini.jsonl").unlink()
    return path


def test_declared_counts_are_multiplied_by_models_settings_and_seeds(tmp_path: Path) -> None:
    models = {"two": {**TOY, "languages": ["ro-fr"]}}
    found = estimate(absent_data(tmp_path, models=models, asked=["toy", "two"], seeds=[1, 2, 3]))
    assert [(row.model, row.cells, row.requests) for row in found.rows] == [("toy", 5, 3 * 130), ("two", 2, 3 * 60)]
    assert (found.runs, found.cells, found.requests) == (6, 7, 570)
    assert found.max_completion_tokens == 570 * 32
    assert {(gone.model, gone.language) for gone in found.absent} == {("two", "ro"), ("two", "ro-en")}
    assert [size.counted for size in found.sizes] == [False]


def test_languages_methods_and_exceptions_narrow_it(tmp_path: Path) -> None:
    path = absent_data(tmp_path, languages=["ro-en"], switching=["llm"], seeds=[1, 2], leave_out=[{"seeds": [2]}])
    found = estimate(path)
    assert (found.runs, found.cells, found.requests) == (1, 1, 30)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"languages": ["ro-de"]}, "key 'languages': 'ro-de' is in none of the corpora"),
        ({"switching": ["randm"]}, "key 'switching': 'randm' is in none of the corpora; did you mean 'random'?"),
        ({"asked": ["tox"]}, "there is no model 'tox'"),
        (
            {"corpora": [{"name": "mini", "split": "dev"}]},
            "declare no split 'dev'; Allowed: test, train. Ask its makers",
        ),
        ({"counts": []}, "declare no split 'test'; Allowed: none. Ask its makers"),
    ],
)
def test_what_is_not_declared_is_refused(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError) as caught:
        estimate(absent_data(tmp_path, **changes))
    assert says in str(caught.value)


def test_tokens_without_declared_words_are_those_around_the_item_with_a_warning(tmp_path: Path) -> None:
    bare = [{**count, "words": None} for count in COUNTS]
    with_words, without = estimate(absent_data(tmp_path / "a")), estimate(absent_data(tmp_path / "b", bare))
    assert 0 < without.prompt_tokens < with_words.prompt_tokens
    assert not with_words.warnings
    assert without.warnings == (
        "prompt tokens of mini are counted without the items: `counts` in corpora.yaml declare no `words`",
    )


def test_models_that_nothing_answers_for_yet_have_a_size(tmp_path: Path) -> None:
    path = absent_data(tmp_path, models={"toy": {**TOY, "engine": "classical"}})
    assert estimate(path).requests == 260
    with pytest.raises(UserError, match="'classical' is not part of this version"):
        resolve(path, str(tmp_path / "store"))


def test_with_the_data_here_it_is_what_the_plan_says(tmp_path: Path, root: Path) -> None:
    settings = ["0-shot", "0-shot-reasoning", "1-shot"]
    path = topics(tmp_path, root, settings=settings, seeds=[1, 2])
    planned, found = summary(resolve(path, str(tmp_path / "store")), exact=True), estimate(path)
    assert (found.runs, found.cells, found.requests) == (planned.runs, planned.cells, planned.requests)
    assert found.max_completion_tokens == planned.max_completion_tokens
    assert found.decoding == planned.decoding
    assert [size.counted for size in found.sizes] == [True]
    assert found.prompt_tokens == pytest.approx(planned.prompt_tokens, rel=0.25)
