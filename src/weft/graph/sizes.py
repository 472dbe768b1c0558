"""Site sizes of a country-like web. In: how many sites and pages. Out: pages per site, a truncated power law.

Real sites' sizes follow a power law (Castillo et al. 2004, figure 3), which crawls cut off at a limit.
Invariant: the sizes are between 1 and the cap and add up to exactly the pages asked for.

>>> sizes = site_sizes(np.random.Generator(np.random.PCG64(1)), sites=1000, pages=20_000, cap=2_500)
>>> int(sizes.sum()), int(sizes.min()), int(np.median(sizes))
(20000, 1, 2)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def site_sizes(rng: np.random.Generator, *, sites: int, pages: int, cap: int) -> NDArray[np.int64]:
    """Draw one size per site; the exponent is the one that gives the number of pages asked for."""
    # One draw from each of `sites` equal slices: the tail holds most pages, it must not be missing by chance.
    shares = (np.arange(sites) + rng.random(sites)) / sites
    low, high = -20.0, 20.0
    for _ in range(80):
        middle = (low + high) / 2
        if _pareto(shares, middle, cap).sum() > pages:
            low = middle
        else:
            high = middle
    sizes = _pareto(shares, high, cap)
    _settle_difference(rng, sizes, pages, cap)
    return np.asarray(sizes[np.argsort(rng.random(sites), kind="stable")])


def _pareto(shares: NDArray[np.float64], exponent: float, cap: int) -> NDArray[np.int64]:
    """Quantiles of a Pareto distribution on 1..cap, rounded down; below 0 the exponent leans to the cap."""
    top = float(cap + 1)
    if abs(exponent) < 1e-9:  # the limit, where the formula divides by zero
        exponent = 1e-9
    values = (1 - shares * (1 - top**-exponent)) ** (-1 / exponent)
    return np.asarray(np.clip(values.astype(np.int64), 1, cap))


def _settle_difference(rng: np.random.Generator, sizes: NDArray[np.int64], pages: int, cap: int) -> None:
    """Add or remove single pages at random sites until the sum is right."""
    while missing := pages - int(sizes.sum()):
        free = np.flatnonzero(sizes < cap) if missing > 0 else np.flatnonzero(sizes > 1)
        chosen = free[np.argsort(rng.random(len(free)), kind="stable")[: abs(missing)]]
        sizes[chosen] += 1 if missing > 0 else -1
