"""Events that come by chance, for many at once. In: how many each may expect. Out: which had one, and how far along.

Independent Poisson processes laid end to end are one Poisson process: its points are drawn in one go, and fall to
whoever's stretch they lie in, in order. Only uniform draws are used, as everywhere in this package.

>>> rng = np.random.Generator(np.random.PCG64(1))
>>> whose, along = points(rng, np.array([0.0, 1000.0, 3.0]))
>>> bool((whose[:900] == 1).all()), bool((along >= 0).all()), bool((along[whose == 2] < 3).all())
(True, True, True)
>>> bool((np.diff(along[whose == 1]) >= 0).all())
True
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]


def points(rng: np.random.Generator, expected: Reals) -> tuple[NDArray[np.int64], Reals]:
    """Draw unit-rate processes over stretches of these lengths: for each point its stretch, and where it is in it."""
    ends = np.cumsum(expected)
    total = float(ends[-1]) if len(ends) else 0.0
    reached, drawn = 0.0, []
    while reached < total:
        many = int((total - reached) + 4 * np.sqrt(total - reached)) + 16
        drawn.append(reached + np.cumsum(exponentials(rng, many)))
        reached = float(drawn[-1][-1])
    place = np.concatenate(drawn) if drawn else np.empty(0)
    place = place[place < total]
    whose = np.searchsorted(ends, place, side="right")
    along = place - (ends[whose] - expected[whose])
    return whose, np.clip(along, 0.0, expected[whose])


def exponentials(rng: np.random.Generator, many: int) -> Reals:
    """Exponential draws of mean 1."""
    return np.asarray(-np.log1p(-rng.random(many)))


def normals(rng: np.random.Generator, many: int) -> Reals:
    """Standard normal draws (Box and Muller)."""
    return np.asarray(np.sqrt(2 * exponentials(rng, many)) * np.cos(2 * np.pi * rng.random(many)))


def log_uniform(rng: np.random.Generator, least: float, most: float, many: int) -> Reals:
    """Draws whose logarithms are uniform."""
    return np.asarray(least * (most / least) ** rng.random(many))
