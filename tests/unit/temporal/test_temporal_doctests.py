"""The examples in the docstrings of weft.temporal are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

from weft import temporal

MODULES = sorted(module.name for module in pkgutil.walk_packages(temporal.__path__, "weft.temporal."))


@pytest.mark.parametrize("name", MODULES)
def test_temporal_doctests__examples_are_true(name: str) -> None:
    """Every example gives what it says."""
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0
