"""`mixgrid agreement`: a file of ratings in long form, told by criterion and part; bad input by its row."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Ended, Mixgrid

SCALES = ["--level", "ordinal:No,Partially,Yes", "--level", "verdict=nominal:reject,keep"]
FEW = ["--draws", "100"]
# item, annotators' (clarity, verdict): clarity and verdict mostly go together
GIVEN = [
    ("Yes", "keep", "Yes", "keep"), ("No", "reject", "Partially", "reject"),
    ("Partially", "keep", "Partially", "reject"), ("Yes", "keep", "Partially", "keep"),
    ("No", "reject", "No", "reject"), ("Yes", "reject", "Yes", "keep"),
    ("No", "keep", "No", "reject"), ("Partially", "reject", "", "keep"),
]  # fmt: skip


def lines(names: str = "item,annotator,criterion,value") -> list[str]:
    """The ratings as csv; even items are Romanian with German, odd ones with English."""
    rows = [f"{names},language"]
    for i, (*first, clarity, verdict) in enumerate(GIVEN):
        for who, (c, v) in (("ana", first), ("bob", (clarity, verdict))):
            part = ("ro-de", "ro-en")[i % 2]
            rows += [f"s{i},{who},clarity,{c},{part}", f"s{i},{who},verdict,{v},{part}"]
    return rows


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    file = tmp_path / "ratings.csv"
    file.write_text("\n".join(lines()), "utf-8")
    return file


def refused(ended: Ended, *says: str) -> None:
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("mixgrid: ")
    assert ended.err.count("\n") == 1
    assert all(text in ended.err for text in says), ended.err


def test_tables_of_agreement_categories_and_drivers(ratings: Path, mixgrid: Mixgrid) -> None:
    ended = mixgrid("agreement", ratings, *SCALES, *FEW, "--verdict", "verdict", "--by", "language")
    assert ended.code == 0
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in ended.out.splitlines() if line[:1] == "|"]
    assert ["all", "clarity", "ordinal", "8", "2", "15"] in [row[:6] for row in cells]
    assert ["ro-de", "verdict", "nominal", "4", "2", "8"] in [row[:6] for row in cells]
    assert ["all", "verdict", "reject", "8", "50.0", "0.500"] in cells
    assert next(row[:2] for row in cells if row[1] in ("C=1", "none")) == ["all", "C=1"]
    assert "What drives verdict: logistic coefficients for keep" in ended.out
    assert "warning: 1 blank values count as missing" in ended.err
    assert "warning: all, clarity, fleiss is undefined: items have 1 to 2 ratings" in ended.err
    assert "warning: all: 1 incomplete ratings are left out" in ended.err


def test_json_has_the_numbers_with_their_outcomes(ratings: Path, mixgrid: Mixgrid) -> None:
    found = mixgrid("agreement", ratings, *SCALES, *FEW, "--verdict", "verdict", "--json").json
    verdict = found["agreement"][1]
    assert (verdict["criterion"], verdict["level"], verdict["items"]) == ("verdict", "nominal", 8)
    assert {a["coefficient"]: a["value"] for a in verdict["answers"]} == {
        "alpha": pytest.approx(1 - 15 * 8 / (2 * 64)), "fleiss": 0.0, "gwet": 0.0, "randolph": 0.0, "raw": 0.5,
    }  # fmt: skip
    (drivers,) = found["drivers"]
    assert (drivers["accepted"], drivers["incomplete"]) == ("keep", 1)
    assert [m["penalty"] for m in drivers["models"]] == ["C=1", "none"]
    assert drivers["models"][0]["coefficients"][0] > 0


def test_other_formats_names_and_orders_say_the_same(ratings: Path, tmp_path: Path, mixgrid: Mixgrid) -> None:
    rows = [line.split(",") for line in lines()[1:]]
    jsonl, tsv = tmp_path / "r.jsonl", tmp_path / "r.tsv"
    said = [{"id": i, "who": w, "criterion": c, "value": v or None} for i, w, c, v, _ in reversed(rows)]
    jsonl.write_text("\n".join(map(json.dumps, said)), "utf-8")
    tsv.write_text("\n".join(lines()).replace(",", "\t"), "utf-8")
    expected = mixgrid("agreement", ratings, *SCALES, *FEW, "--json").json
    assert mixgrid("agreement", tsv, *SCALES, *FEW, "--json").json == expected
    renamed = mixgrid("agreement", jsonl, *SCALES, *FEW, "--json", "--columns", "item=id,annotator=who")
    assert renamed.json == expected


def test_a_file_of_one_annotator_has_names_instead_of_numbers(tmp_path: Path, mixgrid: Mixgrid) -> None:
    file = tmp_path / "one.csv"
    file.write_text("item,annotator,criterion,value\na,ana,humor,1\nb,ana,humor,0\n")
    found = mixgrid("agreement", file, *FEW, "--json").json["agreement"][0]
    assert found["annotators"] == 1
    assert {a["outcome"] for a in found["answers"]} == {"undefined: no item has two ratings"}


@pytest.mark.parametrize(
    ("changed", "options", "says"),
    [
        ("s0,ana,clarity,Yes,ro-de", [], ["row 33", "s0 / ana / clarity was rated in row 1"]),
        ("s0,cy,clarity,Yes,ro-en", ["--by", "language"], ["row 33", "item s0 is in 'ro-de' and in 'ro-en'"]),
        ("s9,,clarity,Yes,ro-en", [], ["row 33: annotator is blank"]),
        ("s9,ana,clarity,Maybe,ro-en", SCALES, ["row 33", "'Maybe' is not of the declared scale"]),
        ("s9,ana,clarity,Yes", [], ["row 33", "4 cells under 5 columns"]),
        ("", ["--level", "interval"], ["row 1", "'Yes' is no number; say the order"]),
        ("s9,ana,size,-1,ro-en", ["--level", "size=ratio"], ["row 33", "'-1' is negative"]),
        ("", ["--level", "clarty=nominal"], ["no criterion 'clarty'", "did you mean 'clarity'?"]),
        ("", ["--level", "ordinl"], ["--level 'ordinl' is not"]),
        ("", ["--level", "ordinal:No,No"], ["each value once"]),
        ("", ["--verdict", "verdict"], ["'keep' has no number", "--level 'verdict=nominal:LOWEST,…,HIGHEST'"]),
        ("", [*SCALES, "--verdict", "clarity"], ["wants two values", "No, Partially, Yes"]),
        ("", ["--columns", "item=id"], ["row 1: no column 'id'", "--columns item=NAME"]),
        ("", ["--columns", "itm=id"], ["'itm=id' is not FIELD=COLUMN", "did you mean 'item'?"]),
        ("", ["--by", "langage"], ["no column 'langage'", "did you mean 'language'?"]),
    ],
)
def test_bad_input_is_told_by_its_row(
    ratings: Path, mixgrid: Mixgrid, changed: str, options: list[str], says: list[str]
) -> None:
    ratings.write_text("\n".join([*lines(), changed]), "utf-8")
    refused(mixgrid("agreement", ratings, *options), *says)


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("r.xlsx", b"", "names no format"), ("r.csv", b"item,annotator,criterion,value\n", "holds no rating"),
        ("r.csv", b"item\xff", "not UTF-8 at byte 4"), ("r.jsonl", b'{"item": "a"}', "no column 'annotator'"),
        ("r.jsonl", b'{"item": [1], "annotator": 1, "criterion": 1, "value": 1}', "1 of 1 rows are wrong"),
    ],
)  # fmt: skip
def test_a_file_that_holds_no_ratings(tmp_path: Path, mixgrid: Mixgrid, name: str, data: bytes, says: str) -> None:
    (tmp_path / name).write_bytes(data)
    refused(mixgrid("agreement", tmp_path / name), name, says)
    refused(mixgrid("agreement", tmp_path / "absent.csv"), "absent.csv", "cannot be read")


def test_free_text_is_no_scale(tmp_path: Path, mixgrid: Mixgrid) -> None:
    rows = [f"{i},ana,note,remark {i}" for i in range(201)]
    (tmp_path / "r.csv").write_text("\n".join(["item,annotator,criterion,value", *rows]))
    refused(mixgrid("agreement", tmp_path / "r.csv"), "criterion 'note' has 201 different values")
