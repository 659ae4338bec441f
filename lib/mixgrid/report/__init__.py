"""Score rows, or a survey → one HTML page, and tables in Markdown, CSV and LaTeX. The same input gives the same bytes.

>>> from mixgrid.report import FORMATS
>>> sorted(FORMATS)
['csv', 'md', 'tex']
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from mixgrid.errors import UserError
from mixgrid.records import Score
from mixgrid.reduce import Reduction, load
from mixgrid.report.compared import comparisons, every_test
from mixgrid.report.csv import to_csv
from mixgrid.report.described import every_measure, survey_tables
from mixgrid.report.figures import figures
from mixgrid.report.html import page, survey_page
from mixgrid.report.latex import latex
from mixgrid.report.markdown import markdown, plain
from mixgrid.report.papers import paper_tables
from mixgrid.report.plots import plots
from mixgrid.report.table import Table, every_score, overview, population, populations, tables
from mixgrid.store import Store
from mixgrid.survey import Survey

FORMATS: Mapping[str, Callable[[Table], str]] = {
    "csv": to_csv,
    "md": markdown,
    "tex": latex,
}


def report(store: Store, namespace: str, reduction_id: str, out: Path | None = None) -> list[str]:
    """Write a reduction's page and tables into the store, and into `out` too; the page's place comes first.

    UserError where the store has no such reduction.
    """
    reduction = load(store, namespace, reduction_id)
    written = ((name, text.encode("utf-8")) for name, text in files(reduction))
    return _publish(store, f"{namespace}/reports/{reduction_id}", written, out)


def report_survey(store: Store, survey: Survey, out: Path | None = None) -> list[str]:
    """The same for a survey, in its folder, with its pictures."""
    return _publish(store, survey.folder, survey_files(survey), out)


def _publish(store: Store, folder: str, written: Iterable[tuple[str, bytes]], out: Path | None) -> list[str]:
    """Write files into a folder of the store, and into `out` too; gives the place of each."""
    places = []
    for name, data in written:
        store.put(f"{folder}/{name}", data)
        places.append(f"{store.url}/{folder}/{name}")
        if out is not None:
            _write(out / name, data)
            places[-1] = str(out / name)
    return places


def _write(file: Path, data: bytes) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    except OSError as error:
        raise UserError(f"{file} cannot be written ({error.strerror}); name a writable folder with --out") from error


def survey_files(survey: Survey) -> Iterator[tuple[str, bytes]]:
    """(name, bytes) of every file of a survey's report, the page first."""
    tables, drawn = survey_tables(survey), plots(survey.rows)
    yield "index.html", survey_page(survey, tables, drawn).encode()
    for table in tables:
        for ending, written in FORMATS.items():
            yield f"tables/{table.name}.{ending}", written(table).encode()
    yield "tables/all-measures.csv", to_csv(every_measure(survey)).encode()
    for plot in drawn:
        yield f"plots/{plot.name}.svg", plot.svg
        yield f"plots/{plot.name}.png", plot.png


def files(reduction: Reduction) -> Iterator[tuple[str, str]]:
    """(name, text) of every file of a report, the page first."""
    yield "index.html", page(reduction)
    compared = [comparisons(reduction.tests)] if reduction.tests else []
    for table in (*tables(reduction.scores), *compared, *paper_tables(reduction.scores, reduction.tests)):
        for ending, written in FORMATS.items():
            yield f"tables/{table.name}.{ending}", written(table)
    for figure in figures(reduction.scores):
        yield f"figures/{figure.name}.svg", figure.svg
    yield "tables/all-scores.csv", to_csv(every_score(reduction.scores))
    yield "tables/all-tests.csv", to_csv(every_test(reduction.tests))


def score_table(scores: Sequence[Score]) -> str:
    """The overview of every corpus split and task, as text for a terminal."""
    return "\n".join(plain(overview(key, [s for s in scores if population(s) == key])) for key in populations(scores))
