"""The one promise of a ledger, under every order of events: what may have been billed never passes a cap."""

import shutil
import tempfile
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mixgrid.budget import journal as journal_module
from mixgrid.budget import purse as purse_module
from mixgrid.budget.base import Entry, Hold
from mixgrid.budget.books import accounts, lines
from mixgrid.budget.purse import LedgerPurse
from mixgrid.pricing import ZERO
from mixgrid.store import Store
from tests.budget.purses import FOLDER, attempt, ledger, purse

CAP, DAY_CAP, MODEL_CAP = Decimal("1"), Decimal("0.7"), Decimal("0.4")
MODELS = ("m", "n")
CENTS = st.integers(1, 30).map(lambda cents: Decimal(cents) / 100)


class Sweep(RuleBasedStateMachine):
    """Engines that reserve, settle, release, keep, die and come back; a provider that knows what it billed."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.today = date(2026, 3, 1)
        self.patched = pytest.MonkeyPatch()
        self.patched.setattr(purse_module, "_today", lambda: self.today)
        self.patched.setattr(journal_module, "LINGER_S", 0.0)
        self.patched.setattr(purse_module, "_LOOK_S", 0.0)
        self.billed: list[tuple[str, date, Decimal]] = []
        self.booked = ZERO
        self.holds: list[tuple[str, Hold]] = []
        self.start()

    def start(self) -> None:
        self.ledger = ledger(self.folder, str(CAP), str(DAY_CAP), {"m": str(MODEL_CAP)})
        self.purses: dict[str, LedgerPurse] = {model: purse(self.folder, self.ledger, model) for model in MODELS}

    @rule(model=st.sampled_from(MODELS), usd=CENTS)
    def reserve(self, model: str, usd: Decimal) -> None:
        hold = self.purses[model].reserve(f"r{len(self.billed)}", usd, wait=False)
        if hold:
            self.holds.append((model, hold))

    @precondition(lambda self: self.holds)
    @rule(data=st.data(), share=st.integers(0, 100), known=st.booleans())
    def bill(self, data: st.DataObject, share: int, known: bool) -> None:
        """The provider bills some of the hold; we hear of it, or not."""
        model, hold = self.holds.pop(data.draw(st.integers(0, len(self.holds) - 1)))
        usd = hold.usd * share / 100
        self.billed.append((model, hold.day, usd))
        if known:
            self.booked += usd
            self.purses[model].book([Entry(hold, "settled", attempt(usd, "yes", model=model))])
        else:
            self.purses[model].keep(hold, attempt(error="reset", model=model))

    @precondition(lambda self: self.holds)
    @rule()
    def refused(self) -> None:
        model, hold = self.holds.pop()
        self.purses[model].release(hold, attempt(error="429", model=model))

    @precondition(lambda self: self.holds)
    @rule()
    def given_up(self) -> None:
        """A batch that nobody here waits for any more is billed in full."""
        model, hold = self.holds.pop()
        self.billed.append((model, hold.day, hold.usd))
        self.purses[model].disown([hold])

    @rule(model=st.sampled_from(MODELS))
    def rest(self, model: str) -> None:
        self.purses[model].close()

    @rule(model=st.sampled_from(MODELS))
    def an_engine_dies(self, model: str) -> None:
        """What it had in flight is billed in full, and nobody hears of it."""
        self._lose(model)
        self.purses[model] = purse(self.folder, self.ledger, model)

    @rule()
    def everybody_dies(self) -> None:
        for model in MODELS:
            self._lose(model)
        self.start()

    @rule()
    def midnight(self) -> None:
        self.today += timedelta(days=1)

    def _lose(self, model: str) -> None:
        self.billed += [(m, hold.day, hold.usd) for m, hold in self.holds if m == model]
        self.holds = [(m, hold) for m, hold in self.holds if m != model]

    @invariant()
    def no_cap_is_passed(self) -> None:
        """By what the provider billed, with all that is in flight; and by what the store says."""
        in_flight = [(model, hold.day, hold.usd) for model, hold in self.holds]
        worst = self.billed + in_flight
        books = list(accounts(Store.open(str(self.folder)), FOLDER).values())
        committed = sum((a.committed for a in books), ZERO)
        assert sum((usd for *_, usd in worst), ZERO) <= committed <= CAP
        assert sum((a.committed for a in books if a.model == "m"), ZERO) <= MODEL_CAP
        for day in {a.day for a in books}:
            assert sum((a.committed for a in books if a.day == day), ZERO) <= DAY_CAP
            assert sum((usd for _, d, usd in worst if d.isoformat() == day), ZERO) <= DAY_CAP

    @invariant()
    def what_was_settled_is_what_was_billed(self) -> None:
        known = lines(Store.open(str(self.folder)), FOLDER)
        assert sum((line.billed_usd or ZERO for line in known), ZERO) == self.booked

    def teardown(self) -> None:
        self.patched.undo()
        shutil.rmtree(self.folder)


Sweep.TestCase.settings = settings(
    max_examples=8, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
TestSweep = Sweep.TestCase
