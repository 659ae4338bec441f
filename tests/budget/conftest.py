"""A ledger's waits, cut short."""

import pytest


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mixgrid.budget.journal.LINGER_S", 0.0)
    monkeypatch.setattr("mixgrid.budget.purse._LOOK_S", 0.02)
