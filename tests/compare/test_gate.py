"""A policy over scores and drops: what breaks a rule, and what must not pass for holding one."""

from pathlib import Path
from typing import Any

import pytest

from mixgrid.compare.gate import Policy, needs_earlier, violations
from mixgrid.errors import UserError
from mixgrid.records import Side, Test
from mixgrid.yamlfile import read_yaml
from tests.report.test_report import score


def policy(*rules: dict[str, Any]) -> Policy:
    return Policy.model_validate({"rules": list(rules)})


def drop(effect: float, p: float, **changes: Any) -> Test:
    sides = [Side("tiny", "zero-shot", "all", "all", value, 40, 1) for value in (0.6 + effect, 0.6)]
    fields: dict[str, Any] = {
        "corpus": "mini", "split": "test", "task": "satire", "metric": "macro_f1", "family": "compare",
        "kind": "reduction", "a": sides[0], "b": sides[1], "method": "cluster-bootstrap", "sound": True,
        "outcome": "tested", "effect": effect, "p": p, "p_bh": p, "p_holm": p, "m": 3, "units": 20, "unmatched": 0,
        "signature": "",
    }  # fmt: skip
    missing = ("ci_low", "ci_high", "odds_ratio", "mid_p", "p_floor", "p_error", "mde")
    return Test(**{**dict.fromkeys(missing), **fields, **changes})


def test_bounds_are_broken_by_the_whole_interval() -> None:
    scores = [score(value=0.6, ci_low=0.5, ci_high=0.7)]
    rule = {"metric": "macro_f1", "task": "satire"}
    assert violations(policy({**rule, "min": 0.65}), scores, [], {}) == []
    (broken,) = violations(policy({**rule, "min": 0.75}), scores, [], {})
    assert broken == "mini satire tiny zero-shot: macro_f1 0.6000 (at most 0.7000) is under min 0.75"
    (broken,) = violations(policy({**rule, "max": 0.45}), scores, [], {})
    assert "(at least 0.5000) is over max 0.45" in broken


def test_a_score_without_interval_is_held_to_its_value_and_one_without_value_breaks() -> None:
    plain = score(metric="unparsed", value=0.03, ci_low=None, ci_high=None)
    assert len(violations(policy({"metric": "unparsed", "max": 0.02}), [plain], [], {})) == 1
    none = score(value=None, note="n/a (1 class of 2)")
    assert violations(policy({"metric": "macro_f1", "min": 0.1}), [none], [], {})[0].endswith("n/a (1 class of 2)")


def test_a_drop_breaks_when_it_is_significant_and_larger() -> None:
    rules, lower = policy({"metric": "macro_f1", "max_drop": 0.02}), {"macro_f1": False}
    assert needs_earlier(rules)
    assert violations(rules, [score()], [drop(-0.05, 0.2)], lower) == []
    assert violations(rules, [score()], [drop(-0.01, 0.001)], lower) == []
    assert violations(rules, [score()], [drop(0.05, 0.001)], lower) == []
    (broken,) = violations(rules, [score()], [drop(-0.05, 0.001)], lower)
    assert "macro_f1 moved by -0.0500 (p 0.001 of 3 tests), max_drop 0.02" in broken


def test_a_rule_about_nothing_is_an_error() -> None:
    with pytest.raises(UserError, match="rule 'macro_f1 model big' takes in no score"):
        violations(policy({"metric": "macro_f1", "model": "big", "min": 0.1}), [score()], [], {})
    with pytest.raises(UserError, match="a drop that was not compared"):
        violations(policy({"metric": "macro_f1", "max_drop": 0.1}), [score()], [], {})


def test_a_policy_that_says_nothing_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text("rules:\n  - {metric: macro_f1}\n", "utf-8")
    with pytest.raises(UserError, match="give min, max or max_drop"):
        read_yaml(path, Policy)
    path.write_text("rules:\n  - {metric: macro_f1, mim: 0.5}\n", "utf-8")
    with pytest.raises(UserError, match="did you mean 'min'"):
        read_yaml(path, Policy)
