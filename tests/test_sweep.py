"""The flow of a sweep: who is refused, what is priced, what a round takes; and on Ray, end to end."""

import os
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from mixgrid.budget.books import ledger_folder
from mixgrid.budget.ledger import Caps, Ledger
from mixgrid.budget.purse import LedgerPurse
from mixgrid.cli import main
from mixgrid.engines.notes import Asked, Note, Notes
from mixgrid.errors import BudgetStop, UserError
from mixgrid.manifest import Budget
from mixgrid.plan.costs import Cost
from mixgrid.plan.grid import Grid, resolve
from mixgrid.plan.layout import batches_folder
from mixgrid.plan.order import Unit, units
from mixgrid.plan.spent import statement
from mixgrid.predict import predict
from mixgrid.reduce.grid import reduce_grid
from mixgrid.store.lease import Held, hold
from mixgrid.sweep import Money, answer, caps_of, round_of, sweep
from tests.budget.purses import attempt
from tests.faultserver import Plan, fault_server
from tests.helpers import corpus_rows, open_grid, predictions, small_grid

PAID: dict[str, Any] = {
    "engine": "openai", "checkpoint": "m", "context_length": 4096, "price": {"input": 1, "output": 4},
    "api": {"url": "http://127.0.0.1:9/v1", "key_env": "TEST_API_KEY"},
}  # fmt: skip
LIGHT = {"gpus": 0, "cpus": 0.25, "batch_size": 8}


def paid_grid(folder: Path, **changes: Any) -> Grid:
    return open_grid(folder, models={"m": PAID}, asked=("toy", "m"), **changes)


@pytest.mark.parametrize("ask", [predict, answer])
def test_a_model_with_a_price_is_not_asked_without_a_budget(tmp_path: Path, ask: Callable[[Grid], object]) -> None:
    with pytest.raises(UserError, match=r"m may cost money.*--budget-usd"):
        ask(paid_grid(tmp_path))


def test_the_verb_refuses_it_too_before_anything_is_written_but_the_plan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = small_grid(tmp_path, models={"m": PAID}, asked=("m",))
    with pytest.raises(SystemExit) as end:
        main(["run", str(manifest), "--store", str(tmp_path / "store")])
    assert end.value.code == 2
    with pytest.raises(SystemExit) as end:
        main(["sweep", str(manifest), "--store", str(tmp_path / "store")])
    assert end.value.code == 2
    assert "--budget-usd" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--budget-usd", "0"], "above 0"),
        (["--budget-usd", "much"], "above 0"),
        (["--budget-usd", "NaN"], "above 0"),
        (["--budget-usd", "1e400"], "above 0"),
        (["--budget-usd", "1", "--cap-model", "sonar=1", "--dry-run"], "'sonar'"),
        (["--budget-usd", "1", "--cap-model", "sonar=1"], "'sonar'"),
        (["--budget-usd", "1", "--cap-model", "m"], "--cap-model"),
        (["--cap-day", "1"], "--budget-usd"),
    ],
)
def test_a_cap_that_is_none_is_told_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    manifest = small_grid(tmp_path, models={"m": PAID}, asked=("m",))
    with pytest.raises(SystemExit) as end:
        main(["sweep", str(manifest), "--store", str(tmp_path / "store"), *arguments])
    assert end.value.code == 2
    assert says in capsys.readouterr().err


def test_a_dry_run_prices_everything_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = small_grid(tmp_path, models={"m": PAID}, asked=("m",))
    with pytest.raises(SystemExit) as end:
        main(["sweep", str(manifest), "--store", str(tmp_path / "store"), "--dry-run"])
    assert not end.value.code
    told = capsys.readouterr().out
    assert "m: 24 requests, at worst 0.0" in told
    assert "nothing was sent" in told
    assert not (tmp_path / "store").exists()


def test_an_unknown_price_is_refused_by_plan_and_sweep(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = small_grid(tmp_path, models={"m": {**PAID, "price": None}}, asked=("m",))
    for command in (["plan"], ["sweep", "--dry-run"], ["sweep", "--budget-usd", "1"]):
        with pytest.raises(SystemExit) as end:
            main([command[0], str(manifest), "--store", str(tmp_path / "store"), *command[1:]])
        assert end.value.code == 2
        assert "price is not known" in capsys.readouterr().err


class Fixed(Money):
    """So much money, and so much an answer."""

    def __init__(self, left: dict[str, str], means: dict[str, str]) -> None:
        self._left = {name: Decimal(usd) for name, usd in left.items()}
        self._means = {name: Decimal(usd) for name, usd in means.items()}

    def left(self) -> dict[str, Decimal]:
        return self._left

    def means(self) -> dict[str, Decimal]:
        return self._means


def lacking(count: int, seed: int = 1) -> list[Unit]:
    return [Unit(seed, "c", "test", f"k{n}", 0, frozenset({f"i{n}"})) for n in range(count)]


@pytest.mark.parametrize(
    ("left", "means", "taken"),
    [
        ({"": "10", "m": "10", "n": "10"}, {}, 4),  # at worst 2 USD a unit for both, and 8.5 may be planned on
        ({"": "10", "m": "3", "n": "10"}, {}, 2),  # a model's own cap
        ({"": "10", "m": "10", "n": "10"}, {"m": "0.1", "n": "0.1"}, 42),  # what answers cost so far
        ({"": "10", "m": "10", "n": "10"}, {"m": "0.1"}, 7),  # the other one's worst case, until it is known
        ({"": "0.01", "m": "0.01", "n": "0.01"}, {}, 1),  # the cap itself decides on the last one
        ({"": "1000", "m": "1000", "n": "1000"}, {}, 50),
    ],
)
def test_a_round_takes_what_the_money_is_sure_to_buy_for_all_models(
    left: dict[str, str], means: dict[str, str], taken: int
) -> None:
    order = lacking(50)
    worst = {(unit, model): Cost(1, Decimal(1)) for unit in order for model in ("m", "n")}
    assert len(round_of(order, worst, Fixed(left, means))) == taken


def test_a_round_ends_with_its_seed() -> None:
    order = [*lacking(2), *lacking(3, seed=2)]
    assert round_of(order, {}, Fixed({"": "1"}, {})) == order[:2]


@pytest.mark.ray
@pytest.mark.slow
def test_a_small_budget_ends_balanced_and_a_larger_one_goes_on_to_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_API_KEY", "sk-test")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with fault_server(Plan(faults={"500": 0.05, "reset": 0.05, "empty": 0.05})) as server:
        model = {**PAID, "api": {**PAID["api"], "url": server.url}}
        manifest = small_grid(
            tmp_path, models={"a": model, "b": {**model, "checkpoint": "m2"}}, asked=("a", "b"), rows=corpus_rows(20),
            seeds=[1], resources={"a": LIGHT, "b": LIGHT}, budget={"usd": 0.012},
        )  # fmt: skip
        grid = resolve(manifest, str(tmp_path / "store"))
        with pytest.raises(BudgetStop, match="units are complete for all models"):
            answer(grid)
        assert Decimal(server.state().most_exposed) / 10**12 <= Decimal("0.012")
        scored = {s.model: s.n for s in reduce_grid(grid).scores if s.language == s.switching == "all"}
        assert scored["a"] == scored["b"] > 0
        before = {row.request_id for row in predictions(grid)}
        outcome = sweep(grid, caps_of(grid, Budget(usd=Decimal(1))))
        assert outcome.done == outcome.planned == 80
        rows = predictions(grid)
        assert len(rows) == 80
        assert before <= {row.request_id for row in rows}
        told = statement(grid)
        booked = sum(row.cost_usd for row in rows)
        assert float(told.settled_usd - told.wasted_usd) == pytest.approx(booked)
        assert told.committed_usd <= 1


def test_units_of_a_limited_grid_are_those_of_its_items(tmp_path: Path) -> None:
    grid = open_grid(tmp_path).limited(4)
    assert sum(len(unit.items) for unit in units(grid)) == 8


def test_a_second_driver_is_refused_and_told_who_spends_from_the_budget(tmp_path: Path) -> None:
    grid = paid_grid(tmp_path)
    with (
        hold(grid.store, f"{ledger_folder('main', 'small')}/lease", "the budget of sweep small"),
        pytest.raises(Held, match=rf"budget of sweep small: process {os.getpid()} on .* since 20"),
    ):
        sweep(grid, caps_of(grid, Budget(usd=Decimal(1))))
    assert predictions(grid) == []


def test_cost_tells_what_was_settled_reserved_and_wasted_and_settles_by_an_export(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    grid = paid_grid(tmp_path, budget={"usd": 1})
    monkeypatch.setattr("mixgrid.budget.purse._today", lambda: date(2026, 3, 1))
    folder = ledger_folder("main", "small")
    one = LedgerPurse(grid.store, folder, "m", Ledger(grid.store, folder, Caps(Decimal(1))))
    for request_id, billed in (("r1", "0.02"), ("r1", "0.03"), ("r2", None)):
        held = one.reserve(request_id, Decimal("0.1"))
        assert held is not None
        if billed:
            one.settle(held, attempt(billed, "yes"))
        else:
            one.keep(held, attempt(error="reset"))
    one.close()
    export = tmp_path / "export.csv"
    export.write_text("date,model,cost\n2026-03-01,m,0.06\n", "utf-8")
    manifest, store = str(tmp_path / "manifests" / "grid.yaml"), str(tmp_path / "store")
    assert held is not None
    notes, note = Notes(grid.store, batches_folder("main", "m")), Note({"r2": Asked(held, False, False)}, "batch-7")
    notes.write(note)
    with pytest.raises(SystemExit) as end:
        main(["cost", manifest, "--store", store, "--reconcile", str(export)])
    assert end.value.code == 2
    assert "model 'm': batches are not settled yet: batch-7; run `mixgrid sweep`" in capsys.readouterr().err
    notes.forget(note)
    for arguments, told in (
        ([], "0.150000 USD committed = 0.050000 settled + 0.100000 reserved; wasted on retries 0.030000"),
        (["--reconcile", str(export)], "0.060000 USD committed = 0.060000 settled + 0.000000 reserved"),
        (["--json"], '"settled_usd": "0.060000000000"'),
    ):
        with pytest.raises(SystemExit) as end:
            main(["cost", manifest, "--store", store, *arguments])
        assert not end.value.code
        assert told in capsys.readouterr().out
