"""Semantic preservation: the cosine between a mixed text's sentence embedding and its monolingual twin's.

Any model in the format of sentence-transformers, a folder or a hub name (`ORG/NAME` or `ORG/NAME@COMMIT`), read here
with transformers alone: the encoder, its pooling (mean, cls or max), dense layers, normalisation. What else a model's
modules.json asks for is refused by name, never left out.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mixgrid.errors import UserError

VERSION = 1
LABSE = "sentence-transformers/LaBSE"  # multilingual, trained on translations: the default in production
Vectors = npt.NDArray[np.float64]
_ACTIVATIONS = ("GELU", "Identity", "ReLU", "Tanh")
_POOLINGS = ("cls_token", "mean_tokens", "max_tokens")


def preservation(pair: tuple[Vectors, Vectors] | None) -> float | None:
    """Cosine of two vectors; not defined without a twin, or where a text is blank."""
    if pair is None:
        return None
    size = float(np.linalg.norm(pair[0]) * np.linalg.norm(pair[1]))
    return float(pair[0] @ pair[1]) / size if size else None


@dataclass(frozen=True)
class SentenceEncoder:
    """A sentence encoder by name; its weights are read on first use, once a process."""

    model: str
    batch_size: int = 64

    @property
    def signature(self) -> str:
        """Versions, weights, pooling and length limit."""
        return _load(self.model).signature

    def vectors(self, texts: Sequence[str]) -> list[Vectors]:
        """One vector a text, in order. Texts of like length share a batch; the model reads the first `max` pieces."""
        loaded, torch = _load(self.model), _module("torch")
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        found: list[Vectors] = [np.zeros(0)] * len(texts)
        with torch.no_grad():
            for start in range(0, len(order), self.batch_size):
                batch = order[start : start + self.batch_size]
                rows = loaded.embed([texts[at] for at in batch])
                for at, row in zip(batch, rows.cpu().numpy().astype(np.float64), strict=True):
                    found[at] = row
        return found


@dataclass(frozen=True, eq=False)
class _Loaded:
    network: Any
    tokenizer: Any
    pooling: str
    dense: tuple[Any, ...]
    limit: int
    lower: bool
    signature: str

    def embed(self, texts: list[str]) -> Any:
        """One row a text."""
        texts = [text.lower() for text in texts] if self.lower else texts
        inputs = self.tokenizer(texts, padding=True, truncation=True, max_length=self.limit, return_tensors="pt")
        inputs = inputs.to(self.network.device)
        states = self.network(**inputs).last_hidden_state
        rows = _pooled(states, inputs["attention_mask"].unsqueeze(-1).to(states.dtype), self.pooling)
        for layer in self.dense:
            rows = layer(rows)
        return rows


def _pooled(states: Any, mask: Any, how: str) -> Any:
    if how == "cls_token":
        return states[:, 0]
    if how == "max_tokens":
        return states.masked_fill(mask == 0, -1e9).max(dim=1).values
    return (states * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1e-9)


@lru_cache(maxsize=1)
def _load(model: str) -> _Loaded:
    torch, transformers = _module("torch"), _module("transformers")
    folder, name = _folder(model)
    settings, pooling, layers = _modules(folder, model)
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        network = transformers.AutoModel.from_pretrained(folder)
    except (OSError, ValueError) as error:
        raise UserError(f"--encoder {model!r} cannot be read: {error}") from error
    device = "cuda" if torch.cuda.is_available() else "cpu"
    dense = tuple(_dense(folder / path, torch).to(device) for path in layers)
    limit = min(settings.get("max_seq_length") or 512, network.config.max_position_embeddings, 512)
    weights = hashlib.sha256()
    for path in sorted(folder.rglob("*.safetensors")) or sorted(folder.rglob("*.bin")):
        with path.open("rb") as stream:
            weights.update(hashlib.file_digest(stream, "sha256").digest())
    versions = ", ".join(f"{package}-{version(package)}" for package in ("transformers", "torch"))
    signature = f"semantics-{VERSION}({name}@sha256:{weights.hexdigest()[:12]}, {pooling}, max:{limit}, {versions})"
    lower = bool(settings.get("do_lower_case"))
    return _Loaded(network.eval().to(device), tokenizer, pooling, dense, limit, lower, signature)


def _folder(model: str) -> tuple[Path, str]:
    """The model's files here, fetched once from the hub, and its name without a path."""
    if Path(model).is_dir():
        return Path(model), Path(model).name
    from huggingface_hub import snapshot_download  # an HTTP stack that a local folder has no use for
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    repository, _, revision = model.partition("@")
    try:
        return Path(snapshot_download(repository, revision=revision or None, ignore_patterns=["*.h5", "*.onnx"])), model
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(
            f"--encoder {model!r} is no folder, and the hub does not give it: {reason}; fetch it where there is a "
            "network, or name a folder"
        ) from error


def _modules(folder: Path, model: str) -> tuple[dict[str, Any], str, list[str]]:
    """The encoder's settings, the pooling, and the folders of dense layers."""
    pooling, layers = "mean_tokens", []
    listed = _json(folder / "modules.json", [{"type": "Transformer", "path": ""}])
    for module in listed:
        kind = module["type"].rpartition(".")[2]
        if kind == "Pooling":
            pooling = _pooling(_json(folder / module["path"] / "config.json", {}), model)
        elif kind == "Dense":
            layers.append(module["path"])
        elif kind not in ("Transformer", "Normalize"):  # a cosine does not see the length
            raise UserError(f"--encoder {model!r}: its module {kind!r} is not known here; name another model")
    return _json(folder / "sentence_bert_config.json", {}), pooling, layers


def _pooling(config: dict[str, Any], model: str) -> str:
    modes = [key.removeprefix("pooling_mode_") for key, on in config.items() if key.startswith("pooling_mode_") and on]
    if len(modes) != 1 or modes[0] not in _POOLINGS:
        raise UserError(f"--encoder {model!r}: pooling {modes} is not known here; one of {', '.join(_POOLINGS)}")
    return modes[0]


def _dense(folder: Path, torch: Any) -> Any:
    """One linear layer with its activation."""
    config = _json(folder / "config.json", {})
    name = str(config.get("activation_function", "Identity")).rpartition(".")[2]
    if name not in _ACTIVATIONS:
        raise UserError(f"{folder}: activation {name!r} is not known here; one of {', '.join(_ACTIVATIONS)}")
    layer = torch.nn.Linear(config["in_features"], config["out_features"], bias=config.get("bias", True))
    if (folder / "model.safetensors").is_file():
        state = import_module("safetensors.torch").load_file(folder / "model.safetensors")
    else:
        state = torch.load(folder / "pytorch_model.bin", map_location="cpu", weights_only=True)
    layer.load_state_dict({key.removeprefix("linear."): value for key, value in state.items()})
    return torch.nn.Sequential(layer, getattr(torch.nn, name)()).eval()


def _json(file: Path, default: Any) -> Any:
    return json.loads(file.read_text("utf-8")) if file.is_file() else default


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise UserError(f"--semantic: {name} is not installed; run scripts/setup, or: pip install {name}") from error
