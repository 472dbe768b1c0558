"""A crawl of many sites that share addresses and domains, proved polite from its own columns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.crawling import crawl, make_web
from tests.patience import PATIENCE
from tests.serverside import CROWDED

from weft.audit import audit_crawl
from weft.directory import kept_settings
from weft.testbed.bed import serving

WAIT = 0.2

# 60 sites: the first 20 share 2 addresses, the last 20 share 2 domains, and 20 stand alone.
SMALLER = replace(CROWDED, address_sharers=20, domain_sharers=20, robots_delays=0.1)


@pytest.mark.parametrize("per_visit", [1, 5])
def test_audit__of_a_real_crawl_is_clean(per_visit: int, tmp_path: Path) -> None:
    """Also of one that was stopped and went on, whose visits have the same numbers twice."""
    web = make_web(SMALLER, sites=60, pages=500, largest=20)
    with serving(web) as bed:
        crawl(bed, tmp_path / "crawl", wait=WAIT, per_visit=per_visit, max_pages=150, crawl_delay_most=0.5)
        first = audit_crawl(tmp_path / "crawl")
        crawl(bed, tmp_path / "crawl", wait=WAIT, per_visit=per_visit, max_time=PATIENCE, crawl_delay_most=0.5)
    found = audit_crawl(tmp_path / "crawl")
    assert found.violations == []
    assert found.ok
    assert found.rows > first.rows > 150
    assert found.visits > first.visits >= 150 / (per_visit + 1)
    assert found.sites == 60
    assert found.domains < found.sites
    assert found.addresses < found.sites
    assert {kind: most.limit for kind, most in found.most_connections.items()} == {"site": 1, "domain": 4, "address": 4}
    assert found.most_connections["site"].figure == 1
    assert WAIT <= (found.smallest_gap["site"].figure or 0.0) < 2 * WAIT
    for kind in ("domain", "address"):
        assert WAIT / 4 <= (found.smallest_gap[kind].figure or 0.0) < WAIT
    assert found.oldest_robots is not None
    assert 0.0 < (found.oldest_robots.figure or 0.0) < 60.0


def test_audit__of_a_real_crawl_finds_what_is_not_allowed(tmp_path: Path) -> None:
    """The same crawl by stricter rules than it had: the audit does look."""
    web = make_web(SMALLER, sites=60, pages=300, largest=20)
    out = tmp_path / "crawl"
    with serving(web) as bed:
        crawl(bed, out, wait=0.0, per_address=20, crawl_delay_most=0.0)
    assert audit_crawl(out).ok
    ((_, kept),) = kept_settings(out)  # by which a crawl is judged, whatever it is told next
    kept.write_text(kept.read_text().replace("per_address = 20", "per_address = 1"))
    found = audit_crawl(out)
    assert set(found.broken) == {"address-connections"}
    assert found.most_connections["address"].figure in range(2, 21)
