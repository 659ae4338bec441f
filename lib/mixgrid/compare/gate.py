"""A policy that a reduction's scores must meet, for a nightly job that should stop where they do not.

    alpha: 0.05
    rules:
      - {metric: macro_f1, task: satire, model: gemma, min: 0.55}
      - {metric: unparsed, max: 0.02}
      - {metric: accuracy, max_drop: 0.01}          # against the reduction that `--against` names

A bound is broken when the score's 95 % interval lies beyond it; without an interval, when the score does. A drop is
broken when it is significant after correction and larger. A rule that no score answers to is an error, not a pass.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Self

from pydantic import Field, model_validator

from mixgrid.compare import regressions
from mixgrid.errors import UserError, allowed
from mixgrid.manifest import Frozen
from mixgrid.records import Score, Test
from mixgrid.reduce.scores import BASELINE

SELECTORS = ("corpus", "task", "model", "setting", "language", "switching")


class Rule(Frozen):
    """One bound on every score that the selectors take in; all languages and methods together unless named."""

    metric: str
    corpus: str | None = None
    task: str | None = None
    model: str | None = None
    setting: str | None = None
    language: str = "all"
    switching: str = "all"
    min: float | None = None
    max: float | None = None
    max_drop: Annotated[float, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _bounds(self) -> Self:
        if (self.min, self.max, self.max_drop) == (None, None, None):
            raise ValueError("give min, max or max_drop")
        return self

    @property
    def about(self) -> str:
        """The rule in a sentence."""
        chosen = [f"{name} {getattr(self, name)}" for name in SELECTORS if getattr(self, name) not in (None, "all")]
        return " ".join([self.metric, *chosen])

    def takes(self, fields: dict[str, str]) -> bool:
        """Whether the rule is about a score or test with these fields."""
        return all(getattr(self, name) in (None, fields[name]) for name in ("metric", *SELECTORS))


class Policy(Frozen):
    """All rules."""

    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.05
    rules: Annotated[list[Rule], Field(min_length=1)]


def violations(policy: Policy, scores: Sequence[Score], tests: Sequence[Test], lower: dict[str, bool]) -> list[str]:
    """A sentence for each score that breaks a rule; `tests` compare with an earlier reduction, `lower`: see compare."""
    return [sentence for rule in policy.rules for sentence in _broken(rule, policy, scores, (tests, lower))]


def needs_earlier(policy: Policy) -> bool:
    """Whether a rule speaks of a drop."""
    return any(rule.max_drop is not None for rule in policy.rules)


def _broken(
    rule: Rule, policy: Policy, scores: Sequence[Score], compared: tuple[Sequence[Test], dict[str, bool]]
) -> Iterator[str]:
    mine = [s for s in scores if s.model != BASELINE and rule.takes({n: getattr(s, n) for n in ("metric", *SELECTORS)})]
    if not mine:
        raise UserError(f"rule '{rule.about}' takes in no score; {allowed(rule.metric, {s.metric for s in scores})}")
    for score in mine:
        yield from _out_of_bounds(rule, score)
    tests, lower = compared
    if rule.max_drop is not None:
        own = [test for test in tests if rule.takes(_fields(test))]
        if not own:
            raise UserError(f"rule '{rule.about}' speaks of a drop that was not compared; use a metric of the tables")
        for test in regressions(own, lower, rule.max_drop, policy.alpha):
            change = f"{test.metric} moved by {test.effect:+.4f} (p {test.p_bh:.2g} of {test.m} tests)"
            yield f"{_place(test)}: {change}, max_drop {rule.max_drop:g}"


def _out_of_bounds(rule: Rule, score: Score) -> Iterator[str]:
    where = f"{score.corpus} {score.task} {score.model} {score.setting}: {score.metric}"
    if score.value is None:
        yield f"{where} has no value: {score.note}"
        return
    low = score.value if score.ci_low is None else score.ci_low
    high = score.value if score.ci_high is None else score.ci_high
    if rule.min is not None and high < rule.min:
        yield f"{where} {score.value:.4f} (at most {high:.4f}) is under min {rule.min:g}"
    if rule.max is not None and low > rule.max:
        yield f"{where} {score.value:.4f} (at least {low:.4f}) is over max {rule.max:g}"


def _fields(test: Test) -> dict[str, str]:
    return {
        "metric": test.metric, "corpus": test.corpus, "task": test.task, "model": test.a.model,
        "setting": test.a.setting, "language": test.a.language, "switching": test.a.switching,
    }  # fmt: skip


def _place(test: Test) -> str:
    return f"{test.corpus} {test.task} {test.a.model} {test.a.setting}"
