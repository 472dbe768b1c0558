"""Limits of networks, as the frontier keeps them on a virtual clock."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from weft.clock import VirtualClock
from weft.config import Settings
from weft.frontier.local.frontier import LocalFrontier
from weft.frontier.local.visit import Visit
from weft.frontier.politeness import Politeness
from weft.frontier.shared.contract import Begun, Limits, Orders
from weft.frontier.shared.opening import create_frontier, open_frontier
from weft.handover import dissolve
from weft.model import Turn

NETWORK = "192.0.2.0/24"


def gentle(**values: Any) -> Politeness:
    """Politeness with limits of networks."""
    return Politeness(**({"wait": 0.0, "connections": 100, "margin": 0.0} | values))


def seeded(frontier: LocalFrontier, sites: int, pages: int = 1) -> LocalFrontier:
    """A frontier with so many sites."""
    for site in range(sites):
        frontier.holdings.check_out(f"s{site}.example")
        for page in range(pages):
            frontier.add_seed(f"http://s{site}.example/{page}")
    return frontier


def address_of(visit: Visit) -> str:
    """Every site has an address of its own in the network."""
    return f"192.0.2.{1 + int(visit.site.name[1:].partition('.')[0])}"


def entered(frontier: LocalFrontier, address: str = "") -> list[Visit]:
    """All visits that may begin now."""
    found = []
    while (visit := frontier.visit()) is not None:
        turn = frontier.turn(visit)
        if turn is None:
            frontier.leave(visit)
        elif frontier.enter(visit, address or address_of(visit)):
            found.append(visit)
        else:
            frontier.give_back(visit, turn)
    return found


def finish(frontier: LocalFrontier, visit: Visit) -> None:
    """The server answered, and the visit is over."""
    frontier.answered(visit)
    frontier.leave(visit)


def test_network__has_so_many_connections_at_once(make: Any) -> None:
    """Whatever their addresses; when one is closed the next site has its place."""
    frontier = seeded(make(politeness=gentle(per_network=3)), 8)
    visits = entered(frontier)
    assert len(visits) == 3
    finish(frontier, visits[0])
    assert len(entered(frontier)) == 1


def test_network__other_networks_are_not_held_up(make: Any) -> None:
    """A /24 in IPv4, a /48 in IPv6."""
    frontier = seeded(make(politeness=gentle(per_network=1)), 6)
    addresses = ["192.0.2.1", "192.0.3.1", "2001:db8:1::1", "2001:db8:2::1", "192.0.2.99", "2001:db8:1:9::1"]
    places = []
    for address in addresses:
        visit = frontier.visit()
        assert visit is not None
        turn = frontier.turn(visit)
        assert turn is not None
        places.append(frontier.enter(visit, address))
        if not places[-1]:
            frontier.give_back(visit, turn)
    assert places == [True, True, True, True, False, False]


def test_network__gap_lies_between_openings(make: Any, clock: VirtualClock) -> None:
    """From when the server has shown that it took the first, though no site has a wait."""
    frontier = seeded(make(politeness=gentle(network_gap=0.5)), 3)
    (first,) = entered(frontier)
    clock.advance(0.3)
    assert entered(frontier) == []
    frontier.answered(first)
    clock.advance(0.499)
    assert entered(frontier) == []
    clock.advance(0.001)
    assert len(entered(frontier)) == 1, "as many at once as there may be: only openings have a gap"


def test_network__gap_begins_by_itself_where_a_server_says_nothing(make: Any, clock: VirtualClock) -> None:
    """After two seconds a connection counts as taken."""
    frontier = seeded(make(politeness=gentle(network_gap=0.5)), 2)
    entered(frontier)
    clock.advance(2.0)
    assert entered(frontier) == []
    clock.advance(0.5)
    assert len(entered(frontier)) == 1


def test_network__addresses_keep_their_own_limits(make: Any, clock: VirtualClock) -> None:
    """An address has its places and its gap beside those of the network; who waits for the address gives the place in
    the network to others.
    """
    frontier = make(politeness=Politeness(wait=2.0, margin=0.0, per_network=3, per_address=1, network_gap=0.125))
    seeded(frontier, 6)
    shared, opened = {"s0.example", "s1.example", "s2.example", "s3.example"}, []
    for _ in range(40):
        while (visit := frontier.visit()) is not None:
            turn = frontier.turn(visit)
            name = visit.site.name
            if frontier.enter(visit, "192.0.2.1" if name in shared else address_of(visit)):
                opened.append((clock.now() - 1000.0, name))
                frontier.answered(visit)
            else:
                frontier.give_back(visit, turn)
        clock.advance(0.0625)
    assert [name for _, name in opened] == ["s0.example", "s4.example", "s5.example"]
    assert [at for at, _ in opened] == [0.0, 0.125, 0.25]


def test_network__without_a_limit_there_is_none(make: Any) -> None:
    """Nothing is kept of networks then, and an address is what is lent."""
    frontier = make(politeness=gentle())
    frontier.commits.recover(Begun(1, 0, alone=False))
    seeded(frontier, 300)
    assert entered(frontier) == []
    assert len(frontier.schedule.throttles.wanted()) == 100 + 200
    assert frontier.schedule.throttles._networks == {}


def test_network__is_what_is_lent_where_it_has_limits(make: Any, clock: VirtualClock) -> None:
    """One order for all of its addresses; it goes back as a whole, not while a visit is open anywhere in it."""
    frontier = make(politeness=gentle(per_network=2))
    frontier.commits.recover(Begun(1, 0, alone=False))
    seeded(frontier, 4, pages=2)
    throttles = frontier.schedule.throttles
    assert entered(frontier) == []
    assert throttles.wanted() == [(NETWORK, False)]
    frontier.exchanges.obey(Orders(lent=[(NETWORK, 0.0)]))
    one, other = entered(frontier)
    frontier.exchanges.obey(Orders(recalled=[NETWORK]))
    finish(frontier, one)
    assert throttles.release(clock.now(), 0.0) == []
    assert entered(frontier) == [], "it is wanted back"
    finish(frontier, other)
    assert throttles.release(clock.now(), 0.0) == [(NETWORK, clock.now())]
    assert throttles.wanted() == [(NETWORK, False)], "sites still wait there"


def test_network__goes_back_when_the_gaps_of_its_addresses_are_over(make: Any, clock: VirtualClock) -> None:
    """Who gets it next knows nothing of them: it may be visited when the last of them is over."""
    frontier = make(politeness=Politeness(wait=8.0, margin=0.0, network_gap=0.5, per_visit=1))
    frontier.commits.recover(Begun(1, 0, alone=False))
    seeded(frontier, 1)
    entered(frontier)
    frontier.exchanges.obey(Orders(lent=[(NETWORK, 0.0)]))
    (visit,) = entered(frontier)
    finish(frontier, visit)
    frontier.exchanges.obey(Orders(recalled=[NETWORK]))
    clock.advance(1.0)
    assert frontier.schedule.throttles.release(clock.now(), 0.0) == [(NETWORK, clock.now() + 1.0)]


def test_network__groups_that_were_not_visited_follow_it(make: Any) -> None:
    """To the worker to whom it is lent, as they follow an address."""
    frontier = make(politeness=gentle(per_network=2))
    frontier.commits.recover(Begun(1, 0, alone=False))
    seeded(frontier, 3)
    entered(frontier)
    frontier.exchanges.obey(Orders(taken_already=[NETWORK]))
    assert frontier.holdings.moved == [(f"s{number}.example", NETWORK) for number in range(3)]
    assert frontier.holdings.groups == set()


@pytest.mark.parametrize("died", [False, True])
def test_network__gap_is_kept_behind_a_restart(make: Any, clock: VirtualClock, *, died: bool) -> None:
    """A run that goes on opens nothing for the gap: the one before may have been there until it ended."""
    politeness = gentle(network_gap=3.0)
    frontier = seeded(make(politeness=politeness), 2)
    if died:
        frontier.commits.commit(marks={})  # the visit behind it is not written down
    (visit,) = entered(frontier)
    if not died:
        finish(frontier, visit)
        frontier.commits.commit(marks={}, clean=True)
    frontier.close()
    again = make(politeness=politeness)
    again.commits.recover()
    clock.advance(2.999)
    assert entered(again) == []
    clock.advance(0.001)
    assert len(entered(again)) == 1


@pytest.mark.parametrize("clean", [True, False])
def test_network__rest_is_handed_over(make: Any, clock: VirtualClock, tmp_path: Path, *, clean: bool) -> None:
    """Where a worker is dissolved, who gets the network waits for its gap; also for one that a dead worker was lent,
    and of which its log says nothing.
    """
    create_frontier(tmp_path, by_size=False, seeds=[])
    settings = Settings().with_values({"wait": 0.0, "network_gap": 30.0, "margin": 0.0}, where="a test")
    log = tmp_path / "workers/1/frontier.log"
    log.parent.mkdir(parents=True)
    shared = open_frontier(tmp_path, clock=clock)
    shared.prepare(2, Limits())
    begun = shared.begin(1)
    frontier = make(politeness=settings.politeness, path=log)
    frontier.commits.recover(begun)
    seeded(frontier, 2)
    if not clean:
        frontier.commits.commit(marks={})
    entered(frontier)
    frontier.exchanges.obey(shared.exchange(frontier.exchanges.report(1, wants=0)))
    (visit,) = entered(frontier)
    if clean:
        finish(frontier, visit)
        frontier.commits.commit(marks={}, clean=True)
    frontier.close()
    clock.advance(1.0)
    shared.resize(1)
    dissolve(tmp_path, shared, 1, settings, clock)
    other = make(politeness=settings.politeness, path=tmp_path / "other.log")
    other.commits.recover(shared.begin(0))
    other.schedule.throttles.alone = other.holdings.alone = False
    seeded(other, 3)
    entered(other)
    other.exchanges.obey(shared.exchange(other.exchanges.report(0, wants=0)))
    clock.advance(28.0)
    assert entered(other) == []
    clock.advance(2.0)
    assert len(entered(other)) == 1
    shared.close()


def test_network__is_forgotten_when_nothing_is_known_of_it(make: Any, clock: VirtualClock) -> None:
    """So that a crawl of the whole web keeps no more of them than it uses; limits hold for what leads there again."""
    frontier = seeded(make(politeness=gentle(per_network=1, network_gap=1.0)), 3)
    throttles = frontier.schedule.throttles
    (visit,) = entered(frontier)
    throttles.tidy(clock.now())
    assert list(throttles._networks) == [NETWORK]
    for _ in range(3):
        finish(frontier, visit)
        clock.advance(1.0)
        (visit, *_) = entered(frontier) or [visit]
        throttles.tidy(clock.now())
    clock.advance(1.0)
    throttles.tidy(clock.now())
    assert throttles._networks == {}
    assert throttles._addresses == {}


def test_network__everything_is_visited_and_the_limits_hold_whatever_comes(make: Any, clock: VirtualClock) -> None:
    """Sites at shared addresses of two networks, all limits at once, visits that take chance long: nobody is left
    waiting, and no limit is broken at any time.
    """
    chance = random.Random(7)
    politeness = Politeness(
        wait=0.4, margin=0.01, per_visit=1, per_address=2, per_network=3, network_gap=0.05, connections=9
    )
    frontier = seeded(make(politeness=politeness), 40, pages=3)
    where = {f"s{number}.example": f"192.0.{chance.randrange(2)}.{chance.randrange(5)}" for number in range(40)}
    under_way: list[tuple[float, Visit, Turn]] = []
    opened: dict[str, float] = {}
    done = 0
    while frontier.schedule.pending or under_way:
        now = clock.now()
        for each in [each for each in under_way if each[0] <= now]:
            under_way.remove(each)
            frontier.settle(each[1], each[2], None)
            finish(frontier, each[1])
            done += 1
        while (visit := frontier.visit()) is not None:
            turn = frontier.turn(visit)
            if turn is None:
                frontier.leave(visit)
                continue
            address = where[visit.site.name]
            if not frontier.enter(visit, address):
                frontier.give_back(visit, turn)
                continue
            network = address.rpartition(".")[0]
            assert now - opened.get(network, 0.0) >= 0.05 - 1e-9
            assert now - opened.get(address, 0.0) >= 0.1 - 1e-9
            opened[network] = opened[address] = now
            others = [where[other.site.name] for _, other, _ in under_way]
            assert sum(other.startswith(f"{network}.") for other in others) < 3
            assert others.count(address) < 2
            frontier.answered(visit)
            under_way.append((now + chance.uniform(0.01, 0.5), visit, turn))
        clock.advance(0.005)
        assert clock.now() < 1200.0, f"stuck: {frontier}, {frontier.schedule.throttles}"
    assert done == 120
