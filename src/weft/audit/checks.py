"""Visits beside the rules. In: visits, and the settings of the crawl. Out: findings about connections at once, rests
and gaps.

Visits are looked at in order of their site, domain, address or network and of time, so that each is compared with the
one before it; and in large blocks, so that what is a loop in Python does not run over visits.

A wait is what the settings of the time ask for, and no less than what the crawl wrote down; where the settings of the
time are not known (`terms`), what it wrote down counts alone. What robots.txt and answers ask for beyond that is judged
request by request in `requests`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.audit.findings import Finding, Findings, moment
from weft.audit.reading import Codes, Ints, Robots, Truths, Visits, origin_of
from weft.audit.robots import Library, check_robots
from weft.audit.terms import NEVER, Terms
from weft.config import Settings
from weft.frontier.politeness import Politeness

TOLERANCE = 0.001  # seconds by which a wait may seem short
SLEW = 0.0005  # and its share of the wait: no clock is slewed faster
_BLOCK = 1_000_000  # visits compared at once
_NO_LIMIT = np.iinfo(np.int64).max  # connections at once

Floats = NDArray[np.float64]


class SiteRules(NamedTuple):
    """What holds by visit."""

    obeys: Truths  # robots.txt
    gap: Floats  # a quarter of the smallest wait that the settings give the site
    wait: Floats  # what the site was to rest for after it
    per_domain: Ints
    per_address: Ints
    per_network: Ints  # _NO_LIMIT where networks have none
    network_gap: Floats
    robots_age: Floats


def site_rules(names: list[str], visits: Visits, terms: Terms) -> SiteRules:
    """What the settings ask for, at these visits and after them."""
    number = terms.numbers(visits.start)
    count = len(visits.start)
    types = (np.bool_, np.float64, np.float64, np.int64, np.int64, np.int64, np.float64, np.float64)
    rules = SiteRules._make(np.empty(count, kind) for kind in types)
    for each, settings in enumerate(terms.settings):
        held = np.flatnonzero(number == each)
        if len(held):
            found = _rules_of(names, visits.site[held], visits.took[held], settings)
            for whole, part in zip(rules, found, strict=True):
                whole[held] = part
    known = visits.start >= terms.known_from
    written = visits.wait.astype(np.float64)
    # A wait that was shorter than the settings now say was right in its time, if they may have been others then.
    wait = np.where(known, np.fmax(rules.wait, written), np.where(np.isnan(written), rules.wait, written))
    gap = np.where(known, rules.gap, np.fmin(rules.gap, written / 4))
    networks = np.where(known, rules.per_network, _NO_LIMIT), np.where(known, rules.network_gap, 0.0)
    return rules._replace(wait=wait, gap=gap, per_network=networks[0], network_gap=networks[1])


def _rules_of(names: list[str], site: Codes, took: NDArray[np.float32], settings: Settings) -> SiteRules:
    """What some settings ask for, of visits to these sites."""
    politeness = settings.politeness
    own = [settings.overrides.of(name) for name in names] if settings.overrides.sites else []
    fixed = [each.wait for each in own] or [None] * len(names)
    least = {wait: _least(politeness, wait) for wait in set(fixed)}
    smallest = np.array([least[wait] for wait in fixed])[site]
    adapts = np.array([wait is None for wait in fixed]) & (politeness.wait is None and politeness.wait_small is None)
    # The wait after such a download; of a visit whose process may have been killed, which has forgotten its download,
    # the smallest.
    after = np.minimum(np.maximum(politeness.wait_least, politeness.wait_factor * took), politeness.wait_most)
    wait = np.where(adapts[site] & ~np.isnan(took), after, smallest)
    robots = [each.robots or settings.selection.robots for each in own] or [settings.selection.robots] * len(names)
    obeys = np.array([rule == "obey" for rule in robots])
    limits = (
        politeness.per_domain,
        politeness.per_address,
        politeness.per_network or _NO_LIMIT,
        politeness.network_gap,
        politeness.robots_age,
    )
    return SiteRules(obeys[site], smallest / 4, wait, *(np.full(len(site), limit) for limit in limits))


def _least(politeness: Politeness, fixed: float | None) -> float:
    """The smallest wait of a site. How many pages it had at a time is not known here: it may have been small, or not.

    >>> _least(Politeness(), None), _least(Politeness(), 7.0), _least(Politeness(wait=5.0, wait_small=1.0), None)
    (2.0, 7.0, 1.0)
    """
    if fixed is not None:
        return fixed
    usual = politeness.wait_least if politeness.wait is None else politeness.wait
    return usual if politeness.wait_small is None else min(usual, politeness.wait_small)


def check_sites(findings: Findings, names: list[str], visits: Visits, rules: SiteRules, robots: Robots) -> Library:
    """One connection at a time, a rest after each, and robots.txt; the robots.txt files, as they held."""
    library = Library(robots)
    for block in _blocks(visits.site, visits.start):
        pages = block[visits.first_page[block] != NEVER]
        library.used(origin_of(visits.site[pages], visits.https[pages]), visits.first_page[pages])
    library.follow()
    for block in _blocks(visits.site, visits.start):
        site, start, end = visits.site[block], visits.start[block], visits.end[block]
        row, wait = visits.row[block], rules.wait[block]
        _connections(findings, "site", names, site, start, end, row, np.ones(len(block), np.int64))
        former = np.flatnonzero(site[1:] == site[:-1])
        later = former + 1
        _gaps(findings, "site", names, site[former], end[former], start[later], row[later], wait[former])
        asked = block[rules.obeys[block] & (visits.first_page[block] != NEVER)]
        part = Visits(*(column[asked] for column in visits))
        check_robots(findings, names, library, part, rules.robots_age[asked])
    return library


def check_throttles(
    findings: Findings, kind: str, names: list[str], group: Codes, visits: Visits, rules: SiteRules
) -> None:
    """So many connections at once, and a gap between openings, for a domain, an address or a network."""
    limits, gap = {
        "domain": (rules.per_domain, rules.gap),
        "address": (rules.per_address, rules.gap),
        "network": (rules.per_network, rules.network_gap),
    }[kind]
    for block in _blocks(group, visits.start):
        limited = block[limits[block] < _NO_LIMIT]
        if len(limited):
            codes, start, end, row = group[limited], visits.start[limited], visits.end[limited], visits.row[limited]
            _connections(findings, kind, names, codes, start, end, row, limits[limited])
        # A visit without a gap may begin, look its name up for long, and be overtaken: it is nobody's neighbour.
        spaced = block[gap[block] > 0]
        codes, start, row, gaps = group[spaced], visits.start[spaced], visits.row[spaced], gap[spaced]
        former = np.flatnonzero(codes[1:] == codes[:-1])
        later = former + 1
        # Who goes on with other settings keeps the gap that these give.
        least = np.minimum(gaps[former], gaps[later])
        _gaps(findings, kind, names, codes[former], start[former], start[later], row[later], least)


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
    row: Ints,
    limit: Floats,
) -> None:
    """Compare the time from one instant to an opening with what it should be, for many pairs in groups."""
    if len(group) == 0:
        return
    rule = "site-wait" if kind == "site" else f"{kind}-gap"
    gap = start - since

    def finding(pair: int) -> Finding:
        least = _plain(limit[pair])
        return Finding(
            rule=rule,
            who=names[group[pair]],
            figure=int(gap[pair]) / 1e6,
            limit=least,
            when=moment(start[pair]),
            since=moment(since[pair]),
            says=f"a site rests for {least:g} s after a visit" if kind == "site" else f"{least:g} s between openings",
        )

    least = int(np.argmin(gap))
    known = findings.smallest.get(kind)
    if known is None or int(gap[least]) / 1e6 < (known[0].figure or 0.0):
        findings.smallest[kind] = finding(least), int(row[least])
    broken = np.flatnonzero(gap < (limit * (1 - SLEW) - TOLERANCE) * 1e6)
    findings.add(rule, len(broken), lambda number: (finding(broken[number]), int(row[broken[number]])))


def _connections(
    findings: Findings, kind: str, names: list[str], group: Codes, start: Ints, end: Ints, row: Ints, limit: Ints
) -> None:
    """Count the connections at once, in visits that are in order of group and time."""
    rule = f"{kind}-connections"
    level = levels(group, start, end)

    def finding(visit: int) -> Finding:
        most = int(limit[visit])
        return Finding(
            rule=rule,
            who=names[group[visit]],
            figure=int(level[visit]),
            limit=most,
            when=moment(start[visit]),
            says="one connection at a time" if kind == "site" else f"at most {most} connections at once",
        )

    worst = int(np.argmax(level))
    known = findings.most.get(kind)
    if known is None or level[worst] > (known[0].figure or 0):
        findings.most[kind] = finding(worst), int(row[worst])
    broken = np.flatnonzero(level > limit)
    findings.add(rule, len(broken), lambda number: (finding(broken[number]), int(row[broken[number]])))


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
