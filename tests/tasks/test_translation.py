"""Translation: what each kind of piece is asked with, and a grid over parallel sentences that ends in BLEU."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import sacrebleu
import yaml

from mixgrid.corpora import load_corpora, read
from mixgrid.corpora.snapshot import write_snapshot
from mixgrid.plan.grid import resolve
from mixgrid.prompts import Prompts
from mixgrid.records import Item
from mixgrid.reduce.grid import reduce_grid
from mixgrid.tasks import TASKS
from tests.helpers import TOY, ask

PROMPTS = Prompts()
TASK = TASKS["translation"]
PIECE = Item(
    "toy",
    "1",
    "s",
    None,
    "c",
    "test",
    "ro-de",
    "none",
    0,
    text="gardul lui <PERSON>",
    topic="E aici gardul lui <PERSON>.",
)
PAIRS = {"Pasar iku rame.": "The market is busy.", "Aku lagi mlaku.": "I am walking."}


def prompt(task: str = "translation", **fields: object) -> str:
    item = replace(PIECE, item_hash="", **fields)  # type: ignore[arg-type]
    order = TASKS[task].order(item)
    (message,) = PROMPTS.render(TASKS[task].settings["zero-shot"].template, TASKS[task].context(item, order, ()))
    return message.content


@pytest.mark.parametrize(
    ("unit", "said", "around"),
    [("word", "The word: ", False), ("phrase", "The phrase: ", False), ("subtree", "The part: ", True),
     ("sentence", "The sentence: ", False), (None, "The sentence: ", False)],
)  # fmt: skip
def test_only_a_part_of_a_sentence_is_shown_with_it(unit: str | None, said: str, around: bool) -> None:
    text = prompt(category=unit)
    assert text.endswith(f"{said}gardul lui <PERSON>")
    assert ("E aici gardul" in text) == around
    assert "Romanian" in text
    assert "German" in text


def test_tags_are_asked_for_where_there_are_some() -> None:
    assert "Copy <PERSON> as they are" in prompt(category="phrase")
    assert "Copy" not in prompt(category="phrase", text="gardul", topic=None)
    assert "Copy <PERSON>, <GPE> as they are" in prompt("code-mixing", text="<PERSON> și <GPE> și <PERSON>")


def test_a_mixed_sentence_names_the_frame_and_what_is_mixed_in() -> None:
    text = prompt("code-mixing", language="ro-de")
    assert "Romanian stays the frame" in text
    assert "into German" in text


def test_only_two_languages_can_be_translated_and_more_can_be_mixed() -> None:
    for tag, accepted in (("ro", (False, False)), ("ro-de", (True, True)), ("su-id-en", (False, True))):
        item = replace(PIECE, language=tag, item_hash="")
        assert (TASK.accepts(item), TASKS["code-mixing"].accepts(item)) == accepted


def test_a_grid_over_parallel_sentences_is_scored_with_bleu_and_chrf(tmp_path: Path) -> None:
    answers = [f"<translation>{said}</translation>" for said in (*PAIRS.values(), "The market is quiet.")]
    files = {
        "models.yaml": {"models": {"toy": {**TOY, "engine_args": {"answers": answers}}}},
        "corpora.yaml": {"corpora": {"pairs": {
            "reader": "table", "path": "pairs.jsonl", "licence": "Apache-2.0", "tasks": ["translation"],
            "columns": {"text": "jv", "references": ["en"]}, "constants": {"language": "jv-en", "split": "test"},
        }}},
        "grid.yaml": {"name": "t", "corpora": [{"name": "pairs"}], "tasks": ["translation"], "models": ["toy"],
                      "settings": ["zero-shot"], "seeds": [1]},
    }  # fmt: skip
    for name, value in files.items():
        (tmp_path / name).write_text(yaml.safe_dump(value), "utf-8")
    rows = [{"jv": f"{n}: {said}", "en": meant} for n in range(10) for said, meant in PAIRS.items()]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    grid = resolve(tmp_path / "grid.yaml", str(tmp_path / "store"))
    write_snapshot(grid.slices[0].whole, grid.store)
    ask(grid)
    found = {(s.metric, s.language): s for s in reduce_grid(grid).scores if s.switching == "all"}
    score = found["bleu_corpus", "jv-en"]
    assert score.n == len(rows)
    assert score.value is not None
    assert 0 < score.value < 1
    assert score.ci_low is not None
    assert score.ci_low <= score.value <= (score.ci_high or 0)
    assert sacrebleu.__version__ in score.signature
    assert found["unparsed", "jv-en"].value == 0


def test_the_parallel_corpus_of_the_catalogue_goes_from_three_languages_to_english_and_back(
    root: Path, shared: Path
) -> None:
    items = read(load_corpora(root / "manifests" / "corpora.yaml")["nusax-mt"])
    assert {i.language for i in items} == {"id-en", "jv-en", "su-en", "en-id"}
    assert len(items) == 4 * 400
    assert all(TASK.accepts(item) and len(item.references) == 1 for item in items)
