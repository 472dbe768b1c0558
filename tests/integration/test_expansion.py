"""A crawl in two phases: the domains of the seeds first, and then those that were found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.crawling import crawl, make_web, rows

from weft.clock import SystemClock
from weft.frontier.shared.opening import open_frontier
from weft.operations.status import look_at
from weft.testbed.bed import Bed, serving
from weft.testbed.options import PLAIN

pytestmark = pytest.mark.xdist_group("expansion")


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    """A small web whose sites have domains and addresses of their own."""
    options = replace(PLAIN, sites_per_address=1, median_bytes=2000)
    with serving(make_web(options, sites=12, pages=120, largest=20)) as bed:
        yield bed


@pytest.mark.parametrize("workers", [1, 2])
def test_expansion__found_domains_come_when_those_of_the_seeds_are_done(bed: Bed, tmp_path: Path, workers: int) -> None:
    """No page of another domain is fetched before the last one of theirs; in the end all are, and the status says
    which phase it is.
    """
    graph, out = bed.web.graph, tmp_path / "crawl"
    first = [site for site in range(graph.sites) if _leads_elsewhere(bed, site)][:3]
    seeds = [bed.url(int(graph.first_page[site])) for site in first]
    summary = crawl(bed, out, seeds, expansion=True, workers=workers)
    assert summary.why == "done"
    fetched = rows(out, "url, epoch_us(fetched_at)", "kind <> 'robots' and final")
    own = {site: bed.web.names.domain(site) for site in first}
    of_seeds = [at for url, at in fetched if any(domain in url for domain in own.values())]
    others = [at for url, at in fetched if not any(domain in url for domain in own.values())]
    assert len(of_seeds) == sum(len(graph.pages_of(site)) for site in first)
    assert len(others) > 5
    assert max(of_seeds) < min(others)
    shared = open_frontier(out, read_only=True)
    try:
        assert look_at(out, shared, SystemClock(), running=False).status.phase == "expansion"
    finally:
        shared.close()


def _leads_elsewhere(bed: Bed, site: int) -> bool:
    graph = bed.web.graph
    return any(int(graph.site_of(target)) != site for page in graph.pages_of(site) for target in graph.links_of(page))
