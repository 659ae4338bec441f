"""What ratings say, for all items and for each part of them: agreement by criterion, and what drives the verdict."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mixgrid.annotate.base import Answer, Category, Coefficient, measure, prevalence, resamples
from mixgrid.annotate.criteria import Importance, importance
from mixgrid.annotate.ratings import Rating, Scale, code, codes_of, counts_of, keys_of, scale_of
from mixgrid.errors import UserError

ALL = "all"


@dataclass(frozen=True, slots=True)
class Agreement:
    """One criterion in one part of the items."""

    part: str
    criterion: str
    level: str  # what alpha counts by; the other coefficients are nominal
    items: int
    annotators: int
    ratings: int
    answers: tuple[Answer, ...]
    categories: tuple[Category, ...]


@dataclass(frozen=True, slots=True)
class Drivers:
    """What drives the verdict in one part of the items."""

    part: str
    verdict: str
    accepted: str  # the verdict that a positive coefficient speaks for
    incomplete: int  # an annotator's ratings of an item that lack a criterion or the verdict, left out
    models: tuple[Importance, ...]


@dataclass(frozen=True, slots=True)
class Study:
    """How it is done: scales by criterion ('' for the others), coefficients, resamples and their seed."""

    scales: Mapping[str, Scale]
    coefficients: Mapping[str, Coefficient]
    draws: int = 2000
    seed: int = 0

    def agreement(self, ratings: Sequence[Rating]) -> list[Agreement]:
        """Every criterion, in all parts and in each."""
        found = []
        for criterion in sorted({r.criterion for r in ratings}):
            about = [r for r in ratings if r.criterion == criterion]
            keys = keys_of(criterion, about, scale_of(self.scales, criterion))
            found += [self._measured(part, some, keys) for part, some in _parts(about)]
        return found

    def _measured(self, part: str, ratings: Sequence[Rating], keys: Sequence[str | float]) -> Agreement:
        criterion = ratings[0].criterion
        scale = scale_of(self.scales, criterion)
        table = counts_of(ratings, keys, scale)
        drawn = resamples(table, self.draws, self.seed)
        answers = tuple(measure(name, of, table, drawn) for name, of in self.coefficients.items())
        categories = tuple(prevalence(table, [scale.name(key) for key in keys]))
        items = int(table.copies.sum())
        return Agreement(
            part, criterion, scale.level, items, len({r.annotator for r in ratings}), len(ratings), answers, categories
        )

    def drivers(self, ratings: Sequence[Rating], verdict: str) -> list[Drivers]:
        """The verdict by the other criteria, in all parts and in each. UserError where it is not one of two."""
        criteria = sorted({r.criterion for r in ratings} - {verdict})
        scale = scale_of(self.scales, verdict)
        values = sorted(
            sorted({r.value for r in ratings if r.criterion == verdict}), key=lambda v: code(verdict, scale, v)
        )
        if len(values) != 2 or not criteria:
            told = ", ".join(values[:10])
            raise UserError(f"--verdict {verdict!r} wants two values, and other criteria beside it; it has {told}")
        high = code(verdict, scale, values[-1])
        found = []
        for part, some in _parts(ratings):
            codes, incomplete = codes_of(some, [verdict, *criteria], self.scales)
            models = tuple(importance(criteria, codes[:, 1:], (codes[:, 0] == high).astype(float)))
            found.append(Drivers(part, verdict, values[-1], incomplete, models))
        return found


def _parts(ratings: Sequence[Rating]) -> Iterator[tuple[str, Sequence[Rating]]]:
    yield ALL, ratings
    for part in sorted({r.part for r in ratings} - {""}):
        yield part, [r for r in ratings if r.part == part]
