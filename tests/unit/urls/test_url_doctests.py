"""The examples in the documentation of the URL room are true."""

from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["address", "fingerprint", "normal", "shape", "site"])
def test_doctests__hold(name: str) -> None:
    """Every example in a module's docstrings gives what it says."""
    outcome = doctest.testmod(importlib.import_module(f"weft.urls.{name}"))
    assert outcome.attempted
    assert not outcome.failed
