"""Tests that share something large are run by one process."""

from __future__ import annotations

import os

import pytest


@pytest.mark.xdist_group("a group")
def test_groups__are_known_to_who_hands_tests_out(request: pytest.FixtureRequest) -> None:
    """By the name of the test, to which xdist adds the group: pytest 9.2 does not let it, and says nothing."""
    if "PYTEST_XDIST_WORKER" not in os.environ or not request.config.option.loadgroup:
        pytest.skip("one process runs all tests here")
    assert request.node.nodeid.endswith("@a group")
