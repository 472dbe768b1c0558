"""Turns, outcomes, and what outlives the process."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any
from unittest import mock

import msgspec
import pytest
from tests.unit.frontier.conftest import SetClock, parsed

from weft.clock import VirtualClock
from weft.frontier.durable.log import Commit
from weft.frontier.local.frontier import LocalFrontier
from weft.frontier.local.seen import MOST_OFFERED, Offer, Seen
from weft.frontier.local.site import Errand
from weft.frontier.overrides import Overrides, SiteSettings
from weft.frontier.politeness import Politeness
from weft.frontier.retries import Retries
from weft.frontier.scope import Selection
from weft.frontier.shared.contract import BEING_CRAWLED, CRAWLED, SET_ASIDE, Begun, Found, Message, Notice, Orders
from weft.model import NO_ID, Kind, PageNumber, Reason, Turn, UrlId
from weft.ordering.larger_sites_first import LargerSitesFirst
from weft.ordering.priority import Priority
from weft.store.files import Mark
from weft.urls import fingerprint


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
        frontier.leave(visit)
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
        frontier.discovery.offer(f"http://a.example/{number}", Kind.REQUEST, 0, NO_ID, priority)
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
    frontier.leave(visit)
    assert take(frontier)[1].url == "https://a.example/2"


def test_robots__disallowed_pages_are_passed_over(make: Any) -> None:
    """A page that robots.txt disallows is refused when its turn comes, and counted."""
    frontier = make(politeness=Politeness(wait=0.0, per_visit=10, margin=0.0))
    for path in ("private/1", "2", "private/3"):
        frontier.add_seed(f"http://a.example/{path}")
    visit, turn = take(frontier)
    assert frontier.robots.due(visit.site, "http")
    frontier.robots.learn(visit.site, "http", b"User-agent: *\nDisallow: /private/\n")
    frontier.give_back(visit, turn)
    allowed = frontier.turn(visit)
    assert allowed is not None
    assert allowed.url == "http://a.example/2"
    assert frontier.turn(visit) is None
    assert frontier.discovery.refused[Reason.ROBOTS] == 2


def test_sitemaps__of_a_robots_txt_are_offered_at_once(make: Any) -> None:
    """A thousand of them take a few questions to URL-seen, and what is more is counted, each once."""
    frontier = make(politeness=NO_WAIT)
    frontier.add_seed("http://a.example/")
    visit, _ = take(frontier)
    body = b"".join(b"Sitemap: /%d.xml\n" % number for number in (*range(1500), *range(1500)))
    asked: list[int] = []
    offer = Seen.offer

    def counted(seen: Seen, offers: Sequence[Offer], key: int = 0) -> tuple[int, list[PageNumber]]:
        asked.append(len(offers))
        return offer(seen, offers, key)

    with mock.patch.object(Seen, "offer", counted):
        frontier.robots.learn(visit.site, "http", body)
    assert sum(asked) == 1000
    assert len(asked) <= 1 + 1000 // MOST_OFFERED
    assert frontier.discovery.refused[Reason.SITEMAPS] == 500
    assert len(frontier.pages) == 1001


def test_robots__is_asked_for_again_after_a_day(make: Any, clock: VirtualClock) -> None:
    """What robots.txt said holds for at most 24 hours."""
    frontier = make()
    frontier.add_seed("http://a.example/")
    visit, _ = take(frontier)
    frontier.robots.learn(visit.site, "http", None)
    assert frontier.robots.due(visit.site, "https"), "each scheme has its own"
    clock.advance(86_399.0)
    assert not frontier.robots.due(visit.site, "http")
    clock.advance(1.0)
    assert frontier.robots.due(visit.site, "http")


def test_crawl_delay__makes_one_page_a_visit_and_a_longer_wait(make: Any, clock: VirtualClock) -> None:
    """Where robots.txt asks for a delay, k is 1 and the delay is kept, up to 300 seconds."""
    frontier = make(politeness=Politeness(wait=0.0, per_visit=10, margin=0.0))
    for number in range(3):
        frontier.add_seed(f"http://a.example/{number}")
    visit, _ = take(frontier)
    frontier.enter(visit, "192.0.2.1")
    frontier.robots.learn(visit.site, "http", b"User-agent: *\nCrawl-delay: 1000\n")
    assert frontier.turn(visit) is None
    frontier.leave(visit)
    clock.advance(299.0)
    assert frontier.visit() is None
    clock.advance(1.0)
    assert frontier.visit() is not None


def test_robots__can_be_ignored_for_one_site(make: Any) -> None:
    """The settings file can say that a site's robots.txt is not obeyed."""
    frontier = make(overrides=Overrides(sites={"mine.example": SiteSettings(robots="ignore")}))
    frontier.add_seed("http://mine.example/private")
    visit, _ = take(frontier)
    assert not frontier.robots.due(visit.site, "http")
    frontier.robots.learn(visit.site, "http", b"User-agent: *\nDisallow: /private\n")
    assert frontier.refusal(visit.site, "http://mine.example/private") is None


def test_retry__comes_back_after_its_pauses_and_then_no_more(make: Any, clock: VirtualClock) -> None:
    """A page that fails is tried twice more, after one minute and after ten."""
    frontier = make(politeness=NO_WAIT)
    frontier.add_seed("http://a.example/")
    seen = []
    while (visit := frontier.visit()) is not None:
        turn = frontier.turn(visit)
        seen.append((clock.now(), turn.attempt))
        frontier.settle(visit, turn, Reason.STATUS_5XX)
        frontier.leave(visit)
        if (event := frontier.schedule.next_event()) is not None:
            clock.move_to(event)
    assert seen == [(1000.0, 1), (1060.0, 2), (1660.0, 3)]
    assert frontier.schedule.done


def test_retry__is_not_made_for_a_page_that_is_gone(make: Any) -> None:
    """A 404 will be a 404 in ten minutes, too."""
    frontier = make(politeness=NO_WAIT)
    frontier.add_seed("http://a.example/")
    visit, turn = take(frontier)
    frontier.settle(visit, turn, Reason.STATUS_4XX)
    frontier.leave(visit)
    assert frontier.schedule.done


def test_allowance__is_kept_exactly(make: Any) -> None:
    """No more pages are begun than may be fetched; what is given back or tried again does not count."""
    frontier = make(politeness=NO_WAIT)
    for number in range(10):
        frontier.add_seed(f"http://s{number}.example/")
    frontier.pace.allowance = 3
    visit, turn = take(frontier)
    frontier.give_back(visit, turn)
    frontier.leave(visit)
    assert not frontier.pace.exhausted
    assert len(crawl_order(frontier)) == 3
    assert frontier.visit() is None
    assert frontier.pace.exhausted
    assert frontier.exchanges.starved
    frontier.commits.commit(marks={})
    assert frontier.exchanges.idle
    frontier.pace.allowance = 5
    assert not frontier.exchanges.starved
    assert not frontier.exchanges.idle
    assert len(crawl_order(frontier)) == 2
    assert frontier.pace.spent == 5
    frontier.pace.allowance = 10
    assert len(crawl_order(frontier)) == 5
    assert frontier.pace.exhausted
    assert not frontier.exchanges.starved, "there is nothing to fetch"


def test_links__become_pages_one_deeper(make: Any) -> None:
    """Links are resolved against the page's base and stand one link farther from the seed."""
    frontier = make(politeness=NO_WAIT)
    frontier.add_seed("http://a.example/dir/")
    visit, turn = take(frontier)
    page = parsed("http://a.example/dir/", "x.html", "/y", "http://b.example/z", "#top", "mailto:q", "../dir/x.html")
    (targets, kinds, _, _), _ = frontier.discovery.follow(visit.site, turn, page)
    assert len(targets) == len(kinds) == 4
    assert targets[0] == targets[3]
    frontier.settle(visit, turn, None)
    frontier.leave(visit)
    found = {}
    while (following := frontier.visit()) is not None:
        next_turn = frontier.turn(following)
        found[next_turn.url] = (next_turn.depth, next_turn.via)
        frontier.leave(following)
    expected = ("http://a.example/dir/x.html", "http://a.example/y", "http://b.example/z")
    assert found == dict.fromkeys(expected, (1, turn.id))


def test_nofollow_links__are_noted_and_counted_and_never_pages(make: Any) -> None:
    """Each once, however many pages have it; one that is written without nofollow elsewhere is followed there."""
    noted: list[str] = []
    frontier = make(politeness=NO_WAIT, note=lambda _id, url: noted.append(url))
    frontier.add_seed("http://a.example/")
    visit, turn = take(frontier)
    page = msgspec.structs.replace(
        parsed(turn.url, "/1"), nofollow=[("/2", Kind.A), ("#top", Kind.A), ("mailto:q", Kind.A), ("/1", Kind.A)]
    )
    for _ in range(2):
        found, left = frontier.discovery.follow(visit.site, turn, page)
        assert (found.targets, left.targets) == (
            [fingerprint("http://a.example/1")],
            [fingerprint("http://a.example/2"), fingerprint("http://a.example/1")],
        )
        assert left.kinds == [Kind.A, Kind.A]
    assert len(frontier.pages) == 2
    assert frontier.discovery.refused[Reason.NOFOLLOW] == 1
    assert noted == ["http://a.example/", "http://a.example/1", "http://a.example/2"]
    frontier.discovery.follow(visit.site, turn, parsed(turn.url, "/2"))
    assert len(frontier.pages) == 3


def test_nofollow_page__has_none_of_its_links_followed_unless_that_is_not_obeyed(make: Any) -> None:
    """They are resolved all the same. What a single link asks for is obeyed or not with it."""
    frontier = make(politeness=NO_WAIT)
    frontier.add_seed("http://a.example/")
    visit, turn = take(frontier)
    page = msgspec.structs.replace(parsed(turn.url, "/1", "/2"), follow=False, nofollow=[("/3", Kind.A)])
    found, left = frontier.discovery.follow(visit.site, turn, page)
    assert (found.targets, len(left.targets), len(frontier.pages)) == ([], 3, 1)
    assert frontier.discovery.refused[Reason.NOFOLLOW] == 3
    found, left = frontier.discovery.follow(visit.site, turn, page, obeyed=False)
    assert (len(found.targets), len(left.targets), len(frontier.pages)) == (3, 0, 4)


def test_labels__stay_with_their_links(make: Any) -> None:
    """Also behind links that lead nowhere."""
    frontier = make(politeness=NO_WAIT)
    frontier.add_seed("http://a.example/")
    visit, turn = take(frontier)
    page = msgspec.structs.replace(
        parsed(turn.url, "/1", "#top", "mailto:q", "/2", "#end", "/3"),
        nofollow=[("mailto:r", Kind.A), ("/4", Kind.A)],
        labels=[(text, "") for text in ("one", "top", "mail", "two", "end", "three", "mail", "four")],
    )
    found, left = frontier.discovery.follow(visit.site, turn, page)
    assert found.labels == [("one", ""), ("two", ""), ("three", "")]
    assert left.labels == [("four", "")]


def test_urls__that_are_refused_are_noted(make: Any) -> None:
    """By scope, by a site's limit, as the target of a redirect, or because only home pages of other sites are taken."""
    noted: set[str] = set()
    selection = Selection(scope="all", external="home-page", max_site_pages=1, exclude=("private",))
    frontier = make(politeness=NO_WAIT, selection=selection, note=lambda _id, url: noted.add(url))
    frontier.add_seed("http://a.example/")
    visit, turn = take(frontier)
    frontier.discovery.follow(visit.site, turn, parsed(turn.url, "/private", "/second", "http://b.example/deep"))
    frontier.discovery.offer("http://a.example/private/moved", Kind.REDIRECT, 0, turn.id)
    assert noted == {
        "http://a.example/",
        "http://a.example/private",
        "http://a.example/second",
        "http://a.example/private/moved",
        "http://b.example/",
        "http://b.example/deep",
    }


def test_links__too_deep_may_be_found_again_by_a_shorter_way(make: Any) -> None:
    """A link that is refused for its depth on one page is taken from another that is nearer to the seeds."""
    frontier = make(politeness=NO_WAIT, selection=Selection(scope="all", max_depth=1))
    frontier.add_seed("http://a.example/")
    visit, turn = take(frontier)
    frontier.discovery.follow(visit.site, turn, parsed(turn.url, "/one"))
    frontier.leave(visit)
    deeper_visit, deeper = take(frontier)
    assert deeper.depth == 1
    frontier.discovery.follow(visit.site, deeper, parsed(turn.url, "/two"))
    assert frontier.discovery.refused[Reason.DEPTH] == 1
    frontier.discovery.follow(visit.site, turn, parsed(turn.url, "/two"))
    frontier.leave(deeper_visit)
    assert take(frontier)[1].url == "http://a.example/two"


def test_site__takes_no_more_pages_than_its_limit(make: Any) -> None:
    """A site that goes on for ever is cut at its limit of pages (P1: 25,000; here 2)."""
    frontier = make(selection=Selection(scope="all", max_site_pages=2))
    frontier.add_seed("http://a.example/")
    visit, turn = take(frontier)
    frontier.discovery.follow(visit.site, turn, parsed(turn.url, "/1", "/2", "/3", "http://b.example/"))
    assert len(frontier.pages) == 3
    assert frontier.discovery.refused[Reason.SITE_PAGES] == 2


def test_offer__what_there_is_no_room_for_is_refused(make: Any) -> None:
    """A full frontier goes on with what it has, and says how much it had to leave."""
    frontier = make(capacity=16)
    for number in range(20):
        frontier.discovery.offer(f"http://a.example/{number}", Kind.A, 1, UrlId(7))
    assert len(frontier.pages) == 15
    assert frontier.discovery.refused[Reason.FRONTIER_FULL] == 5
    assert frontier.discovery.offer("http://a.example/0", Kind.A, 1, UrlId(7)) is None
    visit = frontier.visit()
    assert visit is not None
    assert frontier.turn(visit) is not None


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
    frontier.discovery.follow(visit.site, turn, parsed(turn.url, "http://b.example/deep", "/inner"))
    frontier.settle(visit, turn, None)
    frontier.leave(visit)
    assert set(crawl_order(frontier)) == found | {"http://a.example/inner"}


def test_list__follows_no_links_but_redirects_of_its_seeds(make: Any) -> None:
    """A list crawl fetches exactly its URLs, and where they are redirected to."""
    frontier = make(politeness=NO_WAIT, selection=Selection(scope="list"))
    frontier.add_seed("http://a.example/")
    visit, turn = take(frontier)
    found, _ = frontier.discovery.follow(visit.site, turn, parsed(turn.url, "/1"))
    assert len(found.targets) == 1
    assert frontier.discovery.offer("https://www.a.example/", Kind.REDIRECT, 0, turn.id) is None
    frontier.leave(visit)
    assert crawl_order(frontier) == ["https://www.a.example/"]


def test_recover__stands_where_the_last_commit_stood(make: Any, clock: VirtualClock) -> None:
    """After a restart the pending pages, their order, the retries, the sites' waits and their robots.txt are there."""
    first = make()
    for number in range(6):
        first.add_seed(f"http://s{number % 3}.example/{number}")
    visit, turn = take(first)
    first.enter(visit, "192.0.2.1")
    first.robots.learn(visit.site, "http", b"User-agent: *\nDisallow: /3\nCrawl-delay: 7\n")
    first.settle(visit, turn, None)
    visit.site.jar.store(["id=1"], clock.wall())
    first.leave(visit)
    second_visit, second_turn = take(first)
    first.settle(second_visit, second_turn, Reason.STATUS_5XX)
    first.leave(second_visit)
    first.commits.commit(marks={"volumes/x": Mark(7, 3, 1)}, counts=b"n", clean=True)
    first.add_seed("http://lost.example/")

    again = make()
    last = again.commits.recover()
    assert last is not None
    assert (last.marks, last.counts, last.clean) == ({"volumes/x": Mark(7, 3, 1)}, b"n", True)
    assert len(again.pages) == 6
    assert again.schedule.pending == 5
    site = again.sites[again.sites.numbers["s0.example"]]
    assert site.crawl_delay == 7.0
    assert site.jar.header("/", secure=False, now=clock.wall()) == "id=1"
    assert again.refusal(site, "http://s0.example/3") is Reason.ROBOTS
    order = []
    while not again.schedule.done:
        while (following := again.visit()) is not None:
            while (next_turn := again.turn(following)) is not None:
                order.append((next_turn.url, next_turn.attempt, round(clock.now())))
                again.settle(following, next_turn, None)
            again.leave(following)
        if not again.schedule.done:
            clock.move_to(again.schedule.next_event())
    assert order == [
        ("http://s2.example/2", 1, 1002),
        ("http://s1.example/4", 1, 1002),
        ("http://s2.example/5", 1, 1002),
        ("http://s1.example/1", 2, 1060),
    ]


@pytest.mark.parametrize("committed", [True, False])
def test_recover__a_pause_that_a_server_asked_for_needs_no_commit(
    make: Any, clock: VirtualClock, *, committed: bool
) -> None:
    """A worker that is killed right after the answer leaves the site alone as long as it was asked to, whether its log
    knows the site or not; others are visited meanwhile.
    """
    first = make()
    first.add_seed("http://asks.example/1")
    first.add_seed("http://asks.example/2")
    if committed:
        first.commits.commit(marks={})
    visit, turn = take(first)
    first.enter(visit, "192.0.2.1")
    first.settle(visit, turn, None)
    visit.pause = 3600.0
    first.leave(visit)
    for _ in range(2):  # it holds when the next worker is killed, too, before and after its commits
        again = make()
        again.commits.recover()
        again.add_seed("http://asks.example/2")
        again.add_seed("http://other.example/")
        visited = []
        while (event := again.schedule.next_event()) is None or event < 4000.0:
            while (following := again.visit()) is not None:
                visited.append(following.site.name)
                assert again.turn(following) is not None
                again.leave(following)
                again.commits.commit(marks={})
                again.commits.commit(marks={})
            event = again.schedule.next_event()
            assert event is not None
            if event < 4000.0:
                clock.move_to(event)
        assert "asks.example" not in visited
    clock.move_to(4600.1)
    assert again.visit() is not None


@pytest.mark.parametrize("asks", ["robots.txt", "settings"])
def test_recover__a_first_visit_that_was_under_way_is_followed_by_a_wait_of_its_own(
    make: Any, clock: VirtualClock, asks: str
) -> None:
    """Nothing was remembered of its site yet, but that it wants a longer wait than others."""
    overrides = Overrides(sites={"a.example": SiteSettings(wait=50.0)} if asks == "settings" else {})
    first = make(overrides=overrides)
    first.add_seed("http://a.example/")
    first.add_seed("http://b.example/")
    visit, _ = take(first)
    assert visit.site.name == "a.example"
    if asks == "robots.txt":
        first.robots.learn(visit.site, "http", b"User-agent: *\nCrawl-delay: 50\n")
    first.commits.commit(marks={})
    again = make(overrides=overrides)
    again.commits.recover()
    clock.advance(49.0)
    assert take(again)[0].site.name == "b.example"
    assert again.visit() is None
    clock.advance(1.0)
    assert take(again)[0].site.name == "a.example"


def test_recover__keeps_an_applications_priorities(make: Any) -> None:
    """Scores are part of the memory."""
    frontier = make(ordering=Priority(), politeness=NO_WAIT)
    for number, priority in enumerate((1.0, 3.0, 2.0)):
        frontier.discovery.offer(f"http://a.example/{number}", Kind.REQUEST, 0, NO_ID, priority)
    frontier.commits.commit(marks={})
    again = make(ordering=Priority(), politeness=NO_WAIT)
    again.commits.recover()
    assert [url[-1] for url in crawl_order(again)] == ["1", "2", "0"]


def test_recover__a_seed_that_was_admitted_keeps_its_scope(make: Any) -> None:
    """What the seeds, and redirects of seeds, let into the scope is there after a restart."""
    frontier = make(selection=Selection(scope="site"))
    frontier.add_seed("http://a.example/")
    frontier.admit("https://moved.example/")
    frontier.commits.commit(marks={})
    again = make(selection=Selection(scope="site"))
    again.commits.recover()
    assert again.discovery.offer("https://www.moved.example/x", Kind.A, 1, NO_ID) is None
    assert again.discovery.offer("https://other.example/", Kind.A, 1, NO_ID) is Reason.SCOPE


def test_recover__without_the_last_commits_names_the_sites_that_are_visited_again(make: Any) -> None:
    """Records whose outputs are gone are dropped: their pages are pending again, or not yet known."""
    frontier = make(politeness=NO_WAIT)
    for number in range(3):
        frontier.add_seed(f"http://s{number}.example/")
    frontier.commits.commit(marks={}, counts=b"good")
    for _ in range(2):
        visit, turn = take(frontier)
        frontier.discovery.follow(visit.site, turn, parsed(turn.url, f"http://from-{visit.site.name}/"))
        frontier.settle(visit, turn, None)
        frontier.leave(visit)
        frontier.commits.commit(marks={}, counts=b"bad")

    def intact(commit: Commit) -> bool:
        return commit.counts == b"good"

    again = make(politeness=NO_WAIT)
    last = again.commits.recover(None, intact)
    assert last is not None
    assert last.counts == b"good"
    assert again.commits.lost == ["from-s0.example", "from-s1.example", "s0.example", "s1.example"]
    assert len(again.pages) == again.schedule.pending == 3
    assert crawl_order(again) == [f"http://s{number}.example/" for number in range(3)]
    whole = make(politeness=NO_WAIT)
    whole.commits.recover()
    assert whole.commits.lost == []


def test_via__is_the_id_of_the_page_where_it_was_found(make: Any) -> None:
    """Also across a restart; a seed was found nowhere."""
    frontier = make(politeness=NO_WAIT)
    frontier.add_seed("http://a.example/")
    visit, turn = take(frontier)
    assert turn.via == 0
    frontier.discovery.follow(visit.site, turn, parsed(turn.url, "/x"))
    frontier.settle(visit, turn, None)
    frontier.leave(visit)
    frontier.commits.commit(marks={})
    again = make(politeness=NO_WAIT)
    again.commits.recover()
    assert take(again)[1].via == turn.id == fingerprint("http://a.example/")


# --- one of several workers ---


def one_of_several(make: Any, *groups: str, incarnation: int = 1, applied: int = 0, **options: Any) -> LocalFrontier:
    """A frontier that holds some groups."""
    frontier: LocalFrontier = make(**{"politeness": NO_WAIT, **options})
    frontier.commits.recover(Begun(incarnation, applied, alone=False))
    frontier.exchanges.obey(Orders(messages=[Message(groups=list(groups))], taken=1))
    return frontier


def test_several__links_to_other_groups_go_with_the_next_commit(make: Any) -> None:
    """They are noted and sent until they are applied; links to what is held become pages, also of other sites of it."""
    noted: list[str] = []
    frontier = one_of_several(make, "mine.example", note=lambda _id, url: noted.append(url))
    frontier.discovery.offer("http://mine.example/", Kind.A, 0, NO_ID)
    visit, turn = take(frontier)
    page = parsed(turn.url, "http://www.mine.example/", "http://other.example/x", "/y", "http://other.example/x#top")
    found, _ = frontier.discovery.follow(visit.site, turn, page)
    assert len(found.targets) == 4
    assert len(frontier.pages) == 3
    assert "http://other.example/x" in noted
    assert frontier.exchanges.report(3, wants=0).batches == [], "what is not committed is not sent"
    frontier.commits.commit(marks={})
    for _ in range(2):
        report = frontier.exchanges.report(3, wants=0)
        assert (report.worker, report.incarnation) == (3, 1)
        (batch,) = report.batches
        assert batch.notices == {"other.example": [Found("http://other.example/x", Kind.A, 1, turn.id)]}
    frontier.exchanges.obey(Orders(applied=batch.number, taken=1))
    assert frontier.exchanges.report(3, wants=0).batches == []


def test_several__what_comes_becomes_pages(make: Any) -> None:
    """In its order, as deep as it was found, with where it was found; a second time it changes nothing."""
    frontier = one_of_several(make)
    links = [Found(f"http://new.example/{number}", Kind.A, number, UrlId(77)) for number in range(3)]
    orders = Orders(messages=[Message(groups=["new.example"], notices=[*links])], taken=5)
    frontier.exchanges.obey(orders)
    frontier.exchanges.obey(orders)
    assert len(frontier.pages) == 3
    assert frontier.exchanges.report(0, wants=0).taken == 5
    visit = frontier.visit()
    assert visit is not None
    found = []
    while visit is not None and (turn := frontier.turn(visit)) is not None:
        found.append((turn.url, turn.depth, turn.via))
        frontier.settle(visit, turn, None)
        frontier.leave(visit)
        visit = frontier.visit()
    assert found == [(link.url, link.depth, link.via) for link in links]


def test_several__after_a_restart_what_was_checked_out_is_held(make: Any) -> None:
    """What was not applied is sent again; what was taken in and not committed is asked for again."""
    frontier = one_of_several(make, "mine.example")
    frontier.discovery.offer("http://other.example/", Kind.A, 1, UrlId(7))
    frontier.commits.commit(marks={})
    frontier.exchanges.obey(Orders(messages=[Message(groups=["lost.example"])], taken=2))
    again = make(politeness=NO_WAIT)
    again.commits.recover(Begun(2, 0, alone=False))
    assert again.holdings.groups == {"mine.example"}
    report = again.exchanges.report(0, wants=0)
    assert (report.incarnation, report.taken, report.settled) == (2, 1, 0)
    assert [list(batch.notices) for batch in report.batches] == [["other.example"]]
    once_more = make(politeness=NO_WAIT)
    once_more.commits.recover(Begun(3, report.batches[0].number, alone=False))
    assert once_more.exchanges.report(0, wants=0).batches == []


def test_several__groups_are_wanted_while_too_few_sites_are_at_hand(make: Any) -> None:
    """Enough for all connections, and no more; none when nothing may be fetched."""
    frontier = one_of_several(make, politeness=Politeness(wait=0.0, connections=5))
    assert frontier.exchanges.wants == 10
    for number in range(6):
        frontier.exchanges.obey(Orders(messages=[Message(groups=[f"s{number}.example"])], taken=number + 2))
        frontier.discovery.offer(f"http://s{number}.example/", Kind.A, 1, UrlId(7))
    assert frontier.exchanges.wants == 0
    assert frontier.exchanges.report(0, wants=9).wants == 9
    frontier.pace.allowance = 0
    assert frontier.exchanges.report(0, wants=9).wants == 0
    assert frontier.exchanges.report(0, wants=9).idle


def test_alone__every_group_is_ours_and_claimed(make: Any) -> None:
    """Nothing is sent anywhere but the claim."""
    frontier = make(politeness=NO_WAIT)
    frontier.commits.recover(Begun(1, 0, alone=True))
    frontier.discovery.offer("http://a.example/", Kind.A, 1, UrlId(7))
    frontier.discovery.offer("http://www.b.example/", Kind.A, 1, UrlId(7))
    assert len(frontier.pages) == 2
    frontier.commits.commit(marks={})
    (batch,) = frontier.exchanges.report(0, wants=0).batches
    assert (batch.claimed, batch.notices) == (["a.example", "b.example"], {})


def test_report__idle_is_who_can_do_nothing_by_itself(make: Any, clock: VirtualClock) -> None:
    """Not while a visit is under way, a site rests, a page is to be tried again or one is ready."""
    frontier = make(retries=Retries(retry_pauses=(60.0,)))
    assert frontier.exchanges.report(0, wants=1).idle
    frontier.add_seed("http://a.example/1")
    frontier.add_seed("http://a.example/2")
    frontier.commits.commit(marks={})
    assert not frontier.exchanges.report(0, wants=1).idle
    visit, turn = take(frontier)
    assert not frontier.exchanges.report(0, wants=1).idle
    frontier.enter(visit, "192.0.2.1")
    frontier.settle(visit, turn, Reason.STATUS_5XX)
    frontier.leave(visit)
    assert not frontier.exchanges.report(0, wants=1).idle
    clock.advance(2.0)
    visit, turn = take(frontier)
    frontier.settle(visit, turn, None)
    frontier.leave(visit)
    assert frontier.exchanges.report(0, wants=1).pending == 1
    assert not frontier.exchanges.report(0, wants=1).idle, "a page is to be tried again"
    clock.advance(60.0)
    visit, turn = take(frontier)
    frontier.settle(visit, turn, None)
    frontier.leave(visit)
    clock.advance(60.0)
    assert frontier.visit() is None
    assert frontier.exchanges.report(0, wants=1).idle


def test_report__a_rest_with_no_page_behind_it_is_no_work(make: Any, clock: VirtualClock) -> None:
    """A crawl ends with its last page, not when the site has rested; but a rest before an errand is waited for."""
    frontier = make()
    frontier.add_seed("http://a.example/1")
    frontier.add_seed("http://a.example/2")
    frontier.commits.commit(marks={})
    for last in (False, True):
        visit, turn = take(frontier)
        frontier.enter(visit, "192.0.2.1")
        frontier.settle(visit, turn, None)
        frontier.leave(visit)
        assert frontier.exchanges.report(0, wants=1).idle is last
        if not last:
            clock.advance(5.0)
    frontier.schedule.send(visit.site, Errand("http://a.example/robots.txt", 1, "b.example", "http"), clock.now())
    assert not frontier.exchanges.report(0, wants=1).idle


def test_report__with_links_that_are_not_yet_sent_nobody_is_idle(make: Any) -> None:
    """The last page may end while a commit is being written: what it leads to is part of the next one."""
    frontier = one_of_several(make)
    frontier.commits.commit(marks={})
    assert frontier.exchanges.report(0, wants=1).idle
    frontier.commits.pack(marks={}, counts=b"")
    frontier.discovery.offer("http://other.example/", Kind.A, 1, UrlId(7))
    frontier.commits.write(sync=False)
    frontier.commits.written()
    report = frontier.exchanges.report(0, wants=1)
    assert report.batches == []
    assert not report.idle
    frontier.commits.commit(marks={})
    report = frontier.exchanges.report(0, wants=1)
    assert [list(batch.notices) for batch in report.batches] == [["other.example"]]
    assert report.idle


def test_report__with_a_scope_that_is_not_yet_sent_nobody_is_idle(make: Any) -> None:
    """Others may have links that wait for it."""
    frontier = one_of_several(make, selection=Selection(scope="site"))
    frontier.commits.commit(marks={})
    frontier.admit("http://moved.example/")
    assert not frontier.exchanges.report(0, wants=1).idle
    frontier.commits.commit(marks={})
    assert frontier.exchanges.report(0, wants=1).idle


def test_report__starved_is_who_has_pages_and_no_leave_to_fetch_them(make: Any, clock: VirtualClock) -> None:
    """Also while its site rests; not who has nothing to fetch, nor who has leave."""
    frontier = make()
    frontier.pace.allowance = 0
    assert not frontier.exchanges.report(0, wants=1).starved
    frontier.add_seed("http://a.example/1")
    frontier.add_seed("http://a.example/2")
    assert frontier.exchanges.report(0, wants=1).starved
    frontier.pace.allowance = 1
    assert not frontier.exchanges.report(0, wants=1).starved
    visit, turn = take(frontier)
    frontier.enter(visit, "192.0.2.1")
    frontier.settle(visit, turn, None)
    frontier.leave(visit)
    assert frontier.exchanges.report(0, wants=1).starved
    frontier.pace.allowance = None
    assert not frontier.exchanges.report(0, wants=1).starved
    clock.advance(2.0)
    visit, turn = take(frontier)
    frontier.settle(visit, turn, None)
    frontier.leave(visit)
    frontier.pace.allowance = 2
    assert not frontier.exchanges.report(0, wants=1).starved


def test_report__says_when_sites_change_lists(make: Any) -> None:
    """Each change once: being crawled, crawled, set aside."""
    frontier = make(politeness=NO_WAIT, retries=Retries(retry_pauses=()))

    def lists() -> list[dict[str, int]]:
        frontier.commits.commit(marks={})
        batches = frontier.exchanges.report(0, wants=0).batches
        frontier.exchanges.obey(Orders(applied=batches[-1].number if batches else 0))
        return [batch.lists for batch in batches if batch.lists]

    frontier.add_seed("http://a.example/1")
    frontier.add_seed("http://a.example/2")
    lists()
    for expected in (BEING_CRAWLED, CRAWLED):
        visit, turn = take(frontier)
        frontier.settle(visit, turn, None)
        frontier.leave(visit)
        assert lists() == [{"a.example": expected}]
        assert lists() == []
    frontier.add_seed("http://b.example/1")
    frontier.add_seed("http://b.example/2")
    visit, turn = take(frontier)
    visit.pause = frontier.failed(visit.site)
    frontier.leave(visit)
    assert lists() == [{"b.example": SET_ASIDE}]
    assert frontier.exchanges.report(0, wants=0).aside == 1


def test_obey__the_blacklist_holds_for_links_and_for_pages_that_wait(make: Any) -> None:
    """It changes when it has changed, and is left alone when not."""
    frontier = make(politeness=NO_WAIT)
    frontier.add_seed("http://a.example/1")
    frontier.add_seed("http://b.example/1")
    frontier.exchanges.obey(Orders(rules=["a.example"], rules_at=3))
    assert frontier.discovery.offer("http://a.example/2", Kind.A, 1, UrlId(7)) is Reason.BLACKLISTED
    frontier.exchanges.obey(Orders(rules_at=3))
    assert frontier.discovery.offer("http://a.example/3", Kind.A, 1, UrlId(7)) is Reason.BLACKLISTED
    assert crawl_order(frontier) == ["http://b.example/1"]
    assert frontier.discovery.refused[Reason.BLACKLISTED] == 3  # two links, and a page that waited
    assert frontier.exchanges.report(0, wants=0).rules == 3
    frontier.exchanges.obey(Orders(rules=[], rules_at=4))
    assert frontier.discovery.offer("http://a.example/3", Kind.A, 1, UrlId(7)) is None


def test_obey__scope_that_others_let_in_is_let_in_here(make: Any) -> None:
    """It is not told to others again."""
    frontier = make(politeness=NO_WAIT, selection=Selection(scope="site"))
    frontier.add_seed("http://a.example/")
    frontier.exchanges.obey(Orders(scope=["http://moved.example/"], scope_at=9))
    assert frontier.discovery.offer("http://moved.example/x", Kind.A, 1, UrlId(7)) is None
    assert frontier.exchanges.report(0, wants=0).scope == 9
    frontier.commits.commit(marks={})
    (batch,) = frontier.exchanges.report(0, wants=0).batches
    assert "http://moved.example/" not in batch.scope


def test_obey__a_pause_and_a_speed_hold_back_visits_and_turns(make: Any, clock: VirtualClock) -> None:
    """Nothing begins while the crawl is paused; with a speed pages come one by one, and it is said that more could."""
    frontier = make(politeness=Politeness(wait=0.0, per_visit=10, margin=0.0))
    for number in range(20):
        frontier.add_seed(f"http://s{number % 2}.example/{number}")
    frontier.exchanges.obey(Orders(paused=True))
    assert frontier.visit() is None
    frontier.exchanges.obey(Orders(speed=(1.0, None)))
    assert frontier.visit() is None
    times: list[float] = []
    while len(times) < 5:
        event = frontier.next_event()
        assert event is not None
        clock.move_to(max(event, clock.now() + 0.001))
        while (visit := frontier.visit()) is not None:
            while (turn := frontier.turn(visit)) is not None:
                times.append(clock.now())
                frontier.settle(visit, turn, None)
            frontier.leave(visit)
    assert times == [pytest.approx(1001.0 + number, abs=0.01) for number in range(5)]
    assert frontier.exchanges.report(0, wants=0).hungry
    assert not frontier.exchanges.report(0, wants=0).hungry, "it is said once"
    frontier.exchanges.obey(Orders())
    assert len(crawl_order(frontier)) == 15


def test_obey__a_second_pass_is_made_once(make: Any) -> None:
    """What was set aside comes back when the global frontier says so, not again with every report."""
    frontier = make(politeness=NO_WAIT, retries=Retries(retry_pauses=()))
    frontier.add_seed("http://dead.example/1")
    frontier.add_seed("http://late.example/1")

    def fail() -> str:
        visit = frontier.visit()
        assert visit is not None
        visit.pause = frontier.failed(visit.site)
        frontier.leave(visit)
        return str(visit.site.name)

    assert fail() == "dead.example"
    frontier.exchanges.obey(Orders(second_pass=0))
    assert frontier.schedule.aside == 1
    frontier.exchanges.obey(Orders(second_pass=1))
    assert frontier.schedule.aside == 0
    assert fail() == "dead.example"
    assert fail() == "late.example"
    frontier.exchanges.obey(Orders(second_pass=1))
    assert frontier.schedule.aside == 1
    frontier.exchanges.obey(Orders(second_pass=2))
    assert frontier.schedule.aside == 0


@pytest.mark.parametrize("hears", [False, True])
def test_site__that_is_given_up_has_its_pages_looked_at_only_where_somebody_hears(make: Any, *, hears: bool) -> None:
    """There may be tens of thousands of them, and all of them are refused between two awaits."""
    frontier = make(politeness=NO_WAIT, retries=Retries(retry_pauses=()))
    for number in range(300):
        frontier.add_seed(f"http://dead.example/{number}")
    heard: list[str] = []
    if hears:
        frontier.discovery.on_refused = lambda entry, _reason, _special: heard.append(entry.url)
    for second_pass in range(2):
        frontier.exchanges.obey(Orders(second_pass=second_pass))
        visit = frontier.visit()
        with mock.patch.object(frontier.pages.log, "entry", wraps=frontier.pages.log.entry) as looked:
            frontier.failed(visit.site)
        frontier.leave(visit)
    assert frontier.discovery.refused[Reason.SITE_FAILED] == 300
    assert looked.call_count == len(heard) == (300 if hears else 0)


def test_obey__an_old_second_pass_lets_nothing_in(make: Any) -> None:
    """A worker that starts again begins to count where the global frontier is."""
    options: dict[str, Any] = {"politeness": NO_WAIT, "retries": Retries(retry_pauses=())}
    frontier = make(**options)
    frontier.commits.recover(Begun(1, 0, alone=True, second_pass=1))
    frontier.add_seed("http://dead.example/1")
    visit, _ = take(frontier)
    visit.pause = frontier.failed(visit.site)
    frontier.leave(visit)
    frontier.commits.commit(marks={}, clean=True)
    frontier.add_seed("http://alive.example/1")
    again = make(**options)
    again.commits.recover(Begun(2, 0, alone=True, second_pass=1))
    assert again.schedule.aside == 1
    again.exchanges.obey(Orders(second_pass=1))
    assert again.schedule.aside == 1
    again.exchanges.obey(Orders(second_pass=2))
    assert again.schedule.aside == 0


def test_clock__that_is_set_back_between_runs_makes_no_site_wait_for_it(make: Any) -> None:
    """Waits go on as if no time had passed, and it is told by how much the clock went back."""
    clock = SetClock(1000.0)
    clock.ahead = 86_400.0
    first = make(clock=clock)
    first.add_seed("http://a.example/1")
    first.add_seed("http://a.example/2")
    visit, turn = take(first)
    first.enter(visit, "192.0.2.1")
    first.settle(visit, turn, None)
    first.leave(visit)
    first.commits.commit(marks={}, clean=True)
    clock.ahead = 0.0
    again = make(clock=clock)
    again.commits.recover()
    assert again.commits.set_back == pytest.approx(86_400.0)
    clock.advance(2.1)
    visit, turn = take(again)
    assert turn.url == "http://a.example/2"


@pytest.mark.parametrize("jump", [-86_400.0, 86_400.0])
def test_clock__that_jumps_in_a_run_changes_no_wait(make: Any, jump: float) -> None:
    """Waits are kept by the monotonic clock; of robots.txt the age is not known any more, so it is asked for again."""
    clock = SetClock(1000.0)
    frontier = make(clock=clock)
    for number in range(3):
        frontier.add_seed(f"http://a.example/{number}")
    visit, turn = take(frontier)
    frontier.enter(visit, "192.0.2.1")
    frontier.robots.learn(visit.site, "http", b"")
    frontier.settle(visit, turn, None)
    frontier.leave(visit)
    clock.ahead = jump
    assert frontier.visit() is None
    clock.advance(1.9)
    assert frontier.visit() is None
    clock.advance(0.1)
    assert frontier.visit() is not None
    assert frontier.robots.due(visit.site, "http")


def test_keep__what_was_given_away_in_a_lost_commit_is_not_ours(make: Any) -> None:
    """The global frontier has applied a batch that our log lost: a group that it says is another's is not visited."""
    begun = Begun(1, 0, alone=False)
    first = make()
    first.commits.recover(begun)
    first.exchanges.obey(
        Orders(messages=[Message(groups=["a.example", "b.example"], notices=[link("a"), link("b")])], taken=1)
    )
    first.commits.commit(marks={})
    again = make()
    again.commits.recover(Begun(2, 1, alone=False))
    assert not again.exchanges.mail.behind
    again = make()
    again.commits.recover(Begun(2, 2, alone=False))
    assert again.exchanges.mail.behind
    again.exchanges.keep({"b.example", "c.example"})
    assert again.holdings.groups == {"b.example"}
    assert list(again.sites.numbers) == ["b.example"]
    assert again.schedule.pending == 1
    assert [sent.url for sent in again.holdings.notices["a.example"]] == ["http://a.example/"]
    again.commits.commit(marks={})
    third = make()
    third.commits.recover(Begun(3, 2, alone=False))
    assert third.holdings.groups == {"b.example"}
    assert third.schedule.pending == 1
    third.exchanges.obey(Orders(messages=[Message(groups=["a.example"], notices=[link("a")])], taken=2))
    assert third.schedule.pending == 2, "should it come back, its pages are new"


def link(name: str) -> Found:
    """A link to a home page."""
    return Found(f"http://{name}.example/", Kind.A, 1, UrlId(1))


def test_message__is_taken_in_bit_by_bit_and_counts_when_all_of_it_is(make: Any) -> None:
    """Others have their turn in between; a worker that dies there is given the message again."""
    frontier = make()
    frontier.commits.recover(Begun(1, 0, alone=False))
    links: list[Notice] = [Found(f"http://a.example/{number}", Kind.A, 1, UrlId(1)) for number in range(1000)]
    bits = frontier.exchanges.obeying(Orders(messages=[Message(groups=["a.example"], notices=links)], taken=7))
    known = []
    for _ in bits:
        known.append(len(frontier.pages))
        assert frontier.exchanges.report(0, wants=0).taken == 0
    assert max(after - before for before, after in itertools.pairwise([0, *known, 1000])) <= 64
    assert len(frontier.pages) == 1000
    assert frontier.exchanges.report(0, wants=0).taken == 7
