"""Examples in the code of feeds are true."""

from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["dates", "reading"])
def test_feeds_doctests__examples_are_true(name: str) -> None:
    """Every example gives what it says."""
    failed, tried = doctest.testmod(importlib.import_module(f"weft.feeds.{name}"))
    assert tried
    assert not failed
