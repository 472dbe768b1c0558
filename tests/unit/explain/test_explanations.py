"""What an explanation says of single pages."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.explain.crawls import Crawl, Plan
from tests.unit.frontier.conftest import parsed

from weft.explain import Explanation
from weft.frontier.durable.inspect import Ledger
from weft.frontier.durable.parcels import parcels_of
from weft.frontier.overrides import SiteSettings
from weft.frontier.scope import Selection
from weft.frontier.shared.contract import Message, Orders
from weft.model import NO_ID, Kind, Reason, SiteNumber, UrlId

PLAN = Plan(
    selection=Selection(scope="all"),
    overrides={},
    seeds=["http://a.example/"],
    ordering="breadth-first",
    early=[],
    late=[],
    robots=(None,) * 7,
    draw=1,
    hostile=False,
    turns=1,
)


class Told:
    """A crawl whose links are given by hand."""

    def __init__(self, plan: Plan, folder: Path, **politeness: float) -> None:
        self.crawl = Crawl(plan, folder, **politeness)
        self.frontier = self.crawl.frontier
        for seed in plan.seeds:
            self.frontier.add_seed(seed)

    def fetch(self, *links: str, kind: Kind = Kind.A) -> None:
        """Fetch the next page: it has these links."""
        visit = self.frontier.visit()
        assert visit is not None
        self.frontier.enter(visit, "93.184.216.34")
        turn = self.frontier.turn(visit)
        assert turn is not None
        self.frontier.settle(visit, turn, None)
        self.crawl.columns.note(turn)
        for link in links:
            self.crawl.columns.link(turn, link, kind)
        found, _ = self.frontier.discovery.follow(visit.site, turn, parsed(turn.url, *links, kind=kind))
        self.frontier.ranking.visited(turn.page, found.keys)
        visit.took = 0.1
        self.frontier.leave(visit)

    def explain(self, url: str) -> Explanation:
        """As of now."""
        explainer, ledger = self.crawl.explainer()
        try:
            return explainer.explain(url)
        finally:
            ledger.close()


def told(folder: Path, **changes: object) -> Told:
    """A crawl by the plan, with some changes."""
    return Told(PLAN._replace(**changes), folder)  # type: ignore[arg-type]


def test_page__that_waits_is_told_its_place_and_when_it_is_expected(tmp_path: Path) -> None:
    """Nine pages before it, two a visit, half a second and two downloads of a tenth between visits."""
    crawl = told(tmp_path)
    crawl.fetch(*(f"/{number}" for number in range(10)))
    answer = crawl.explain("http://a.example/9")
    assert answer.order is not None
    assert (answer.state, answer.order.on_site, answer.order.in_all, answer.order.score) == ("pending", 9, 9, None)
    assert answer.expected is not None
    assert answer.expected.at == pytest.approx(1000.5 + 4 * (0.5 + 0.2) + 0.1)
    assert "behind 9 pages of its site; 9 pages of all sites were found before it" in answer.verdict
    assert any("9 pages before it on its site, 2 a visit, 0.5 s between visits" in line for line in answer.because)


def test_page__is_told_its_place_by_score_where_the_ordering_scores(tmp_path: Path) -> None:
    """The page found last comes first when more cash lies on it."""
    crawl = told(tmp_path, ordering="opic", seeds=["http://a.example/", "http://b.example/"])
    crawl.fetch(*(f"/{number}" for number in range(9)))
    crawl.fetch("http://a.example/last")
    answer = crawl.explain("http://a.example/last")
    assert answer.order is not None
    assert answer.order.on_site == 0
    assert "score" in answer.verdict


def test_sites_own_depth__is_asked(tmp_path: Path) -> None:
    """A page too deep for its site is not blamed on anything else."""
    crawl = told(tmp_path, overrides={"a.example": SiteSettings(max_depth=0)})
    crawl.fetch("http://a.example/x")
    answer = crawl.explain("http://a.example/x")
    assert (answer.state, answer.reason, answer.rules["depth"]) == ("refused", "depth", "refuses")


def test_robots__that_a_site_may_ignore_do_not_count(tmp_path: Path) -> None:
    """Nothing is said of a robots.txt that is not obeyed on this very site."""
    for robots, refused in (("ignore", False), ("obey", True)):
        crawl = told(tmp_path, overrides={"a.example": SiteSettings(robots=robots)})  # type: ignore[arg-type]
        crawl.frontier.robots.learn(crawl.frontier.sites[SiteNumber(0)], "http", b"User-agent: *\nDisallow: /\n")
        assert any("will be refused" in line for line in crawl.explain("http://a.example/").because) is refused


def test_link__to_another_site_stands_for_its_home_page(tmp_path: Path) -> None:
    """A deep link is not blamed on a rule where only home pages are wanted."""
    crawl = told(tmp_path, selection=Selection(scope="all", external="home-page"))
    crawl.fetch("http://b.example/deep")
    answer = crawl.explain("http://b.example/deep")
    assert (answer.state, answer.reason) == ("refused", None)
    assert "home page" in answer.verdict
    assert crawl.explain("http://b.example/").state == "pending"


def test_reason__of_a_refused_page_goes_with_it_to_another_worker(tmp_path: Path) -> None:
    """And is in that one's log from then on."""
    (tmp_path / "other").mkdir()
    crawl = told(tmp_path)
    crawl.fetch("/1", "/2")
    for _ in range(3):
        crawl.frontier.sites.strike(crawl.frontier.sites[SiteNumber(0)])
    crawl.crawl.clock.advance(10.0)
    visit = crawl.frontier.visit()
    assert visit is not None
    assert crawl.frontier.turn(visit) is None
    visit.took = 0.1
    crawl.frontier.leave(visit)
    assert crawl.explain("http://a.example/2").reason == Reason.SITE_HOSTILE.value
    other = Crawl(PLAN, tmp_path / "other").frontier
    other.commits.recover()
    parcels = list(parcels_of(crawl.crawl.path))
    other.exchanges.obey(Orders(messages=[Message(groups=[parcel.group for parcel in parcels], parcels=parcels)]))
    other.commits.commit(marks={})
    ledger = Ledger(tmp_path / "other" / "frontier.log")
    standing = ledger.standing("http://a.example/2")
    assert standing is not None
    assert (standing.state, standing.reason) == ("refused", "site-hostile")
    ledger.close()


def test_network__in_which_a_site_waits_for_a_place_is_told(tmp_path: Path) -> None:
    """With its limits; and not any more when the site has a place."""
    told = Told(
        PLAN._replace(seeds=["http://a.example/", "http://b.example/"]), tmp_path, per_network=1, network_gap=2.5
    )
    frontier = told.frontier
    one, other = frontier.visit(), frontier.visit()
    assert one is not None
    assert other is not None
    assert frontier.turn(one) is not None
    assert frontier.enter(one, "93.184.216.34")
    turn = frontier.turn(other)
    assert turn is not None
    assert not frontier.enter(other, "93.184.216.99")
    frontier.give_back(other, turn)
    said = (
        "Its site waits for a place in its network, 93.184.216.0/24, where all workers together may have 1 connections "
        "at once (per_network) and an opening every 2.5 s (network_gap)."
    )
    assert said in told.explain("http://b.example/").because
    assert said not in told.explain("http://a.example/").because
    frontier.answered(one)
    frontier.leave(one)
    told.crawl.clock.advance(2.5)
    other = frontier.visit()
    assert other is not None
    assert frontier.turn(other) is not None
    assert frontier.enter(other, "93.184.216.99")
    frontier.leave(other)
    assert said not in told.explain("http://b.example/").because


def test_dead_name__is_why_a_link_is_not_crawled_also_at_another_worker(tmp_path: Path) -> None:
    """What waited there, and what is found later, is refused by the same rule, until it is time to ask again."""
    told = Told(PLAN, tmp_path)
    told.fetch("http://b.example/", "http://b.example/2", "http://a.example/2")
    frontier = told.frontier
    site = frontier.sites.get("b.example")
    assert site is not None
    assert frontier.names.may_deny(site)
    frontier.deny(site)
    told.crawl.clock.advance(1.0)
    told.fetch("http://b.example/", "http://b.example/3")
    for url in ("http://b.example/", "http://b.example/3"):
        answer = told.explain(url)
        assert (answer.state, answer.reason) == ("refused", "dns-not-found"), url
        assert answer.verdict == "It is not crawled: the name does not exist, or has no address (dns-not-found)."
        assert answer.rules["dns-not-found"] == "refuses"
    assert frontier.discovery.refusals() == {"dns-not-found": 3}
    (tmp_path / "other").mkdir()
    other = Crawl(PLAN, tmp_path / "other").frontier
    other.commits.recover()
    parcels = list(parcels_of(told.crawl.path))
    other.exchanges.obey(Orders(messages=[Message(groups=[parcel.group for parcel in parcels], parcels=parcels)]))
    assert other.discovery.offer("http://b.example/4", Kind.A, 1, UrlId(7)) is Reason.DNS_NOT_FOUND
    assert other.discovery.offer("http://b.example/4", Kind.SEED, 0, NO_ID) is None, "somebody asks for it"
    told.crawl.clock.advance(86_400.0)
    answer = told.explain("http://b.example/3")
    assert answer.reason is None
    assert frontier.discovery.offer("http://b.example/3", Kind.A, 1, UrlId(7)) is None
    assert told.explain("http://b.example/3").state == "pending"
    other.close()
