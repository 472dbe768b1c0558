"""Can the wishes be met? In: most intervals, the waits of sites, the budget. Out: what is wrong, and which sites it is.

A site has one connection at a time and rests for its wait afterwards: in a day it can be visited 86,400 / wait times at
most, for up to k pages each. Pages whose most intervals ask for more of it than that cannot all be on time, whoever
plans; it is told before a crawl begins, and again as pages are found.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.revisit.bounds import Bounds
from weft.revisit.contract import Numbers
from weft.revisit.planning import Capacity

DAY = 86_400.0


class Wishes(NamedTuple):
    """Most intervals beside what is possible."""

    asked: float  # fetches a day that they ask for, in all
    budget: float  # fetches a day that there are
    sites: NDArray[np.int64]  # those that cannot bear what is asked of them, the worst first
    stretch: Numbers  # by these: how many times as long as wished their intervals become
    bearable: float  # what is asked for, of each site no more than it can bear

    @property
    def met(self) -> bool:
        """Can all pages be on time?"""
        return self.bearable <= self.budget and not len(self.sites)

    def warnings(self, names: list[str] | None = None) -> list[str]:
        """The same for people; some sites by name, or by number."""
        found = []
        if self.bearable > self.budget:
            found.append(
                f"The longest intervals ask for {self.bearable:,.0f} fetches a day, and there are {self.budget:,.0f}: "
                f"they become {self.bearable / self.budget:.2f} times as long."
            )
        if len(self.sites):
            worst = [names[at] if names else f"site {at}" for at in self.sites[:5].tolist()]
            more = f" and {len(self.sites) - 5:,} more" if len(self.sites) > 5 else ""
            found.append(
                f"{len(self.sites):,} sites cannot be visited as often as the longest intervals of pages ask for: "
                f"{', '.join(worst)}{more}. With their waits these become up to {self.stretch[0]:.1f} times as long."
            )
        return found


def capacity_of(site: NDArray[np.int32], wait: Numbers, per_visit: int = 1, page_time: float = 1.0) -> Capacity:
    """What sites with these waits (seconds) can bear: k pages, each of which takes its time, and then a rest."""
    return Capacity(site, per_visit * DAY / (np.asarray(wait, np.float64) + per_visit * page_time))


def examine(bounds: Bounds, capacity: Capacity, budget: float) -> Wishes:
    """Hold what most intervals ask for against what is possible."""
    asked = np.bincount(capacity.site, bounds.asked, len(capacity.most))
    stretch = asked / capacity.most
    over = np.flatnonzero(stretch > 1)
    over = over[np.argsort(-stretch[over], kind="stable")]
    bearable = float(np.minimum(asked, capacity.most).sum())
    return Wishes(float(bounds.asked.sum()), budget, over, stretch[over], bearable)
