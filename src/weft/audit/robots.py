"""Which robots.txt held when. In: visits and robots.txt files. Out: pages that were asked for without one, or with one
that was too old.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.audit.findings import Finding, Findings, moment
from weft.audit.reading import NEVER, Ints, Robots, Visits, origin_of
from weft.engine.robots import MOST_HOPS

_TOLERANCE = 60.0  # seconds by which a file may seem too old


class Library:
    """The robots.txt files of a crawl, to be asked which one held for an origin at a time."""

    def __init__(self, robots: Robots) -> None:
        self._robots = robots
        own = np.flatnonzero(robots.origin >= 0)
        self._by_origin = own[np.lexsort((robots.at[own], robots.origin[own]))]
        self._by_url = np.lexsort((robots.at, robots.url))

    def had(self, origin: Ints, asked_at: Ints) -> Ints:
        """When the newest robots.txt of each origin before a request for a page had come, or -1.

        Where it redirects, the site waits until the last file is there: that is the newest one between the redirect
        and the first page that was asked for on its strength.
        """
        robots, row = self._robots, np.full(len(origin), -1, np.int64)
        found = _newest(robots.origin[self._by_origin], robots.at[self._by_origin], origin, asked_at)
        row[found >= 0] = self._by_origin[found[found >= 0]]
        used, which = np.unique(row[row >= 0], return_inverse=True)
        until = np.full(len(used), NEVER)
        np.minimum.at(until, which, asked_at[row >= 0])
        had = np.full(len(origin), -1, np.int64)
        had[row >= 0] = self._followed(used, until)[which]
        return had

    def _followed(self, rows: Ints, until: Ints) -> Ints:
        robots, last, lost = self._robots, rows.copy(), np.zeros(len(rows), np.bool_)
        for _ in range(MOST_HOPS):
            leads = np.flatnonzero((robots.target[last] != 0) & ~lost)
            if len(leads) == 0:
                break
            found = _newest(robots.url[self._by_url], robots.at[self._by_url], robots.target[last[leads]], until[leads])
            following = self._by_url[found]
            lost[leads] = (found < 0) | (robots.at[following] < robots.at[rows[leads]])
            last[leads] = following
        return np.where(lost, -1, robots.had[last])


def _newest(keys: NDArray[Any], times: Ints, key: NDArray[Any], time: Ints) -> Ints:
    """For each key and time the place of the newest entry not after it, or -1; entries are in order of key and time.

    >>> _newest(np.array([1, 1, 3]), np.array([10, 20, 5]), np.array([1, 1, 2, 3, 1]), np.array([15, 99, 9, 9, 5]))
    array([ 0,  1, -1,  2, -1])
    """
    first = np.searchsorted(keys, key, "left")
    low, high = first.copy(), np.searchsorted(keys, key, "right")
    while len(searching := np.flatnonzero(low < high)):
        middle = (low[searching] + high[searching]) // 2
        before = times[middle] <= time[searching]
        low[searching] = np.where(before, middle + 1, low[searching])
        high[searching] = np.where(before, high[searching], middle)
    return np.where(low > first, low - 1, -1)


def check_robots(findings: Findings, names: list[str], library: Library, visits: Visits, limit: float) -> None:
    """Had a robots.txt come before the first page of each visit, and not too long before its connection was opened?"""
    if len(visits.start) == 0:
        return
    had = library.had(origin_of(visits.site, visits.https), visits.first_page)
    age = np.where(had < 0, -1, np.maximum(visits.start - had, 0))

    def finding(rule: str, visit: int) -> Finding:
        missing = had[visit] < 0
        return Finding(
            rule=rule,
            who=f"{'https' if visits.https[visit] else 'http'}://{names[visits.site[visit]]}",
            figure=None if missing else int(age[visit]) / 1e6,
            limit=limit,
            when=moment(visits.start[visit]),
            since=None if missing else moment(had[visit]),
        )

    oldest = int(np.argmax(age))
    known = -1.0 if findings.oldest is None or findings.oldest.figure is None else findings.oldest.figure
    if age[oldest] >= 0 and age[oldest] / 1e6 > known:
        findings.oldest = finding("robots-age", oldest)
    missing = np.flatnonzero(had < 0)
    findings.add("robots-missing", len(missing), lambda number: finding("robots-missing", missing[number]))
    stale = np.flatnonzero(age > (limit + _TOLERANCE) * 1e6)
    findings.add("robots-age", len(stale), lambda number: finding("robots-age", stale[number]))
