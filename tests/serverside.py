"""What the servers saw: politeness by the testbed's request log, not by the crawler's word."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from weft.testbed.log import Entry
from weft.testbed.options import Options
from weft.urls import registered_domain

# 200 sites: the first 50 share 5 addresses, the last 40 share 4 domains, and 110 stand alone.
CROWDED = Options(
    sites_per_address=10,
    address_sharers=50,
    sites_per_domain=10,
    domain_sharers=40,
    failing=0.05,
    failing_kinds="404=80 500=10 closed=10",
    robots_missing=0.3,
    robots_rules=0.4,
    robots_delays=0.0,
    robots_errors=0.0,
    sitemaps=0.1,
)


class Visit(NamedTuple):
    """A connection as the server saw it."""

    site: str
    address: str
    opened: float
    first: float
    last: float
    paths: list[str]


def visits_of(log: Iterable[Entry]) -> list[Visit]:
    """The connections in a log, in the order they were opened."""
    requests: dict[int, list[Entry]] = defaultdict(list)
    for entry in log:
        if entry.event == "request":
            requests[entry.connection].append(entry)
    found = []
    for entries in requests.values():
        assert len({entry.site for entry in entries}) == 1, "a connection is to one site"
        first, last = min(e.first_byte for e in entries), max(e.last_byte for e in entries)
        found.append(
            Visit(entries[0].site, entries[0].address, entries[0].opened, first, last, [e.path for e in entries])
        )
    return sorted(found, key=lambda visit: visit.opened)


def groups_of(visits: list[Visit]) -> dict[str, dict[str, list[Visit]]]:
    """Visits by site, by registered domain, by address and by network."""
    groups: dict[str, dict[str, list[Visit]]] = {"site": {}, "domain": {}, "address": {}, "network": {}}
    for visit in visits:
        groups["site"].setdefault(visit.site, []).append(visit)
        groups["domain"].setdefault(registered_domain(visit.site), []).append(visit)
        groups["address"].setdefault(visit.address, []).append(visit)
        groups["network"].setdefault(visit.address.rpartition(".")[0], []).append(visit)
    return groups


def check_polite(visits: list[Visit], *, wait: float, places: int = 4) -> None:
    """One connection a site, w between visits; so many connections, w/4 between openings for domain and address."""
    groups = groups_of(visits)
    for visits_of_site in groups["site"].values():
        for before, after in pairwise(visits_of_site):
            assert after.first - before.last >= wait, (after.first - before.last, before, after)
            assert after.opened >= before.last
    for kind in ("domain", "address"):
        for group in groups[kind].values():
            for before, after in pairwise(group):
                assert after.opened - before.opened >= wait / 4, (kind, after.opened - before.opened, before, after)
            for visit in group:
                at_once = open_with(visit, group)
                assert at_once <= places, (kind, at_once, visit)


def open_with(visit: Visit, group: list[Visit]) -> int:
    """How many of a group are open when a visit has been opened."""
    return sum(other.opened <= visit.opened < other.last for other in group)
