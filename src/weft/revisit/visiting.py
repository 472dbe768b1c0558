"""What fetches do for a page that changes by chance. In: rate and frequency. Out: freshness, age and delay.

Changes come as a Poisson process. A page is *fresh* while our copy is the page as it is; its *age* is the time since
the first change that the copy lacks, and 0 while it is fresh (Cho and Garcia-Molina 2003). Fetches are *periodic*, or
*random*: a Poisson process of their own. With r = rate / frequency, the changes between two fetches:

    periodic   freshness (1 - e^-r) / r      age  (1/2 - 1/r + (1 - e^-r) / r^2) / frequency
    random     freshness 1 / (1 + r)         age  r / (1 + r) / frequency

Periodic fetches are better in both at every rate; a crawl's own fetches lie between, since a page waits for its site.

>>> round(float(freshness(np.array([1.0]), np.array([1.0]), "periodic")[0]), 3)
0.632
>>> float(age(np.array([1.0]), np.array([1.0]), "random")[0])
0.5
"""

from __future__ import annotations

import numpy as np

from weft.revisit.contract import Kind, Numbers

_SMALL = 1e-3  # below it differences of nearly equal numbers are taken from their series


def freshness(rate: Numbers, frequency: Numbers, kind: Kind) -> Numbers:
    """The share of the time in which the copy is the page as it is; 0 where it is never fetched and changes."""
    r = changes_between(rate, frequency)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found = 1 / (1 + r) if kind == "random" else -np.expm1(-r) / r
    return np.where(r == 0, 1.0, np.where(np.isinf(r), 0.0, found))


def age(rate: Numbers, frequency: Numbers, kind: Kind) -> Numbers:
    """How old the copy is on average, in days; infinite where it is never fetched and changes."""
    r = changes_between(rate, frequency)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if kind == "random":
            intervals = r / (1 + r)
        else:
            intervals = np.where(r < _SMALL, r / 6 - r * r / 24, 0.5 - 1 / r - np.expm1(-r) / r**2)
        found = intervals / frequency
    return np.where(r == 0, 0.0, np.where(np.isinf(r), np.inf, found))


def delay(frequency: Numbers, kind: Kind) -> Numbers:
    """How long something new waits on average until it is seen: half an interval, or a whole one by chance."""
    with np.errstate(divide="ignore"):
        return (1.0 if kind == "random" else 0.5) / np.asarray(frequency, np.float64)


def within(frequency: Numbers, hours: float, kind: Kind) -> Numbers:
    """The share of what is new that is seen within so many hours."""
    expected = np.asarray(frequency, np.float64) * hours / 24
    return -np.expm1(-expected) if kind == "random" else np.minimum(expected, 1.0)


def changes_between(rate: Numbers, frequency: Numbers) -> Numbers:
    """The changes that are expected between two fetches: none of a page that never changes, however rarely fetched."""
    rate, frequency = np.broadcast_arrays(np.asarray(rate, np.float64), np.asarray(frequency, np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(rate == 0, 0.0, rate / frequency)
