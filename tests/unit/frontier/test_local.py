"""Turns, outcomes, and what outlives the process."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.frontier.conftest import parsed

from weft.clock import VirtualClock
from weft.frontier.local import LocalFrontier
from weft.frontier.politeness import Politeness
from weft.frontier.scope import Selection
from weft.frontier.sites import Overrides, SiteSettings
from weft.model import Kind, Reason, Turn
from weft.ordering.larger_sites_first import LargerSitesFirst
from weft.ordering.priority import Priority


def take(frontier: LocalFrontier) -> tuple[Any, Turn]:
    """A visit with its first turn."""
    visit = frontier.visit()
    assert visit is not None
    turn = frontier.turn(visit)
    assert turn is not None
    return visit, turn


def crawl_order(frontier: LocalFrontier, most: int = 1000) -> list[str]:
    """The order in which pages come, when each is fetched at once and leads nowhere."""
    order: list[str] = []
    while len(order) < most and (visit := frontier.visit()) is not None:
        if (turn := frontier.turn(visit)) is not None:
            order.append(turn.url)
            frontier.settle(visit, turn, None)
        frontier.leave(visit, took=0.0)
    return order


NO_WAIT = Politeness(wait=0.0)


def test_turns__come_in_the_order_of_discovery(make: Any) -> None:
    """Breadth-first takes pages as they were found, over all sites."""
    frontier = make(politeness=NO_WAIT)
    urls = [f"http://s{number % 3}.example/{number}" for number in range(9)]
    for url in urls:
        frontier.add_seed(url)
    assert crawl_order(frontier) == urls


def test_turns__larger_sites_first(make: Any) -> None:
    """The site with most pending pages comes first, whenever it was found."""
    frontier = make(politeness=NO_WAIT, ordering=LargerSitesFirst())
    for url in ("http://a.example/1", "http://b.example/1", "http://b.example/2", "http://b.example/3"):
        frontier.add_seed(url)
    assert crawl_order(frontier) == [
        "http://b.example/1",
        "http://b.example/2",
        "http://a.example/1",
        "http://b.example/3",
    ]


def test_turns__by_priority(make: Any) -> None:
    """An application's priorities decide, and among equals the order of asking."""
    frontier = make(politeness=NO_WAIT, ordering=Priority())
    for number, priority in enumerate((0.0, 2.0, 1.0, 2.0)):
        frontier.offer(f"http://a.example/{number}", Kind.REQUEST, 0, -1, priority)
    assert [url[-1] for url in crawl_order(frontier)] == ["1", "3", "2", "0"]


def test_url__is_taken_once_however_often_it_is_offered(make: Any) -> None:
    """The same page under many spellings is one page."""
    frontier = make(politeness=NO_WAIT)
    for text in ("http://A.example", "http://a.example/", "HTTP://a.example:80/#top", "http://a.example/./"):
        frontier.add_seed(text)
    assert crawl_order(frontier) == ["http://a.example/"]


def test_visit__takes_at_most_k_pages(make: Any) -> None:
    """A visit gives k turns, then no more."""
    frontier = make(politeness=Politeness(wait=0.0, per_visit=3))
    for number in range(5):
        frontier.add_seed(f"http://a.example/{number}")
    visit = frontier.visit()
    assert [frontier.turn(visit) is not None for _ in range(4)] == [True, True, True, False]


def test_visit__has_one_scheme(make: Any) -> None:
    """A page under the other scheme of a site waits for a connection of its own."""
    frontier = make(politeness=Politeness(wait=0.0, per_visit=3))
    frontier.add_seed("http://a.example/1")
    frontier.add_seed("https://a.example/2")
    visit = frontier.visit()
    assert frontier.turn(visit).url == "http://a.example/1"
    assert frontier.turn(visit) is None
    frontier.leave(visit, took=0.0)
    assert take(frontier)[1].url == "https://a.example/2"


def test_robots__disallowed_pages_are_passed_over(make: Any) -> None:
    """A page that robots.txt disallows is refused when its turn comes, and counted."""
    frontier = make(politeness=Politeness(wait=0.0, per_visit=10, margin=0.0))
    for path in ("private/1", "2", "private/3"):
        frontier.add_seed(f"http://a.example/{path}")
    visit, turn = take(frontier)
    assert frontier.robots_due(visit.site, "http")
    frontier.learn_robots(visit.site, "http", allowed=True, body=b"User-agent: *\nDisallow: /private/\n")
    frontier.give_back(visit, turn)
    allowed = frontier.turn(visit)
    assert allowed is not None
    assert allowed.url == "http://a.example/2"
    assert frontier.turn(visit) is None
    assert frontier.refused[Reason.ROBOTS] == 2


def test_robots__is_asked_for_again_after_a_day(make: Any, clock: VirtualClock) -> None:
    """What robots.txt said holds for at most 24 hours."""
    frontier = make()
    frontier.add_seed("http://a.example/")
    visit, _ = take(frontier)
    frontier.learn_robots(visit.site, "http", allowed=True, body=None)
    assert frontier.robots_due(visit.site, "https"), "each scheme has its own"
    clock.advance(86_399.0)
    assert not frontier.robots_due(visit.site, "http")
    clock.advance(1.0)
    assert frontier.robots_due(visit.site, "http")


def test_crawl_delay__makes_one_page_a_visit_and_a_longer_wait(make: Any, clock: VirtualClock) -> None:
    """Where robots.txt asks for a delay, k is 1 and the delay is kept, up to 300 seconds."""
    frontier = make(politeness=Politeness(wait=0.0, per_visit=10, margin=0.0))
    for number in range(3):
        frontier.add_seed(f"http://a.example/{number}")
    visit, _ = take(frontier)
    frontier.enter(visit, "192.0.2.1")
    frontier.learn_robots(visit.site, "http", allowed=True, body=b"User-agent: *\nCrawl-delay: 1000\n")
    assert frontier.turn(visit) is None
    frontier.leave(visit, took=0.0)
    clock.advance(299.0)
    assert frontier.visit() is None
    clock.advance(1.0)
    assert frontier.visit() is not None


def test_robots__can_be_ignored_for_one_site(make: Any) -> None:
    """The settings file can say that a site's robots.txt is not obeyed."""
    frontier = make(overrides=Overrides(sites={"mine.example": SiteSettings(robots="ignore")}))
    frontier.add_seed("http://mine.example/private")
    visit, _ = take(frontier)
    assert not frontier.robots_due(visit.site, "http")
    frontier.learn_robots(visit.site, "http", allowed=False, body=None)
    assert frontier.allowed(visit.site, "http://mine.example/private")


def test_retry__comes_back_after_its_pauses_and_then_no_more(make: Any, clock: VirtualClock) -> None:
    """A page that fails is tried twice more, after one minute and after ten."""
    frontier = make(politeness=NO_WAIT)
    frontier.add_seed("http://a.example/")
    seen = []
    while (visit := frontier.visit()) is not None:
        turn = frontier.turn(visit)
        seen.append((clock.now(), turn.attempt))
        frontier.settle(visit, turn, Reason.STATUS_5XX)
        frontier.leave(visit, took=0.0)
        if (event := frontier.schedule.next_event()) is not None:
            clock.move_to(event)
    assert seen == [(1000.0, 1), (1060.0, 2), (1660.0, 3)]
    assert frontier.done


def test_retry__is_not_made_for_a_page_that_is_gone(make: Any) -> None:
    """A 404 will be a 404 in ten minutes, too."""
    frontier = make(politeness=NO_WAIT)
    frontier.add_seed("http://a.example/")
    visit, turn = take(frontier)
    frontier.settle(visit, turn, Reason.STATUS_4XX)
    frontier.leave(visit, took=0.0)
    assert frontier.done


def test_quota__is_kept_exactly(make: Any) -> None:
    """No more pages are begun than may be fetched; what is given back or tried again does not count."""
    frontier = make(politeness=NO_WAIT)
    for number in range(10):
        frontier.add_seed(f"http://s{number}.example/")
    frontier.quota = 3
    visit, turn = take(frontier)
    frontier.give_back(visit, turn)
    frontier.leave(visit, took=0.0)
    assert len(crawl_order(frontier)) == 3
    assert frontier.visit() is None


def test_links__become_pages_one_deeper(make: Any) -> None:
    """Links are resolved against the page's base and stand one link farther from the seed."""
    frontier = make(politeness=NO_WAIT)
    frontier.add_seed("http://a.example/dir/")
    visit, turn = take(frontier)
    page = parsed("http://a.example/dir/", "x.html", "/y", "http://b.example/z", "#top", "mailto:q", "../dir/x.html")
    targets, kinds = frontier.found.follow(visit.site, turn, page)
    assert len(targets) == len(kinds) == 4
    assert targets[0] == targets[3]
    frontier.settle(visit, turn, None)
    frontier.leave(visit, took=0.0)
    found = {}
    while (following := frontier.visit()) is not None:
        next_turn = frontier.turn(following)
        found[next_turn.url] = (next_turn.depth, next_turn.via)
        frontier.leave(following, took=0.0)
    expected = ("http://a.example/dir/x.html", "http://a.example/y", "http://b.example/z")
    assert found == dict.fromkeys(expected, (1, turn.id))


def test_links__too_deep_may_be_found_again_by_a_shorter_way(make: Any) -> None:
    """A link that is refused for its depth on one page is taken from another that is nearer to the seeds."""
    frontier = make(politeness=NO_WAIT, selection=Selection(scope="all", max_depth=1))
    frontier.add_seed("http://a.example/")
    visit, turn = take(frontier)
    frontier.found.follow(visit.site, turn, parsed(turn.url, "/one"))
    frontier.leave(visit, took=0.0)
    deeper_visit, deeper = take(frontier)
    assert deeper.depth == 1
    frontier.found.follow(visit.site, deeper, parsed(turn.url, "/two"))
    assert frontier.found.refused[Reason.DEPTH] == 1
    frontier.found.follow(visit.site, turn, parsed(turn.url, "/two"))
    frontier.leave(deeper_visit, took=0.0)
    assert take(frontier)[1].url == "http://a.example/two"


def test_site__takes_no_more_pages_than_its_limit(make: Any) -> None:
    """A site that goes on for ever is cut at its limit of pages (P1: 25,000; here 2)."""
    frontier = make(selection=Selection(scope="all", max_site_pages=2))
    frontier.add_seed("http://a.example/")
    visit, turn = take(frontier)
    frontier.found.follow(visit.site, turn, parsed(turn.url, "/1", "/2", "/3", "http://b.example/"))
    assert frontier.known == 3
    assert frontier.found.refused[Reason.SITE_PAGES] == 2


@pytest.mark.parametrize(
    ("policy", "found"),
    [
        ("deep-link", {"http://b.example/deep"}),
        ("home-page", {"http://b.example/"}),
        ("combined", {"http://b.example/", "http://b.example/deep"}),
    ],
)
def test_external_links__follow_the_policy(make: Any, policy: str, found: set[str]) -> None:
    """Deep link, home page, combined (P3 5.3)."""
    frontier = make(politeness=NO_WAIT, selection=Selection(scope="all", external=policy))  # type: ignore[arg-type]
    frontier.add_seed("http://a.example/")
    visit, turn = take(frontier)
    frontier.found.follow(visit.site, turn, parsed(turn.url, "http://b.example/deep", "/inner"))
    frontier.settle(visit, turn, None)
    frontier.leave(visit, took=0.0)
    assert set(crawl_order(frontier)) == found | {"http://a.example/inner"}


def test_list__follows_no_links_but_redirects_of_its_seeds(make: Any) -> None:
    """A list crawl fetches exactly its URLs, and where they are redirected to."""
    frontier = make(politeness=NO_WAIT, selection=Selection(scope="list"))
    frontier.add_seed("http://a.example/")
    visit, turn = take(frontier)
    targets, _ = frontier.found.follow(visit.site, turn, parsed(turn.url, "/1"))
    assert len(targets) == 1
    assert frontier.offer("https://www.a.example/", Kind.REDIRECT, 0, turn.page) is None
    frontier.leave(visit, took=0.0)
    assert crawl_order(frontier) == ["https://www.a.example/"]


def test_recover__stands_where_the_last_commit_stood(make: Any, clock: VirtualClock) -> None:
    """After a restart the pending pages, their order, the retries, the sites' waits and their robots.txt are there."""
    first = make()
    for number in range(6):
        first.add_seed(f"http://s{number % 3}.example/{number}")
    visit, turn = take(first)
    first.enter(visit, "192.0.2.1")
    first.learn_robots(visit.site, "http", allowed=True, body=b"User-agent: *\nDisallow: /3\nCrawl-delay: 7\n")
    first.settle(visit, turn, None)
    visit.site.jar.store(["id=1"], clock.wall())
    first.leave(visit, took=0.0)
    second_visit, second_turn = take(first)
    first.settle(second_visit, second_turn, Reason.STATUS_5XX)
    first.leave(second_visit, took=0.0)
    first.commit(lengths={"volumes/x": 7}, counts=b"n", clean=True)
    first.add_seed("http://lost.example/")

    again = make()
    last = again.recover()
    assert last is not None
    assert (last.lengths, last.counts, last.clean) == ({"volumes/x": 7}, b"n", True)
    assert again.known == 6
    assert again.schedule.pending == 5
    site = again.site(again.found.numbers["s0.example"])
    assert site.crawl_delay == 7.0
    assert site.jar.header("/", secure=False, now=clock.wall()) == "id=1"
    assert not again.allowed(site, "http://s0.example/3")
    order = []
    while not again.done:
        while (following := again.visit()) is not None:
            while (next_turn := again.turn(following)) is not None:
                order.append((next_turn.url, next_turn.attempt, round(clock.now())))
                again.settle(following, next_turn, None)
            again.leave(following, took=0.0)
        if not again.done:
            clock.move_to(again.schedule.next_event())
    assert order == [
        ("http://s2.example/2", 1, 1000),
        ("http://s1.example/4", 1, 1000),
        ("http://s2.example/5", 1, 1000),
        ("http://s1.example/1", 2, 1060),
    ]


def test_recover__keeps_an_applications_priorities(make: Any) -> None:
    """Scores are part of the memory."""
    frontier = make(ordering=Priority(), politeness=NO_WAIT)
    for number, priority in enumerate((1.0, 3.0, 2.0)):
        frontier.offer(f"http://a.example/{number}", Kind.REQUEST, 0, -1, priority)
    frontier.commit(lengths={}, counts=b"")
    again = make(ordering=Priority(), politeness=NO_WAIT)
    again.recover()
    assert [url[-1] for url in crawl_order(again)] == ["1", "2", "0"]


def test_recover__a_seed_that_was_admitted_keeps_its_scope(make: Any) -> None:
    """What the seeds, and redirects of seeds, let into the scope is there after a restart."""
    frontier = make(selection=Selection(scope="site"))
    frontier.add_seed("http://a.example/")
    frontier.admit("https://moved.example/")
    frontier.commit(lengths={}, counts=b"")
    again = make(selection=Selection(scope="site"))
    again.recover()
    assert again.offer("https://www.moved.example/x", Kind.A, 1, 0) is None
    assert again.offer("https://other.example/", Kind.A, 1, 0) is Reason.SCOPE
