"""Robots.txt files that were read are kept as long as there is room, and read again from the log."""

from __future__ import annotations

from typing import Any

from weft.clock import VirtualClock
from weft.frontier.durable.memory import RobotsRecord, packed_robots
from weft.frontier.local.frontier import LocalFrontier
from weft.frontier.local.site import Errand, Site
from weft.frontier.shared.contract import Begun, Found, Message, Orders, RobotsBrought
from weft.model import NO_ID, Kind
from weft.parse.robots import parse_robots

SITES = 20
BODY = b"User-agent: *\nDisallow: /private\nCrawl-delay: %d\n"


def learned(frontier: LocalFrontier) -> list[Site]:
    """Sites that have a robots.txt each."""
    sites = []
    for number in range(SITES):
        frontier.add_seed(f"http://s{number}.example/")
        visit = frontier.visit()
        assert visit is not None
        frontier.turn(visit)
        frontier.robots.learn(visit.site, "http", BODY % (number + 1))
        sites.append(visit.site)
    return sites


def allowed(frontier: LocalFrontier, site: Site) -> tuple[bool, bool]:
    """What the site's robots.txt says about two URLs, the first of them forbidden."""
    asked = (f"http://{site.name}/{path}" for path in ("private", "public"))
    return frontier.refusal(site, next(asked)) is None, frontier.refusal(site, next(asked)) is None


def read(sites: list[Site]) -> int:
    """How many of their files are kept ready."""
    return sum(bool(site.robots) for site in sites)


def test_files__are_kept_read_as_long_as_there_is_room(make: Any) -> None:
    """The one that was not asked for longest makes room; each says the same when it is read again."""
    frontier = make()
    size = parse_robots(BODY % 1, "weft").size
    frontier.robots.most = 5 * size
    sites = learned(frontier)
    assert read(sites) == 5
    assert frontier.refusal(sites[-5], f"http://{sites[-5].name}/") is None  # it was asked for by now
    assert allowed(frontier, sites[0]) == (False, True)
    assert [bool(site.robots) for site in sites[-5:]] == [True, False, True, True, True]
    for site in sites:  # before a commit and after it, in the log's memory and on disk
        assert allowed(frontier, site) == (False, True)
    frontier.commits.pack(marks={}, counts=b"")
    for site in sites:
        assert allowed(frontier, site) == (False, True)
    frontier.commits.write(sync=False)
    frontier.commits.written()
    for site in sites:
        assert allowed(frontier, site) == (False, True)
    assert read(sites) == 5
    assert [site.crawl_delay for site in sites] == list(range(1, SITES + 1))


def test_files__of_an_earlier_run_are_read_when_they_are_needed(make: Any) -> None:
    """A start reads none of them, however many there are, and knows their delays."""
    first = make()
    learned(first)
    first.commits.commit(marks={})
    again = make()
    again.commits.recover()
    sites = [again.sites[again.sites.numbers[f"s{number}.example"]] for number in range(SITES)]
    assert read(sites) == 0
    assert not any(again.robots.due(site, "http") for site in sites)
    assert [site.crawl_delay for site in sites] == list(range(1, SITES + 1))
    assert all(allowed(again, site) == (False, True) for site in sites)
    assert read(sites) == SITES


def test_file__that_came_anew_is_the_one_that_counts(make: Any) -> None:
    """Whether the old one is read or not, and in the next run."""
    frontier = make()
    site = learned(frontier)[0]
    frontier.commits.commit(marks={})
    frontier.robots.learn(site, "http", b"User-agent: *\nDisallow: /public\n")
    assert allowed(frontier, site) == (True, False)
    assert site.crawl_delay is None
    frontier.commits.commit(marks={})
    again = make()
    again.commits.recover()
    site = again.sites[again.sites.numbers[site.name]]
    assert allowed(again, site) == (True, False)
    assert site.crawl_delay is None


def test_delay__of_a_record_for_another_agent_is_looked_up(make: Any) -> None:
    """Its product token may have changed, or the record is older than the note in it."""
    frontier = make()
    frontier.add_seed("http://a.example/")
    site = frontier.visit().site
    body = b"User-agent: weft\nCrawl-delay: 7\nDisallow:\nUser-agent: other\nCrawl-delay: 9\n"
    frontier.robots.load(site, {"http": packed_robots(RobotsRecord(0.0, body, 9.0, "other"))})
    assert site.crawl_delay == 7.0
    frontier.robots.load(site, {"http": packed_robots(RobotsRecord(0.0, body))})
    assert site.crawl_delay == 7.0
    assert not site.robots


def test_file__that_another_worker_brings_is_no_younger_than_now(make: Any, clock: VirtualClock) -> None:
    """Whose clock is ahead of ours: a file from the future would be asked for again, and brought again, for ever."""
    frontier = make()
    frontier.commits.recover(Begun(1, 0, alone=False))
    frontier.exchanges.obey(
        Orders(messages=[Message(["a.example"], [Found("http://a.example/", Kind.SEED, 0, NO_ID)])], taken=1)
    )
    visit = frontier.visit()
    frontier.errands.send(Errand("http://b.example/robots.txt", 1, "a.example", "http"))
    frontier.leave(visit)
    record = packed_robots(RobotsRecord(clock.wall() + 60.0, b"User-agent: *\nDisallow: /private\n"))
    frontier.exchanges.obey(Orders(messages=[Message([], [RobotsBrought("a.example", "http", record)])], taken=2))
    site = frontier.sites[frontier.sites.numbers["a.example"]]
    assert not site.held
    assert not frontier.robots.due(site, "http")
    assert allowed(frontier, site) == (False, True)
