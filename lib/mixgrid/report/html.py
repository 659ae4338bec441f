"""The HTML page: one file, nothing loaded from anywhere, readable on a phone; every text in it is escaped."""

import base64
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from mixgrid.records import Score
from mixgrid.reduce import Reduction
from mixgrid.reduce.scores import BASELINE
from mixgrid.report.compared import comparisons
from mixgrid.report.figures import figures
from mixgrid.report.papers import paper_tables
from mixgrid.report.plots import Plot
from mixgrid.report.table import Table, account_table, headline, population, populations, status_table, tables
from mixgrid.survey import Survey
from mixgrid.visible import visible


def page(reduction: Reduction) -> str:
    """The whole page of a reduction."""
    scores, inputs = reduction.scores, reduction.inputs
    compared = [comparisons(reduction.tests)] if reduction.tests else []
    return _template("page").render(
        title=title(scores, inputs),
        reduction=reduction.id,
        tables=[*tables(scores), *compared, *paper_tables(scores, reduction.tests)],
        figures=figures(scores),
        warnings=reduction.warnings,
        incomplete=any(s.n < s.expected for s in scores if s.model != BASELINE),
        unparsed=[cell for cell in inputs["unparsed"] if cell["top"]],
        signatures=_signatures(scores),
        accounts=[account_table(inputs), status_table(inputs)],
        inputs=inputs,
    )


def title(scores: Sequence[Score], inputs: Mapping[str, Any]) -> str:
    """What the page is about; a report with a canned answer in it says so first."""
    tasks = ", ".join(sorted({s.task for s in scores})) or "no scores"
    return f"{'CANNED ANSWERS: ' if canned(inputs) else ''}mixgrid: {tasks}"


def canned(inputs: Mapping[str, Any]) -> bool:
    """Whether any row is from the engine that makes its answers up."""
    return any(engine.split()[0].startswith("canned") for engine in inputs["engines"] if engine.strip())


def _signatures(scores: Sequence[Score]) -> list[Score]:
    """Of each cell, the headline scores over all of its items."""
    found = []
    for key in populations(scores):
        own = [s for s in scores if population(s) == key]
        shown = set(headline(own))
        found += [s for s in own if s.metric in shown and s.language == s.switching == "all"]
    return found


def survey_page(survey: Survey, tables: Sequence[Table], plots: Sequence[Plot]) -> str:
    """The whole page of a survey; its pictures are in it."""
    title = f"mixgrid: {', '.join(survey.corpora)}"
    return _template("survey").render(title=title, survey=survey, tables=tables, plots=plots)


@cache
def _template(name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["visible"] = visible
    environment.filters["base64"] = lambda data: base64.b64encode(data).decode()
    return environment.get_template(f"{name}.html.jinja")
