"""Whether a night's scores moved: against the night before and a pinned baseline, and again in a second look."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mixgrid.compare import between, compare, lower_is_better, moved, regressions
from mixgrid.records import Test
from mixgrid.reduce import Reduction
from mixgrid.reduce.compared import corrected
from mixgrid.store import Store

Place = tuple[str, ...]
Again = Callable[[Sequence[Test]], tuple[Reduction | None, str]]  # asks these cells once more; says what it could not


@dataclass(frozen=True)
class Verdict:
    """What moved against one earlier reduction; `confirmed` is what a second run of those cells says too."""

    against: str
    tests: int
    moved: tuple[Test, ...]
    confirmed: tuple[Test, ...]
    regressions: tuple[Test, ...]  # of the confirmed ones, worse by more than is allowed
    note: str = ""  # what the second run could not look at


def place(test: Test) -> Place:
    """Which cell, slice and metric a test is about."""
    side = test.a
    return (test.corpus, test.split, test.task, side.model, side.setting, side.language, side.switching, test.metric)


def judge(
    store: Store, against: tuple[str, Reduction], tonight: Reduction, again: Again, bounds: tuple[float, float]
) -> Verdict:
    """Compare, ask what moved a second time, and keep what moved again; `bounds`: alpha, drop allowed."""
    (name, earlier), (alpha, max_drop) = against, bounds
    couples = between(store, earlier, tonight)
    tests = compare(couples, allow_unmatched=True)
    first = moved(tests, alpha)
    second, note = again(first) if first else (None, "")
    confirmed = _confirmed(store, earlier, first, second, alpha) if second else []
    worse = regressions(confirmed, lower_is_better(couples), max_drop, alpha)
    return Verdict(name, len(tests), tuple(first), tuple(confirmed), tuple(worse), note)


def _confirmed(store: Store, earlier: Reduction, first: Sequence[Test], again: Reduction, alpha: float) -> list[Test]:
    """What differs from the earlier reduction in the second run too, the same way; corrected for these alone."""
    wanted = {place(test): test for test in first}
    tests = compare(between(store, earlier, again), allow_unmatched=True)
    second = corrected([test for test in tests if place(test) in wanted])
    return [test for test in moved(second, alpha) if _same_way(test, wanted[place(test)])]


def _same_way(one: Test, other: Test) -> bool:
    return (one.effect or 0.0) * (other.effect or 0.0) > 0
