"""What is told of a night beside its scores: rates that jumped, pace and cost that drifted, models that vanished."""

from collections.abc import Iterator, Mapping, Sequence

from mixgrid.nightly.manifest import Jumps
from mixgrid.nightly.nights import Night, Pace
from mixgrid.records import Score
from mixgrid.reduce.scores import BASELINE

Place = tuple[str, str, str, str, str, str]  # corpus, task, model, setting, language, switching


def jumped(earlier: Sequence[Score], later: Sequence[Score], jumps: Jumps) -> list[str]:
    """A sentence for each cell whose share of unparsed or failed rows grew by more than is allowed."""
    old, new = _rates(earlier), _rates(later)
    found = []
    for place in sorted(old.keys() & new.keys()):
        for name, was, now, most in zip(
            ("unparsed", "failed"), old[place], new[place], (jumps.unparsed, jumps.failed), strict=True
        ):
            if now - was > most:
                found.append(f"{' · '.join(place)}: {name} {was:.1%} → {now:.1%}")
    return found


def drifted(earlier: Mapping[str, Pace], later: Mapping[str, Pace], jumps: Jumps) -> list[str]:
    """A sentence for each model that answered slower or faster, or cost more or less, than is allowed."""
    return [
        sentence
        for model in sorted(earlier.keys() & later.keys())
        for sentence in _drift(model, earlier[model], later[model], jumps)
    ]


def vanished(earlier: Night, later: Night) -> list[str]:
    """The models of the earlier night that the later one has no rows of."""
    return sorted(set(earlier.models) - set(later.models))


def _rates(scores: Sequence[Score]) -> dict[Place, tuple[float, float]]:
    own = [s for s in scores if s.model != BASELINE]
    return {(s.corpus, s.task, s.model, s.setting, s.language, s.switching): (s.unparsed, s.failed) for s in own}


def _drift(model: str, was: Pace, now: Pace, jumps: Jumps) -> Iterator[str]:
    if was.tokens_per_s and now.tokens_per_s and _moved(was.tokens_per_s, now.tokens_per_s, jumps.throughput):
        yield f"{model}: {was.tokens_per_s:,.0f} → {now.tokens_per_s:,.0f} tokens/s"
    if was.usd and _moved(was.usd, now.usd, jumps.cost):
        yield f"{model}: {was.usd:.2f} → {now.usd:.2f} USD"


def _moved(was: float, now: float, most: float) -> bool:
    """Relative to the earlier value; a share over 1 speaks of growth alone."""
    return abs(now / was - 1) > most
