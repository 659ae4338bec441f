"""Comparisons as a manifest declares them: spelled out, or refused by name."""

from pathlib import Path
from typing import Any

import pytest

from mixgrid.errors import UserError
from mixgrid.manifest import Comparison, CorpusChoice, load
from mixgrid.plan.declared import KEYS, Declared, declared
from tests.helpers import TOY, small_grid


def found(folder: Path, **manifest: Any) -> tuple[Declared, ...]:
    fields = {"asked": ("toy", "big"), "settings": ["zero-shot", "chain-of-thought"], **manifest}
    path = small_grid(folder, models={"big": dict(TOY)}, **fields)
    return declared(load(path), path)


def comparison(a: dict[str, str], b: dict[str, str], **more: str) -> dict[str, Any]:
    return {"family": "h1", "a": a, "b": b, **more}


def test_nothing_declared_is_nothing_tested(tmp_path: Path) -> None:
    assert found(tmp_path) == ()


def test_what_neither_side_names_is_the_same_on_both(tmp_path: Path) -> None:
    (one,) = found(tmp_path, comparisons=[comparison({"model": "toy"}, {"model": "big"}, metric="fpr")])
    assert (one.family, one.metric) == ("h1", "fpr")
    assert one.a == {**dict.fromkeys(KEYS, "*"), "model": "toy", "language": "all", "switching": "all"}
    assert one.b == {**one.a, "model": "big"}


def test_what_one_side_names_holds_for_the_other(tmp_path: Path) -> None:
    a, b = {"setting": "chain-of-thought", "language": "ro-en"}, {"setting": "zero-shot"}
    (one,) = found(tmp_path, comparisons=[comparison(a, b)])
    assert one.b["language"] == "ro-en"


def test_originals_keep_their_own_language(tmp_path: Path) -> None:
    a, b = {"switching": "random", "language": "ro-en"}, {"switching": "none"}
    (one,) = found(tmp_path, comparisons=[comparison(a, b)])
    assert (one.a["language"], one.b["language"]) == ("ro-en", "all")


def test_a_baseline_meets_every_cell(tmp_path: Path) -> None:
    (one,) = found(tmp_path, baseline={"switching": "none"})
    assert one.family == "baseline"
    assert set(one.a.values()) == {"*"}
    assert one.b == {**dict.fromkeys(KEYS, "*"), "switching": "none", "language": "all"}


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ({"modle": "toy"}, {"model": "big"}, "unknown key 'modle'; did you mean 'model'?"),
        ({"model": "toy"}, {"model": "bgi"}, "model 'bgi' is not in this grid; did you mean 'big'?"),
        ({"model": "toy"}, {"model": "toy"}, "differ in nothing that both name"),
        ({"model": "toy"}, {"setting": "zero-shot"}, "differ in nothing that both name"),
        ({"model": "toy", "setting": "zero-shot"}, {"model": "big", "setting": "chain-of-thought"}, "model, setting;"),
    ],
)
def test_what_cannot_be_compared_is_refused(tmp_path: Path, a: dict[str, str], b: dict[str, str], message: str) -> None:
    with pytest.raises(UserError, match=r"grid\.yaml: key 'comparisons\.0'") as error:
        found(tmp_path, comparisons=[comparison(a, b)])
    assert message in str(error.value)


def test_the_baseline_s_family_is_taken(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="the family 'baseline' is that of the key 'baseline'"):
        found(tmp_path, comparisons=[{**comparison({"model": "toy"}, {"model": "big"}), "family": "baseline"}])
    with pytest.raises(UserError, match="key 'baseline': model 'none' is not in this grid"):
        found(tmp_path, baseline={"model": "none"})


def test_originals_may_be_asked_in_a_corpus_of_their_own(tmp_path: Path) -> None:
    path = small_grid(tmp_path)
    manifest = load(path).model_copy(update={"corpora": [CorpusChoice(name="mixed"), CorpusChoice(name="mono")]})
    sides = {"a": {"corpus": "mixed", "switching": "random"}, "b": {"corpus": "mono", "switching": "none"}}
    (one,) = declared(manifest.model_copy(update={"comparisons": [Comparison(a=sides["a"], b=sides["b"])]}), path)
    assert (one.a["corpus"], one.b["corpus"], one.b["language"]) == ("mixed", "mono", "all")
    (one,) = declared(manifest.model_copy(update={"baseline": sides["b"]}), path)
    assert (one.a["corpus"], one.b["corpus"], one.b["switching"]) == ("*", "mono", "none")
