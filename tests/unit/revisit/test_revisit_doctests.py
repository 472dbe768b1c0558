"""The examples in the docstrings of weft.revisit, and of the lanes that it is simulated with, are true."""

from __future__ import annotations

import doctest
import importlib

import pytest

ROOMS = ("visiting", "marginal", "freshest", "bounds", "evidence", "rates", "priors", "hints", "hours")


@pytest.mark.parametrize("name", [*(f"revisit.{room}" for room in ROOMS), "sim.lanes"])
def test_revisit_doctests__examples_are_true(name: str) -> None:
    """Every example gives what it says."""
    failed, tried = doctest.testmod(importlib.import_module(f"weft.{name}"))
    assert tried > 0
    assert failed == 0
