"""BERTScore (Zhang et al. 2020) by bert-score's own functions, with the edges that it leaves open made firm.

- A blank text never reaches the model (bert-score 0.3.13 crashes on one): its raw P, R and F are 0, status `empty`.
  Rescaled with a baseline, that 0 goes below zero like every other score.
- The model reads no further than its positions. The limit is set before tokenizing (without it a tokenizer that states
  none overflows), and texts beyond it are counted as `truncated`: two long texts that differ at their ends score 1.
- A pair of equal texts must score 1 before anything else is scored.
- Several references: the best P, the best R and the best F, each by itself, as bert-score takes them; or the means.
- `bertscore_unk`: the share of a prediction's word pieces that the model does not know. Unknown words look alike, so a
  model with a high share (an English one on Arabic) gives high scores that mean nothing.
"""

import copy
import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from mixgrid.errors import MixgridError, UserError
from mixgrid.metrics import texts
from mixgrid.metrics.texts import FloatArray, Pairs, TextScores

NAMES = ("bertscore_p", "bertscore_r", "bertscore_f")
WINDOW = 1 << 19  # word pieces whose embeddings are held at one time: 2 GiB at 1,024 dimensions
UNSTATED = 512  # positions, for a model and a tokenizer that both state none
Pair = tuple[str, str]


@dataclass(frozen=True)
class Encoder:
    """Which model embeds: a local folder or a hub name, and how many of its layers.

    `layers` 0: bert-score's own choice for that hub name. `device` "": cuda where there is one. `baseline`: P, R and F
    to rescale by. `idf_texts`: where word pieces get their weights from; without them all weigh the same.
    """

    model: str
    layers: int = 0
    device: str = ""
    batch_size: int = 64
    baseline: tuple[float, float, float] | None = None
    idf_texts: tuple[str, ...] = ()


def score(
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    encoder: Encoder,
    multi: str = "max",
    languages: Sequence[str] | None = None,
) -> TextScores:
    """P, R and F per item (raw: about 0..1, cosine similarity), each distinct pair scored once."""
    pairs = Pairs.of(predictions, references, languages, multi)
    loaded = _load(encoder.model, encoder.layers, encoder.device)
    hypotheses, targets = pairs.flat()
    pieces = _Pieces(loaded)
    raw = _flat(list(zip(hypotheses, targets, strict=True)), pieces, encoder)
    base = np.asarray(encoder.baseline or (0.0, 0.0, 0.0))
    values = _combine((raw - base) / (1 - base), pairs, multi)
    unknown = np.array([pieces[text].unknown for text in pairs.predictions], dtype=np.float64)
    return TextScores(
        {**{name: values[:, i] for i, name in enumerate(NAMES)}, "bertscore_unk": unknown},
        tuple(_status(p, refs, pieces) for p, refs in zip(pairs.predictions, pairs.references, strict=True)),
        f"bertscore({loaded.signature}{_weights(encoder)})|{pairs.note('model')}",
    )


@dataclass(frozen=True, eq=False)
class _Loaded:
    network: Any
    tokenizer: Any
    probe: Any  # the same tokenizer, reading one piece further: what fills it was longer than the model reads
    device: str
    max_length: int
    signature: str


@dataclass(frozen=True)
class _Text:
    pieces: int  # special tokens included
    words: int  # without them
    unknown: float
    truncated: bool


class _Pieces(dict[str, _Text]):
    """What the tokenizer makes of each distinct text."""

    def __init__(self, loaded: _Loaded) -> None:
        super().__init__()
        self.loaded = loaded
        self._special = loaded.tokenizer.num_special_tokens_to_add()

    def __missing__(self, text: str) -> _Text:
        self[text] = found = self._look(text) if text.strip() else _Text(0, 0, 0.0, False)
        return found

    def _look(self, text: str) -> _Text:
        ids = texts.load("bert_score.utils").sent_encode(self.loaded.probe, text)
        words = len(ids) - self._special
        unknown = ids.count(self.loaded.tokenizer.unk_token_id) / words if words else 0.0
        limit = self.loaded.max_length
        return _Text(min(len(ids), limit), words, unknown, len(ids) > limit)


def _status(prediction: str, references: Sequence[str], pieces: _Pieces) -> str:
    seen = [pieces[text] for text in (prediction, *references)]
    if not seen[0].words or not any(text.words for text in seen[1:]):
        return "empty" if texts.blank(prediction, references) else "no_words"
    return "truncated" if any(text.truncated for text in seen) else "ok"


def _combine(flat: FloatArray, pairs: Pairs, multi: str) -> FloatArray:
    starts = pairs.starts()
    if multi == "mean" or not len(starts):
        return texts.mean(flat, starts)
    best: FloatArray = np.maximum.reduceat(flat, starts, axis=0)
    return best


def _flat(pairs: Sequence[Pair], pieces: _Pieces, encoder: Encoder) -> FloatArray:
    """Raw (P, R, F) per pair; pairs with a side that has no word pieces stay 0."""
    distinct = {pair: place for place, pair in enumerate(sorted(set(pairs), key=lambda pair: pair[::-1]))}
    scored = np.zeros((len(distinct), len(NAMES)))
    weights = _idf(pieces.loaded, encoder.idf_texts)
    full = [pair for pair in distinct if pieces[pair[0]].words and pieces[pair[1]].words]
    for window in _windows(full, pieces):
        rows = [distinct[pair] for pair in window]
        scored[rows] = _run(pieces.loaded, window, weights, encoder.batch_size)
    return scored[[distinct[pair] for pair in pairs]] if pairs else scored


def _windows(pairs: Sequence[Pair], pieces: _Pieces) -> Iterator[list[Pair]]:
    """Cut where the distinct texts' embeddings would fill the memory. Pairs come by reference: few texts straddle."""
    window: list[Pair] = []
    held: set[str] = set()
    size = 0
    for pair in pairs:
        size += sum(pieces[text].pieces for text in {*pair} - held)
        if window and size > WINDOW:
            yield window
            window, held = [], set()
            size = sum(pieces[text].pieces for text in {*pair})
        window.append(pair)
        held.update(pair)
    if window:
        yield window


def _run(loaded: _Loaded, pairs: Sequence[Pair], weights: Mapping[int, float], batch_size: int) -> FloatArray:
    """One window: each distinct text embedded once, in batches of like length, then the pairs matched one by one.

    bert-score matches in padded batches and takes the padding's 0 for a similarity: where all similarities of a word
    are negative, its score depends on the company. A pair alone has no padding.
    """
    library, torch = texts.load("bert_score.utils"), texts.load("torch")
    held = _embed(loaded, sorted({text for pair in pairs for text in pair}, key=len), weights, batch_size)
    with torch.no_grad():
        scored = [library.greedy_cos_idf(*_one(held[reference]), *_one(held[text])) for text, reference in pairs]
        values: FloatArray = torch.stack([torch.cat(row) for row in scored]).cpu().numpy().astype(np.float64)
    return values


def _embed(
    loaded: _Loaded, distinct: Sequence[str], weights: Mapping[int, float], batch_size: int
) -> Mapping[str, Sequence[Any]]:
    """Text → its embedding, mask and weights, without padding."""
    embed = texts.load("bert_score.utils").get_bert_embedding
    held = {}
    for start in range(0, len(distinct), batch_size):
        batch = distinct[start : start + batch_size]
        columns = embed(batch, loaded.network, loaded.tokenizer, weights, device=loaded.device)
        for text, *row in zip(batch, *columns, strict=True):
            size = int(row[1].sum())
            held[text] = [tensor[:size].clone() for tensor in row]
    return held


def _one(held: Sequence[Any]) -> Iterator[Any]:
    """A batch of one; a copy, because bert-score normalises in place."""
    return (tensor.unsqueeze(0).clone() for tensor in held)


def _idf(loaded: _Loaded, idf_texts: Sequence[str]) -> Mapping[int, float]:
    """Weight per word piece; [CLS] and [SEP] weigh nothing, but can be matched, as in bert-score."""
    if not idf_texts:
        return defaultdict(lambda: 1.0, {loaded.tokenizer.sep_token_id: 0.0, loaded.tokenizer.cls_token_id: 0.0})
    there = [text for text in idf_texts if text.strip()]
    weights: Mapping[int, float] = texts.load("bert_score.utils").get_idf_dict(there, loaded.tokenizer, nthreads=0)
    return weights


def _weights(encoder: Encoder) -> str:
    idf = hashlib.sha256("\0".join(encoder.idf_texts).encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f", idf:{idf if encoder.idf_texts else 'no'}, baseline:{encoder.baseline or 'no'}"


@lru_cache(maxsize=1)
def _load(model: str, layers: int, device: str) -> _Loaded:
    """Load a model once a process, and let the canary sing."""
    library, torch = texts.load("bert_score.utils"), texts.load("torch")
    layers = layers or _known_layers(model, library.model2layers)
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    tokenizer, network = _read(model, layers)
    network.to(device)
    tokenizer.model_max_length = limit = max_length(network, tokenizer)
    probe = copy.copy(tokenizer)
    probe.model_max_length = limit + 1
    versions = ", ".join(f"{name}-{texts.version(name)}" for name in ("bert-score", "transformers", "torch"))
    signature = f"{versions}, {_identity(model, network)}, layers:{layers}, max:{limit}"
    loaded = _Loaded(network, tokenizer, probe, device, limit, signature)
    _canary(loaded)
    return loaded


def _read(model: str, layers: int) -> tuple[Any, Any]:
    """Tokenizer and network, with bert-score's way of dropping the layers above `layers`."""
    library, transformers = texts.load("bert_score.utils"), texts.load("transformers")
    try:
        kind = transformers.AutoConfig.from_pretrained(model).model_type
        if "t5" in model and "t5" not in kind:
            raise UserError(f"encoder {model!r}: bert-score takes any name with 't5' in it for a T5 model; rename it")
        return library.get_tokenizer(model, use_fast=True), library.get_model(model, layers)
    except (OSError, ValueError) as error:
        raise UserError(f"encoder {model!r} cannot be read: {error}; give a local folder or a hub name") from error
    except AssertionError as error:
        raise UserError(f"encoder {model!r}: layers {layers}: {error}") from error


def _known_layers(model: str, known: Mapping[str, int]) -> int:
    if model not in known:
        raise UserError(f"encoder {model!r}: bert-score knows no best layer for it; set `layers` (1 to its last layer)")
    return known[model]


def max_length(network: Any, tokenizer: Any) -> int:
    """Word pieces that the model can read: the least of what model and tokenizer state.

    RoBERTa and its kin number positions from behind the padding index, so they read fewer than they have.
    """
    stated = getattr(network.config, "max_position_embeddings", None)
    table = getattr(getattr(network, "embeddings", None), "position_embeddings", None)
    padding = getattr(table, "padding_idx", None)
    limits = [tokenizer.model_max_length]
    if stated is not None and stated > 0:
        limits.append(stated - (0 if padding is None else padding + 1))
    limit = int(min(limits))
    return limit if limit < 1_000_000 else UNSTATED  # transformers says "none" with 10^30


def _identity(model: str, network: Any) -> str:
    """Name and revision: the hub's commit, or for a folder the digest of its weights. The path itself stays private."""
    folder = Path(model)
    if not folder.is_dir():
        return f"{model}@{getattr(network.config, '_commit_hash', None) or 'unknown'}"
    digest = hashlib.sha256()
    for path in sorted([*folder.glob("*.safetensors"), *folder.glob("*.bin")]):
        with path.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return f"{folder.name}@sha256:{digest.hexdigest()[:12]}"


def _canary(loaded: _Loaded) -> None:
    value = float(_run(loaded, [("x", "x")], _idf(loaded, ()), 1)[0, 2])
    if not abs(value - 1) <= 1e-4:  # also true for nan
        raise MixgridError(
            f"BERTScore of a text against itself is {value}, not 1, with {loaded.signature}: these versions do not fit "
            "each other; install the ones that `mixgrid[score]` pins"
        )
