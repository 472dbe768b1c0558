"""Politeness as the frontier keeps it, on a virtual clock."""

from __future__ import annotations

from typing import Any

import pytest

from weft.clock import VirtualClock
from weft.frontier.local import LocalFrontier
from weft.frontier.politeness import Politeness, Throttle
from weft.frontier.schedule import Visit
from weft.frontier.sites import Errand, Overrides, SiteSettings
from weft.model import Reason


def begin(frontier: LocalFrontier, address: str) -> Visit:
    """A visit that has entered."""
    visit = frontier.visit()
    assert visit is not None
    frontier.turn(visit)
    assert frontier.enter(visit, address)
    return visit


def finish(frontier: LocalFrontier, visit: Visit, took: float = 0.0) -> None:
    """The server answered, and the visit is over."""
    frontier.answered(visit)
    frontier.leave(visit, took=took)


def test_site__has_one_visit_at_a_time(make: Any) -> None:
    """While a site is visited nobody else gets it, however many pages it has."""
    frontier = make()
    for number in range(5):
        frontier.add_seed(f"http://a.example/{number}")
    begin(frontier, "192.0.2.1")
    assert frontier.visit() is None


def test_site__rests_for_its_wait_after_a_visit(make: Any, clock: VirtualClock) -> None:
    """The next visit may begin w after the last one ended, and not a moment sooner."""
    frontier = make()
    frontier.add_seed("http://a.example/1")
    frontier.add_seed("http://a.example/2")
    visit = begin(frontier, "192.0.2.1")
    clock.advance(0.5)
    finish(frontier, visit)
    clock.advance(1.999)
    assert frontier.visit() is None
    clock.advance(0.001)
    assert frontier.visit() is not None


def test_site__rests_a_little_longer_because_the_server_sees_the_end_later(make: Any, clock: VirtualClock) -> None:
    """A margin is added to the wait, and the places of domain and address are kept as long."""
    frontier = make(politeness=Politeness(wait=2.0, per_address=1, margin=0.5))
    frontier.add_seed("http://a.example/1")
    frontier.add_seed("http://b.example/1")
    frontier.add_seed("http://a.example/2")
    finish(frontier, begin(frontier, "192.0.2.1"))
    other = frontier.visit()
    turn = frontier.turn(other)
    assert not frontier.enter(other, "192.0.2.1")
    frontier.give_back(other, turn)
    clock.advance(0.5)
    begin(frontier, "192.0.2.1")
    clock.advance(1.9)
    assert frontier.visit() is None
    clock.advance(0.1)
    assert frontier.visit().site.name == "a.example"


@pytest.mark.parametrize(("took", "wait"), [(0.1, 2.0), (1.0, 5.0), (30.0, 60.0)])
def test_site__waits_longer_after_a_slow_download(make: Any, clock: VirtualClock, took: float, wait: float) -> None:
    """Without a fixed wait it is five times the last download, within 2 and 60 seconds."""
    frontier = make(politeness=Politeness(margin=0.0))
    frontier.add_seed("http://a.example/1")
    frontier.add_seed("http://a.example/2")
    finish(frontier, begin(frontier, "192.0.2.1"), took=took)
    clock.advance(wait - 0.001)
    assert frontier.visit() is None
    clock.advance(0.001)
    assert frontier.visit() is not None


def test_site__is_visited_at_once_when_there_is_no_wait(make: Any) -> None:
    """A wait of 0 is no waiting at all, also for the domain and the address."""
    frontier = make(politeness=Politeness(wait=0.0))
    for number in range(3):
        frontier.add_seed(f"http://a.example/{number}")
    for _ in range(3):
        finish(frontier, begin(frontier, "192.0.2.1"))
    assert frontier.schedule.next_event() is None


def test_site__waits_as_its_own_settings_say(make: Any, clock: VirtualClock) -> None:
    """The settings file can give one site another wait."""
    frontier = make(overrides=Overrides(sites={"a.example": SiteSettings(wait=30.0)}))
    frontier.add_seed("http://a.example/1")
    frontier.add_seed("http://a.example/2")
    finish(frontier, begin(frontier, "192.0.2.1"))
    clock.advance(29.0)
    assert frontier.visit() is None
    clock.advance(1.0)
    assert frontier.visit() is not None


def test_small_site__waits_longer_where_that_is_set(make: Any, clock: VirtualClock) -> None:
    """A site with few pages is on a weak machine (P1)."""
    frontier = make(politeness=Politeness(wait=5.0, wait_small=15.0, small_site=3, margin=0.0))
    frontier.add_seed("http://small.example/1")
    frontier.add_seed("http://small.example/2")
    for number in range(4):
        frontier.add_seed(f"http://large.example/{number}")
    for _ in range(2):
        finish(frontier, begin(frontier, "192.0.2.1" if _ else "192.0.2.2"))
    clock.advance(5.0)
    visit = frontier.visit()
    assert visit is not None
    assert visit.site.name == "large.example"
    assert frontier.visit() is None


def test_domain__has_at_most_four_connections_and_a_quarter_wait_between_openings(
    make: Any, clock: VirtualClock
) -> None:
    """Sites of one registered domain share its places, and openings keep their distance by the server's answer."""
    frontier = make()
    for number in range(6):
        frontier.add_seed(f"http://s{number}.shared.example/")
    visits = []
    for number in range(4):
        visit = begin(frontier, f"192.0.2.{number}")
        assert frontier.visit() is None, "the opening is not confirmed yet"
        clock.advance(0.1)
        frontier.answered(visit)
        clock.advance(0.499)
        assert frontier.visit() is None, "the gap is not over"
        clock.advance(0.001)
        visits.append(visit)
    assert frontier.visit() is None, "four are open"
    frontier.leave(visits[0], took=0.0)
    assert frontier.visit() is not None


def test_address__is_shared_by_sites_of_different_domains(make: Any) -> None:
    """Sites at one address share its places; those that find none are woken when one is free."""
    frontier = make(politeness=Politeness(wait=0.0))
    for number in range(6):
        frontier.add_seed(f"http://s{number}.example/")
    visits = [begin(frontier, "192.0.2.1") for _ in range(4)]
    for _ in range(2):
        visit = frontier.visit()
        assert visit is not None
        assert not frontier.enter(visit, "192.0.2.1")
    assert frontier.visit() is None
    for visit in visits:
        finish(frontier, visit)
    names = {begin(frontier, "192.0.2.1").site.name for _ in range(2)}
    assert names == {"s4.example", "s5.example"}


def test_address__that_does_not_answer_is_not_blocked_for_ever(make: Any, clock: VirtualClock) -> None:
    """When a server is silent for two seconds after an opening, it is taken to have accepted it."""
    frontier = make()
    frontier.add_seed("http://a.example/")
    frontier.add_seed("http://b.example/")
    begin(frontier, "192.0.2.1")
    second = frontier.visit()
    assert second is not None
    turn = frontier.turn(second)
    assert not frontier.enter(second, "192.0.2.1")
    frontier.give_back(second, turn)
    clock.advance(2.0)
    assert frontier.visit() is None
    clock.advance(0.5)
    assert begin(frontier, "192.0.2.1").site is second.site


def test_visit__that_never_opened_a_connection_costs_no_wait(make: Any) -> None:
    """A site whose pages are all refused, or whose address has no place, is not made to wait for nothing."""
    frontier = make()
    frontier.add_seed("http://a.example/1")
    visit = frontier.visit()
    frontier.leave(visit, took=0.0)
    assert frontier.visit() is not None


def test_pause__that_the_server_asks_for_is_kept(make: Any, clock: VirtualClock) -> None:
    """A Retry-After longer than the wait wins over it."""
    frontier = make()
    frontier.add_seed("http://a.example/1")
    frontier.add_seed("http://a.example/2")
    visit = begin(frontier, "192.0.2.1")
    frontier.leave(visit, took=0.0, pause=120.0)
    clock.advance(119.0)
    assert frontier.visit() is None
    clock.advance(1.0)
    assert frontier.visit() is not None


def test_connections__never_more_than_r(make: Any) -> None:
    """The limit of connections holds, whatever is ready."""
    frontier = make(politeness=Politeness(connections=3))
    for number in range(10):
        frontier.add_seed(f"http://s{number}.example/")
    assert [frontier.visit() is not None for _ in range(5)] == [True, True, True, False, False]


def test_failing_site__is_paused_then_set_aside_then_given_up(make: Any, clock: VirtualClock) -> None:
    """The pauses grow, other sites go first, a second chance comes at the end, and then its pages are refused."""
    frontier = make()
    frontier.add_seed("http://dead.example/1")
    frontier.add_seed("http://dead.example/2")
    waits = []
    for _ in range(3):
        visit = frontier.visit()
        assert visit is not None
        turn = frontier.turn(visit)
        frontier.settle(visit, turn, Reason.CONNECT_REFUSED)
        began = clock.now()
        frontier.leave(visit, took=0.0, pause=frontier.failed(visit.site))
        if (event := frontier.schedule.next_event()) is not None:
            clock.move_to(event)
        while not (frontier.schedule.ready or visit.site.set_aside):
            clock.move_to(frontier.schedule.next_event())
            frontier.schedule._advance(clock.now())
        waits.append(clock.now() - began)
    assert waits[:2] == [pytest.approx(60.0), pytest.approx(600.0)]
    assert visit.site.set_aside
    frontier.add_seed("http://alive.example/")
    alive = frontier.visit()
    assert alive is not None
    assert alive.site.name == "alive.example"
    frontier.settle(alive, frontier.turn(alive), None)
    frontier.leave(alive, took=0.0)
    while (last := frontier.visit()) is None:
        clock.move_to(frontier.schedule.next_event())
    assert last.site.name == "dead.example"
    assert last.site.second_chance
    frontier.give_back(last, frontier.turn(last))
    frontier.leave(last, took=0.0, pause=frontier.failed(last.site))
    assert frontier.done
    assert frontier.refused[Reason.SITE_FAILED] > 0


def test_errand__is_run_under_the_other_sites_politeness(make: Any, clock: VirtualClock) -> None:
    """A robots.txt that lives elsewhere is fetched on a visit of its own, while its site is held."""
    frontier = make()
    frontier.add_seed("http://a.example/")
    visit = begin(frontier, "192.0.2.1")
    frontier.send(Errand("http://b.example/robots.txt", 1, visit.site.number, "http"), "b.example")
    finish(frontier, visit)
    clock.advance(100.0)
    other = frontier.visit()
    assert other is not None
    assert other.errand is not None
    assert other.site.name == "b.example"
    assert frontier.visit() is None, "its owner is held"
    frontier.return_errand(other.errand)
    frontier.leave(other, took=0.0)


def test_throttle__opens_no_gap_where_none_is_kept() -> None:
    """With no gap, places alone decide."""
    throttle = Throttle(2)
    throttle.begin("a", 0.0)
    assert throttle.free(0.0)
    throttle.begin("b", 0.0)
    assert not throttle.free(0.0)
    throttle.end("a", 0.0, 0.0)
    assert throttle.free(0.0)


def test_throttle__the_end_of_one_connection_does_not_confirm_another() -> None:
    """A connection that closes while another is being opened says nothing about the other one."""
    throttle = Throttle(4)
    throttle.begin("a", 1.0)
    throttle.confirm("a", 0.0, 1.0)
    throttle.begin("b", 1.0)
    throttle.end("a", 5.0, 1.0)
    assert not throttle.free(100.0)
    throttle.confirm("b", 200.0, 1.0)
    assert not throttle.free(200.5)
    assert throttle.free(201.0)
