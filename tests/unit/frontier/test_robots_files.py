"""Robots.txt files that were read are kept as long as there is room, and read again from the log."""

from __future__ import annotations

from typing import Any

from weft.frontier.local import LocalFrontier
from weft.frontier.sites import RobotsRecord, Site, packed_robots
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
        frontier.learn_robots(visit.site, "http", BODY % (number + 1))
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
    frontier.pack(marks={}, counts=b"")
    for site in sites:
        assert allowed(frontier, site) == (False, True)
    frontier.write(sync=False)
    frontier.written()
    for site in sites:
        assert allowed(frontier, site) == (False, True)
    assert read(sites) == 5
    assert [site.crawl_delay for site in sites] == list(range(1, SITES + 1))


def test_files__of_an_earlier_run_are_read_when_they_are_needed(make: Any) -> None:
    """A start reads none of them, however many there are, and knows their delays."""
    first = make()
    learned(first)
    first.commit(marks={})
    again = make()
    again.recover()
    sites = [again.site(again.found.numbers[f"s{number}.example"]) for number in range(SITES)]
    assert read(sites) == 0
    assert not any(again.robots_due(site, "http") for site in sites)
    assert [site.crawl_delay for site in sites] == list(range(1, SITES + 1))
    assert all(allowed(again, site) == (False, True) for site in sites)
    assert read(sites) == SITES


def test_file__that_came_anew_is_the_one_that_counts(make: Any) -> None:
    """Whether the old one is read or not, and in the next run."""
    frontier = make()
    site = learned(frontier)[0]
    frontier.commit(marks={})
    frontier.learn_robots(site, "http", b"User-agent: *\nDisallow: /public\n")
    assert allowed(frontier, site) == (True, False)
    assert site.crawl_delay is None
    frontier.commit(marks={})
    again = make()
    again.recover()
    site = again.site(again.found.numbers[site.name])
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
