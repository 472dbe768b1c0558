"""Politeness by the server's clock: what the testbed's log says, not what the crawler believes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.crawling import crawl, make_web

from weft.testbed.bed import serving
from weft.testbed.log import Entry
from weft.testbed.options import Options
from weft.testbed.serve import ServerSettings
from weft.urls import registered_domain

WAIT = 0.5

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


def check_group(visits: list[Visit], *, places: int, gap: float) -> None:
    """At most so many connections at once, and so much time between two openings."""
    for before, after in pairwise(visits):
        assert after.opened - before.opened >= gap, (before.site, after.site, after.opened - before.opened)
    for visit in visits:
        at_once = sum(other.opened <= visit.opened < other.last for other in visits)
        assert at_once <= places


@pytest.mark.parametrize("per_visit", [1, 5])
def test_politeness__by_the_servers_clock(per_visit: int, tmp_path: Path) -> None:
    """One connection a site, w between visits, four connections and w/4 between openings for domain and address."""
    web = make_web(CROWDED, sites=200, pages=1400, largest=30)
    with serving(web, ServerSettings(keep_alive_s=5.0)) as bed:
        crawl(bed, tmp_path / "crawl", wait=WAIT, per_visit=per_visit, max_time=40.0, retry_pauses=[0.1, 0.2])
        log = bed.log()
    visits = visits_of(log)
    assert len(visits) > 400
    groups: dict[str, dict[str, list[Visit]]] = {"site": {}, "domain": {}, "address": {}}
    for visit in visits:
        groups["site"].setdefault(visit.site, []).append(visit)
        groups["domain"].setdefault(registered_domain(visit.site), []).append(visit)
        groups["address"].setdefault(visit.address, []).append(visit)
    assert max(len({v.site for v in group}) for group in groups["domain"].values()) == 10
    assert max(len({v.site for v in group}) for group in groups["address"].values()) >= 10
    for visits_of_site in groups["site"].values():
        for before, after in pairwise(visits_of_site):
            assert after.first - before.last >= WAIT, (before, after)
            assert after.opened >= before.last
        assert visits_of_site[0].paths[0] == "/robots.txt", "robots.txt comes first"
        for visit in visits_of_site:
            pages = [path for path in visit.paths if path != "/robots.txt"]
            assert len(pages) <= per_visit
            assert "/robots.txt" not in visit.paths[1:]
    for kind in ("domain", "address"):
        for group in groups[kind].values():
            check_group(group, places=4, gap=WAIT / 4)
    for entry in log:
        if entry.event == "request":
            site, _ = bed.web.locate(f"http://{entry.site}/")
            assert not bed.web.disallowed(site, entry.path.encode()), entry.path
