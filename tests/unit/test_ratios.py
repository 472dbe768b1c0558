"""How ratios between two versions are judged."""

from __future__ import annotations

import random

import pytest
from benchmarks.ratios import Interval, interval


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (Interval(1.004, 0.998, 1.009), "met"),
        (Interval(1.015, 1.009, 1.021), "met"),  # the lower end decides
        (Interval(1.03, 1.02, 1.04), "missed"),
        (Interval(1.00, 0.97, 1.01), "open"),
        (Interval(1.30, 1.10, 1.50), "missed"),  # wide, and yet above
    ],
)
def test_ratio__is_claimed_only_where_its_interval_is_narrow(found: Interval, verdict: str) -> None:
    """Met, missed, or open."""
    assert found.verdict(1.01).startswith(verdict)


def test_interval__holds_the_median_and_narrows_with_the_spread() -> None:
    """Nine rounds with 1 % of noise around 1.05."""
    chance = random.Random(3)
    found = interval([1.05 * (1 + chance.gauss(0, 0.01)) for _ in range(9)])
    assert found.low <= found.median <= found.high
    assert found.low > 1.03
    assert found.high < 1.07
    assert interval([1.0] * 9) == Interval(1.0, 1.0, 1.0)
