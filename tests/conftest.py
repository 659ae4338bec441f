"""What every test may ask for. Servers are in servers.py."""

from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("mixgrid", deadline=None)  # other work on the machine is no failure of the test
settings.load_profile("mixgrid")

pytest_plugins = ["tests.servers"]

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """Real data sets and outside values that cannot be part of the project, if they lie beside the checkout."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("the folder ../shared, with real data, is not beside this checkout")
    return folder
