"""Visits beside the rules. In: visits, and the settings of the crawl. Out: findings about connections at once, rests
and gaps.

Visits are looked at in order of their site, domain or address and of time, so that each is compared with the one before
it; and in large blocks, so that what is a loop in Python does not run over visits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.audit.findings import Finding, Findings, moment
from weft.audit.reading import NEVER, Codes, Ints, Robots, Truths, Visits
from weft.audit.robots import Library, check_robots
from weft.config import Settings
from weft.frontier.politeness import wait_after

_TOLERANCE = 0.001  # seconds by which a wait may seem short
_SLEW = 0.0005  # and its share of the wait: no clock is slewed faster
_BLOCK = 1_000_000  # visits compared at once


class SiteRules(NamedTuple):
    """What holds by site, and by visit."""

    obeys: Truths  # by site
    gap: NDArray[np.float64]  # by site: a quarter of the smallest wait the settings give
    wait: NDArray[np.float64]  # by visit: what the site was to rest for after it


def site_rules(names: list[str], visits: Visits, settings: Settings) -> SiteRules:
    """What the settings ask for, of these sites and after these visits."""
    politeness = settings.politeness
    own = [settings.overrides.of(name) for name in names] if settings.overrides.sites else []
    fixed = [site.wait for site in own] or [None] * len(names)
    least = {
        # How many pages a site had at a time is not known here: a site may have been small, or not.
        wait: min(wait_after(politeness, 0.0, None, wait, pages) for pages in (0, politeness.small_site))
        for wait in set(fixed)
    }
    smallest = np.array([least[wait] for wait in fixed])
    adapts = np.array([wait is None for wait in fixed]) & (politeness.wait is None and politeness.wait_small is None)
    # The wait as it was written down; where it was not, the one after such a download; and of a visit whose process
    # may have been killed, which has forgotten its download, the smallest.
    after = np.minimum(np.maximum(politeness.wait_least, politeness.wait_factor * visits.took), politeness.wait_most)
    wait = np.where(adapts[visits.site] & ~np.isnan(visits.took), after, smallest[visits.site])
    wait = np.where(np.isnan(visits.wait), wait, visits.wait)
    robots = [site.robots or settings.selection.robots for site in own] or [settings.selection.robots] * len(names)
    return SiteRules(np.array([rule == "obey" for rule in robots]), smallest / 4, wait)


def check_sites(
    findings: Findings, names: list[str], visits: Visits, rules: SiteRules, robots: Robots, *, robots_age: float
) -> None:
    """One connection at a time, a rest after each, and robots.txt."""
    library = Library(robots)
    for block in _blocks(visits.site, visits.start):
        site, start, end, wait = visits.site[block], visits.start[block], visits.end[block], rules.wait[block]
        _connections(findings, "site", names, site, start, end, limit=1)
        former = np.flatnonzero(site[1:] == site[:-1])
        _gaps(findings, "site", names, site[former], end[former], start[former + 1], wait[former])
        asked = block[rules.obeys[site] & (visits.first_page[block] != NEVER)]
        check_robots(findings, names, library, Visits(*(column[asked] for column in visits)), robots_age)


def check_throttles(
    findings: Findings,
    kind: str,
    names: list[str],
    group: Codes,
    visits: Visits,
    gap: NDArray[np.float64],
    limit: int,
) -> None:
    """So many connections at once, and a gap between openings, for a domain or an address."""
    # A wait that was shorter than the settings now say was right in its time.
    with np.errstate(invalid="ignore"):
        gap = np.fmin(gap, visits.wait / 4)
    for block in _blocks(group, visits.start):
        codes, start = group[block], visits.start[block]
        _connections(findings, kind, names, codes, start, visits.end[block], limit=limit)
        # A visit without a gap may begin, look its name up for long, and be overtaken: it is nobody's neighbour.
        kept = gap[block] > 0
        codes, start, gaps = codes[kept], start[kept], gap[block][kept]
        former = np.flatnonzero(codes[1:] == codes[:-1])
        _gaps(findings, kind, names, codes[former], start[former], start[former + 1], gaps[former])


def _blocks(group: Codes, start: Ints) -> Iterator[Ints]:
    """The numbers of visits by group and time, so many at once that whole groups stay together."""
    order = np.lexsort((start, group))
    ordered = group[order]
    begin = int(np.searchsorted(ordered, 0))  # those before belong to no group
    while begin < len(order):
        end = min(begin + _BLOCK, len(order))
        end = int(np.searchsorted(ordered, ordered[end - 1], "right"))
        yield order[begin:end]
        begin = end


def _gaps(
    findings: Findings,
    kind: str,
    names: list[str],
    group: Codes,
    since: Ints,
    start: Ints,
    limit: NDArray[np.float64],
) -> None:
    """Compare the time from one instant to an opening with what it should be, for many pairs in groups."""
    if len(group) == 0:
        return
    rule = "site-wait" if kind == "site" else f"{kind}-gap"
    gap = start - since

    def finding(pair: int) -> Finding:
        return Finding(
            rule=rule,
            who=names[group[pair]],
            figure=int(gap[pair]) / 1e6,
            limit=_plain(limit[pair]),
            when=moment(start[pair]),
            since=moment(since[pair]),
        )

    least = int(np.argmin(gap))
    if kind not in findings.smallest or gap[least] < findings.smallest[kind][1]:
        findings.smallest[kind] = finding(least), int(gap[least])
    broken = np.flatnonzero(gap < (limit * (1 - _SLEW) - _TOLERANCE) * 1e6)
    findings.add(rule, len(broken), lambda number: finding(broken[number]))


def _connections(
    findings: Findings, kind: str, names: list[str], group: Codes, start: Ints, end: Ints, *, limit: int
) -> None:
    """Count the connections at once, in visits that are in order of group and time."""
    rule = f"{kind}-connections"
    level = levels(group, start, end)

    def finding(visit: int) -> Finding:
        return Finding(
            rule=rule, who=names[group[visit]], figure=int(level[visit]), limit=limit, when=moment(start[visit])
        )

    worst = int(np.argmax(level))
    known = findings.most.get(kind)
    if known is None or known.figure is None or level[worst] > known.figure:
        findings.most[kind] = finding(worst)
    broken = np.flatnonzero(level > limit)
    findings.add(rule, len(broken), lambda number: finding(broken[number]))


def levels(group: Codes, start: Ints, end: Ints) -> Ints:
    """For each visit, in order of group and time, how many of its group are open when it has been opened."""
    level = np.ones(len(group), np.int64)
    crossing = np.flatnonzero((group[1:] == group[:-1]) & (start[1:] < end[:-1]))
    if len(crossing) == 0:
        return level
    # Most groups never have two at once; only the others are looked at opening by opening.
    members = np.flatnonzero(np.isin(group, np.unique(group[crossing])))
    count = len(members)
    groups = np.tile(group[members], 2)
    times = np.concatenate((start[members] * 2 + 1, end[members] * 2))  # what ends in the moment of an opening is gone
    order = np.lexsort((times, groups))
    # Every group ends with none open, so that one sum serves all.
    at_once = np.cumsum(np.where(order < count, 1, -1))
    opening = order < count
    level[members[order[opening]]] = np.maximum(at_once[opening], 1)
    return level


def _plain(seconds: Any) -> float:
    """Seconds without what 32 bits have added to them."""
    return round(float(seconds), 6)
