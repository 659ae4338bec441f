"""A table of texts, before it is in any format, and the tables that a reduction gives.

Every number stands with what it needs to be believed: its spread over seeds, how many rows it is from, and how many of
those could not be read or failed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from mixgrid.metrics import FAMILIES
from mixgrid.metrics.base import Policies
from mixgrid.records import Score
from mixgrid.reduce.scores import BASELINE
from mixgrid.tasks import TASKS

NOWHERE = "–"  # the cell does not exist
UNITS = "in %; mean ± sd over seeds (n-1)"
Key = tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """Texts in rows. The first `labels` columns are names, the rest numbers."""

    name: str
    title: str
    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    labels: int = 1
    bold: frozenset[tuple[int, int]] = frozenset()  # places (row, column) of the best values
    underlined: frozenset[tuple[int, int]] = frozenset()  # and of the worst, where a table shows them
    rules: frozenset[int] = frozenset()  # rows over which a line is drawn, in LaTeX and HTML


def population(score: Score) -> Key:
    """What scores must share to stand in one table."""
    return (score.corpus, score.split, score.task)


def populations(scores: Iterable[Score]) -> list[Key]:
    """All of them, sorted."""
    return sorted({population(s) for s in scores})


def tables(scores: Sequence[Score]) -> list[Table]:
    """For each corpus split and task: the cells, then the first headline metric by language and method."""
    found = []
    for key in populations(scores):
        own = [s for s in scores if population(s) == key]
        found += [overview(key, own), by_slice(key, own)]
    return found


def overview(key: Key, scores: Sequence[Score]) -> Table:
    """One row a cell, for all of its items and, where there are both, for the mixed and the original ones."""
    metrics = headline(scores)
    found = {(*_cell(s), s.language, s.switching, s.metric): s for s in scores}
    slices = [(language, method) for language, method in _slices(scores) if language == "all"]
    slices = [s for s in slices if s[1] in ("all", "mixed")] + [s for s in slices if s[1] == "none" and len(slices) > 2]
    rows = []
    for language, method in slices:
        for cell in _cells(scores):
            own = [found.get((*cell, language, method, m)) for m in metrics]
            if own and own[0] is not None:
                rows.append((*cell, _SLICE[method], *map(number, own), interval(own[0]), *_account(own[0])))
    first = metrics[0] if metrics else ""
    header = ("model", "setting", "items", *metrics, f"95 % CI of {first}", "n", "clusters", "unparsed", "failed")
    return Table("-".join(("scores", *key)), " · ".join(key), UNITS, header, tuple(rows), labels=3)


_SLICE = {"all": "all", "mixed": "code-mixed", "none": "monolingual"}


def by_slice(key: Key, scores: Sequence[Score]) -> Table:
    """One row a cell, one column a language, method, or pair of them."""
    metric = (headline(scores) or [""])[0]
    slices = _slices(scores)
    found = {(*_cell(s), s.language, s.switching): s for s in scores if s.metric == metric}
    rows = [(*cell, *(number(found.get((*cell, *s))) for s in slices)) for cell in _cells(scores)]
    header = ("model", "setting", *(f"{language} × {method}" for language, method in slices))
    caption = f"{metric} by language × switching method, {UNITS}; {NOWHERE}: no such cell"
    return Table("-".join(("slices", *key)), f"{' · '.join(key)}: {metric}", caption, header, tuple(rows), labels=2)


def every_score(scores: Sequence[Score]) -> Table:
    """All fields of all scores, unrounded, for programs."""
    names = tuple(f.name for f in fields(Score))
    rows = tuple(tuple(plain_field(getattr(s, name)) for name in names) for s in scores)
    return Table("all-scores", "All scores", "fractions, unrounded", names, rows, labels=len(names))


def headline(scores: Sequence[Score]) -> list[str]:
    """The metrics to show first, as the task's family says; all of them where this version does not know the task."""
    there = dict.fromkeys(s.metric for s in scores)
    task = TASKS.get(scores[0].task) if scores else None
    known = FAMILIES[task.score](task.classes, Policies()).headline if task else tuple(there)
    return [name for name in known if name in there]


def number(score: Score | None) -> str:
    """Mean ± sd in percent; the reason where there is no value; a dash where there is no cell."""
    if score is None:
        return NOWHERE
    if score.value is None:
        return score.note
    spread = "" if score.sd_over_seeds is None else f" ± {100 * score.sd_over_seeds:.1f}"
    mark = " *" if score.n < score.expected else ""
    return f"{100 * score.value:.1f}{spread}{mark}"


def interval(score: Score) -> str:
    """The interval over clusters, in percent."""
    if score.ci_low is None or score.ci_high is None:
        return NOWHERE
    return f"{100 * score.ci_low:.1f} to {100 * score.ci_high:.1f}"


def _account(score: Score) -> tuple[str, str, str, str]:
    """How many rows a number is from, and what became of them."""
    n = str(score.n) if score.n >= score.expected else f"{score.n} of {score.expected} * incomplete"
    if score.model == BASELINE:
        return n, str(score.clusters), NOWHERE, NOWHERE
    return n, str(score.clusters), f"{100 * score.unparsed:.1f}", f"{100 * score.failed:.1f}"


def _cell(score: Score) -> Key:
    return (score.model, score.setting)


def _cells(scores: Iterable[Score]) -> list[Key]:
    """Model and setting of every row, trivial systems last."""
    return sorted({_cell(s) for s in scores}, key=lambda c: (c[0] == BASELINE, c))


def _slices(scores: Iterable[Score]) -> list[tuple[str, str]]:
    return sorted({(s.language, s.switching) for s in scores}, key=lambda s: (_rank(s[0]), _rank(s[1])))


def _rank(name: str) -> tuple[int, str]:
    """All, then mixed, then none, then the others by name."""
    known = ("all", "mixed", "none")
    return (known.index(name) if name in known else len(known), name)


def plain_field(value: Any) -> str:
    """A record's field, unrounded."""
    if value is None:
        return ""
    if isinstance(value, tuple):
        return " ".join("" if v is None else repr(v) if isinstance(v, float) else str(v) for v in value)
    return repr(value) if isinstance(value, float) else str(value)


def account_table(inputs: Mapping[str, Any]) -> Table:
    """What joined the frozen plans and what did not, by run."""
    kinds = list(dict.fromkeys(kind for counts in inputs["joined"].values() for kind in counts))
    rows = [(run, *(str(counts.get(k, 0)) for k in kinds)) for run, counts in sorted(inputs["joined"].items())]
    caption = "rows of the predictions that joined the run's frozen plan, and rows that did not, by reason"
    return Table("joined", "Rows", caption, ("run", *(k.replace("_", " ") for k in kinds)), tuple(rows))


def status_table(inputs: Mapping[str, Any]) -> Table:
    """How the rows of each run ended."""
    kinds = sorted({kind for counts in inputs["statuses"].values() for kind in counts}, key=lambda k: (k != "ok", k))
    rows = [(run, *(str(counts.get(k, 0)) for k in kinds)) for run, counts in sorted(inputs["statuses"].items())]
    return Table("statuses", "Statuses", "how each row was read, or why it failed", ("run", *kinds), tuple(rows))
