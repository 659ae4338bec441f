"""MixSarc's Table 5, Offensive and Vulgar: no matrix is among the golden values; they are solved from what is printed.

With 1,364 posts, of which 55 and 67 are positive in the supervised rows and 72 and 65 in the others (the golden file's
note), the printed cells leave one matrix of whole numbers in each row. What cannot be checked: the accuracy of
Banglish-BERT on Offensive (printed .9508; with the other three cells it is 1297 / 1364 = .9509), which posts two labels
share, and so exact match, of which the paper prints no value.
"""

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from mixgrid.reduce import Options
from mixgrid.reduce.resample import Draws
from tests.report.test_papers import cells, confusion_grid, table

N = 1364
POSITIVES = {
    ("Offensive", "supervised"): 55, ("Vulgar", "supervised"): 67,
    ("Offensive", "zero-shot"): 72, ("Vulgar", "zero-shot"): 65,
}  # fmt: skip
PRINTED = {  # accuracy, precision, recall, F1
    ("Offensive", "supervised", "Banglish-BERT"): (0.9508, 0.1250, 0.0364, 0.0563),
    ("Offensive", "supervised", "Gemma-2B"): (0.9589, 0.0, 0.0, 0.0),
    ("Offensive", "zero-shot", "Claude_Opus_4.8"): (0.8570, 0.2140, 0.6389, 0.3206),
    ("Offensive", "zero-shot", "GPT-5.5"): (0.8710, 0.2143, 0.5417, 0.3071),
    ("Offensive", "zero-shot", "Kimi_K2_0711"): (0.9142, 0.2353, 0.2778, 0.2548),
    ("Offensive", "zero-shot", "Gemini_2.5_Flash"): (0.9076, 0.1786, 0.2083, 0.1923),
    ("Offensive", "zero-shot", "LLaMA_4_Maverick"): (0.9164, 0.2083, 0.2083, 0.2083),
    ("Vulgar", "supervised", "Banglish-BERT"): (0.9509, 0.5, 0.1194, 0.1928),
    ("Vulgar", "supervised", "Gemma-2B"): (0.9509, 0.5, 0.0299, 0.0563),
    ("Vulgar", "zero-shot", "Claude_Opus_4.8"): (0.9326, 0.3373, 0.4308, 0.3784),
    ("Vulgar", "zero-shot", "GPT-5.5"): (0.9172, 0.25, 0.3692, 0.2981),
    ("Vulgar", "zero-shot", "Kimi_K2_0711"): (0.9311, 0.3014, 0.3385, 0.3188),
    ("Vulgar", "zero-shot", "Gemini_2.5_Flash"): (0.9238, 0.2809, 0.3846, 0.3247),
    ("Vulgar", "zero-shot", "LLaMA_4_Maverick"): (0.9362, 0.25, 0.1692, 0.2018),
}
UNREACHED = {("Offensive", "supervised", "Banglish-BERT"): {"Acc."}}
TITLES = ("Acc.", "Prec.", "Rec.", "F1")


def matrices(row: tuple[str, str, str]) -> list[dict[str, Any]]:
    """Every matrix of whole numbers that gives the printed cells."""
    label, kind, model = row
    positives = POSITIVES[label, kind]
    found = []
    for tp, fp in product(range(positives + 1), range(400)):
        fn = positives - tp
        cells = ((N - fn - fp) / N, tp / max(tp + fp, 1), tp / positives, 2 * tp / (2 * tp + fp + fn))
        wanted = zip(TITLES, cells, PRINTED[row], strict=True)
        if all(f"{value:.4f}" == f"{printed:.4f}" for t, value, printed in wanted if t not in UNREACHED.get(row, ())):
            found.append({"label": label, "kind": kind, "model": model, "n": N, "tp": tp, "fp": fp, "fn": fn})
    return found


@pytest.mark.parametrize("row", PRINTED, ids=" ".join)
def test_the_printed_cells_leave_one_matrix(row: tuple[str, str, str]) -> None:
    assert len(matrices(row)) == 1


@pytest.mark.parametrize("kind", ["supervised", "zero-shot"])
def test_these_matrices_as_predictions_give_the_printed_cells(tmp_path: Path, kind: str) -> None:
    mine = [row for row in PRINTED if row[1] == kind]
    result = confusion_grid(tmp_path, [matrices(row)[0] for row in mine]).reduce(Options(draws=Draws(0)))
    found = cells(table("mixsarc-table-5", list(result.scores)))
    for label, _, model in mine:
        shown = found[label, {"supervised": "Supervised", "zero-shot": "Zero-shot"}[kind], model]
        for title, printed in zip(TITLES, PRINTED[label, kind, model], strict=True):
            reached = title not in UNREACHED.get((label, kind, model), ())
            assert (shown[title] == f"{printed:.4f}") is reached
