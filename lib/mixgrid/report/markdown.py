"""Tables as Markdown, and as plain aligned text for a terminal."""

import re
import unicodedata
from collections.abc import Callable

from mixgrid.report.table import Table
from mixgrid.visible import visible

_SPECIAL = re.compile(r"([\\`*_\[\]<>|~&])")


def escape(text: str) -> str:
    """Text that no Markdown renderer takes for markup, on one line."""
    return _SPECIAL.sub(r"\\\1", visible(text))


def markdown(table: Table) -> str:
    """A pipe table under its title and caption."""
    return f"**{escape(table.title)}**: {escape(table.caption)}\n\n{_grid(table, escape)}\n"


def plain(table: Table) -> str:
    """The same for a terminal: nothing escaped, nothing that a terminal would obey."""
    return f"{visible(table.title)}: {visible(table.caption)}\n\n{_grid(table, visible)}\n"


def _grid(table: Table, shown: Callable[[str], str]) -> str:
    lines = [[shown(cell) for cell in line] for line in (table.header, *table.rows)]
    for row, column in table.bold if shown is escape else ():
        lines[1 + row][column] = f"**{lines[1 + row][column]}**"
    for row, column in table.underlined if shown is escape else ():
        lines[1 + row][column] = f"<ins>{lines[1 + row][column]}</ins>"
    widths = [max(3, *(_width(cell) for cell in column)) for column in zip(*lines, strict=True)]
    rules = ["-" * w if i < table.labels else "-" * (w - 1) + ":" for i, w in enumerate(widths)]
    return "\n".join(_line(cells, widths, table.labels) for cells in (lines[0], rules, *lines[1:]))


def _line(cells: list[str], widths: list[int], labels: int) -> str:
    padded = []
    for i, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        room = " " * (width - _width(cell))
        padded.append(cell + room if i < labels else room + cell)
    return f"| {' | '.join(padded)} |"


def _width(text: str) -> int:
    """Columns that a terminal gives the text: none to a combining mark, two to a wide letter."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in ("W", "F") else 1 for c in text
    )
