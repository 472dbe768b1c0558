"""A crawl in phases: the groups of the seeds first, those that were found when these are done. Each implementation
passes the same tests.
"""

from __future__ import annotations

import msgspec
import pytest
from tests.contract.peers import Build, Peer, crew, domains, seeds_of, to

from weft.frontier.shared.contract import (
    EXPANSION,
    SEEDS_FIRST,
    Found,
    Left,
    Parcel,
    RobotsWanted,
    SharedFrontier,
)
from weft.model import Kind, UrlId


@pytest.fixture
def frontier(build: Build) -> SharedFrontier:
    """Two workers, two seeds."""
    return build(*seeds_of("a", "b"), workers=2, phase=SEEDS_FIRST)


def found(worker: Peer, *urls: str) -> None:
    """A worker has found links, and says so."""
    worker.commit(*map(to, urls))
    worker.exchange()


def test_phases__found_groups_wait_until_all_are_done(frontier: SharedFrontier) -> None:
    """However much is wanted: until each worker has none to fetch, or but such as wait for a time of their own."""
    first, second = crew(frontier, 2)
    assert not first.begun.alone
    first.exchange(wants=100)
    second.exchange(wants=100)
    found(first, "http://x.example/", "http://b.example/2")
    assert (first.groups, second.groups) == (domains("a"), domains("b"))
    assert first.exchange(wants=100, resting=True).phase == SEEDS_FIRST
    assert second.exchange(wants=100).phase == SEEDS_FIRST, "it has pages to fetch"
    assert second.urls[-1] == "http://b.example/2"
    first.exchange(wants=100, resting=True)
    assert frontier.state().phase == SEEDS_FIRST
    second.exchange(wants=100, idle=True)
    assert frontier.state().phase == EXPANSION
    assert not first.exchange(wants=100, resting=True).over
    assert (first.groups, first.urls[-1]) == (domains("a", "x"), "http://x.example/")
    assert second.exchange(wants=100, idle=True).phase == EXPANSION


def test_phases__a_crawl_that_finds_nothing_ends_in_the_first(frontier: SharedFrontier) -> None:
    """Nothing waits: it is done."""
    first, second = crew(frontier, 2)
    for worker in (first, second):
        worker.exchange(wants=100)
    first.exchange(idle=True)
    assert second.exchange(idle=True).over == "done"
    assert frontier.state().phase == SEEDS_FIRST


def test_phases__one_worker_is_not_alone_before_the_second(build: Build, implementation: str) -> None:
    """It may not take what it finds without asking; in the second it may again."""
    frontier = build(*seeds_of("a"), phase=SEEDS_FIRST)
    (worker,) = crew(frontier, 1)
    assert not worker.begun.alone
    worker.exchange(wants=1 << 30)
    found(worker, "http://x.example/")
    worker.exchange(idle=True)
    assert frontier.state().phase == EXPANSION
    (again,) = crew(frontier, 1)
    assert again.begun.alone == (implementation == "sqlite")
    again.exchange(wants=1 << 30)
    assert "x.example" in again.groups


def test_phases__who_starts_again_or_has_mail_is_not_done(frontier: SharedFrontier) -> None:
    """What it said before does not count any more; what is on its way is not taken in yet."""
    first, second = crew(frontier, 2)
    for worker in (first, second):
        worker.exchange(wants=100)
    second.exchange(resting=True)
    second = Peer(frontier, 1)
    found(first, "http://x.example/")
    first.exchange(resting=True)
    assert frontier.state().phase == SEEDS_FIRST, "it has not said anything yet"
    first.exchange()
    second.exchange(resting=True)  # it is given its messages again
    second.exchange(resting=True)
    found(first, "http://b.example/3")
    first.exchange(resting=True)
    assert frontier.state().phase == SEEDS_FIRST, "a link is on its way to it"
    second.exchange()
    second.exchange(resting=True)
    assert frontier.state().phase == EXPANSION


def test_phases__where_seeds_lead_to_is_theirs(frontier: SharedFrontier) -> None:
    """A redirect of a seed, and a robots.txt that somebody waits for; a redirect of another page is not."""
    (first, _) = crew(frontier, 2)
    first.exchange(wants=1)
    moved = Found("http://moved.example/", Kind.REDIRECT, 0, UrlId(1))
    wanted = RobotsWanted("http://rules.example/robots.txt", 1, "a.example", "http")
    deeper = Found("http://deeper.example/", Kind.REDIRECT, 1, UrlId(1))
    first.commit(notices={"moved.example": [moved], "rules.example": [wanted], "deeper.example": [deeper]})
    first.exchange()
    for _ in range(5):
        first.exchange(wants=100)
    assert first.groups == domains("a", "b", "moved", "rules")


def test_phases__seeds_that_are_added_come_before_what_waits(frontier: SharedFrontier) -> None:
    """As long as the first phase lasts, it lasts for them, too."""
    first, second = crew(frontier, 2)
    for worker in (first, second):
        worker.exchange(wants=100)
    found(first, "http://x.example/")
    first.exchange(resting=True)
    frontier.add(seeds_of("late"))
    second.exchange(resting=True)
    assert frontier.state().phase == SEEDS_FIRST
    second.exchange(wants=100)
    assert second.groups == domains("b", "late")


def test_phases__groups_that_are_handed_over_stay_in_theirs(frontier: SharedFrontier) -> None:
    """A group of the seeds that comes back with what is known of it goes on before what was found."""
    first, second = crew(frontier, 2)
    for worker in (first, second):
        worker.exchange(wants=100)
    found(first, "http://x.example/")
    frontier.resize(1)
    parcel = Parcel("b.example", 3, b"")
    left = Left(batches=[], number=0, taken=1, parcels=[parcel], clean=True, at=0.0, rests={}, pages=0, statistics=b"")
    frontier.hand_over(1, left)
    first.exchange(resting=True)
    assert frontier.state().phase == SEEDS_FIRST
    first.exchange(wants=100)
    assert first.groups == domains("a", "b")
    first.exchange(resting=True)
    assert frontier.state().phase == EXPANSION


def test_phases__without_them_nothing_waits(build: Build) -> None:
    """Seeds come before what was found, and then that comes."""
    frontier = build(*seeds_of("a"), workers=2)
    first, _ = crew(frontier, 2)
    first.exchange(wants=1)
    found(first, "http://x.example/")
    assert first.exchange(wants=100).phase == msgspec.structs.asdict(frontier.state())["phase"] == 0
    assert first.groups == domains("a", "x")
