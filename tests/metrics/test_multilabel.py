"""The multi-label family against its golden file (sklearn 1.9.1), and rows that cannot be read."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, hamming_loss

from mixgrid.metrics.base import Answer, Array, Policies
from mixgrid.metrics.multilabel import MultiLabel, tables_of

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parents[1] / "golden" / "multilabel.json").read_text())
LABELS = ("humor", "sarcasm", "offensive", "vulgar")
rows = st.lists(st.tuples(*[st.lists(st.integers(0, 1), min_size=4, max_size=4)] * 2), min_size=1, max_size=12)


def text(flags: list[int]) -> str:
    return json.dumps(dict(zip(LABELS, flags, strict=True)))


def stats(gold: list[list[int]], said: list[list[int] | None], policies: Policies | None = None) -> Array:
    family = MultiLabel(LABELS, policies)
    answers = [Answer("unparsed") if s is None else Answer("ok", text(s)) for s in said]
    return family.statistics([tuple(g) for g in gold], answers)


def values(gold: list[list[int]], said: list[list[int] | None], policies: Policies | None = None) -> dict[str, Any]:
    total = stats(gold, said, policies).sum(axis=0)
    return {m.name: m.value(total)[0] for m in MultiLabel(LABELS, policies).metrics}


def test_golden_counts() -> None:
    tables = tables_of(stats(GOLDEN["Y"], GOLDEN["P"]).sum(axis=0)).reshape(4, 2, 4)
    assert tables[:, :, :2].tolist() == GOLDEN["confusions"]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("exact_match", GOLDEN["exact_match"]),
        ("hamming_loss", GOLDEN["hamming_loss"]),
        ("macro_f1", GOLDEN["macro_f1_two_definitions"]["mean_of_f1"]),
        ("macro_f1_of_means", GOLDEN["macro_f1_two_definitions"]["f1_of_means"]),
        *zip(("macro_precision", "macro_recall", "macro_f1"), GOLDEN["macro_zd0"], strict=True),
        *zip(("micro_precision", "micro_recall", "micro_f1"), GOLDEN["micro_zd0"], strict=True),
        *zip(("weighted_precision", "weighted_recall", "weighted_f1"), GOLDEN["weighted_zd0"], strict=True),
        ("samples_jaccard", GOLDEN["jaccard_samples"]),
        *zip(("samples_precision", "samples_recall", "samples_f1"), GOLDEN["samples_zd0"], strict=True),
        *zip(("samples_precision_zd1", "samples_recall_zd1", "samples_f1_zd1"), GOLDEN["samples_zd1"], strict=True),
        *((f"precision_{n}", v) for n, v in zip(LABELS, GOLDEN["per_label"]["p"], strict=True)),
        *((f"recall_{n}", v) for n, v in zip(LABELS, GOLDEN["per_label"]["r"], strict=True)),
        *((f"f1_{n}", v) for n, v in zip(LABELS, GOLDEN["per_label"]["f"], strict=True)),
    ],
)
def test_golden_values(name: str, wanted: float) -> None:
    assert values(GOLDEN["Y"], GOLDEN["P"])[name] == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize(("policy", "key"), [("wrong", "all_wrong"), ("labels", "all_zero")])
def test_golden_unparsed_row_under_each_policy(policy: Any, key: str) -> None:
    said = [s if i != 1 else None for i, s in enumerate(GOLDEN["P"])]
    found, wanted = values(GOLDEN["Y"], said, Policies(unparsed=policy)), GOLDEN[f"row1_unparseable_as_{key}"]
    assert found["exact_match"] == pytest.approx(wanted["exact"])
    assert found["macro_f1"] == pytest.approx(wanted["macro_f1"])


def test_unparsed_row_earns_nothing_on_its_negatives() -> None:
    gold = [[0, 0, 0, 0], [1, 1, 1, 1]]
    unread, zeros = values(gold, [None, [1, 1, 1, 1]]), values(gold, [[0, 0, 0, 0], [1, 1, 1, 1]])
    assert (unread["exact_match"], zeros["exact_match"]) == (0.5, 1.0)
    assert (unread["hamming_loss"], zeros["hamming_loss"]) == (0.5, 0.0)
    assert unread["unparsed"] == 0.5
    assert values(gold, [None, [1, 1, 1, 1]], Policies(unparsed="drop"))["exact_match"] == 1.0


@given(rows)
def test_averages_equal_sklearn(pairs: list[tuple[list[int], list[int]]]) -> None:
    gold, said = [g for g, _ in pairs], [s for _, s in pairs]
    total = stats(gold, list(said)).sum(axis=0)
    found = {m.name: float(m.total(total)) for m in MultiLabel(LABELS).metrics}
    for average, name in (("macro", "macro_f1"), ("micro", "micro_f1"), ("samples", "samples_f1")):
        assert found[name] == pytest.approx(f1_score(gold, said, average=average, zero_division=0))
    assert found["hamming_loss"] == pytest.approx(hamming_loss(gold, said))
    assert found["exact_match"] == pytest.approx(np.mean([g == s for g, s in pairs]))


@given(rows)
def test_trivial_systems_score_as_their_answers_would(pairs: list[tuple[list[int], list[int]]]) -> None:
    gold = [g for g, _ in pairs]
    total, family = stats(gold, [s for _, s in pairs]).sum(axis=0), MultiLabel(LABELS)
    for name, flag in (("all no", 0), ("all yes", 1)):
        direct = stats(gold, [[flag] * 4] * len(gold)).sum(axis=0)
        for metric in (m for m in family.metrics if m.name in family.headline):
            assert metric.total(family.baselines[name](total)) == pytest.approx(metric.total(direct))


def test_label_without_items_is_named() -> None:
    total = stats([[1, 1, 0, 0]], [[1, 1, 0, 0]]).sum(axis=0)
    notes = {m.name: m.value(total)[1] for m in MultiLabel(LABELS).metrics}
    assert notes["macro_f1"] == "n/a (no item has offensive, vulgar)"
    assert notes["f1_vulgar"] == "n/a (no item has vulgar)"
    assert notes["f1_humor"] == ""
