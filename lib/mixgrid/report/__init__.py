"""Score rows → one HTML page, and tables in Markdown, CSV and LaTeX. The same reduction gives the same bytes.

>>> from mixgrid.report import FORMATS
>>> sorted(FORMATS)
['csv', 'md', 'tex']
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from mixgrid.records import Score
from mixgrid.reduce import Reduction, load
from mixgrid.report.csv import to_csv
from mixgrid.report.html import page
from mixgrid.report.latex import latex
from mixgrid.report.markdown import markdown, plain
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
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            (out / name).write_text(text, "utf-8", newline="")
            places[-1] = str(out / name)
    return places


def files(reduction: Reduction) -> Iterator[tuple[str, str]]:
    """(name, text) of every file of a report, the page first."""
    yield "index.html", page(reduction.id, reduction.scores, reduction.inputs, reduction.warnings)
    for table in tables(reduction.scores):
        for ending, written in FORMATS.items():
            yield f"tables/{table.name}.{ending}", written(table)
    yield "tables/all-scores.csv", to_csv(every_score(reduction.scores))


def score_table(scores: Sequence[Score]) -> str:
    """The overview of every corpus split and task, as text for a terminal."""
    return "\n".join(plain(overview(key, [s for s in scores if population(s) == key])) for key in populations(scores))
