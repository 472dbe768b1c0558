"""A crawl of a web on which every hazard is played, beside sites that mean no harm: it ends by itself, no worker dies,
all good pages of harmless sites are there, and what each hazard cost is told.

One crawl is for all hazards in `make test`, which also shows that none of them starves the others; `make soak` crawls
each alone. What a hazard costs is the servers' word: `weft.testbed.purpose`.
"""

from __future__ import annotations

import dataclasses
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.crawling import crawl, make_web

from weft.app import Summary
from weft.testbed.bed import Bed, serving
from weft.testbed.log import Entry
from weft.testbed.options import PLAIN
from weft.testbed.purpose import Purpose, Sort, purpose_of_entry
from weft.testbed.scenarios import SCENARIOS, Scenario
from weft.testbed.serve import ServerSettings

MOST = 40
"""Pages of one site: the only limit there is today against a space of addresses without end."""
MOST_SITES = 6
"""Sites of a domain whose name servers know any name."""

LIMITS: dict[str, Any] = {
    "max_site_pages": MOST,
    "max_wildcard_sites": MOST_SITES,
    "max_bytes_page": 300_000,
    "max_links": 2_000,
    "timeout": 10.0,
    "crawl_delay_most": 0.05,
    "retry_after_most": 0.2,
    "allow_address": ["127.0.0.0/8", "::1/128"],
}


DEFAULTS: dict[str, Any] = LIMITS | {
    "max_site_pages": 2_000,
    "max_wildcard_sites": 500,
    "max_bytes_page": 2_000_000,
    "max_links": 100_000,
    "max_depth": 15,
    "max_depth_dynamic": 5,
}
"""What weft has when nothing is set, but for the pages of a site, which are 25,000, and for waits."""


class Cost(NamedTuple):
    """What a hazard took."""

    requests: int
    size: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.requests} requests, {self.size:,} bytes, {self.seconds:.2f} s"


class Seen(NamedTuple):
    """A crawl that is over, by the servers' log."""

    bed: Bed
    summary: Summary
    log: list[tuple[Entry, Purpose]]

    def cost(self, scenario: str) -> Cost:
        """What the pages of a hazard cost."""
        wasted = [entry for entry, purpose in self.log if purpose.sort is Sort.HAZARD and purpose.scenario == scenario]
        seconds = sum(entry.last_byte - entry.first_byte for entry in wasted)
        return Cost(len(wasted), sum(entry.size for entry in wasted), seconds)

    def good(self) -> set[int]:
        """The pages of the graph that were had, under whichever address."""
        return {purpose.page for entry, purpose in self.log if entry.status == 200 and purpose.page >= 0}

    def missed(self, scenario: str) -> list[int]:
        """The good pages that were not had of the sites that play a scenario, or none."""
        good, graph = self.good(), self.bed.web.graph
        return [page for site in played_by(self.bed)[scenario] for page in graph.pages_of(site) if page not in good]


def played_by(bed: Bed) -> dict[str, list[int]]:
    """The sites that play each scenario; those that play none under the empty name."""
    found = defaultdict(list)
    for site in range(bed.web.graph.sites):
        played = bed.web.played.get(site)
        found["" if played is None else played.scenario.name].append(site)
    return found


def crawled(folder: Path, limits: dict[str, Any], *, sites: int, pages: int, hazards: int, scenarios: str = "") -> Seen:
    """Crawl a web of some sites, of which so many play these scenarios."""
    options = dataclasses.replace(
        PLAIN,
        hazardous=hazards / sites,
        scenarios=scenarios,
        hang_s=1.5,
        retry_after_s=0,
        median_bytes=2_000,
        https=0.0,
    )
    web = make_web(options, sites=sites, pages=pages, largest=12)
    with serving(web, ServerSettings(tls=True)) as bed:
        summary = crawl(bed, folder / "crawl", **limits)
        log = [(entry, purpose_of_entry(bed.web, entry)) for entry in bed.log() if entry.event == "request"]
        return Seen(bed, summary, log)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """Every hazard on one site each, and fourteen harmless sites."""
    return crawled(tmp_path_factory.mktemp("hazards"), LIMITS, sites=65, pages=400, hazards=len(SCENARIOS))


pytestmark = pytest.mark.xdist_group("hazards")


def test_mixed_web__ends_by_itself_with_every_worker_alive(seen: Seen) -> None:
    """It is done, and nothing was started again or failed inside (which every test looks for)."""
    assert seen.summary.why == "done"
    assert set(played_by(seen.bed)) == {scenario.name for scenario in SCENARIOS} | {""}


def test_mixed_web__has_all_good_pages_of_harmless_sites(seen: Seen) -> None:
    """Hazards beside them cost harmless sites nothing."""
    assert not seen.missed("")


@pytest.mark.soak
def test_mixed_web__ends_by_itself_with_the_limits_there_are_by_default(tmp_path: Path) -> None:
    """What hazards cost then is what docs/hazards.md says."""
    seen = crawled(tmp_path, DEFAULTS, sites=65, pages=400, hazards=len(SCENARIOS))
    for scenario in SCENARIOS:
        sys.stdout.write(f"{scenario.name}: {seen.cost(scenario.name)}, {len(seen.missed(scenario.name))} missed\n")
    assert seen.summary.why == "done"
    assert not seen.missed("")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_hazard__has_a_bounded_cost(seen: Seen, scenario: Scenario) -> None:
    """It was met, its site's good pages were had as far as the limit of a site allows, and what it took is bounded."""
    cost = seen.cost(scenario.name)
    sys.stdout.write(f"{scenario.name}: {cost}\n")
    (site,) = played_by(seen.bed)[scenario.name]
    names = 1 + sum(scenario.names.values()) + scenario.twin + scenario.below * MOST_SITES + scenario.literal
    assert cost.requests <= names * MOST * 3
    assert seen.good() & set(seen.bed.web.graph.pages_of(site))


@pytest.mark.soak
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_hazard__alone_costs_harmless_sites_nothing(tmp_path: Path, scenario: Scenario) -> None:
    """Two sites of one hazard beside four that mean no harm."""
    seen = crawled(tmp_path, LIMITS, sites=6, pages=60, hazards=2, scenarios=scenario.name)
    cost = seen.cost(scenario.name)
    sys.stdout.write(f"{scenario.name}: {cost}\n")
    assert seen.summary.why == "done"
    assert not seen.missed("")
