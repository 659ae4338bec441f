"""Tables as LaTeX, for a paper: booktabs, every character of the cells escaped."""

from collections.abc import Sequence

from mixgrid.report.table import Table
from mixgrid.visible import visible

_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "`": r"\textasciigrave{}", "±": r"$\pm$", "×": r"$\times$", "–": "--",
    "†": r"$\dagger$", "→": r"$\rightarrow$", "·": r"$\cdot$", "⟨": r"$\langle$", "⟩": r"$\rangle$",
    "…": r"\ldots{}", "Δ": r"$\Delta$", "✓": r"\checkmark{}", "✗": r"$\times$", "*": r"\textsuperscript{*}",
}  # fmt: skip
_TABLE = str.maketrans(_SPECIAL)


def escape(text: str) -> str:
    """Text that TeX typesets as it stands and never runs."""
    return visible(text).translate(_TABLE)


def latex(table: Table) -> str:
    """A table environment; needs the packages booktabs and amssymb."""
    columns = "l" * table.labels + "r" * (len(table.header) - table.labels)
    lines = [
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _line([escape(title) for title in table.header]),
        r"\midrule",
    ]
    for at, row in enumerate(table.rows):
        lines += [r"\midrule"] if at in table.rules else []
        lines.append(_line([_cell(table, at, place, text) for place, text in enumerate(row)]))
    caption = rf"\caption{{{escape(table.title)}: {escape(table.caption)}.}}"
    body = "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])
    return "\\begin{table}\n\\centering\n" + body + f"\n{caption}\n\\end{{table}}\n"


def _cell(table: Table, row: int, column: int, text: str) -> str:
    shown = rf"\textbf{{{escape(text)}}}" if (row, column) in table.bold else escape(text)
    return rf"\underline{{{shown}}}" if (row, column) in table.underlined else shown


def _line(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"
