"""How much one page, one domain and all together may bring into a frontier. What is refused has a reason and is
counted; nothing is written where there is no room.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.unit.frontier.conftest import parsed

from weft.clock import VirtualClock
from weft.frontier.local.frontier import LocalFrontier
from weft.frontier.local.site import Site
from weft.frontier.scope import Selection
from weft.model import NO_ID, Kind, PageNumber, Reason, Turn, UrlId

Make = Callable[..., LocalFrontier]
SEED = "http://seed.example/"


def follow(frontier: LocalFrontier, *links: str, page: int = 1) -> None:
    """A page with these links was visited."""
    turn = Turn(PageNumber(0), UrlId(page), SEED, 0, Kind.SEED, NO_ID, 1)
    frontier.discovery.follow(frontier.sites[frontier.sites.number("seed.example")], turn, parsed(SEED, *links))


def hosts(*numbers: int, domain: str = "") -> list[str]:
    """Links to sites, each of a domain of its own or all of one."""
    return [f"http://h{number}.{domain}/" if domain else f"http://h{number}.example/" for number in numbers]


def test_sites__for_which_there_is_no_room_are_refused(make: Make) -> None:
    """However often they come; those that are known go on. Nothing beyond the arrays is written."""
    frontier = make(capacity=64)
    frontier.add_seed(SEED)
    for page in (1, 2):
        follow(frontier, *hosts(*range(20)), page=page)
    assert len(frontier.sites.names) == len(frontier.sites) == 8
    assert frontier.discovery.refused[Reason.FRONTIER_FULL] == 13  # the second time they are known to lead nowhere
    assert frontier.discovery.offer("http://h19.example/other", Kind.REDIRECT, 0, UrlId(5)) is Reason.FRONTIER_FULL
    assert frontier.add_seed("http://another.example/") is Reason.FRONTIER_FULL
    assert frontier.discovery.offer("http://h1.example/other", Kind.A, 1, UrlId(5)) is None
    frontier.commits.commit(marks={}, clean=True)
    again = make(capacity=64)
    again.commits.recover()
    assert again.sites.names == frontier.sites.names
    assert again.discovery.offer("http://h19.example/", Kind.A, 1, UrlId(5)) is Reason.FRONTIER_FULL


def test_page__leads_to_so_many_new_sites_and_no_more(make: Make) -> None:
    """Others may lead to the rest of them; sites that are known are not counted."""
    frontier = make(selection=Selection(scope="all", max_page_sites=5))
    frontier.add_seed(SEED)
    follow(frontier, *hosts(*range(9)), page=1)
    follow(frontier, *hosts(*range(3)), page=1)
    assert len(frontier.sites.names) == 1 + 5
    assert frontier.discovery.refused[Reason.PAGE_SITES] == 4
    follow(frontier, *hosts(*range(9)), page=2)
    assert len(frontier.sites.names) == 1 + 9


def test_domain__has_so_many_sites_and_no_more(make: Make) -> None:
    """Whatever page leads there, also after a restart. What belongs to different people is counted apart."""
    settings = Selection(scope="all", max_domain_sites=4)
    frontier = make(selection=settings)
    frontier.add_seed(SEED)
    follow(frontier, *hosts(*range(9), domain="flood.example"), page=1)
    follow(frontier, *hosts(*range(9), domain="blogspot.com"), page=2)
    follow(frontier, "http://flood.example/", "http://www.flood.example/", page=3)
    assert frontier.discovery.refused[Reason.DOMAIN_SITES] == 5 + 2
    assert sum(name.endswith("blogspot.com") for name in frontier.sites.names) == 9
    frontier.commits.commit(marks={}, clean=True)
    again = make(selection=settings)
    again.commits.recover()
    follow(again, *hosts(20, 21, domain="flood.example"), page=4)
    assert again.discovery.refused[Reason.DOMAIN_SITES] == 2
    assert again.add_seed("http://wanted.flood.example/") is None  # the operator knows best


def test_links__of_endless_length_are_refused_unread(make: Make) -> None:
    """Nobody could ask for them."""
    frontier = make()
    frontier.add_seed(SEED)
    follow(frontier, "/" + "a" * 100_000)
    assert frontier.discovery.refused[Reason.URL_LENGTH] == 1


@pytest.mark.parametrize("costs", [0.0, 0.001, 1.0])
def test_refusals__by_robots_are_bounded_by_time(make: Make, clock: VirtualClock, costs: float) -> None:
    """A visit that refuses for long enough ends, and the next one goes on: what was refused is in the next commit."""
    frontier = make()
    frontier.add_seed(SEED)
    follow(frontier, *(f"/no/{number}" for number in range(300)))
    visit = frontier.visit()
    assert visit is not None
    frontier.robots.learn(visit.site, "http", b"User-agent: *\nDisallow: /")
    refusal = frontier.refusal

    def slowly(site: Site, url: str) -> Reason | None:
        clock.advance(costs)
        return refusal(site, url)

    frontier.refusal = slowly  # type: ignore[method-assign]
    assert frontier.turn(visit) is None
    assert frontier.discovery.refused[Reason.ROBOTS] == (301 if costs == 0 else 6 if costs == 0.001 else 1)


def test_what_waits_for_a_commit__is_called_when_it_is_on_disk(make: Make) -> None:
    """Not by one that was packed before."""
    frontier = make()
    called: list[str] = []
    frontier.commits.after(lambda _: called.append("first"))
    frontier.commits.pack(marks={}, counts=b"")
    frontier.commits.after(lambda _: called.append("second"))
    frontier.commits.write(sync=False)
    assert called == []
    frontier.commits.written()
    assert called == ["first"]
    frontier.commits.commit(marks={})
    assert called == ["first", "second"]
