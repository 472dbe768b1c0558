"""The examples in the docstrings of weft.graph are true."""

from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize(
    "name",
    [
        "model",
        "recipe",
        "sizes",
        "generate",
        "names",
        "assembly",
        "files",
        "rank",
        "describe",
        "subgraph",
        "changing.recipe",
        "changing.world",
        "changing.processes",
        "changing.snapshots",
        "changing.happenings",
    ],
)
def test_graph_doctests__examples_are_true(name: str) -> None:
    """Every example gives what it says."""
    failed, tried = doctest.testmod(importlib.import_module(f"weft.graph.{name}"))
    assert tried > 0
    assert failed == 0
