"""The examples in the docstrings of weft.testbed are true."""

from __future__ import annotations

import doctest
import importlib

import pytest

_JUDGED = ("standards", "judge.manners", "judge.page")


@pytest.mark.parametrize(
    "name", ["options", "dice", "names", "paths", "encodings", "messages", "web", "purpose", "web_time", *_JUDGED]
)
def test_testbed_doctests__examples_are_true(name: str) -> None:
    """Every example gives what it says."""
    outcome = doctest.testmod(importlib.import_module(f"weft.testbed.{name}"))
    assert outcome.attempted
    assert not outcome.failed
