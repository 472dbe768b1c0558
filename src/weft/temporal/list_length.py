"""How long the seed list is. In: sites, best first, and how often the crawler can look at their hubs. Out: a length.

Two rules, and what is said of both (`Ending`). By F-measure: F = 2t / (n + T), with t temporal pages among the n of the
list and T in all, so that the next site is worth having when more of its pages are temporal than F / 2. Pages and
labels are the analysis's own, of the window; nothing is asked of pages that the list will be held against.

By what can be polled: P2 (4.3) takes "as many seeds as the instant crawler is capable to monitor". A hub where r pages
are born a day and that is looked at f times a day keeps each of them waiting for half an interval, 1 / 2f. With F looks
a day in all, the waiting of all pages together is least when hubs are looked at in proportion to the root of their
rates; then a page waits (sum of sqrt(r))^2 / (2 F sum of r) days on average. The list is the longest beginning of the
ranking for which that stays within the time wanted. It is optimistic where a hub does not list all that is new.

>>> two = Demand(np.array([4.0, 1.0]), np.array([16.0, 1.0]))
>>> polls(two, 100).tolist()
[80.0, 20.0]
>>> fitting(two, 24, 1.0), fitting(two, 24, 0.5)  # the first alone takes 16 / (2 x 24 x 16) of a day, half an hour
(2, 1)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from weft.temporal.hubs import Hubs

Rule = Literal["f-measure", "top", "polls", "no more"]
WHY: dict[Rule, str] = {
    "f-measure": "one site more would lower its F-measure by the labels of this window",
    "top": "it has as many sites as --top allows",
    "polls": "one site more and new pages would wait longer than --delay-hours",
    "no more": "no other site publishes enough that is temporal",
}

LEAST_BIRTHS = 0.5  # in the whole window: no birth seen does not mean that there will be none


@dataclass(frozen=True, slots=True)
class Ending:
    """Where the seed list ends, and by which rule."""

    sites: int
    score: float | None  # the lowest on the list; None: it is empty
    f: float  # the list's F-measure by the labels of the window
    rule: Rule

    @property
    def why(self) -> str:
        """The rule in words."""
        return WHY[self.rule]


def f_measures(temporal: NDArray[np.int64], pages: NDArray[np.int64], all_temporal: int) -> NDArray[np.float64]:
    """F of every beginning of a ranking, of one site at least.

    >>> f_measures(np.array([8, 4, 1]), np.array([10, 10, 10]), 16).round(3).tolist()  # the third is not worth having
    [0.615, 0.667, 0.565]
    """
    return np.asarray(2 * np.cumsum(temporal) / np.maximum(np.cumsum(pages) + all_temporal, 1))


@dataclass(frozen=True, slots=True)
class Demand:
    """What sites ask of a crawler; one entry a site."""

    roots: NDArray[np.float64]  # the roots of its hubs' rates, added up
    rates: NDArray[np.float64]  # temporal pages born a day

    def of(self, sites: NDArray[np.int64] | slice) -> Demand:
        """The same for some sites, in an order."""
        return Demand(self.roots[sites], self.rates[sites])


def demand(hubs: Hubs, sites: int, days: int) -> Demand:
    """The demand of all sites: each hub is looked at for itself."""
    rates = np.maximum(hubs.temporal_births, LEAST_BIRTHS / days)
    roots = np.bincount(hubs.site, np.sqrt(rates), sites)
    return Demand(np.asarray(roots, np.float64), np.asarray(np.bincount(hubs.site, rates, sites), np.float64))


def polls(wanted: Demand, per_day: float) -> NDArray[np.float64]:
    """The looks a day that each site gets."""
    found: NDArray[np.float64] = per_day * wanted.roots / np.maximum(wanted.roots.sum(), 1e-300)
    return found


def fitting(wanted: Demand, per_day: float, hours: float) -> int:
    """How many sites, best first, can be looked at so that a new page waits no longer than so many hours on average."""
    waiting = 24 * np.cumsum(wanted.roots) ** 2 / (2 * per_day * np.cumsum(wanted.rates))
    within = np.nonzero(waiting <= hours)[0]
    return int(within[-1]) + 1 if len(within) else 0
