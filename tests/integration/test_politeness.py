"""Politeness by the server's clock: what the testbed's log says, not what the crawler believes."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.crawling import crawl, make_web, rows
from tests.patience import PATIENCE
from tests.serverside import CROWDED, check_polite, groups_of, open_with, visits_of

from weft.audit import audit_crawl
from weft.testbed.bed import serving
from weft.testbed.options import PLAIN
from weft.testbed.serve import ServerSettings

WAIT = 0.3


@pytest.mark.parametrize("per_visit", [1, 5])
def test_politeness__by_the_servers_clock(per_visit: int, tmp_path: Path) -> None:
    """One connection a site, w between visits, four connections and w/4 between openings for domain and address."""
    web = make_web(CROWDED, sites=200, pages=700, largest=30)
    with serving(web, ServerSettings(keep_alive_s=5.0)) as bed:
        crawl(bed, tmp_path / "crawl", wait=WAIT, per_visit=per_visit, max_time=PATIENCE, retry_pauses=[0.1, 0.2])
        log = bed.log()
    visits = visits_of(log)
    assert len(visits) > 250
    groups = groups_of(visits)
    assert max(len({v.site for v in group}) for group in groups["domain"].values()) == 10
    assert max(len({v.site for v in group}) for group in groups["address"].values()) >= 10
    check_polite(visits, wait=WAIT)
    for visits_of_site in groups["site"].values():
        assert visits_of_site[0].paths[0] == "/robots.txt", "robots.txt comes first"
        for visit in visits_of_site:
            pages = [path for path in visit.paths if path != "/robots.txt"]
            assert len(pages) <= per_visit
            assert "/robots.txt" not in visit.paths[1:]
    for entry in log:
        if entry.event == "request":
            site, _ = bed.web.locate(f"http://{entry.site}/")
            assert not bed.web.disallowed(site, entry.path.encode()), entry.path


@pytest.mark.parametrize("limited", [True, False])
def test_politeness__of_networks_holds_over_all_workers(tmp_path: Path, *, limited: bool) -> None:
    """Two workers, 270 sites at as many addresses of two networks: by the servers' log, each network has two
    connections at once and its gap between openings; without the limits it has neither.
    """
    web = make_web(replace(PLAIN, sites_per_address=1), sites=270, pages=540, largest=10)
    limits: dict[str, Any] = {"per_network": 2, "network_gap": 0.01} if limited else {}
    with serving(web, ServerSettings(keep_alive_s=5.0)) as bed:
        crawl(bed, tmp_path / "crawl", workers=2, wait=0.1, **limits)
        visits = visits_of(bed.log())
    check_polite(visits, wait=0.1)
    networks = groups_of(visits)["network"]
    assert sorted(len({visit.address for visit in group}) for group in networks.values()) == [20, 250]
    gaps = [after.opened - before.opened for group in networks.values() for before, after in pairwise(group)]
    at_once = max(open_with(visit, group) for group in networks.values() for visit in group)
    assert (min(gaps) >= 0.01) == limited, min(gaps)
    assert (at_once <= 2) == limited, at_once
    assert len(rows(tmp_path / "crawl", "distinct worker")) == 2
    found = audit_crawl(tmp_path / "crawl")
    assert found.ok, found.violations
    assert found.networks == (2 if limited else 0)
