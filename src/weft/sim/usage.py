"""What robots and the link did, over time. In: when downloads began and ended. Out: means of equal intervals.

P0 draws it in three figures: the link in use all the time, for T* (figure 1); the link as it is used, with what lies
idle hatched (figure 2); and the robots at work (figure 7). The same for simulated crawls and for live ones.

>>> middles, robots = levels(np.array([0.0, 1.0]), np.array([2.0, 4.0]), points=4)
>>> middles.tolist(), robots.tolist()
([0.5, 1.5, 2.5, 3.5], [1.0, 2.0, 1.0, 1.0])
>>> levels(np.array([0.0, 1.0]), np.array([2.0, 4.0]), np.array([60.0, 80.0]), most=100.0, points=2)[1].tolist()
[80.0, 80.0]
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.sim.metrics import bound
from weft.sim.result import Simulated

Floats = NDArray[np.float64]

POINTS = 200  # more would draw noise


def levels(
    began: Floats,
    ended: Floats,
    weight: NDArray[Any] | None = None,
    *,
    most: float = math.inf,
    points: int = POINTS,
    until: float | None = None,
) -> tuple[Floats, Floats]:
    """How much is under way, from 0 to the last end, or until another moment: the middles of as many equal intervals as
    points, and the mean in each. Everything counts 1, or has a weight; together they are never more than `most`.

    Means and not single instants, which would mislead where downloads take equally long.
    """
    end = until if until is not None else float(ended.max(initial=0.0))
    if end <= 0.0 or not len(began):
        return np.zeros(points), np.zeros(points)
    weight = np.ones(len(began)) if weight is None else weight
    moments = np.concatenate([began, ended])
    order = np.argsort(moments, kind="stable")
    level = np.minimum(np.cumsum(np.concatenate([weight, -weight])[order]), most)
    moments = moments[order]
    # What has come together up to each moment; between two of them it grows evenly.
    sums = np.concatenate([[0.0], np.cumsum(np.maximum(level, 0.0)[:-1] * np.diff(moments))])
    borders = np.linspace(0.0, end, points + 1)
    width = end / points
    return borders[:-1] + width / 2, np.maximum(np.diff(np.interp(borders, moments, sums)) / width, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Usage:
    """Robots at work and bytes a second, in the same intervals."""

    time: Floats
    """The middles of the intervals."""
    robots: Floats
    used: Floats | None
    """Bytes a second that came; None where pages have no sizes."""
    bandwidth: float
    """Bytes a second that could have come."""
    least_time: float | None
    """T*: what moving the bytes alone takes."""

    @property
    def wasted(self) -> Floats:
        """Bytes a second that could have come and did not."""
        assert self.used is not None
        return np.maximum(self.bandwidth - self.used, 0.0)


def usage(result: Simulated, points: int = POINTS) -> Usage:
    """That of a simulated crawl. The link moves what all servers together give, and no more than it can."""
    bandwidth = float(result.parameters.get("bandwidth") or math.inf)
    time, robots = levels(result.started, result.finished, points=points)
    if result.answered is None or result.speed is None:
        return Usage(time, robots, None, bandwidth, None)
    speed = result.speed.astype(np.float64)
    used = levels(result.answered, result.finished, speed, most=bandwidth, points=points)[1]
    least = bound(result.bytes_moved, bandwidth) if math.isfinite(bandwidth) else None
    return Usage(time, robots, used, bandwidth, least)
