"""Several local frontiers at one global frontier, in one process and on one virtual clock: groups go from worker to
worker with the addresses of their sites, in every order of events that chance comes upon.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from tests.unit.frontier.conftest import Make, parsed

from weft.clock import VirtualClock
from weft.frontier.local.frontier import LocalFrontier
from weft.frontier.local.site import Errand
from weft.frontier.local.visit import Visit
from weft.frontier.politeness import Politeness
from weft.frontier.shared.contract import Limits, Orders, SharedFrontier
from weft.frontier.shared.opening import create_frontier, open_frontier
from weft.model import Turn
from weft.urls import site_of

ADDRESS = "192.0.2.1"


def exchange(shared: SharedFrontier, frontier: LocalFrontier, worker: int) -> None:
    """One commit and one exchange, as a worker makes them."""
    frontier.commits.commit(marks={})
    frontier.exchanges.obey(shared.exchange(frontier.exchanges.report(worker, wants=frontier.exchanges.wants)))


def workers(make: Make, shared: SharedFrontier, folder: Path, count: int, **changes: object) -> list[LocalFrontier]:
    """So many workers that begin."""
    shared.prepare(count, Limits(max_pages=None))
    made = []
    for number in range(count):
        frontier = make(path=folder / f"{number}.log", **changes)
        frontier.commits.recover(shared.begin(number))
        made.append(frontier)
    return made


def try_to_enter(frontier: LocalFrontier, address: str = ADDRESS) -> bool:
    """Begin a visit as the loop does; one that may not enter gives its turn back and is over."""
    visit = frontier.visit()
    assert visit is not None
    turn = frontier.turn(visit)
    assert turn is not None
    if frontier.enter(visit, address):
        return True
    frontier.give_back(visit, turn)
    frontier.leave(visit)
    return False


def test_group__goes_to_who_has_its_address_and_the_next_commit_knows_it_no_more(
    make: Make, clock: VirtualClock, tmp_path: Path
) -> None:
    """The loop goes on while an exchange is under way: a site may be looked at, in vain, before its group leaves."""
    create_frontier(tmp_path, by_size=False, seeds=["http://a.example/", "http://b.example/"])
    shared = open_frontier(tmp_path, clock)
    first, second = workers(make, shared, tmp_path, 2)
    exchange(shared, first, 0)
    exchange(shared, second, 1)
    assert not try_to_enter(first), "an address is nobody's before it is lent"
    exchange(shared, first, 0)
    assert try_to_enter(first)
    assert not try_to_enter(second)
    second.commits.commit(marks={})
    orders = shared.exchange(second.exchanges.report(1, wants=0))
    assert orders.taken_already == [ADDRESS]
    site = second.sites[second.sites.numbers["b.example"]]
    second.sites.strike(site)  # anything that is to be remembered of it, before the orders are read
    second.exchanges.obey(orders)
    exchange(shared, second, 1)
    exchange(shared, first, 0)
    assert shared.held(0) == {"a.example", "b.example"}
    assert shared.held(1) == set()
    shared.close()


def test_errand__is_passed_on_when_its_site_goes_to_another_worker(
    make: Make, clock: VirtualClock, tmp_path: Path
) -> None:
    """Who waits for a robots.txt that lives elsewhere gets it from whoever holds that site by then."""
    create_frontier(tmp_path, by_size=False, seeds=["http://a.example/", "http://b.example/"])
    shared = open_frontier(tmp_path, clock)
    first, second = workers(make, shared, tmp_path, 2)
    exchange(shared, first, 0)
    exchange(shared, second, 1)
    assert not try_to_enter(first)
    exchange(shared, first, 0)
    assert try_to_enter(first)
    second.errands.send(Errand("http://b.example/robots.txt", 1, "a.example", "http"))
    visit = second.visit()
    assert visit is not None
    assert visit.errand is not None
    assert not second.enter(visit, ADDRESS)
    second.leave(visit)
    exchange(shared, second, 1)
    exchange(shared, second, 1)
    exchange(shared, first, 0)
    assert shared.held(0) == {"a.example", "b.example"}
    number = first.sites.numbers["b.example"]
    assert [errand.owner for errand in first.sites[number].errands] == ["a.example"]
    shared.close()


EVERYTHING = {f"http://s{site}.example/{page or ''}" for site in range(24) for page in range(6)}


class Cluster:
    """A crawl of a small made-up web by several workers, one random step at a time."""

    SITES = 24
    ADDRESSES = 4
    PAGES = 6

    def __init__(self, make: Make, clock: VirtualClock, folder: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        self.make = make
        self.clock = clock
        self.folder = folder
        seeds = [f"http://s{site}.example/" for site in range(0, self.SITES, 5)]
        create_frontier(folder, by_size=False, seeds=seeds)
        self.shared = open_frontier(folder, clock)
        self.settings = Politeness(wait=1.0, connections=6, margin=0.0, per_address=2)
        self.frontiers = workers(make, self.shared, folder, 3, politeness=self.settings)
        self.open: dict[int, list[tuple[Visit, Turn]]] = {number: [] for number in range(3)}
        self.orders: dict[int, Orders] = {}  # on their way
        self.fetched: Counter[str] = Counter()
        self.moved = 0

    def links(self, url: str) -> list[str]:
        """What a page links to: further pages of its site, and of two others."""
        site = int(site_of(url).partition(".")[0][1:])
        page = int(url.rpartition("/")[2] or 0)
        near = [f"/{next_}" for next_ in (2 * page + 1, 2 * page + 2) if next_ < self.PAGES]
        return [*near, *(f"http://s{(site * 7 + page + step) % self.SITES}.example/" for step in (1, 4))]

    def run(self, *, deaths: float = 0.0) -> None:
        """Let things happen until the crawl is over."""
        what = (self.begin, self.end, self.exchange, self.wait, self.die)
        for _ in range(60_000):
            number = self.chance.randrange(len(self.frontiers))
            self.chance.choices(what, (4, 5, 2, 1, deaths))[0](number)
            if self.over:
                self.shared.close()
                return
        pytest.fail(f"the crawl does not end: {self.frontiers}")

    def begin(self, number: int) -> None:
        """Begin a visit, if one may begin."""
        frontier = self.frontiers[number]
        visit = frontier.visit()
        if visit is None:
            return
        turn = frontier.turn(visit)
        address = f"192.0.2.{int(visit.site.name.partition('.')[0][1:]) % self.ADDRESSES}"
        if turn is None:
            frontier.leave(visit)
        elif frontier.enter(visit, address):
            others = [each.site.name for held in self.open.values() for each, _ in held]
            assert visit.site.name not in others, "two workers at one site"
            assert [each.address for held in self.open.values() for each, _ in held].count(address) < 2
            self.open[number].append((visit, turn))
        else:
            frontier.give_back(visit, turn)
            frontier.leave(visit)

    def end(self, number: int) -> None:
        """A page comes, and the visit is over."""
        frontier, held = self.frontiers[number], self.open[number]
        if not held:
            return
        visit, turn = held.pop(self.chance.randrange(len(held)))
        frontier.settle(visit, turn, None)
        self.fetched[turn.url] += 1
        links, _ = frontier.discovery.follow(visit.site, turn, parsed(turn.url, *self.links(turn.url)))
        frontier.ranking.visited(turn.page, links.keys)
        frontier.leave(visit)

    def exchange(self, number: int) -> None:
        """A commit and an exchange, or the orders that it brought: the loop goes on in between."""
        frontier = self.frontiers[number]
        if number in self.orders:
            frontier.exchanges.obey(self.orders.pop(number))
            return
        frontier.commits.commit(marks={})
        report = frontier.exchanges.report(number, wants=frontier.exchanges.wants)
        self.moved += sum(len(batch.moved) for batch in report.batches)
        self.orders[number] = self.shared.exchange(report)

    def die(self, number: int) -> None:
        """A worker is killed and started again; what it had not committed is gone."""
        self.open[number] = []
        self.orders.pop(number, None)
        frontier = self.make(path=self.folder / f"{number}.log", politeness=self.settings)
        frontier.commits.recover(self.shared.begin(number))
        self.frontiers[number] = frontier

    def wait(self, _number: int) -> None:
        """Time passes."""
        self.clock.advance(self.chance.random())

    @property
    def over(self) -> bool:
        """Is the crawl over?"""
        return bool(self.shared.state().over)


@pytest.mark.parametrize("seed", range(8))
def test_groups__may_go_from_worker_to_worker_in_any_order(
    make: Make, clock: VirtualClock, tmp_path: Path, seed: int
) -> None:
    """Whatever comes first: every page is fetched once, by one worker at a time, and the crawl ends."""
    cluster = Cluster(make, clock, tmp_path, seed)
    cluster.run()
    assert set(cluster.fetched) == EVERYTHING
    assert set(cluster.fetched.values()) == {1}
    assert cluster.moved > 0, "no group went to another worker: the test shows nothing"


@pytest.mark.parametrize("seed", range(4))
def test_groups__are_nobodys_loss_when_workers_die(make: Make, clock: VirtualClock, tmp_path: Path, seed: int) -> None:
    """Workers die at any moment between two events: everything is fetched all the same."""
    cluster = Cluster(make, clock, tmp_path, seed)
    cluster.run(deaths=0.05)
    assert set(cluster.fetched) == EVERYTHING
