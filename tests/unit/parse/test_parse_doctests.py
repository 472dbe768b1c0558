"""The examples in the docstrings of the parsers are true."""

from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["css", "decode", "directives", "html", "media", "page", "sitemap", "tags"])
def test_parse_doctests__examples_are_true(name: str) -> None:
    """Each module has examples, and they hold."""
    failed, tried = doctest.testmod(importlib.import_module(f"weft.parse.{name}"))
    assert tried > 0
    assert failed == 0
