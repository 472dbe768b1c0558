"""The examples in the docstrings of weft.sim and weft.printing are true."""

from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize(
    "name",
    [
        *("sim.metrics", "sim.usage", "sim.speedup", "sim.repeats", "sim.pictures", "sim.report_page"),
        *("printing.page", "printing.plots", "printing.charts"),
    ],
)
def test_sim_doctests__examples_are_true(name: str) -> None:
    """Every example gives what it says."""
    failed, tried = doctest.testmod(importlib.import_module(f"weft.{name}"))
    assert tried > 0
    assert failed == 0
