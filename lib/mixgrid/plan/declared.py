"""The comparisons that a manifest declares, checked and spelled out: nothing else is ever tested.

    baseline: {model: gemma}                        each other model against it, slice by slice; BH
    baseline: {switching: none}                     every mixed slice against the originals of its rows; BH
    comparisons:
      - {family: h1, a: {setting: chain-of-thought}, b: {setting: zero-shot}}       Holm within h1
      - {family: h2, metric: fpr, a: {switching: random}, b: {switching: none}}     rows against their originals
    baseline: {corpus: selerosa, switching: none}   the originals are asked in a corpus of their own; joined by source

What neither side names is the same on both: each model, setting, task and corpus in turn, and all languages and
methods together; `*` takes each language or method by itself. What one side names holds for the other too.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from mixgrid.errors import UserError, allowed
from mixgrid.manifest import Manifest
from mixgrid.records import BASELINE_FAMILY

EACH, ALL, NONE = "*", "all", "none"
CELL, SLICE = ("corpus", "task", "model", "setting"), ("language", "switching")
KEYS = (*CELL, *SLICE)
Side = Mapping[str, str]  # a value for each key, or EACH


@dataclass(frozen=True)
class Declared:
    """Two sides. A key that is EACH on both is the same on both."""

    family: str
    metric: str | None  # None: the first that the task's tables show
    a: Side
    b: Side

    @property
    def plain(self) -> list[object]:
        """For a reduction's id."""
        return [self.family, self.metric, sorted(self.a.items()), sorted(self.b.items())]


def declared(manifest: Manifest, path: str | Path) -> tuple[Declared, ...]:
    """All of a manifest's comparisons; UserError where one names what the grid lacks, or differs in nothing."""
    found: list[Declared] = []
    if manifest.baseline:
        _check(manifest, manifest.baseline, f"{path}: key 'baseline'")
        found.append(_baseline(manifest.baseline))
    for n, comparison in enumerate(manifest.comparisons):
        where = f"{path}: key 'comparisons.{n}'"
        for side in (comparison.a, comparison.b):
            _check(manifest, side, where)
        if comparison.family == BASELINE_FAMILY:
            raise UserError(f"{where}: the family {BASELINE_FAMILY!r} is that of the key 'baseline'; name another")
        _check_difference(comparison.a, comparison.b, where)
        a, b = _spelled_out(comparison.a, comparison.b)
        found.append(Declared(comparison.family, comparison.metric, a, b))
    return tuple(found)


def _baseline(fixed: Side) -> Declared:
    """Every cell or slice that differs from the baseline in what the baseline names."""
    b = {key: fixed.get(key, EACH) for key in KEYS}
    if fixed.get("switching") == NONE and "language" not in fixed:
        b["language"] = ALL  # originals are in one language, and stand beside mixed rows of any
    return Declared(BASELINE_FAMILY, None, dict.fromkeys(KEYS, EACH), b)


def _spelled_out(a: Side, b: Side) -> tuple[Side, Side]:
    """Every key on both sides."""
    methods = (a.get("switching"), b.get("switching"))
    twin = None not in methods and methods[0] != methods[1] and NONE in methods
    full: tuple[dict[str, str], dict[str, str]] = ({}, {})
    for key in KEYS:
        for own, other, side in ((a, b, full[0]), (b, a, full[1])):
            unnamed = ALL if key in SLICE else EACH
            # an original has its own language
            side[key] = own.get(key, ALL if twin and key == "language" else other.get(key, unnamed))
    return full


def _check(manifest: Manifest, side: Side, where: str) -> None:
    """Refuse keys that are none, and values that are not in the grid."""
    known = {
        "corpus": [choice.name for choice in manifest.corpora],
        "task": manifest.tasks,
        "model": manifest.models,
        "setting": manifest.settings,
        "language": [*(manifest.languages or [side.get("language", ALL)]), ALL],
        "switching": [*(manifest.switching or [side.get("switching", ALL)]), ALL, "mixed"],
    }
    for key, value in side.items():
        if key not in known:
            raise UserError(f"{where}: unknown key {key!r}; {allowed(key, KEYS)}")
        if value != EACH and value not in known[key]:
            raise UserError(f"{where}: {key} {value!r} is not in this grid; {allowed(value, known[key])}")


def _check_difference(a: Side, b: Side, where: str) -> None:
    """The sides differ in one thing; language and method count as one, for an original has its own language.

    So does an original's corpus: it may be asked in one of its own.
    """
    differs = {key for key in _in_both(a, b) if a[key] != b[key]}
    if "corpus" in differs and differs & set(SLICE) and NONE in (a.get("switching"), b.get("switching")):
        differs.discard("corpus")
    things = (differs - set(SLICE)) | ({"slice"} if differs & set(SLICE) else set())
    if len(things) != 1:
        what = f"in {', '.join(sorted(differs))}" if differs else "in nothing that both name"
        raise UserError(f"{where}: its sides differ {what}; let them differ in one thing, named on both sides")


def _in_both(a: Side, b: Side) -> Iterator[str]:
    return (key for key in KEYS if key in a and key in b)
