"""What all tests share."""

from __future__ import annotations

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
