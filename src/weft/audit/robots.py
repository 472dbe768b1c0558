"""Which robots.txt held when. In: visits and robots.txt files. Out: pages that were asked for without one, or with one
that was too old; and, for every request, the file that it is to be judged by.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.audit.findings import Finding, Findings, moment
from weft.audit.reading import Ints, Robots, Visits, origin_of
from weft.audit.terms import NEVER

MOST_HOPS = 5  # redirects of a robots.txt that are followed (RFC 9309, 2.3.1.2)
_TOLERANCE = 60.0  # seconds by which a file may seem too old


class Library:
    """The robots.txt files of a crawl, to be asked which one held for an origin at a time.

    Where one redirects, the site waits until the last file is there: that is the newest one between the redirect and
    the first page that was asked for on its strength. So all pages are told first (`used`), then redirects followed.
    """

    def __init__(self, robots: Robots) -> None:
        self._robots = robots
        own = np.flatnonzero(robots.origin >= 0)
        own = own[np.lexsort((robots.at[own], robots.origin[own]))]
        self._origins, self._times = robots.origin[own], robots.at[own]
        # The last entry of these stands for no file: -1 leads there.
        self._by_origin = np.append(own, -1)
        self._had = np.append(robots.had, -1)
        self._last = np.full(len(robots.at) + 1, -1, np.int64)  # by file: where its redirects lead, -1: nowhere
        self._until = np.full(len(robots.at), NEVER)  # by file: the first page on its strength

    def __repr__(self) -> str:
        return f"Library({len(self._robots.at)} files)"

    def used(self, origin: Ints, asked_at: Ints) -> None:
        """Pages of these origins were asked for at these times."""
        file = self._newest(origin, asked_at)
        np.minimum.at(self._until, file[file >= 0], asked_at[file >= 0])

    def follow(self) -> None:
        """Find out where redirects lead, of the files that were used."""
        robots = self._robots
        rows = np.flatnonzero(self._until != NEVER)
        until, last, lost = self._until[rows], rows.copy(), np.zeros(len(rows), np.bool_)
        by_url = np.lexsort((robots.at, robots.url))
        for _ in range(MOST_HOPS):
            leads = np.flatnonzero((robots.target[last] != 0) & ~lost)
            if len(leads) == 0:
                break
            found = _newest(robots.url[by_url], robots.at[by_url], robots.target[last[leads]], until[leads])
            following = by_url[found]
            lost[leads] = (found < 0) | (robots.at[following] < robots.at[rows[leads]])
            last[leads] = following
        self._last[rows] = np.where(lost, -1, last)

    def had(self, origin: Ints, asked_at: Ints) -> Ints:
        """When the robots.txt had come by which a request for a page is to be judged, or -1."""
        found: Ints = self._had[self._last[self._newest(origin, asked_at)]]
        return found

    def _newest(self, origin: Ints, asked_at: Ints) -> Ints:
        found: Ints = self._by_origin[_newest(self._origins, self._times, origin, asked_at)]
        return found

    def of(self, origin: int) -> list[tuple[int, int, int]]:
        """The files of an origin that were used, the oldest first: when it was asked for, when the last of its
        redirects had come, and the number of that file; -1 where it is lost.
        """
        first, end = np.searchsorted(self._origins, (origin, origin + 1))
        found = []
        for file in self._by_origin[first:end].tolist():
            last = int(self._last[file])
            if self._until[file] != NEVER:
                found.append((int(self._robots.at[file]), int(self._had[last]), last))
        return found

    def record(self, file: int) -> dict[str, Any]:
        """The row of a file, as far as its record is concerned."""
        row: dict[str, Any] = self._robots.records.slice(file, 1).to_pylist()[0]
        return row


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


def check_robots(
    findings: Findings, names: list[str], library: Library, visits: Visits, limit: NDArray[np.float64]
) -> None:
    """Had a robots.txt come before the first page of each visit, and not too long before its connection was opened?"""
    if len(visits.start) == 0:
        return
    had = library.had(origin_of(visits.site, visits.https), visits.first_page)
    age = np.where(had < 0, -1, np.maximum(visits.start - had, 0))
    findings.judged["robots-age"] += len(had)

    def finding(rule: str, visit: int) -> Finding:
        missing = had[visit] < 0
        most = float(limit[visit])
        return Finding(
            rule=rule,
            who=f"{'https' if visits.https[visit] else 'http'}://{names[visits.site[visit]]}",
            figure=None if missing else int(age[visit]) / 1e6,
            limit=most,
            when=moment(visits.start[visit]),
            since=None if missing else moment(had[visit]),
            says="robots.txt comes before a page" if missing else f"a robots.txt holds for {most:g} s",
        )

    oldest = int(np.argmax(age))
    known = -1.0 if findings.oldest is None else findings.oldest[0].figure or 0.0
    if age[oldest] >= 0 and age[oldest] / 1e6 > known:
        findings.oldest = finding("robots-age", oldest), int(visits.page_row[oldest])
    for rule, broken in (
        ("robots-missing", np.flatnonzero(had < 0)),
        ("robots-age", np.flatnonzero(age > (limit + _TOLERANCE) * 1e6)),
    ):
        findings.add(rule, len(broken), _named(rule, broken, visits, finding))


def _named(rule: str, broken: Ints, visits: Visits, finding: Any) -> Any:
    return lambda number: (finding(rule, broken[number]), int(visits.page_row[broken[number]]))
