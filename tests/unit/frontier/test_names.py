"""Names that may not exist, as the frontier sees to them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.frontier.conftest import parsed

from weft.clock import VirtualClock
from weft.frontier.local.frontier import LocalFrontier
from weft.frontier.local.visit import Visit
from weft.frontier.retries import Retries
from weft.frontier.shared.contract import Begun, Orders
from weft.model import Kind, Reason, UrlId

DAY = 86_400.0
PAGE = UrlId(7)


def linked(frontier: LocalFrontier, *urls: str) -> None:
    """Links to these were found on some page."""
    for url in urls:
        assert frontier.discovery.offer(url, Kind.A, 1, PAGE) is None


def visit_of(frontier: LocalFrontier) -> Visit:
    """The next visit, which nobody need ask for."""
    visit = frontier.visit(asks=True)
    assert visit is not None
    return visit


def asked(frontier: LocalFrontier) -> list[str]:
    """The sites whose names are to be asked for now."""
    names = []
    while frontier.visit(asks=True) is None and frontier.names.unasked:
        names.append(frontier.names.unasked.popleft().name)
    return names


def test_name__of_a_new_site_is_asked_for_before_its_visit(make: Any) -> None:
    """And once only; until there is an answer it is not visited, and the crawl is not at its end."""
    frontier = make()
    linked(frontier, "http://a.example/", "http://a.example/2")
    assert frontier.visit(asks=True) is None
    (site,) = frontier.names.unasked
    assert frontier.visit(asks=True) is None
    assert not frontier.exchanges.idle
    frontier.named(site)
    assert visit_of(frontier).site is site


@pytest.mark.parametrize("url", ["http://192.0.2.1/", "http://[2001:db8::1]/", "http://a.example/"])
@pytest.mark.parametrize("how", ["seed", "request", "nobody asks", "off"])
def test_name__is_not_asked_for_where_that_says_nothing(make: Any, url: str, how: str) -> None:
    """Of an address; of what somebody wants, which has its tries; where nobody asks, or it is switched off."""
    frontier = make(retries=Retries(name_recheck=0.0 if how == "off" else DAY))
    kind = {"seed": Kind.SEED, "request": Kind.REQUEST}.get(how, Kind.A)
    if how == "nobody asks" or not url.startswith("http://a"):
        linked(frontier, url)
    assert frontier.discovery.offer(f"{url}2", kind, 0 if how == "seed" else 1, PAGE) is None
    assert frontier.visit(asks=how != "nobody asks") is not None
    assert not frontier.names.asking


def test_name__is_asked_for_by_the_visit_where_too_many_are_asked_for(make: Any) -> None:
    """Slow name servers hold up nothing that they did not hold up before."""
    frontier = make()
    linked(frontier, *(f"http://s{number}.example/" for number in range(60)))
    for _ in range(50):
        assert frontier.visit(asks=True) is None
    assert [site.name for site in frontier.names.unasked] == [f"s{number}.example" for number in range(50)]
    visit = visit_of(frontier)
    assert visit.site.name == "s50.example"
    assert frontier.names.may_deny(visit.site)


def test_name__of_a_site_that_went_to_another_worker_is_nobodys_business(make: Any) -> None:
    """The answer comes, and nothing follows from it."""
    frontier = make()
    frontier.commits.recover(Begun(1, 0, alone=False))
    frontier.holdings.check_out("a.example")
    linked(frontier, "http://a.example/")
    assert frontier.visit(asks=True) is None
    site = frontier.names.unasked.popleft()
    frontier.exchanges.keep(set())
    frontier.named(site)
    assert frontier.schedule.ready == 0
    assert not frontier.names.asking
    frontier.exchanges.obey(Orders())


def test_dead_site__has_no_pages_and_links_to_it_are_refused(make: Any) -> None:
    """They are forgotten: what is known of them takes no place among those of the frontier."""
    frontier = make()
    linked(frontier, "http://a.example/", "http://a.example/2", "http://b.example/")
    site = frontier.sites.get("a.example")
    frontier.deny(site)
    assert frontier.schedule.pending == 1
    assert not frontier.pages.knows("http://a.example/")
    assert frontier.discovery.offer("http://a.example/", Kind.A, 1, PAGE) is Reason.DNS_NOT_FOUND
    assert frontier.discovery.offer("http://a.example/3", Kind.REDIRECT, 1, PAGE) is Reason.DNS_NOT_FOUND
    assert frontier.discovery.refusals() == {"dns-not-found": 4}
    assert asked(frontier) == ["b.example"]


@pytest.mark.parametrize("kind", [Kind.SEED, Kind.REQUEST])
def test_dead_site__is_tried_where_somebody_asks_for_it(make: Any, kind: Kind) -> None:
    """At once, and with all its tries."""
    frontier = make()
    linked(frontier, "http://a.example/")
    frontier.deny(frontier.sites.get("a.example"))
    assert frontier.discovery.offer("http://a.example/", kind, 0, PAGE) is None
    visit = visit_of(frontier)
    assert visit.site.name == "a.example"
    assert not frontier.names.may_deny(visit.site)
    linked(frontier, "http://a.example/2")


def test_dead_site__is_asked_for_again_by_the_next_link_when_it_is_time(make: Any, clock: VirtualClock) -> None:
    """By the same link, too, that was followed before the site was dead; also in another run."""
    frontier = make()
    frontier.add_seed("http://a.example/")
    visit = visit_of(frontier)
    turn = frontier.turn(visit)
    page = parsed(turn.url, "http://dead.example/")
    frontier.discovery.follow(visit.site, turn, page)
    frontier.deny(frontier.sites.get("dead.example"))
    for _ in range(3):
        clock.advance(DAY / 3)
        assert frontier.schedule.pending == 0
        frontier.discovery.follow(visit.site, turn, page)
        frontier.commits.commit(marks={})
    frontier.discovery.follow(visit.site, turn, page)
    assert asked(frontier) == ["dead.example"]
    frontier.close()


def test_dead_site__is_dead_behind_a_restart_until_it_is_time(make: Any, clock: VirtualClock) -> None:
    """What was answered is in the commit; the clock is that of the day."""
    frontier = make()
    linked(frontier, "http://dead.example/")
    frontier.deny(frontier.sites.get("dead.example"))
    frontier.commits.commit(marks={})
    frontier.close()
    clock.advance(DAY - 1.0)
    again = make()
    again.commits.recover()
    assert again.schedule.pending == 0
    assert again.discovery.offer("http://dead.example/", Kind.A, 1, PAGE) is Reason.DNS_NOT_FOUND
    clock.advance(10.0)
    linked(again, "http://dead.example/")
    assert asked(again) == ["dead.example"]
    again.commits.commit(marks={})
    again.close()
    once_more = make()
    once_more.commits.recover()
    clock.advance(10.0)
    assert once_more.schedule.pending == 1
    assert asked(once_more) == ["dead.example"]
