"""What one fetch more is worth, and the way back: how often, for a worth. One function of r for each aim and kind.

The freshness and the age of a page depend on its rate and on r = rate / frequency, the changes between two fetches, and
so do their derivatives by the frequency, f:

    d freshness / df   periodic  (1 - (1 + r) e^-r) / rate         random  (r / (1 + r))^2 / rate
    - d age / df       periodic  (r^2/2 - 1 + (1 + r) e^-r) / rate^2   random  r^3 (2 + r) / (1 + r)^2 / rate^2

Each grows with r: what is fetched rarely gains most. Freshness has a limit there: no page is worth more than 1 / rate,
however long it was left alone, which is why the freshness optimum gives up pages that change too often. Age has none.

>>> around = np.array([1e-6, 0.1, 1.0, 20.0])
>>> all(np.allclose(back(there(around)), around, rtol=1e-4) for there, back in (
...     (fresh_periodic, r_fresh_periodic), (age_periodic, r_age_periodic), (age_random, r_age_random)))
True
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from weft.revisit.contract import Numbers

_NODES = 8192
_SMALL = 1e-2  # below it differences of nearly equal numbers are taken from their series


def fresh_periodic(r: Numbers) -> Numbers:
    """Rate times what one periodic fetch more adds to freshness; 1 at most."""
    return np.where(r < _SMALL, r**2 / 2 - r**3 / 3 + r**4 / 8, 1 - (1 + r) * np.exp(-r))


def age_periodic(r: Numbers) -> Numbers:
    """Rate squared times what one periodic fetch more takes from age."""
    return np.where(r < _SMALL, r**3 / 3 - r**4 / 8 + r**5 / 30, r**2 / 2 - 1 + (1 + r) * np.exp(-r))


def age_random(r: Numbers) -> Numbers:
    """Rate squared times what one random fetch more takes from age."""
    return r**3 * (2 + r) / (1 + r) ** 2


def _inverse(grows: Callable[[Numbers], Numbers], low: float, high: float) -> Callable[[Numbers], Numbers]:
    """The inverse of a function that grows, from a table with equal steps of the logarithm: to 1e-5 and better."""
    nodes = np.geomspace(low, high, _NODES)
    known, at = np.log(grows(nodes)), np.log(nodes)

    def back(worth: Numbers) -> Numbers:
        with np.errstate(divide="ignore"):
            return np.exp(np.interp(np.log(worth), known, at))

    return back


r_fresh_periodic = _inverse(fresh_periodic, 1e-9, 34.0)  # further on a double cannot tell it from 1
r_age_periodic = _inverse(age_periodic, 1e-9, 1e9)
r_age_random = _inverse(age_random, 1e-9, 1e9)


def r_fresh_random(worth: Numbers) -> Numbers:
    """From (r / (1 + r))^2."""
    root = np.sqrt(worth)
    with np.errstate(divide="ignore"):
        return np.where(root < 1, root / np.maximum(1 - root, 0.0), np.inf)
