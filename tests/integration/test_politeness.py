"""Politeness by the server's clock: what the testbed's log says, not what the crawler believes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.crawling import crawl, make_web
from tests.patience import PATIENCE
from tests.serverside import CROWDED, check_polite, groups_of, visits_of

from weft.testbed.bed import serving
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
