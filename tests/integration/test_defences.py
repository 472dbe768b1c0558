"""Defences against hazards, on one small web: what ends a trap, what is noted, and who is told."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.crawling import crawl, make_web, rows

from weft.manage import managing
from weft.operations.status import Status
from weft.testbed.bed import Bed, serving
from weft.testbed.log import Entry
from weft.testbed.options import PLAIN
from weft.testbed.purpose import Purpose, Sort, purpose_of_entry
from weft.testbed.serve import ServerSettings

pytestmark = pytest.mark.xdist_group("defences")

PLAYED = ("soft-404", "dead-backend", "wildcard-names", "many-links", "cloaking", "js-links", "wrong-type")
MOST = 1_000
BARREN = 30


class Seen(NamedTuple):
    """A crawl that is over."""

    out: Path
    bed: Bed
    log: list[tuple[Entry, Purpose]]
    status: Status

    def requests(self, scenario: str) -> int:
        """How many requests went into a hazard, those as a browser not counted, which every page has here."""
        return sum(
            purpose.sort is Sort.HAZARD and purpose.scenario == scenario and "Firefox" not in entry.agent
            for entry, purpose in self.log
        )

    def missed(self) -> Counter[str]:
        """The good pages that were not had, by what their sites play."""
        good = {purpose.page for entry, purpose in self.log if entry.status == 200 and purpose.sort is Sort.GOOD}
        graph, played = self.bed.web.graph, self.bed.web.played
        return Counter(
            played[site].scenario.name if site in played else ""
            for site in range(graph.sites)
            for page in graph.pages_of(site)
            if page not in good
        )

    def site(self, scenario: str) -> str:
        """The site that plays a scenario."""
        return next(
            self.bed.web.url(self.bed.web.graph.pages_of(site)[0]).split("/")[2]
            for site, played in self.bed.web.played.items()
            if played.scenario.name == scenario
        )


@pytest.fixture(scope="module", params=[10, 1], ids=["ten a visit", "one a visit"])
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """Seven sites that play a hazard each, and two that mean no harm; options that are off by default are on. A check
    takes the place of a page, be it the only one of its visit.
    """
    out = tmp_path_factory.mktemp("defences") / "crawl"
    options = dataclasses.replace(
        PLAIN, hazardous=7 / 9, scenarios=" ".join(f"{name}=1" for name in PLAYED), median_bytes=2_000, https=0.0
    )
    web = make_web(options, sites=9, pages=90, largest=12)
    changes: dict[str, Any] = {
        "per_visit": request.param,
        "max_site_pages": MOST,
        "max_barren": BARREN,
        "script_links": True,
        "cloaking_sample": 1.0,
        "detect_misread": True,
        "allow_address": ["127.0.0.0/8"],
    }
    with serving(web, ServerSettings()) as bed:
        crawl(bed, out, **changes)
        log = [(entry, purpose_of_entry(bed.web, entry)) for entry in bed.log() if entry.event == "request"]
        with managing(str(out)) as managed:
            return Seen(out, bed, log, managed.status())


def test_soft_404__ends_when_the_site_has_said_what_it_says_of_any_url(seen: Seen) -> None:
    """It goes on without end otherwise, to the limit of a site; its pages have the reason, and one check was made."""
    assert seen.requests("soft-404") < MOST / 2
    reasons = rows(seen.out, "reason, count(*)", "url like '%/articles/%' and kind <> 'check' group by all")
    assert dict(reasons)["soft-404"] > 10
    checks = rows(seen.out, "url, status, dropped", "kind = 'check' and url like '%/articles/%' and same_words is null")
    assert [(status, dropped) for _, status, dropped in checks] == [(200, "check")]
    assert seen.status.stopped[seen.site("soft-404")] in ("soft-404", "barren")


def test_barren__urls_that_differ_in_numbers_alone_are_left_alone(seen: Seen) -> None:
    """Two thousand items that are one error page, and a page with 100,000 links to pages without a word to say."""
    assert seen.requests("dead-backend") < BARREN + 40
    assert seen.requests("many-links") < BARREN + 20
    assert seen.status.stopped[seen.site("dead-backend")] in ("barren", "soft-404")  # whichever is seen first
    assert seen.status.stopped[seen.site("many-links")] in ("barren", "site-pages")
    assert seen.status.refused["barren"] > 100


def test_doorways__of_a_domain_with_any_name_are_few(seen: Seen) -> None:
    """Names below a site's own are known by a sister name, though its domain has none."""
    assert seen.requests("wildcard-names") < 250, "how many depends on how soon names are answered"
    assert "wildcard" in seen.status.stopped.values()


def test_defences__cost_no_good_page(seen: Seen) -> None:
    """All pages of harmless sites are there, and all of those that play a hazard."""
    assert not seen.missed()


def test_links_in_scripts__are_found_by_pattern_and_told_apart(seen: Seen) -> None:
    """Seven of eight: the eighth is put together by the script."""
    found = rows(seen.out, "distinct url", "kind = 'js' and status = 200 and url like '%/app/%.html'")
    assert len(found) == 7


def test_cloaking__is_noted_in_the_row_of_a_check(seen: Seen) -> None:
    """What is shown to a browser has other words; a page of another site has the same."""
    cloaked = rows(seen.out, "max(same_words), count(*)", "kind = 'check' and url like '%/show/%' and same_words >= 0")
    assert cloaked[0][0] < 0.5
    assert cloaked[0][1] > 0
    honest = rows(seen.out, "min(same_words)", "kind = 'check' and url not like '%/show/%' and status = 200")
    assert honest[0][0] > 0.9
    agents = {entry.agent for entry, _ in seen.log}
    assert any("Firefox" in agent for agent in agents)
    assert not rows(seen.out, "url", "kind = 'check' and volume is not null")


def test_types__are_what_the_bytes_say_and_both_are_columns(seen: Seen) -> None:
    """Pages that are called images are read and followed; files that are called pages are not."""
    found = rows(seen.out, "declared_type, detected_type", "url like '%/files/%' and status = 200")
    assert ("image/png", "text/html") in found
    assert ("text/html", "application/pdf") in found
    inside = rows(seen.out, "distinct url", "url like '%/files/inside-%' and status = 200")
    assert len(inside) >= 8


def test_misread__is_a_column(seen: Seen) -> None:
    """A notice without a link has the sign of it; a page with words and links has none."""
    assert rows(seen.out, "distinct misread", "url like '%/all/_%' and kind <> 'check'") == [("no-links",)]
    assert rows(seen.out, "count(*)", "kind = 'seed' and misread is not null") == [(0,)]
