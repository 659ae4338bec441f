"""The verbs that judge: compare and gate. A significant regression ends in exit code 5."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mixgrid.cli.options import AsJson, Namespace, StoreUrl, say, say_json, warn
from mixgrid.errors import Incomplete, Regression
from mixgrid.plan.grid import open_store, resolve
from mixgrid.store import Store

if TYPE_CHECKING:
    from mixgrid.records import Side, Test
    from mixgrid.reduce import Reduction

Unmatched = Annotated[
    bool, typer.Option("--allow-unmatched", help="Compare the items that both answered, and no more.")
]
ENDINGS = (".yaml", ".yml")


def compare(
    before: Annotated[str, typer.Argument(metavar="A", help="A reduction (ID or NAMESPACE/ID), or with --in a name.")],
    after: Annotated[str, typer.Argument(metavar="B", help="What is judged against it.")],
    within: Annotated[
        str | None, typer.Option("--in", metavar="REDUCTION", help="A and B are two models or settings of this one.")
    ] = None,
    max_drop: Annotated[float, typer.Option(min=0, help="Exit 5 on a significant drop beyond this.")] = 0.0,
    allow_unmatched: Unmatched = False,
    store: StoreUrl = None,
    namespace: Namespace = "main",
    json: AsJson = False,
) -> None:
    """Paired differences of B against A, slice by slice, with intervals; says which cells moved."""
    from mixgrid import compare as flow

    opened = _open(store)
    if within:
        couples = flow.within(opened, _held(opened, namespace, within), before, after)
    else:
        couples = flow.between(opened, _held(opened, namespace, before), _held(opened, namespace, after))
    tests = flow.compare(couples, allow_unmatched=allow_unmatched)
    changed, worse = flow.moved(tests), flow.regressions(tests, flow.lower_is_better(couples), max_drop)
    if json:
        say_json({"tests": tests, "moved": changed, "regressions": worse})
    else:
        for test in changed:
            say(_line(test))
        say(f"{len(changed)} of {len(tests)} differences are significant (p corrected for {_m(tests)} tests)")
    if worse:
        lines = "; ".join(_line(test) for test in worse[:5])
        raise Regression(f"{len(worse)} significant regressions beyond {max_drop:g}: {lines}")


def gate(
    what: Annotated[str, typer.Argument(metavar="MANIFEST|REDUCTION", help="A manifest is reduced first.")],
    policy: Annotated[Path, typer.Option(help="A YAML file of rules; see mixgrid/compare/gate.py.")],
    against: Annotated[str | None, typer.Option(help="The earlier reduction, for rules of a drop.")] = None,
    allow_unmatched: Unmatched = False,
    store: StoreUrl = None,
    namespace: Namespace = "main",
) -> None:
    """Hold a reduction to a policy: exit 5 where a rule is broken, 3 where cells are not complete."""
    from mixgrid import compare as flow
    from mixgrid.compare.gate import Policy, needs_earlier, violations
    from mixgrid.errors import UserError
    from mixgrid.yamlfile import read_yaml

    rules = read_yaml(policy, Policy)
    if needs_earlier(rules) and not against:
        raise UserError(f"{policy}: a rule speaks of max_drop; name the earlier reduction with --against")
    opened, reduction = _reduced(what, store, namespace)
    couples = flow.between(opened, _held(opened, namespace, against), reduction) if against else []
    tests = flow.compare(couples, allow_unmatched=allow_unmatched)
    broken = violations(rules, reduction.scores, tests, flow.lower_is_better(couples))
    warn(reduction.warnings)
    if broken:
        raise Regression(f"{len(broken)} broken rules of {policy}: {'; '.join(broken)}")
    if reduction.incomplete:
        raise Incomplete(
            f"no rule of {policy} is broken, but {reduction.incomplete} cells lack rows: run the grid again"
        )
    say(f"{len(rules.rules)} rules of {policy} hold for reduction {reduction.id}")


def _open(url: str | None) -> Store:
    opened = open_store(url)
    opened.check(write=False)
    return opened


def _held(store: Store, namespace: str, name: str) -> "Reduction":
    """A reduction by its id, with its namespace before it or without."""
    from mixgrid.reduce import load

    space, _, reduction_id = name.rpartition("/")
    return load(store, space or namespace, reduction_id)


def _reduced(what: str, store: str | None, namespace: str) -> "tuple[Store, Reduction]":
    from mixgrid.reduce.grid import reduce_grid

    if not what.endswith(ENDINGS):
        opened = _open(store)
        return opened, _held(opened, namespace, what)
    grid = resolve(what, store)
    return grid.store, reduce_grid(grid)


def _line(test: "Test") -> str:
    interval = "" if test.ci_low is None else f" [{test.ci_low:+.4f}, {test.ci_high:+.4f}]"
    return (
        f"{test.corpus} {test.task} {_side(test.a)}: {test.metric} {_number(test.b.value)} → {_number(test.a.value)} "
        f"({_number(test.effect, '+.4f')}{interval}, p {_number(test.p_bh, '.2g')})"
    )


def _side(side: "Side") -> str:
    return f"{side.model} {side.setting} {side.language} × {side.switching}"


def _number(value: float | None, how: str = ".4f") -> str:
    return "–" if value is None else format(value, how)


def _m(tests: "list[Test]") -> int:
    return max((test.m for test in tests), default=0)
