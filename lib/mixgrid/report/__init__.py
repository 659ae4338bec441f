"""Score rows → one HTML page, and tables in Markdown, CSV and LaTeX. The same reduction gives the same bytes.

>>> from mixgrid.report import FORMATS
>>> sorted(FORMATS)
['csv', 'md', 'tex']
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from mixgrid.errors import UserError
from mixgrid.records import Score
from mixgrid.reduce import Reduction, load
from mixgrid.report.compared import comparisons, every_test
from mixgrid.report.csv import to_csv
from mixgrid.report.html import page
from mixgrid.report.latex import latex
from mixgrid.report.markdown import markdown, plain
from mixgrid.report.papers import paper_tables
from mixgrid.report.table import Table, every_score, overview, population, populations, tables
from mixgrid.store import Store

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
    folder = f"{namespace}/reports/{reduction_id}"
    places = []
    for name, text in files(reduction):
        store.put(f"{folder}/{name}", text.encode("utf-8"))
        places.append(f"{store.url}/{folder}/{name}")
        if out is not None:
            _write(out / name, text)
            places[-1] = str(out / name)
    return places


def _write(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8", newline="")
    except OSError as error:
        raise UserError(f"{file} cannot be written ({error.strerror}); name a writable folder with --out") from error


def files(reduction: Reduction) -> Iterator[tuple[str, str]]:
    """(name, text) of every file of a report, the page first."""
    yield "index.html", page(reduction)
    compared = [comparisons(reduction.tests)] if reduction.tests else []
    for table in (*tables(reduction.scores), *compared, *paper_tables(reduction.scores, reduction.tests)):
        for ending, written in FORMATS.items():
            yield f"tables/{table.name}.{ending}", written(table)
    yield "tables/all-scores.csv", to_csv(every_score(reduction.scores))
    yield "tables/all-tests.csv", to_csv(every_test(reduction.tests))


def score_table(scores: Sequence[Score]) -> str:
    """The overview of every corpus split and task, as text for a terminal."""
    return "\n".join(plain(overview(key, [s for s in scores if population(s) == key])) for key in populations(scores))
