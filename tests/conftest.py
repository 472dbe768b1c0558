"""What all tests share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

SHARED = Path(__file__).resolve().parents[2] / "shared"

# Machines are noisy: a slow example is no failure. The order of tests is random, the examples need not be.
settings.register_profile("weft", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.load_profile("weft")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real files that lies beside the project."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip("the shared data is not beside this checkout")
    return folder


@pytest.fixture
def shared(shared_data: Path) -> Callable[[str], Path]:
    """A shared data file by its name; the test is skipped where it is missing."""

    def find(name: str) -> Path:
        if not (shared_data / name).exists():
            pytest.skip(f"the shared data {name} is not beside this checkout")
        return shared_data / name

    return find
