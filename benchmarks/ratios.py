"""Ratios of one version to another, and what may be said of them. In: one ratio a round. Out: a verdict."""

from __future__ import annotations

import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

WIDEST = 0.02  # on either side of the median: a wider interval says too little
DRAWS = 10_000


@dataclass(frozen=True)
class Interval:
    """The median of ratios, and between what it lies in 95 of 100 draws."""

    median: float
    low: float
    high: float

    @property
    def too_wide(self) -> bool:
        """Does it reach further than ± 2 % of its median?"""
        return max(self.high - self.median, self.median - self.low) > WIDEST * self.median

    def verdict(self, bound: float) -> str:
        """Met where the lower end is not above the bound; nothing is claimed of a wide interval around it."""
        if self.low > bound:
            return "missed"
        return f"open, the interval is wider than ± {100 * WIDEST:.0f} %" if self.too_wide else "met"


def interval(ratios: Sequence[float], *, draws: int = DRAWS, seed: int = 1) -> Interval:
    """The median, and its 95 % interval by bootstrap."""
    chance = random.Random(seed)
    medians = sorted(statistics.median(chance.choices(ratios, k=len(ratios))) for _ in range(draws))
    return Interval(statistics.median(ratios), medians[int(0.025 * draws)], medians[int(0.975 * draws) - 1])
