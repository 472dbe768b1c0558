"""Explain against the crawler: over random rules, overrides and webs, both say the same of every URL."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.explain.crawls import ROBOTS, SITES, URLS, Crawl, Plan, blacklists, plans, selections, sites, urls_of

from weft.explain import Explainer
from weft.frontier.blacklist import Blacklist
from weft.frontier.durable.inspect import Ledger
from weft.frontier.overrides import Overrides, SiteSettings
from weft.frontier.rules import FOUND, Candidate, first_refusal
from weft.frontier.scope import Scope, Selection
from weft.model import NO_ID, Kind
from weft.urls import site_of

OVERRIDES = st.dictionaries(st.sampled_from([*SITES, "*.a.example", "*.example"]), sites, max_size=3)


def check_crawl(plan: Plan, folder: Path) -> int:
    """Crawl, and ask about every URL that came up; how many these were."""
    crawl = Crawl(plan, folder)
    try:
        crawl.run()
        explainer, ledger = crawl.explainer()
        try:
            urls = urls_of(crawl)
            for url in urls:
                check_url(crawl, url, explainer, ledger)
            check_order(crawl, ledger)
            check_unfound(crawl, explainer)
        finally:
            ledger.close()
    finally:
        crawl.frontier.close()
    return len(urls)


def check_url(crawl: Crawl, url: str, explainer: Explainer, ledger: Ledger) -> None:
    """What was said of a URL in the crawl is what is said of it afterwards."""
    answer = explainer.explain(url)
    if url in crawl.refused:
        assert (answer.state, answer.reason) == ("refused", crawl.refused[url].value), url
    elif url in crawl.order:
        assert answer.state == "fetched", url
    elif crawl.frontier.pages.knows(url):
        assert answer.state == "pending", url
        site = crawl.frontier.sites[crawl.frontier.sites.numbers[site_of(url)]]
        asked = explainer.turn_refusal(url, ledger, ledger.memory(site.name))
        assert asked is crawl.frontier.refusal(site, url), url
    else:
        check_found(crawl, url, explainer)


def check_found(crawl: Crawl, url: str, explainer: Explainer) -> None:
    """Every link that the crawler refused is refused for the same reason; and no other is let in."""
    judged = explainer.ways.judge(url)
    if any(each.source for each in judged):
        assert all(each.reason is not None for each in judged), url
        assert explainer.explain(url).reason in {str(each.reason) for each in judged}, url
    for said in crawl.found.get(url, ()):
        if said.blacklist == crawl.frontier.scope.blacklist.rules:  # else the rules are others by now
            assert (said.source, said.reason) in [(each.source, each.reason) for each in judged], url


def check_order(crawl: Crawl, ledger: Ledger) -> None:
    """The pages before one of its site are those that the frontier would give out before it."""
    frontier = crawl.frontier
    for number in range(len(frontier.sites.names)):
        for place, page in enumerate(frontier._heaps.drain(number)):
            standing = ledger.standing(frontier.pages.url_of(page))
            assert standing is not None
            assert standing.order is not None
            assert standing.order.on_site == place, frontier.pages.url_of(page)


def check_unfound(crawl: Crawl, explainer: Explainer) -> None:
    """What nobody has linked to yet would be refused for the reason that is given for it, or let in."""
    for url in URLS[crawl.plan.draw % len(URLS) :]:
        first, *more = explainer.ways.judge(url)
        if not (first.source or more or url in crawl.plan.seeds or crawl.frontier.pages.knows(url)):
            said = crawl.frontier.discovery.offer(url, Kind.A, 1, NO_ID)
            assert said is first.reason, url
            if said is None:  # from now on the frontier knows more than was written down
                return


def explained(examples: int, folder: Path) -> int:
    """So many random crawls; how many URLs were asked about."""
    asked = 0

    @settings(max_examples=examples)
    @given(plan=plans)
    def every(plan: Plan) -> None:
        nonlocal asked
        asked += check_crawl(plan, folder)

    every()
    return asked


def short_cut_agrees(examples: int) -> None:
    """So many random links: the short cut says what the rules say."""

    @settings(max_examples=examples)
    @given(
        selection=st.builds(lambda chosen, www: replace(chosen, www=www), selections, st.sampled_from(["keep", "add"])),
        overrides=OVERRIDES,
        seeds=st.lists(st.sampled_from(URLS), max_size=2),
        blacklist=blacklists,
        url=st.sampled_from(URLS),
        kind=st.sampled_from(list(Kind)),
        depth=st.integers(0, 6),
        source=st.sampled_from(["", *SITES]),
    )
    def every(
        selection: object,
        overrides: dict[str, SiteSettings],
        seeds: list[str],
        blacklist: list[str],
        url: str,
        kind: Kind,
        depth: int,
        source: str,
    ) -> None:
        scope = Scope(selection, Overrides(sites=overrides))  # type: ignore[arg-type]
        scope.blacklist = Blacklist(blacklist)
        for seed in seeds:
            scope.admit(seed)
        found = Candidate(url=url, site=site_of(url), kind=kind, depth=depth, source=source)
        said = first_refusal(FOUND, scope, found)
        assert scope.refusal(url, site_of(url), kind, depth, source) is said
        assert scope.refusal(url, site_of(url), kind, depth, source) is said, "also from the cache"

    every()


def test_short_cut__says_what_the_rules_say() -> None:
    """For every link, whatever the rules, the seeds, and what sites have of their own."""
    short_cut_agrees(300)


def test_explain__agrees_with_the_crawler(tmp_path: Path) -> None:
    """Of every URL that a link, a redirect, a sitemap or a seed named: why and when it was refused, or where it
    stands.
    """
    assert explained(100, tmp_path) > 1000


def test_explain__agrees_on_the_parts_of_pages_on_a_list(tmp_path: Path) -> None:
    """They come with their pages, though links do not; found by the ten thousand cases below."""
    selection = Selection(scope="list", max_depth=0, max_site_pages=2, max_domain_sites=1)
    plan = Plan(
        selection, {}, ["http://a.example/"], "breadth-first", [], [], (None,) * len(SITES), 762, hostile=False, turns=1
    )
    assert check_crawl(plan, tmp_path) > 2


def test_explain__agrees_on_a_sitemap_that_strangers_name_first(tmp_path: Path) -> None:
    """They may not; its own site may, and is not kept from it by what was said to them. Found like the one above."""
    selection = Selection(
        scope="prefix", exclude=("print",), max_depth=0, max_redirects=0, max_site_pages=5, max_domain_sites=2
    )
    robots = (ROBOTS[4], *(None,) * 4, ROBOTS[3], None)
    seeds = ["http://a.example/", "https://a.example/"]
    plan = Plan(selection, {}, seeds, "breadth-first", [], [], robots, 37, hostile=True, turns=8)
    assert check_crawl(plan, tmp_path) > 20


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_explain__agrees_with_the_crawler_in_ten_thousand_cases(tmp_path: Path) -> None:
    """The same, many times over."""
    short_cut_agrees(10_000)
    crawls = 1000
    asked = explained(crawls, tmp_path)
    print(f"\n{asked:,} URLs of {crawls:,} random crawls: explain and the crawler agree on all")  # noqa: T201  `make soak` shows it
    assert asked >= 10_000
