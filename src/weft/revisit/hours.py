"""Hours of the day. In: how much happens in each. Out: a clock that runs faster where more happens.

What is born waits for the next poll. If births come at b(t) and polls are as dense as f(t), the waiting is the sum of
b / 2f; with so many polls a day it is least where f goes with the root of b. So polls keep equal distances on a clock
that runs as the root of the births does, and their times are read off that clock. With equal hours it is the plain one.
`time` says days since a midnight of the place that the hours are of.

>>> night = Hours(np.array([1.0] * 6 + [9.0] * 18))
>>> float(night.after(np.array([0.0]), np.array([1.0]))[0])  # a day is a day
1.0
>>> (24 * night.after(np.array([0.0, 0.5]), np.array([0.1, 0.1]))).round(2).tolist()
[6.0, 14.0]
"""

from __future__ import annotations

import numpy as np

from weft.revisit.contract import Numbers

_LEAST = 1e-3  # of the mean: an hour in which nothing was seen may bring something all the same


class Hours:
    """A clock for polls."""

    def __init__(self, births: Numbers) -> None:
        births = np.asarray(births, np.float64)
        pace = np.sqrt(np.maximum(births / max(births.mean(), 1e-300), _LEAST))
        self._plain = np.arange(len(births) + 1) / len(births)
        self._run = np.concatenate([[0.0], np.cumsum(pace) / pace.sum()])

    def run(self, time: Numbers) -> Numbers:
        """What this clock shows at a time."""
        return np.asarray(np.floor(time) + np.interp(time % 1.0, self._plain, self._run))

    def time(self, run: Numbers) -> Numbers:
        """When this clock shows so much."""
        return np.asarray(np.floor(run) + np.interp(run % 1.0, self._run, self._plain))

    def after(self, time: Numbers, interval: Numbers) -> Numbers:
        """The time that is so much later by this clock."""
        return self.time(self.run(time) + interval)


def hours_of(times: Numbers, pseudo: float = 24.0) -> Hours:
    """The hours of births at these times (in days), held towards equal ones by so many births more."""
    seen = np.bincount((times % 1.0 * 24).astype(np.intp), minlength=24)[:24]
    return Hours(np.asarray(seen + pseudo / 24, np.float64))
