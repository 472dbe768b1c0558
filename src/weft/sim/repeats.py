"""How far chance moves a measure. In: its values in crawls that differ by their seed alone. Out: the mean, and the 95 %
interval around it by Student's t.

The interval is mean ± t s / √n, with s the standard deviation of the n values and t the quantile of Student's
distribution with n - 1 degrees of freedom: for few values that scatter about evenly it is right where a bootstrap of
them is too narrow.

>>> print(interval([10.0, 12.0, 14.0]))
12 ± 4.97
>>> interval([3.0])
Interval(mean=3.0, half=None, values=(3.0,))
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and how far the truth may be from it; nobody knows where there is one value."""

    mean: float
    half: float | None
    values: tuple[float, ...]

    def __str__(self) -> str:
        return f"{self.mean:.3g}" if self.half is None else f"{self.mean:.3g} ± {self.half:.3g}"


def interval(values: Sequence[float]) -> Interval:
    """Mean and 95 % interval."""
    if len(values) < 2:
        return Interval(values[0], None, tuple(values))
    return Interval(fmean(values), quantile(len(values) - 1) * stdev(values) / math.sqrt(len(values)), tuple(values))


def quantile(freedom: int) -> float:
    """The t that Student's distribution is within, up and down, with a chance of 95 %.

    >>> [round(quantile(n), 3) for n in (1, 2, 4, 9, 30, 400)]
    [12.706, 4.303, 2.776, 2.262, 2.042, 1.966]
    """
    low, high = 0.0, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, freedom) < CONFIDENCE else (low, middle)
    return high


def _within(t: float, freedom: int) -> float:
    """The chance that Student's t is between -t and t: a finite sum where the degrees of freedom are a whole number
    (Abramowitz and Stegun, 26.7.3 and 26.7.4).
    """
    angle = math.atan(t / math.sqrt(freedom))
    cosine = math.cos(angle)
    odd = freedom % 2
    term, total = (cosine, cosine) if odd else (1.0, 1.0)
    if freedom == 1:
        total = 0.0
    for n in range(2 + odd, freedom, 2):
        term *= (n - 1) / n * cosine**2
        total += term
    total *= math.sin(angle)
    return 2 / math.pi * (angle + total) if odd else total
