"""The verb of human annotation: agreement."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer

from mixgrid.annotate import COEFFICIENTS
from mixgrid.annotate.alpha import LEVELS
from mixgrid.annotate.ratings import FIELDS, Rating, Scale, scale_of, scales
from mixgrid.cli.options import AsJson, say, say_json, warn
from mixgrid.corpora.base import BadRow, RowError
from mixgrid.corpora.cells import cell
from mixgrid.corpora.rows import FORMATS, FileBytes, Row, rows
from mixgrid.errors import UserError, allowed

SCALE = "[CRITERION=]LEVEL[:LOWEST,…,HIGHEST]"
LEVEL = f"{SCALE}, one for each or for all; LEVEL: {', '.join(LEVELS)}. Else nominal."
MAP = "Columns of other names: item=ID, annotator=WHO, criterion=Q, value=A, with commas and no spaces."
SHOWN = 5  # wrong rows that the sentence names


def agreement(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Ratings, one a row: csv, tsv, jsonl, json or parquet.")],
    columns: Annotated[str, typer.Option(metavar="MAP", help=MAP)] = "",
    level: Annotated[list[str] | None, typer.Option(metavar="SCALE", help=LEVEL)] = None,
    verdict: Annotated[
        str | None, typer.Option(metavar="NAME", help="The criterion that the others explain: how much each.")
    ] = None,
    by: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="A column whose parts stand beside all: the language, say.")
    ] = None,
    draws: Annotated[int, typer.Option(min=100, max=100_000, help="Resamples of items.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="What the resamples depend on.")] = 0,
    json: AsJson = False,
) -> None:
    """How far annotators agree by criterion, each category's share, and which criteria drive the verdict."""
    from mixgrid.annotate.study import Study  # scipy's optimiser, a second for all other verbs

    known = scales(level or [])
    ratings, blank = _read(file, _places(columns, by), known)
    names = {r.criterion for r in ratings}
    for name in sorted({*known, verdict or ""} - {"", *names}):
        raise UserError(f"{file} has no criterion {name!r}; {allowed(name, names)}")
    study = Study(known, COEFFICIENTS, draws, seed)
    drivers = study.drivers(ratings, verdict) if verdict else []
    found = study.agreement(ratings)
    warnings = [f"{blank} blank values count as missing"] if blank else []
    if json:
        say_json({"agreement": found, "drivers": drivers, "warnings": warnings})
        return
    from mixgrid.report.annotated import annotation_tables, reasons
    from mixgrid.report.markdown import plain

    say("\n".join(map(plain, annotation_tables(found, drivers))))
    warn([*warnings, *reasons(found, drivers)])


def _places(columns: str, by: str | None) -> dict[str, str]:
    """The column of each field."""
    places = {field: field for field in FIELDS}
    for pair in columns.split(",") if columns else ():
        field, _, column = pair.partition("=")
        if field not in FIELDS or not column:
            raise UserError(f"--columns: {pair!r} is not FIELD=COLUMN; {allowed(field, FIELDS)}")
        places[field] = column
    return {**places, "part": by} if by else places


def _read(file: Path, places: Mapping[str, str], known: Mapping[str, Scale]) -> tuple[list[Rating], int]:
    """The ratings, and how many values are blank; what is wrong is told by row, before anything is measured."""
    seen: dict[tuple[str, ...], int] = {}
    parts: dict[str, str] = {}
    ratings: list[Rating] = []
    bad: list[BadRow] = []
    for row in _rows(file):
        try:
            if isinstance(row, BadRow):
                raise RowError(row.reason)
            rating = _rating(row, places, known, file)
            key = (rating.item, rating.annotator, rating.criterion)
            if seen.setdefault(key, row.number) != row.number:
                raise RowError(f"{' / '.join(key)} was rated in row {seen[key]}")
            if parts.setdefault(rating.item, rating.part) != rating.part:
                raise RowError(f"item {rating.item} is in {parts[rating.item]!r} and in {rating.part!r}")
            ratings.append(rating)
        except RowError as error:
            bad.append(BadRow(str(file), row.number, str(error)))
    if bad:
        more = f"; and {len(bad) - SHOWN} more" if len(bad) > SHOWN else ""
        told = "; ".join(f"row {row.number}: {row.reason}" for row in bad[:SHOWN])
        raise UserError(
            f"{file}: {len(bad)} of {len(bad) + len(ratings)} rows are wrong, mend them first: {told}{more}"
        )
    given = [r for r in ratings if r.value]
    if not given:
        raise UserError(f"{file} holds no rating; write rows of {', '.join(FIELDS)}")
    return given, len(ratings) - len(given)


def _rows(file: Path) -> Iterator[Row | BadRow]:
    if file.suffix.lower() not in FORMATS:
        raise UserError(f"the ending of {file} names no format; {allowed(file.suffix, FORMATS)}")
    try:
        data = file.read_bytes()
    except OSError as error:
        raise UserError(f"{file} cannot be read ({error.strerror}); name a file of ratings") from None
    return rows(FileBytes(str(file), data, FORMATS[file.suffix.lower()]))


def _rating(row: Row, places: Mapping[str, str], known: Mapping[str, Scale], file: Path) -> Rating:
    """One rating; a blank value is '', anything else that is blank or of another scale is a RowError."""
    found: dict[str, str] = {}
    for field, column in places.items():
        if column not in row.values:
            told = "--by names another" if field == "part" else f"name it with --columns {field}=NAME"
            raise UserError(f"{file} row {row.number}: no column {column!r}; {allowed(column, row.values)}; {told}")
        found[field] = (cell(row.values[column]) or "").strip()
        if not found[field] and field != "value":
            raise RowError(f"{column} is blank")
    rating = Rating(**found)
    refusal = scale_of(known, rating.criterion).refusal(rating.value) if rating.value else ""
    if refusal:
        raise RowError(f"{rating.criterion}: {refusal}")
    return rating
