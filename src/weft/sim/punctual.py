"""Is everybody on time? In: a plan, the intervals that were wished for, what sites and the crawl can do. Out: `Kept`.

For plans that are far larger than what `continuous` plays in detail: pages are fetched day by day when the plan has
them due, the longest overdue first, no more of a site than it can bear and no more in all than there is. It takes 8
bytes a page.
A page is late when its time since the fetch before passes its most interval; what is wished and cannot be done is late
by plan, and `revisit.feasibility` has said so before.

Always: no page is fetched before its least interval is over; every page that is due is fetched or waits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.revisit.bounds import Bounds
from weft.revisit.contract import Numbers
from weft.revisit.planning import Capacity

SLACK = 1.0  # days: fetches are placed by the day, so that one may seem so much late


class Kept(NamedTuple):
    """What came of it, over the days that are measured."""

    fetches: int
    by_day: NDArray[np.int64]
    late: NDArray[np.bool_]  # by page: it was fetched too late, or is too late at the end
    early: int  # fetches before a least interval was over: none
    waiting: int  # pages that were due at the end and not fetched
    nbytes: int  # that the simulation keeps of pages


def keep_up(
    frequency: Numbers, bounds: Bounds, capacity: Capacity, budget: float, days: int, rng: np.random.Generator
) -> Kept:
    """Fetch by a plan for so many days; every page begins somewhere within its interval."""
    many = len(frequency)
    with np.errstate(divide="ignore"):
        interval = (1 / frequency).astype(np.float32)
    last = np.where(np.isfinite(interval), -interval * rng.random(many, np.float32), np.float32(0)).astype(np.float32)
    due = last + interval
    late = np.zeros(many, np.bool_)
    fetched, early, credit = np.zeros(days, np.int64), 0, np.zeros(len(capacity.most))
    left = 0.0
    for day in range(days):
        credit = np.minimum(credit, 1.0) + capacity.most
        left = left % 1.0 + budget
        waiting = np.flatnonzero(due < day + 1)
        waiting = waiting[np.argsort(due[waiting], kind="stable")]
        chosen = waiting[_allowed(capacity.site[waiting], credit)][: int(left)]
        left -= len(chosen)
        credit -= np.bincount(capacity.site[chosen], minlength=len(credit))
        at = np.maximum(due[chosen], day).astype(np.float64)
        elapsed = at - last[chosen]
        early += int((elapsed * bounds.highest[chosen] < 1 - 1e-3).sum())
        late[chosen] |= elapsed * bounds.lowest[chosen] > 1 + SLACK * bounds.lowest[chosen]
        last[chosen] = at
        due[chosen] = last[chosen] + interval[chosen]
        fetched[day] = len(chosen)
    late |= (days - last) * bounds.lowest > 1 + SLACK * bounds.lowest
    return Kept(int(fetched.sum()), fetched, late, early, int((due < days).sum()), last.nbytes + due.nbytes)


def _allowed(site: NDArray[np.int32], credit: Numbers) -> NDArray[np.bool_]:
    """Those that their sites can bear today, in their order."""
    order = np.argsort(site, kind="stable")
    ranked = site[order]
    rank = np.arange(len(ranked)) - np.searchsorted(ranked, ranked)
    found = np.zeros(len(site), np.bool_)
    found[order] = rank < np.floor(credit[ranked])
    return found
