"""Politeness as the frontier keeps it, on a virtual clock."""

from __future__ import annotations

from typing import Any

import pytest

from weft.clock import VirtualClock
from weft.frontier.durable.memory import RobotsRecord
from weft.frontier.local.frontier import LocalFrontier
from weft.frontier.local.site import Errand
from weft.frontier.local.visit import Visit
from weft.frontier.overrides import Overrides, SiteSettings
from weft.frontier.politeness import Politeness, Throttle
from weft.frontier.retries import Retries
from weft.frontier.shared.contract import Begun
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
    visit.took = took
    frontier.leave(visit)


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
    frontier.leave(visits[0])
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
    frontier.leave(visit)
    assert frontier.visit() is not None


def test_pause__that_the_server_asks_for_is_kept(make: Any, clock: VirtualClock) -> None:
    """A Retry-After longer than the wait wins over it."""
    frontier = make()
    frontier.add_seed("http://a.example/1")
    frontier.add_seed("http://a.example/2")
    visit = begin(frontier, "192.0.2.1")
    visit.pause = 120.0
    frontier.leave(visit)
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
        visit.pause = frontier.failed(visit.site)
        frontier.leave(visit)
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
    assert not frontier.exchanges.idle
    frontier.leave(alive)
    clock.advance(1e6)
    assert frontier.visit() is None, "the end of the crawl is for the global frontier to see"
    frontier.commits.commit(marks={})
    assert frontier.exchanges.idle
    assert frontier.schedule.aside == 1
    frontier.schedule.second_pass(clock.now())
    assert frontier.schedule.aside == 0
    while (last := frontier.visit()) is None:
        clock.move_to(frontier.schedule.next_event())
    assert last.site.name == "dead.example"
    assert last.site.second_chance
    frontier.give_back(last, frontier.turn(last))
    last.pause = frontier.failed(last.site)
    frontier.leave(last)
    assert frontier.schedule.done
    assert frontier.discovery.refused[Reason.SITE_FAILED] > 0


def test_second_pass__keeps_the_waits_of_sites(make: Any, clock: VirtualClock) -> None:
    """A site that was visited a moment ago rests as long as it must; one that was visited before is ready."""
    frontier = make()
    for name in ("early", "late"):
        frontier.add_seed(f"http://{name}.example/1")
        frontier.add_seed(f"http://{name}.example/2")
    for number, visit in enumerate([begin(frontier, "192.0.2.1"), begin(frontier, "192.0.2.2")]):
        clock.advance(1.5 * number)
        frontier.schedule.set_aside(visit.site)
        finish(frontier, visit)
    clock.advance(0.5)
    assert frontier.visit() is None
    frontier.schedule.second_pass(clock.now())
    first = frontier.visit()
    assert first is not None
    assert first.site.name == "early.example"
    assert frontier.visit() is None
    clock.advance(1.5)
    second = frontier.visit()
    assert second is not None
    assert second.site.name == "late.example"


# --- after a restart ---


def stopped(frontier: LocalFrontier, *, clean: bool) -> None:
    """Two sites of one domain and one of another; one visit, and the end."""
    for name in ("a.one.example", "b.one.example", "c.two.example"):
        frontier.add_seed(f"http://{name}/1")
        frontier.add_seed(f"http://{name}/2")
    finish(frontier, begin(frontier, "192.0.2.1"))
    frontier.commits.commit(marks={}, clean=clean)


def name_of(visit: Visit | None) -> str | None:
    """The site of a visit."""
    return None if visit is None else visit.site.name


@pytest.mark.parametrize("clean", [True, False])
def test_resume__leaves_every_site_alone_for_its_wait(make: Any, clock: VirtualClock, *, clean: bool) -> None:
    """Any of them may have been visited until this moment: behind the last commit, or by a clock that was set."""
    stopped(make(), clean=clean)
    clock.advance(1000.0)
    again = make()
    again.commits.recover()
    assert again.visit() is None
    assert again.next_event() is not None
    clock.advance(1.999)
    assert again.visit() is None
    clock.advance(0.001)
    assert {name_of(again.visit()) for _ in range(2)} == {"a.one.example", "c.two.example"}


def test_resume__after_a_crash_a_crawl_without_waits_begins_at_once(make: Any) -> None:
    """Where nothing is kept between visits there is nothing to hold back for."""
    options = {"politeness": Politeness(wait=0.0)}
    stopped(make(**options), clean=False)
    again = make(**options)
    again.commits.recover()
    assert again.visit() is not None


def test_resume__a_clock_that_jumped_does_not_stop_a_site_for_ever(make: Any, clock: VirtualClock) -> None:
    """A site is left alone for at most as long as a server may ask for."""
    frontier = make(politeness=Politeness(wait=2.0, margin=0.0, retry_after_most=100.0))
    frontier.add_seed("http://a.example/1")
    frontier.add_seed("http://a.example/2")
    visit = begin(frontier, "192.0.2.1")
    visit.pause = 1e9
    frontier.leave(visit)
    frontier.commits.commit(marks={}, clean=True)
    again = make(politeness=Politeness(wait=2.0, margin=0.0, retry_after_most=100.0))
    again.commits.recover()
    clock.advance(99.0)
    assert again.visit() is None
    clock.advance(1.0)
    assert again.visit() is not None


def test_resume__what_was_set_aside_still_is(make: Any, clock: VirtualClock) -> None:
    """Also across a restart a site that kept failing waits for the end of the crawl."""
    frontier = make(retries=Retries(retry_pauses=()))
    frontier.add_seed("http://dead.example/1")
    frontier.add_seed("http://dead.example/2")
    visit = begin(frontier, "192.0.2.1")
    visit.pause = frontier.failed(visit.site)
    frontier.leave(visit)
    assert frontier.schedule.aside == 1
    frontier.commits.commit(marks={}, clean=True)
    again = make(retries=Retries(retry_pauses=()))
    again.commits.recover()
    clock.advance(1e6)
    assert again.visit() is None
    assert again.exchanges.idle
    assert again.schedule.aside == 1
    again.schedule.second_pass(clock.now())
    assert name_of(again.visit()) == "dead.example"


# --- addresses that are lent ---


@pytest.fixture
def several(make: Any) -> LocalFrontier:
    """A frontier of one of several workers, that holds two groups."""
    frontier: LocalFrontier = make()
    frontier.commits.recover(Begun(1, 0, alone=False))
    for name in ("a.example", "b.example"):
        frontier.holdings.check_out(name)
        frontier.add_seed(f"http://{name}/1")
        frontier.add_seed(f"http://{name}/2")
    return frontier


def test_address__must_be_lent_where_there_are_several_workers(several: LocalFrontier, clock: VirtualClock) -> None:
    """A visit to one that is not waits, and says what it waits for; when it is lent the visit is made."""
    visit = several.visit()
    assert visit is not None
    turn = several.turn(visit)
    assert turn is not None
    assert several.schedule.throttles.wanted() == []
    assert not several.enter(visit, "192.0.2.1")
    several.give_back(visit, turn)
    assert several.schedule.throttles.wanted() == [("192.0.2.1", False)]
    assert not several.exchanges.idle, "it waits for an answer"
    several.schedule.lend([("192.0.2.1", 0.0)], [], clock.now())
    assert several.schedule.throttles.wanted() == []
    assert begin(several, "192.0.2.1").site is visit.site


def test_address__is_not_visited_before_its_time(several: LocalFrontier, clock: VirtualClock) -> None:
    """Whoever had it before may have visited it a moment ago. Clocks may jump, so it is never long."""
    several.schedule.lend([("192.0.2.1", clock.now() + 0.5), ("192.0.2.2", clock.now() + 1e9)], [], clock.now())
    for address in ("192.0.2.1", "192.0.2.2"):
        visit = several.visit()
        assert visit is not None
        assert not several.enter(visit, address)
    for site, address, wait in (("a.example", "192.0.2.1", 0.5), ("b.example", "192.0.2.2", 74.5)):
        clock.advance(wait - 0.001)
        assert several.visit() is None
        clock.advance(0.001)
        assert begin(several, address).site.name == site


def test_address__all_of_its_places_are_used_when_it_is_lent(make: Any, clock: VirtualClock) -> None:
    """Where no gap is kept: as many sites enter as may, though all of them were parked."""
    frontier = make(politeness=Politeness(wait=0.0, per_address=4))
    frontier.commits.recover(Begun(1, 0, alone=False))
    for number in range(6):
        frontier.holdings.check_out(f"s{number}.example")
        frontier.add_seed(f"http://s{number}.example/")
    while (visit := frontier.visit()) is not None:
        assert not frontier.enter(visit, "192.0.2.1")
    frontier.schedule.lend([("192.0.2.1", 999.0)], [], clock.now())
    entered = []
    while (visit := frontier.visit()) is not None:
        turn = frontier.turn(visit)
        if frontier.enter(visit, "192.0.2.1"):
            entered.append(visit)
        else:
            frontier.give_back(visit, turn)
    assert [visit.site.name for visit in entered] == [f"s{number}.example" for number in range(4)]
    for visit in entered:
        finish(frontier, visit)
    assert {name_of(frontier.visit()) for _ in range(3)} == {"s4.example", "s5.example", None}


def test_address__sites_that_wait_for_it_come_one_by_one_where_a_gap_is_kept(make: Any, clock: VirtualClock) -> None:
    """The next is woken when the gap behind the one before is over."""
    frontier = make(politeness=Politeness(wait=2.0, per_address=4, margin=0.0))
    frontier.commits.recover(Begun(1, 0, alone=False))
    for number in range(3):
        frontier.holdings.check_out(f"s{number}.example")
        frontier.add_seed(f"http://s{number}.example/")
    while (visit := frontier.visit()) is not None:
        assert not frontier.enter(visit, "192.0.2.1")
    frontier.schedule.lend([("192.0.2.1", 999.0)], [], clock.now())
    for number in range(3):
        visit = begin(frontier, "192.0.2.1")
        assert visit.site.name == f"s{number}.example"
        frontier.answered(visit)
        while (early := frontier.visit()) is not None:
            assert not frontier.enter(early, "192.0.2.1")
        clock.advance(0.499)
        assert frontier.visit() is None
        clock.advance(0.001)


def test_address__is_given_back_when_others_want_it(several: LocalFrontier, clock: VirtualClock) -> None:
    """Not while a visit is open there, and no visit begins there meanwhile; with when it may be visited next."""
    several.schedule.lend([("192.0.2.1", 0.0)], [], clock.now())
    visit = begin(several, "192.0.2.1")
    several.answered(visit)
    several.schedule.lend([], ["192.0.2.1"], clock.now())
    assert several.schedule.throttles.release(clock.now(), 0.0) == []
    clock.advance(0.6)
    other = several.visit()
    assert other is not None
    assert not several.enter(other, "192.0.2.1"), "it is wanted back"
    several.leave(visit)
    ((address, next_visit),) = several.schedule.throttles.release(clock.now(), 5000.0)
    assert address == "192.0.2.1"
    assert next_visit >= clock.now() + 5000.0
    assert several.schedule.throttles.wanted() == [("192.0.2.1", False)], "a site still waits there"
    assert several.schedule.throttles.release(clock.now(), 0.0) == []


def test_address__that_a_run_before_may_have_opened_is_held_back_for_the_next(
    several: LocalFrontier, clock: VirtualClock
) -> None:
    """Who starts again gives back an address of which it knows nothing: its last visit may have been there."""
    several.schedule.hold_back(clock.now())
    held = several.schedule.throttles.held_until
    assert held > clock.now()
    several.schedule.lend([], ["192.0.2.9"], clock.now())
    assert several.schedule.throttles.release(clock.now(), 0.0) == [("192.0.2.9", held)]


def test_address__that_is_wanted_back_at_once_is_used_once(several: LocalFrontier, clock: VirtualClock) -> None:
    """Two workers that both wait for an address would else hand it back and forth, and neither get on."""
    visit = several.visit()
    assert visit is not None
    turn = several.turn(visit)
    assert turn is not None
    assert not several.enter(visit, "192.0.2.1")
    several.give_back(visit, turn)
    several.schedule.lend([("192.0.2.1", clock.now() + 0.2)], ["192.0.2.1"], clock.now())
    clock.advance(0.3)
    assert several.schedule.throttles.release(clock.now(), 0.0) == [], "it is lent for a visit"
    visit = begin(several, "192.0.2.1")
    several.answered(visit)
    clock.advance(1.0)
    other = several.visit()
    assert other is not None
    assert not several.enter(other, "192.0.2.1"), "for one visit"
    several.leave(visit)
    assert [address for address, _ in several.schedule.throttles.release(clock.now(), 0.0)] == ["192.0.2.1"]


def test_address__that_is_wanted_back_is_not_kept_for_ever(several: LocalFrontier, clock: VirtualClock) -> None:
    """A visit that does not begin in time, for want of a name server perhaps, leaves it to others."""
    several.schedule.lend([("192.0.2.1", clock.now())], ["192.0.2.1"], clock.now())
    assert several.schedule.throttles.release(clock.now(), 0.0) == []
    clock.advance(5.0)
    assert several.schedule.throttles.release(clock.now(), 0.0) == [("192.0.2.1", clock.now())]


def test_address__that_is_not_used_is_given_back(several: LocalFrontier, clock: VirtualClock) -> None:
    """After a minute; one that this worker has forgotten, because it was started anew, at once when it is wanted."""
    several.schedule.lend([("192.0.2.1", 0.0)], [], clock.now())
    several.schedule.throttles.tidy(clock.now())
    clock.advance(30.0)
    several.schedule.lend([("192.0.2.2", clock.now())], [], clock.now())
    clock.advance(31.0)
    assert several.schedule.throttles.release(clock.now(), 0.0) == [("192.0.2.1", clock.now())]
    several.schedule.lend([], ["192.0.2.9"], clock.now())
    assert several.schedule.throttles.release(clock.now(), 0.0) == [("192.0.2.9", clock.now())]


def test_address__of_a_worker_that_is_alone_needs_no_leave(make: Any, clock: VirtualClock) -> None:
    """Nothing is asked for and nothing is given back."""
    frontier = make()
    frontier.add_seed("http://a.example/")
    finish(frontier, begin(frontier, "192.0.2.1"))
    clock.advance(1e6)
    assert frontier.schedule.throttles.wanted() == []
    assert frontier.schedule.throttles.release(clock.now(), 0.0) == []


# --- errands and throttles ---


def test_errand__is_run_under_the_other_sites_politeness(make: Any, clock: VirtualClock) -> None:
    """A robots.txt that lives elsewhere is fetched on a visit of its own, while its site is held."""
    frontier = make()
    frontier.add_seed("http://a.example/")
    visit = begin(frontier, "192.0.2.1")
    frontier.errands.send(Errand("http://b.example/robots.txt", 1, visit.site.name, "http"))
    finish(frontier, visit)
    clock.advance(100.0)
    other = frontier.visit()
    assert other is not None
    assert other.errand is not None
    assert other.site.name == "b.example"
    assert frontier.visit() is None, "its owner is held"
    frontier.errands.deliver(other.errand, RobotsRecord(0.0, None))
    frontier.leave(other)


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
