"""PINGPONG's figures: a row where both values are, escaped, and nothing else in the drawing."""

from xml.etree import ElementTree as ET

from mixgrid.records import Score
from mixgrid.report.figures import Figure, figures
from tests.report.test_report import inputs, paged, score

SVG = "{http://www.w3.org/2000/svg}"


def cell(task: str, metric: str, model: str, setting: str, value: float, language: str = "all") -> Score:
    return score(task=task, metric=metric, model=model, setting=setting, value=value, language=language)


def titles(figure: Figure) -> list[str]:
    """What each row says of itself."""
    return [element.text or "" for element in ET.fromstring(figure.svg).iter(f"{SVG}title")]


def test_a_model_stands_where_it_was_asked_both_ways() -> None:
    found = figures(
        [
            cell("dialogue-qa", "accuracy_answerable", "a", "0-shot", 0.5),
            cell("dialogue-qa", "accuracy_answerable", "a", "0-shot-reasoning", 0.75),
            cell("dialogue-qa", "accuracy_answerable", "b", "0-shot", 0.5),
            cell("dialogue-summary", "rougeL", "b", "0-shot", 0.25),
            cell("dialogue-summary", "rougeL", "b", "1-shot", 0.3),
            cell("dialogue-summary", "rougeL", "b", "3-shot", 0.35),
        ]
    )
    assert {figure.name: titles(figure) for figure in found} == {
        "pingpong-figure-5": ["a, qa: 50.0 → 75.0"],
        "pingpong-figure-6": ["b, summary: 25.0 → 35.0"],
    }


def test_answerable_and_unanswerable_are_means_over_the_models_that_have_both() -> None:
    scores = [
        cell("dialogue-qa", f"accuracy_{case}", model, setting, value, "id-en")
        for case, model, setting, value in (
            ("answerable", "a", "0-shot", 0.2), ("answerable", "a", "1-shot", 0.4), ("answerable", "b", "0-shot", 0.4),
            ("answerable", "b", "1-shot", 0.5), ("answerable", "c", "0-shot", 0.9),
            ("unanswerable", "a", "0-shot", 0.1), ("unanswerable", "a", "1-shot", 0.0),
        )
    ]  # fmt: skip
    (found,) = figures(scores)
    assert found.name == "pingpong-figure-4-shots"
    assert titles(found) == ["id-en, answerable (2 models): 30.0 → 45.0", "id-en, unanswerable (1 models): 10.0 → 0.0"]


def test_a_hostile_name_is_text_and_the_page_has_the_drawing() -> None:
    name = '<script>alert("&")</script>\x1b[31m'
    scores = [cell("dialogue-topic", "accuracy", name, s, 0.5) for s in ("0-shot", "0-shot-thinking")]
    (found,) = figures(scores)
    assert [element.tag for element in ET.fromstring(found.svg).iter() if "script" in element.tag] == []
    text = paged("r", scores, inputs(), [])
    assert "<svg " in text
    assert "<script" not in text
    assert "\x1b" not in text


def test_scores_of_other_tasks_have_no_figure() -> None:
    assert figures([score()]) == []
