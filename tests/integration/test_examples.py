"""Every example runs, and does what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from examples.country_web import country
from examples.news_section import NewsSection
from examples.random_walk import RandomWalk
from examples.two_applications import Hosts, Shallow
from tests.crawling import make_web, rows
from tests.patience import PATIENCE

import weft
from weft.testbed.bed import Bed, serving
from weft.testbed.options import PLAIN, Options

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    """A small web without failures."""
    with serving(make_web(PLAIN, sites=20, pages=500)) as bed:
        yield bed


def run(bed: Bed, out: Path, application: weft.Application | weft.Together, seeds: list[str], **settings: Any) -> None:
    """Crawl the testbed's web with an application."""
    weft.crawl(
        seeds,
        out=out,
        application=application,
        dns=[bed.dns],
        allow_address=["127.0.0.0/8"],
        wait=0.0,
        per_visit=10,
        **settings,
    )


def test_news_section__stays_in_its_section_and_takes_the_newest_first(bed: Bed, tmp_path: Path) -> None:
    """Only pages under the section are requested, by priority."""
    graph = bed.web.graph
    largest = int((graph.first_page[1:] - graph.first_page[:-1]).argmax())
    seed = bed.web.url(int(graph.first_page[largest]))
    news = NewsSection("/section-")
    run(bed, tmp_path / "news", news, [seed], connections=1)
    fetched = rows(tmp_path / "news", "url", "kind <> 'robots' order by fetched_at")
    assert len(fetched) == len(news.titles) > 5
    assert all(url == seed or "/section-" in url for (url,) in fetched)
    found = [max(map(int, re.findall(r"\d{1,9}", url.partition("test")[2][6:])), default=0) for (url,) in fetched[1:]]
    assert found != sorted(found), "not in the order of discovery"


def test_random_walk__takes_its_steps(bed: Bed, tmp_path: Path) -> None:
    """The walk has as many steps as it was given, and fetches no page twice."""
    seeds = bed.seeds()[:3]
    walk = RandomWalk(seeds, steps=300)
    run(bed, tmp_path / "walk", walk, seeds)
    assert sum(walk.visits.values()) == 300
    fetched = [url for (url,) in rows(tmp_path / "walk", "url", "kind <> 'robots'")]
    assert len(fetched) == len(set(fetched))
    assert set(walk.visits) <= set(fetched)


def test_random_walk__loses_no_walker_on_dead_hosts_and_redirects(tmp_path: Path) -> None:
    """On a web with every kind of failure: all steps are taken, though pages fail, redirect and are refused."""
    with serving(make_web(Options(sites_per_address=1, hang_s=60.0, retry_after_s=1), sites=12, pages=150)) as rough:
        seeds = [*rough.seeds()[:2], "http://nowhere.invalid/"]
        walk = RandomWalk(seeds, steps=400)
        run(rough, tmp_path / "walk", walk, seeds, timeout=1.0, retry_pauses=[0.05], sitemaps=False, contact="a@b.test")
    assert (walk.steps, sum(walk.visits.values())) == (0, 400)
    assert walk.visits["http://nowhere.invalid/"] > 0


def test_two_applications__share_one_system(bed: Bed, tmp_path: Path) -> None:
    """Each is told of what it asked for; what both asked for is fetched once."""
    hosts = Hosts()
    seeds = bed.seeds()[:2]
    run(bed, tmp_path / "two", weft.Together(Shallow(), hosts), seeds)
    fetched = [url for (url,) in rows(tmp_path / "two", "url", "kind <> 'robots'")]
    assert len(fetched) == len(set(fetched))
    assert len(hosts.hosts) > 2
    assert {f"http://{host}/" for host in hosts.hosts} <= set(fetched)


def test_ten_lines__of_the_documentation_run(bed: Bed, tmp_path: Path) -> None:
    """The programs in the package's docstring are run as they stand, but for address, directory and contact: the second
    reads what the first has collected.
    """
    assert weft.__doc__ is not None
    code = "\n".join(line[4:] for line in weft.__doc__.splitlines() if line.startswith("    "))
    code = code.replace("https://example.org/", bed.seeds()[0]).replace('"example"', f'"{tmp_path / "ten"}"')
    code = code.replace("max_pages=100", f'max_pages=20, dns=["{bed.dns}"], allow_address=["127.0.0.0/8"], wait=0')
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=PATIENCE)
    came = rows(tmp_path / "ten", "count(*)", "status = 200")[0][0]
    assert came > 10
    assert len(done.stdout.splitlines()) == 20 + came


def test_first_crawl__is_what_make_crawl_runs(tmp_path: Path) -> None:
    """The first crawl is complete and prints where the results lie and what to try next."""
    command = [sys.executable, str(ROOT / "examples" / "first_crawl.py"), str(tmp_path / "first"), "--quick"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE)
    assert "The crawl is complete." in done.stdout
    assert "try next" in done.stdout
    assert rows(tmp_path / "first", "count(*)", "status = 200")[0][0] > 100


def test_country_web__is_its_domain_and_what_is_in_its_language_and_linked_from_there(tmp_path: Path) -> None:
    """The testbed's stand-in for Portugal is one domain of several, and its language is Japanese, of which some pages
    are: each page of the domain is kept, and of those linked from there the ones in Japanese; nothing else is asked
    for.
    """
    options = replace(PLAIN, sites_per_domain=3, charsets=0.6, median_bytes=3000, www=0.0)
    with serving(make_web(options, sites=12, pages=240, largest=40)) as bed:
        web, graph = bed.web, bed.web.graph
        domain = web.names.domain(0)
        inside = [web.names.domain(int(site)) == domain for site in graph.site_of(range(graph.pages))]
        japanese = [web.pages.charset(page)[0] == "shift_jis" for page in range(graph.pages)]
        ahead = [int(graph.first_page[site]) for site in range(graph.sites) if web.names.domain(site) == domain]
        seeds, fetched = [web.url(page) for page in ahead], set[int]()
        while ahead:
            page = ahead.pop()
            if page not in fetched:
                fetched.add(page)
                if inside[page] or japanese[page]:
                    ahead += [int(target) for target in graph.links_of(page) if inside[page] or inside[target]]
        run(bed, tmp_path / "country", country(domain, "ja"), seeds, expansion=True)
    found = dict(rows(tmp_path / "country", "url, volume is not null", "kind <> 'robots' and final"))
    assert found == {web.url(page): inside[page] or japanese[page] for page in fetched}
    assert sum(found.values()) < len(found) < graph.pages
    assert any(japanese[page] and not inside[page] for page in fetched)
