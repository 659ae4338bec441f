"""Tables as CSV: everything quoted, UTF-8, one line a row."""

import csv
import io

from mixgrid.report.table import Table

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def to_csv(table: Table, guard: bool = False) -> str:
    """The table; `guard` puts an apostrophe before text that a spreadsheet would run as a formula."""
    sink = io.StringIO()
    writer = csv.writer(sink, quoting=csv.QUOTE_ALL, lineterminator="\n")
    for line in (table.header, *table.rows):
        writer.writerow([guarded(cell) if guard else cell for cell in line])
    return sink.getvalue()


def guarded(cell: str) -> str:
    """The cell, made harmless unless it is a number."""
    return f"'{cell}" if cell.startswith(_FORMULA) and not _is_number(cell) else cell


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
