"""A survey's pictures, as SVG and PNG: how much is mixed, how long switches are, how far back replies reach.

matplotlib is in the extra `analysis`; without it a page has its tables alone. The same rows give the same bytes.
"""

import io
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mixgrid.describe.base import Mix
from mixgrid.describe.rows import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LONGEST = 15  # lengths and distances above it share the last place
STYLE: Mapping[str, Any] = {
    "svg.fonttype": "path",  # a reader's machine may lack the font
    "svg.hashsalt": "mixgrid",  # else ids are drawn at random
    "text.parse_math": False,  # a name is no formula
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
PLACES = range(1, LONGEST + 1)
WIDTH, PANELS = 7.0, 4  # inches; histograms side by side
Groups = Mapping[str, Sequence[float]]
Draw = Callable[["Figure", Groups], None]


@dataclass(frozen=True)
class Plot:
    """One picture."""

    name: str
    title: str
    caption: str
    svg: bytes
    png: bytes


def plots(rows: Sequence[Row]) -> list[Plot]:
    """Every picture that the rows have data for; none where matplotlib is not installed."""
    try:
        import matplotlib as mpl
    except ImportError:
        return []
    found = []
    with mpl.rc_context(dict(STYLE)):
        for name, title, caption, groups, draw in _wanted(rows):
            if groups:
                found.append(Plot(name, title, caption, *_drawn(groups, draw)))
    return found


def _wanted(rows: Sequence[Row]) -> Iterable[tuple[str, str, str, Groups, Draw]]:
    yield (
        "cmi", "Code-mixing index by language and method",
        "CMI of 2014 of each item, 0 to 100: median, quartiles, and whiskers to 1.5 times their distance",
        _by_slice(rows, lambda row: [row.values["cmi"]]), _boxes,
    )  # fmt: skip
    yield (
        "switch-lengths", "Length of switches",
        f"words of each run that is not in its utterance's commonest language; {LONGEST}: that many and more",
        _by_slice(rows, lambda row: [length for mix in row.item.mixes for length in switch_lengths(mix)]), _histograms,
    )  # fmt: skip
    yield (
        "reply-distances", "How far back replies reach",
        f"turns between a reply and what it replies to; {LONGEST}: that many and more",
        _grouped((row.item.corpus, row.item.distances) for row in rows), _lines,
    )  # fmt: skip


def switch_lengths(mix: Mix) -> list[int]:
    """Words of each run outside the commonest language."""
    runs = zip(mix.languages, mix.lengths, strict=True)
    return [length for language, length in runs if language != mix.matrix]


def _by_slice(rows: Sequence[Row], values: Callable[[Row], Sequence[float | None]]) -> Groups:
    """Values by language and method, and by corpus where there are several."""
    several = len({row.item.corpus for row in rows}) > 1
    named = (
        (" · ".join((*((row.item.corpus,) if several else ()), f"{row.item.language} × {row.item.switching}")), row)
        for row in rows
    )
    return _grouped((name, values(row)) for name, row in named)


def _grouped(pairs: Iterable[tuple[str, Sequence[float | None]]]) -> Groups:
    groups: defaultdict[str, list[float]] = defaultdict(list)
    for name, values in pairs:
        groups[name] += [value for value in values if value is not None]
    return {name: groups[name] for name in sorted(groups) if groups[name]}


def _boxes(figure: "Figure", groups: Groups) -> None:
    """One box a group, below each other."""
    figure.set_size_inches(WIDTH, max(2.0, 0.32 * len(groups) + 0.8))
    axes = figure.subplots()
    names = [f"{name} (n={len(values)})" for name, values in groups.items()]
    axes.boxplot([*groups.values()], orientation="horizontal", tick_labels=names, flierprops={"markersize": 2})
    axes.invert_yaxis()
    axes.set_xlabel("CMI")


def _histograms(figure: "Figure", groups: Groups) -> None:
    """One panel a group, all to the same scale."""
    columns = min(PANELS, len(groups))
    lines = -(-len(groups) // columns)
    figure.set_size_inches(WIDTH, 1.5 * lines + 0.5)
    panels = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False).flat
    for axes, (name, values) in zip(panels, groups.items(), strict=False):
        axes.bar([*PLACES], _shares(values))
        axes.set_title(f"{name}\n(n={len(values)})", fontsize=7)
        axes.set_xticks([1, *range(5, LONGEST + 1, 5)])
    for axes in [*panels][len(groups) :]:
        axes.set_visible(False)
    figure.supylabel("share", fontsize=9)


def _lines(figure: "Figure", groups: Groups) -> None:
    """One line a group, in one panel, to be compared."""
    figure.set_size_inches(WIDTH, 3.2)
    axes = figure.subplots()
    for name, values in groups.items():
        axes.plot([*PLACES], _shares(values), marker="o", markersize=3, label=f"{name} (n={len(values)})")
    axes.set_xticks([*PLACES])
    axes.set_ylabel("share")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)


def _shares(values: Sequence[float]) -> list[float]:
    counts = Counter(min(int(value), LONGEST) for value in values)
    return [counts[place] / len(values) for place in PLACES]


def _drawn(groups: Groups, draw: Draw) -> tuple[bytes, bytes]:
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    draw(figure, groups)
    svg, png = io.BytesIO(), io.BytesIO()
    figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    figure.savefig(png, format="png", dpi=150, metadata={"Software": None})
    return svg.getvalue(), png.getvalue()
