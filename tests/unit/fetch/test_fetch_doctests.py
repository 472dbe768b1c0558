"""The examples in the docstrings of the fetch room are true."""

from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["cookies", "headers"])
def test_fetch_doctests__examples_are_true(name: str) -> None:
    """Each module has examples, and they hold."""
    failed, tried = doctest.testmod(importlib.import_module(f"weft.fetch.{name}"))
    assert tried > 0
    assert failed == 0
