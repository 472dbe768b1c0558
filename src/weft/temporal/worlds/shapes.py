"""How interest in a page comes and goes. In: draws. Out: for every page the exact share of its interest up to any age.

Interest is a weighted sum of two components, each a curve of a known integral: log-normal, exponential, power law or
flat, with a scale in days, a form and a delay. Most pages have one component; a page with two climaxes, or news with a
long tail, has two. A curve is found by the share that must lie within its first three days, so the truth about a page
is drawn first and its curve goes through it; nothing is fitted and nothing is rounded.

>>> fast = Shapes.of(np.array([LOG_NORMAL, EXPONENTIAL, POWER_LAW, FLAT]), np.full(4, 1.0), np.full(4, 2.0))
>>> fast.share(3.0).round(4).tolist()  # one standard deviation: 84 % within three days, whatever the curve
[0.8413, 0.8413, 0.8413, 0.8413]
>>> fast.share(0.5).round(3).tolist()
[0.541, 0.264, 0.362, 0.14]
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.compiled import compiled, inlined

LOG_NORMAL, EXPONENTIAL, POWER_LAW, FLAT = range(4)
DAYS = 3.0  # within which a share is prescribed: the paper's n

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Shapes:
    """The interest of many pages; every array has two entries a page, one for each component."""

    family: NDArray[np.int64]
    scale: Reals  # in days
    form: Reals
    delay: Reals  # days from the page's birth to the component's beginning
    weight: Reals  # the component's part of all interest

    @classmethod
    def of(cls, family: NDArray[np.int64], normal: Reals, form: Reals) -> Shapes:
        """Curves of one component with the share N(normal) in the first three days."""
        scale = _scales(family, normal, form)
        nothing = np.zeros(len(family))
        return cls(
            np.column_stack([family, np.full(len(family), FLAT)]),
            np.column_stack([scale, nothing + 1]),
            np.column_stack([form, nothing]),
            np.column_stack([nothing, nothing]),
            np.column_stack([nothing + 1, nothing]),
        )

    def with_rest(self, rest: Reals, delay: Reals, tail: float) -> Shapes:
        """The same curves with a second component for a share of the interest.

        After a delay it is the first one again; without a delay it is flat over the days of a tail.
        """
        again = delay > 0
        return Shapes(
            np.column_stack([self.family[:, 0], np.where(again, self.family[:, 0], FLAT)]),
            np.column_stack([self.scale[:, 0], np.where(again, self.scale[:, 0], tail)]),
            np.column_stack([self.form[:, 0], self.form[:, 0]]),
            np.column_stack([np.zeros(len(delay)), delay]),
            np.column_stack([1 - rest, rest]),
        )

    def share(self, age: float | Reals) -> Reals:
        """The exact share of each page's interest before an age in days; 0 before its birth."""
        ages = np.broadcast_to(np.asarray(age, dtype=np.float64), (len(self.family),))
        return _shares(self.family, self.scale, self.form, self.delay, self.weight, ages)

    def by_day(self, birth: Reals, days: int) -> Reals:
        """The share of each page's interest on each day from 0 on, for pages born at a time in days."""
        return _by_day(self.family, self.scale, self.form, self.delay, self.weight, birth, days)

    def take(self, pages: NDArray[np.int64] | slice) -> Shapes:
        """Some of the pages."""
        return Shapes(self.family[pages], self.scale[pages], self.form[pages], self.delay[pages], self.weight[pages])


@inlined
def _normal(x: float) -> float:
    """The normal distribution up to x, exact in both tails."""
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


@compiled
def _scales(family: NDArray[np.int64], normal: Reals, form: Reals) -> Reals:
    """The scale with which each curve has the share N(normal) in its first three days."""
    scale = np.empty(len(family))
    for page in range(len(family)):
        left = _normal(-normal[page])  # what comes later
        if family[page] == LOG_NORMAL:
            scale[page] = DAYS / math.exp(form[page] * normal[page])
        elif family[page] == EXPONENTIAL:
            scale[page] = DAYS / -math.log2(left)
        elif family[page] == POWER_LAW:
            scale[page] = DAYS / (left ** (-1.0 / form[page]) - 1.0)
        else:
            scale[page] = DAYS / _normal(normal[page])
    return scale


@inlined
def _share(family: int, scale: float, form: float, age: float) -> float:
    """The share of one component before an age."""
    x = age / scale
    if x <= 0.0:
        return 0.0
    if family == LOG_NORMAL:
        return _normal(math.log(x) / form)
    if family == EXPONENTIAL:
        return 1.0 - math.pow(2.0, -x)
    if family == POWER_LAW:
        return 1.0 - math.pow(1.0 + x, -form)
    return min(x, 1.0)


@inlined
def _page_share(family: NDArray[np.int64], scale: Reals, form: Reals, delay: Reals, weight: Reals, age: float) -> float:
    """The share of a page before an age."""
    share = 0.0
    for part in range(2):
        if weight[part] > 0.0:
            share += weight[part] * _share(family[part], scale[part], form[part], age - delay[part])
    return share


@compiled
def _shares(family: NDArray[np.int64], scale: Reals, form: Reals, delay: Reals, weight: Reals, age: Reals) -> Reals:
    share = np.empty(len(family))
    for page in range(len(family)):
        share[page] = _page_share(family[page], scale[page], form[page], delay[page], weight[page], age[page])
    return share


@compiled
def _by_day(
    family: NDArray[np.int64], scale: Reals, form: Reals, delay: Reals, weight: Reals, birth: Reals, days: int
) -> Reals:
    share = np.zeros((len(family), days))
    for page in range(len(family)):
        day = max(0, math.floor(birth[page]))
        before = 0.0
        if birth[page] < day:
            before = _page_share(family[page], scale[page], form[page], delay[page], weight[page], day - birth[page])
        while day < days:
            until = _page_share(family[page], scale[page], form[page], delay[page], weight[page], day + 1 - birth[page])
            share[page, day] = until - before
            before = until
            day += 1
    return share
