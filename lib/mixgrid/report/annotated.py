"""Tables of an annotation study: agreement by criterion, the shares of categories, and what drives the verdict."""

from collections.abc import Sequence

from mixgrid.annotate.base import Answer
from mixgrid.annotate.study import Agreement, Drivers
from mixgrid.report.table import NOWHERE, Table


def annotation_tables(found: Sequence[Agreement], drivers: Sequence[Drivers]) -> list[Table]:
    """All of them; the mean over criteria is the mean of the coefficients, as papers average their labels."""
    return [_agreement(found), _categories(found), *([_drivers(drivers)] if drivers else [])]


def reasons(found: Sequence[Agreement], drivers: Sequence[Drivers]) -> list[str]:
    """Why a cell has no number or no interval, and what to mind about a model."""
    cells = [(f"{a.part}, {a.criterion}, {x.coefficient}", x) for a in found for x in a.answers]
    said = [f"{where} is {x.outcome}" for where, x in cells if x.value is None]
    said += [f"{where}: interval {x.interval}" for where, x in cells if x.value is not None and x.low is None]
    said += [
        f"{d.part}, {d.verdict}, penalty {m.penalty}: {m.outcome}"
        for d in drivers
        for m in d.models
        if ":" in m.outcome
    ]
    return said + [f"{d.part}: {d.incomplete} incomplete ratings are left out" for d in drivers if d.incomplete]


def _agreement(found: Sequence[Agreement]) -> Table:
    names = tuple(answer.coefficient for answer in found[0].answers)
    rows = [
        (a.part, a.criterion, a.level, f"{a.items}", f"{a.annotators}", f"{a.ratings}", *map(_interval, a.answers))
        for a in found
    ]
    for part in dict.fromkeys(a.part for a in found):
        among = [a.answers for a in found if a.part == part]
        if len(among) > 1:
            rows.append((part, "mean", *[""] * 4, *map(_mean, zip(*among, strict=True))))
    caption = "with 95 % intervals over items; the level is alpha's, the other coefficients are nominal"
    header = ("part", "criterion", "level", "items", "annotators", "ratings", *names)
    return Table("agreement", "Agreement", caption, header, tuple(rows), labels=3)


def _interval(answer: Answer) -> str:
    value = _number(answer.value)
    return value if answer.low is None else f"{value} [{_number(answer.low)}, {_number(answer.high)}]"


def _mean(answers: Sequence[Answer]) -> str:
    values = [answer.value for answer in answers if answer.value is not None]
    return _number(sum(values) / len(values)) if len(values) == len(answers) else NOWHERE


def _categories(found: Sequence[Agreement]) -> Table:
    rows = tuple(
        (a.part, a.criterion, c.name, f"{c.ratings}", f"{100 * c.share:.1f}", _number(c.agreement))
        for a in found
        for c in a.categories
    )
    caption = "ratings, their share in %, and of the pairs with the category the share in which both named it"
    header = ("part", "criterion", "category", "ratings", "share", "agreement")
    return Table("categories", "Categories", caption, header, rows, labels=3)


def _drivers(drivers: Sequence[Drivers]) -> Table:
    criteria = drivers[0].models[0].criteria
    rows = []
    for d in drivers:
        for m in d.models:
            weights = [f"{w:.3f}" for w in m.coefficients] or [NOWHERE] * len(criteria)
            sizes = (_number(m.intercept), _percent(m.accuracy), _percent(m.majority), f"{m.rows}")
            rows.append((d.part, m.penalty, *weights, *sizes))
    caption = f"logistic coefficients for {drivers[0].accepted}; accuracy in % is in-sample, majority beside it"
    header = ("part", "penalty", *criteria, "intercept", "accuracy", "majority", "rows")
    return Table("drivers", f"What drives {drivers[0].verdict}", caption, header, tuple(rows), labels=2)


def _number(value: float | None) -> str:
    return NOWHERE if value is None else f"{round(value, 3) + 0.0:.3f}"  # no "-0.000"


def _percent(value: float | None) -> str:
    return NOWHERE if value is None else f"{100 * value:.1f}"
