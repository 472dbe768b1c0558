"""What every global frontier must do, whatever it is made of. Each implementation passes the same tests."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contract import peers
from tests.contract.peers import Build, Peer, crew, domains, seeds_of, to
from tests.patience import PATIENCE

from weft.clock import VirtualClock
from weft.errors import WeftError
from weft.frontier.shared.address import address_in
from weft.frontier.shared.blocks import message_block
from weft.frontier.shared.contract import BEING_CRAWLED, CRAWLED, SET_ASIDE, Found, Left, Limits, Lists, Message, Orders
from weft.frontier.shared.postgres_base import rows
from weft.model import Kind, UrlId

ROOT = Path(__file__).resolve().parents[2]


# --- check-out ---


def test_seeds__are_checked_out_in_their_order(build: Build) -> None:
    """With the groups come their seeds, as seeds, in the order in which they were given."""
    seeds = ["http://b.example/2", "http://a.example/1", "http://b.example/1", "http://www.c.example/"]
    (worker,) = crew(build(*seeds), 1)
    orders = worker.exchange(wants=100)
    assert worker.groups == domains("b", "a", "c")
    assert worker.urls == seeds, "also over groups"
    assert all((link.kind, link.depth, link.via) == (Kind.SEED, 0, 0) for link in worker.links)
    assert orders.scope == seeds


def test_seeds__a_few_at_a_time_are_still_in_order(build: Build) -> None:
    """No more are given than are wanted, and the next ones come with the next wish."""
    names = [f"s{number}" for number in range(20)]
    (worker,) = crew(build(*seeds_of(*names)), 1)
    sizes = []
    for _ in range(7):
        before = len(worker.groups)
        worker.exchange(wants=3)
        sizes.append(len(worker.groups) - before)
    assert sizes == [3, 3, 3, 3, 3, 3, 2]
    assert worker.groups == domains(*names)
    assert worker.urls == seeds_of(*names)
    worker.exchange(wants=0)
    assert len(worker.groups) == 20


def test_seeds__come_before_what_was_found(build: Build) -> None:
    """Also before groups that were found earlier than a seed was added; found ones follow in the order of finding."""
    frontier = build(*seeds_of("a", "b"))
    (worker,) = crew(frontier, 1)
    worker.exchange(wants=1)
    worker.commit(to("http://x.example/"), to("http://w.example/"))
    worker.exchange(wants=0)
    worker.commit(to("http://v.example/"), to("http://x.example/2"))
    worker.exchange(wants=0)
    frontier.add(seeds_of("late"))
    worker.exchange(wants=100)
    assert worker.groups == domains("a", "b", "late", "x", "w", "v")


def test_groups__the_larger_first_where_size_counts(build: Build) -> None:
    """By the links that wait for them; seeds before all others."""
    frontier = build(*seeds_of("seed"), by_size=True)
    (worker,) = crew(frontier, 1)
    worker.commit(
        *(
            to(f"http://{name}.example/{number}")
            for name, size in zip("abc", (2, 9, 5), strict=True)
            for number in range(size)
        )
    )
    worker.exchange(wants=0)
    worker.commit(*(to(f"http://a.example/more/{number}") for number in range(10)))
    for _ in range(4):
        worker.exchange(wants=1)
    assert worker.groups == domains("seed", "a", "b", "c")
    assert len(worker.urls) == 1 + 12 + 9 + 5


def test_groups__are_shared_out_fairly(build: Build) -> None:
    """Nobody takes more than its share of what is there, so that the last who asks finds something, too."""
    frontier = build(*seeds_of(*(f"s{number}" for number in range(40))), workers=4)
    workers = crew(frontier, 4)
    for worker in workers:
        free = 40 - sum(len(each.groups) for each in workers)
        worker.exchange(wants=1000)
        assert len(worker.groups) == -(-free // 4)
    assert min(len(worker.groups) for worker in workers) >= 4
    for _ in range(20):
        for worker in workers:
            worker.exchange(wants=1000)
    counts = Counter(group for worker in workers for group in worker.groups)
    assert len(counts) == 40
    assert set(counts.values()) == {1}


def test_groups__the_last_one_is_given(build: Build) -> None:
    """A share is never so small that something is left for ever."""
    workers = crew(build(*seeds_of("a"), workers=8), 8)
    assert workers[5].exchange(wants=1).messages
    assert workers[5].groups == domains("a")


def test_group__all_sites_of_a_domain_are_one(build: Build) -> None:
    """They share their limits, so one worker has them all, with a port or without."""
    urls = ["http://www.a.example/", "http://blog.a.example:8080/", "http://a.example/", "http://192.0.2.1/"]
    (worker,) = crew(build(*urls), 1)
    worker.exchange(wants=100)
    assert worker.groups == ["a.example", "192.0.2.1"]


@given(data=st.data())
def test_group__is_never_given_to_two_workers_and_no_link_is_lost(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whoever finds, asks and restarts in whatever order: every link comes to the one that holds its group."""
    name = data.draw(st.sampled_from((*["sqlite"] * 9, "postgres")))  # whose tables take their time to be made
    place = peers.created(name, tmp_path_factory.mktemp("crawl"), by_size=data.draw(st.booleans()), seeds=())
    with closing(peers.opened(name, place, VirtualClock(1e9))) as frontier:
        frontier.prepare(3, Limits(max_pages=None))
        workers = crew(frontier, 3)
        sent: set[str] = set()
        steps = st.tuples(st.integers(0, 2), st.integers(0, 4), st.lists(st.integers(0, 9), max_size=4))
        for number, (who, wants, found) in enumerate(data.draw(st.lists(steps, max_size=25))):
            urls = [f"http://g{group}.example/{number}/{at}" for at, group in enumerate(found)]
            sent.update(urls)
            if urls:
                workers[who].commit(*map(to, urls))
            workers[who].exchange(wants=wants)
        for worker in workers * 4:
            worker.exchange(wants=100)
        groups = [group for worker in workers for group in worker.groups]
        assert len(groups) == len(set(groups))
        assert sorted(url for worker in workers for url in worker.urls) == sorted(sent)
        for worker in workers:
            assert {peers.group_of(url) for url in worker.urls} == set(worker.groups)
    peers.released(name, place)


# --- links ---


def test_links__to_a_held_group_come_to_its_holder(build: Build) -> None:
    """With everything that is known of them, in the order in which they were found, and to nobody else."""
    frontier = build(*seeds_of("a", "b"), workers=2)
    first, second = crew(frontier, 2)
    first.exchange(wants=1)
    second.exchange(wants=1)
    found = [Found(f"http://b.example/{number}", Kind.A, number, UrlId(2**64 - 1 - number), 0.5) for number in range(5)]
    first.commit(*found[:3])
    first.commit(*found[3:], to("http://www.b.example/"))
    first.exchange()
    assert first.urls == seeds_of("a")
    second.exchange()
    assert second.links[1:6] == found
    assert second.groups == domains("b"), "nothing new was checked out"


def test_links__to_a_free_group_wait_and_come_with_it(build: Build) -> None:
    """Those of every worker, in the order in which they came; none comes twice."""
    frontier = build(*seeds_of("a", "b"), workers=2)
    first, second = crew(frontier, 2)
    for worker in (first, second):
        worker.exchange(wants=1)
    for number in range(3):
        for worker in (first, second):
            worker.commit(to(f"http://c.example/{number}/{worker.number}"))
            worker.exchange()
    second.exchange(wants=1)
    assert second.groups == domains("b", "c")
    assert second.urls[1:] == [f"http://c.example/{number}/{who}" for number in range(3) for who in range(2)]
    first.exchange(wants=100)
    assert first.groups == domains("a")
    first.commit(to("http://c.example/late"))
    first.exchange(wants=100)
    second.exchange()
    assert second.urls[-1] == "http://c.example/late"


def test_links__of_a_worker_that_is_alone_need_no_way(build: Build, implementation: str) -> None:
    """It is told that it is alone, and claims what it finds; what comes from elsewhere then comes to it. Where other
    nodes may join nobody is told so, and a claim of an earlier version still counts.
    """
    frontier = build(*seeds_of("a"), workers=1)
    (worker,) = crew(frontier, 1)
    assert worker.begun.alone == (implementation == "sqlite")
    worker.exchange(wants=100)
    worker.commit(claimed=domains("x", "y"))
    worker.exchange(wants=100)
    assert worker.groups == domains("a"), "what it claimed is not given to it"
    frontier.add(["http://x.example/added"])
    worker.exchange(wants=0)
    assert worker.urls == [*seeds_of("a"), "http://x.example/added"]


def test_links__that_waited_for_a_group_come_to_whoever_claims_it(build: Build) -> None:
    """A seed was added while the claim was on its way: it comes with a message, once, and holds off the end."""
    frontier = build()
    (worker,) = crew(frontier, 1)
    worker.commit(claimed=domains("x", "y"))  # committed, not yet heard
    frontier.add(["http://x.example/seed"])
    assert worker.exchange(wants=1 << 30, idle=True).over == ""
    for _ in range(2):
        worker.exchange(wants=1 << 30)
        assert worker.urls == ["http://x.example/seed"]
        assert worker.groups == domains("x")
    assert worker.exchange(wants=1 << 30, idle=True).over == "done"


def test_links__of_a_claimed_group_go_to_whoever_claimed_it_when_there_are_more(build: Build) -> None:
    """A crawl that one worker began goes on with two."""
    frontier = build(workers=1)
    (worker,) = crew(frontier, 1)
    worker.commit(claimed=domains("x"))
    worker.exchange(wants=100)
    frontier.prepare(2, Limits(max_pages=None))
    first, second = crew(frontier, 2)
    assert not first.begun.alone
    assert not second.begun.alone
    second.commit(to("http://x.example/1"), to("http://y.example/1"))
    second.exchange(wants=100)
    assert second.groups == domains("y")
    first.exchange(wants=100)
    assert first.urls == ["http://x.example/1"]


def test_links__many_come_in_several_exchanges(build: Build) -> None:
    """An exchange has an end; nothing is left out, nothing comes twice."""
    frontier = build(*seeds_of("a", "b"), workers=2)
    first, second = crew(frontier, 2)
    second.exchange(wants=1)
    for batch in range(30):
        first.commit(*(to(f"http://a.example/{batch}/{number}") for number in range(2000)))
    first.exchange()
    exchanges = 0
    while second.exchange().messages:
        exchanges += 1
    assert exchanges > 1
    assert second.urls[1:] == [f"http://a.example/{batch}/{number}" for batch in range(30) for number in range(2000)]


# --- exactly once ---


def test_batch__sent_twice_is_applied_once(build: Build) -> None:
    """The answer to a report may be lost: the same report again changes nothing, and is answered the same."""
    frontier = build(*seeds_of("a", "b"), workers=2)
    first, second = crew(frontier, 2)
    second.exchange(wants=1)
    first.commit(to("http://a.example/1"))
    first.commit(to("http://a.example/2"), to("http://new.example/"))
    report = first.report()
    assert [frontier.exchange(report).applied for _ in range(3)] == [2, 2, 2]
    second.exchange()
    assert second.urls[1:] == ["http://a.example/1", "http://a.example/2"]
    first.commit(to("http://a.example/3"))
    assert first.exchange().applied == 3, "the first two went with it once more"
    second.exchange()
    second.exchange(wants=100)
    second.exchange(wants=100)
    assert second.urls[3:] == ["http://a.example/3", "http://b.example/", "http://new.example/"]


def test_batch__numbers_may_have_gaps(build: Build) -> None:
    """Commits that have nothing to say are not sent."""
    frontier = build(workers=2)
    first, second = crew(frontier, 2)
    first.last = 17
    first.commit(to("http://a.example/1"))
    assert first.exchange().applied == 18
    first.last = 40
    first.commit(to("http://a.example/2"))
    assert first.exchange().applied == 41
    second.exchange(wants=1)
    assert second.urls == ["http://a.example/1", "http://a.example/2"]


def test_begin__tells_what_was_applied(build: Build) -> None:
    """A worker that starts again knows which of its batches were heard; others' do not count."""
    frontier = build(workers=2)
    first, second = crew(frontier, 2)
    first.commit(to("http://a.example/"))
    first.commit(to("http://b.example/"))
    first.exchange()
    second.commit(to("http://c.example/"))
    second.exchange()
    again = frontier.begin(0)
    assert (again.incarnation, again.applied) == (first.begun.incarnation + 1, 2)
    assert frontier.begin(1).applied == 1


def test_incarnation__that_is_old_is_refused(build: Build) -> None:
    """A process that was given up and is still alive changes nothing any more, and is told to give way."""
    frontier = build(*seeds_of("a"), workers=2)
    old = Peer(frontier, 0)
    new = Peer(frontier, 0)
    other = Peer(frontier, 1)
    old.commit(to("http://x.example/"))
    with pytest.raises(WeftError, match="another process goes by the number of worker 0"):
        old.exchange(wants=100)
    new.exchange(wants=100)
    assert new.groups == domains("a")
    other.exchange(wants=100)
    assert other.groups == [], "what the old one said was not heard"
    new.exchange(wants=100)


def test_worker__that_is_none_of_the_crawls_is_refused(build: Build) -> None:
    """By its number."""
    frontier = build(workers=2)
    with pytest.raises(WeftError, match="there is no worker 2"):
        frontier.begin(2)


def test_messages__are_delivered_again_until_they_are_settled(build: Build) -> None:
    """A worker that lost its last commits stands where it was before, and is given the same once more."""
    frontier = build(*seeds_of("a", "b", "c"))
    worker = Peer(frontier, 0)
    places = []
    for _ in range(3):
        worker.exchange(wants=1)
        places.append(worker.taken)
    assert places == sorted(set(places))
    assert not worker.exchange(settled=places[0]).messages, "it has taken in everything"
    again = Peer(frontier, 0)
    again.taken = places[0]
    orders = again.exchange()
    assert again.groups == domains("b", "c")
    assert again.urls == seeds_of("b", "c")
    assert orders.taken == places[2]
    again.exchange(settled=places[2])
    last = Peer(frontier, 0)
    assert not last.exchange().messages, "it is settled, and kept no longer"


def test_messages__whose_answer_was_lost_come_again(build: Build) -> None:
    """Nothing is forgotten because it was sent."""
    frontier = build(*seeds_of("a"))
    worker = Peer(frontier, 0)
    report = worker.report(wants=1)
    first, second = frontier.exchange(report), frontier.exchange(report)
    assert first.messages == second.messages
    assert first.taken == second.taken
    assert first.messages[0].groups == domains("a")


# --- the end ---


def standing(*workers: Peer, **how: Any) -> list[str]:
    """What workers are told when they report one after the other."""
    return [worker.exchange(**how).over for worker in workers]


def test_end__is_when_all_are_idle(build: Build) -> None:
    """Not before the last of them is; and then all are told."""
    workers = crew(build(*seeds_of("a"), workers=3), 3)
    workers[0].exchange(wants=1)
    assert standing(*workers, idle=False) == ["", "", ""]
    assert standing(*workers[1:], idle=True) == ["", ""]
    assert standing(workers[0], idle=False) == [""]
    assert standing(*workers[1:], idle=True) == ["", ""]
    assert standing(workers[0], idle=True) == ["done"]
    assert standing(*workers, idle=True) == ["done", "done", "done"]


def test_end__of_a_crawl_of_nothing(build: Build) -> None:
    """No seeds, nothing to do."""
    (worker,) = crew(build(), 1)
    assert standing(worker, idle=True, wants=10) == ["done"]


def test_end__is_not_while_a_group_waits(build: Build) -> None:
    """Somebody must take it first."""
    workers = crew(build(*seeds_of("a"), workers=2), 2)
    for _ in range(3):
        assert standing(*workers, idle=True, wants=0) == ["", ""]
    assert standing(workers[1], idle=True, wants=1) == [""], "it has just been given something"
    assert standing(workers[0], idle=True, wants=1) == [""]
    assert standing(*workers[::-1], idle=True, wants=1) == ["done", "done"]


def test_end__is_not_while_a_worker_has_not_begun(build: Build) -> None:
    """It may have work in its log."""
    frontier = build(workers=2)
    worker = Peer(frontier, 0)
    assert standing(worker, worker, idle=True) == ["", ""]
    assert standing(Peer(frontier, 1), worker, idle=True) == ["done", "done"]


def test_end__is_not_while_an_inbox_is_unread(build: Build) -> None:
    """Two idle workers, and a link on its way between them."""
    frontier = build(*seeds_of("a", "b"), workers=2)
    first, second = crew(frontier, 2)
    second.exchange(wants=1)
    first.exchange(wants=1)
    assert standing(second, idle=True) == [""]
    first.commit(to("http://a.example/x"))
    assert standing(first, idle=True) == [""]
    assert standing(first, idle=True) == [""]
    assert standing(second, idle=True) == [""], "what it said was said before it knew of the link"
    assert second.urls[-1] == "http://a.example/x"
    assert standing(first, idle=True) == [""]
    assert standing(second, first, idle=True) == ["done", "done"]


def test_end__is_not_while_a_restarted_worker_has_not_read_again(build: Build) -> None:
    """What it once had taken in and lost again is on its way once more."""
    frontier = build(*seeds_of("a", "b"), workers=2)
    first, second = crew(frontier, 2)
    first.exchange(wants=1)
    second.exchange(wants=1)
    assert standing(first, idle=True) == [""]
    again = Peer(frontier, 1)
    assert standing(first, idle=True) == [""]
    assert standing(again, idle=True) == [""]
    assert again.groups == domains("b")
    assert standing(again, first, idle=True) == ["done", "done"]


def test_end__links_sent_with_the_last_report_are_not_forgotten(build: Build) -> None:
    """A worker reports that it is idle and has found a new group with the same words."""
    frontier = build(*seeds_of("a"), workers=2)
    first, second = crew(frontier, 2)
    first.exchange(wants=1)
    assert standing(second, idle=True) == [""]
    first.commit(to("http://new.example/"))
    assert standing(first, idle=True) == [""]
    assert standing(second, idle=True, wants=1) == [""]
    assert second.groups == domains("new")


def test_end__is_undone_by_the_next_run(build: Build) -> None:
    """A crawl that was stopped, or is done, goes on when it is begun again."""
    frontier = build()
    assert standing(Peer(frontier, 0), idle=True) == ["done"]
    frontier.prepare(1, Limits(max_pages=None))
    frontier.add(seeds_of("a"))
    worker = Peer(frontier, 0)
    assert standing(worker, wants=1) == [""]
    assert worker.groups == domains("a")


def test_second_pass__comes_before_the_end(build: Build) -> None:
    """When nothing else is left, what was set aside is let in once more, by all workers; then it is the end."""
    workers = crew(build(workers=2), 2)
    assert workers[0].exchange(idle=True, aside=3).second_pass == 0
    orders = workers[1].exchange(idle=True)
    assert (orders.second_pass, orders.over) == (1, "")
    orders = workers[0].exchange(idle=False, aside=0)
    assert (orders.second_pass, orders.over) == (1, "")
    assert standing(workers[1], idle=True) == [""], "the other is at it"
    assert standing(workers[0], idle=True) == ["done"]
    assert workers[1].exchange(idle=True).second_pass == 1


def test_second_pass__is_not_while_a_group_waits_or_an_inbox_is_unread(build: Build) -> None:
    """It is for when nothing else is left."""
    frontier = build(*seeds_of("a"), workers=2)
    first, second = crew(frontier, 2)
    assert [worker.exchange(idle=True, aside=1).second_pass for worker in (first, second)] == [0, 0]
    second.exchange(idle=True, wants=1, aside=1)
    assert [worker.exchange(idle=True, aside=1).second_pass for worker in (first, first, second)] == [0, 0, 1]


def test_second_pass__whoever_begins_is_told_how_many_there_were(build: Build) -> None:
    """So that an old one lets nothing in which was set aside since."""
    frontier = build()
    for passes in range(3):
        worker = Peer(frontier, 0)
        assert worker.begun.second_pass == passes
        assert worker.exchange().second_pass == passes
        assert worker.exchange(idle=True, aside=1).second_pass == passes + 1


def test_second_pass__may_come_again(build: Build) -> None:
    """Where sites were set aside since the last one."""
    (worker,) = crew(build(), 1)
    passes = [worker.exchange(idle=True, aside=aside).second_pass for aside in (1, 0)]
    assert passes == [1, 1]
    frontier = build()
    (worker,) = crew(frontier, 1)
    assert [worker.exchange(idle=True, aside=1).second_pass for _ in range(3)] == [1, 2, 3]


# --- how many pages ---


def fetched(worker: Peer, pages: int, allowed: int | None, *, work: bool = True, pending: int = 0) -> Orders:
    """Report truthfully so many pages of those that are allowed, with something to fetch or without."""
    exhausted = allowed is not None and pages >= allowed
    return worker.exchange(pages=pages, idle=exhausted or not work, starved=exhausted and work, pending=pending)


def fetch_all(workers: list[Peer], most: int, chance: random.Random, *, idle: float) -> list[int]:
    """Let workers fetch as much as they may, in any order; how many pages each has in the end. Now and then one has
    nothing to fetch.
    """
    pages = [0] * len(workers)
    allowed = [0] * len(workers)
    known: list[int | None] = [None] * len(workers)  # as the workers know it: nothing before they are told
    for _ in range(60 * len(workers)):
        at = chance.randrange(len(workers))
        orders = fetched(workers[at], pages[at], known[at], work=chance.random() >= idle, pending=most)
        assert orders.allowance is not None
        allowed[at] = known[at] = orders.allowance
        assert allowed[at] >= pages[at]
        assert sum(allowed) <= most
        pages[at] += chance.randint(0, allowed[at] - pages[at])
    return pages


@pytest.mark.parametrize("most", [0, 1, 2, 7, 100])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_allowance__together_is_never_more_than_the_limit(
    build: Build, most: int, workers: int, implementation: str
) -> None:
    """At any moment what all may have fetched is within it; where all have work, all of it is fetched in the end."""
    for seed in range(5 if implementation == "sqlite" else 1):
        chance = random.Random(seed)
        fetch_all(crew(build(workers=workers, max_pages=most), workers), most, chance, idle=0.3)
        assert sum(fetch_all(crew(build(workers=workers, max_pages=most), workers), most, chance, idle=0.0)) == most


def test_allowance__is_given_out_at_once_and_all_of_it(build: Build) -> None:
    """Everyone gets something from the start, nobody more than is left."""
    workers = crew(build(workers=4, max_pages=100), 4)
    given_out = [worker.exchange().allowance for worker in workers]
    assert None not in given_out
    assert all(share for share in given_out)
    assert sum(share or 0 for share in given_out) <= 100


def test_allowance__of_a_worker_that_has_used_its_own_grows(build: Build) -> None:
    """It gets a share of what nobody has, as long as there is any."""
    first, second = crew(build(workers=2, max_pages=100), 2)
    mine = first.exchange().allowance or 0
    other = second.exchange().allowance or 0
    allowed = [mine]
    while (orders := fetched(first, allowed[-1], allowed[-1])).allowance != allowed[-1]:
        allowed.append(orders.allowance or 0)
    assert len(allowed) > 1
    assert allowed == sorted(allowed)
    assert allowed[-1] == 100 - other


def test_allowance__is_kept_while_it_is_not_used_up(build: Build) -> None:
    """Nothing is taken from a worker that is at work."""
    first, second = crew(build(workers=2, max_pages=100), 2)
    mine = first.exchange().allowance
    second.exchange()
    for pages in range(0, mine or 0, 7):
        assert first.exchange(pages=pages).allowance == mine
        fetched(second, 50, 50)


def test_allowance__of_a_worker_that_can_use_none_goes_to_others(build: Build) -> None:
    """It gives back what it has when it has nothing to fetch; all of the limit is used in the end."""
    first, second = crew(build(workers=2, max_pages=100), 2)
    pages = fetched(first, 0, None).allowance or 0
    assert 0 < (second.exchange().allowance or 0) <= 100 - pages
    for _ in range(100):
        fetched(second, 0, 100, work=False)
        pages = fetched(first, pages, pages, pending=1000).allowance or 0
    assert pages == 100


def test_allowance__of_a_worker_that_can_use_none_is_what_it_fetched(build: Build) -> None:
    """Though there are pages that nobody has."""
    (worker, _) = crew(build(workers=2, max_pages=100), 2)
    assert (worker.exchange().allowance or 0) > 7
    for _ in range(3):
        assert fetched(worker, 7, 50, work=False).allowance == 7


def test_allowance__whoever_is_given_more_is_not_idle(build: Build) -> None:
    """It had used up its own, and nobody else has anything to do: that is not the end."""
    first, second = crew(build(workers=2, max_pages=100), 2)
    for pages in (0, 3):
        assert fetched(second, pages, 50, work=False).over == ""
    allowed = fetched(first, 0, None, pending=1000).allowance or 0
    assert fetched(second, 3, 3, work=False).over == ""
    orders = fetched(first, allowed, allowed, pending=1000)
    assert (orders.allowance or 0) > allowed
    assert orders.over == ""
    assert fetched(second, 3, 3, work=False).over == "", "the first goes on"


def test_allowance__without_a_limit_there_is_none(build: Build) -> None:
    """As many as there are."""
    (worker,) = crew(build(), 1)
    assert worker.exchange(pages=10**9).allowance is None


def test_allowance__the_limit_is_the_end(build: Build) -> None:
    """Where pages are left it was the limit, where none are the crawl is done."""
    for pending, why in ((5, "page limit"), (0, "done")):
        workers = crew(build(workers=2, max_pages=10), 2)
        pages = [worker.exchange().allowance or 0 for worker in workers]
        for _ in range(10):
            left = pending + 10 - sum(pages)
            orders = [
                fetched(worker, each, each, work=left > 0, pending=left)
                for worker, each in zip(workers, pages, strict=True)
            ]
            assert {each.over for each in orders} == {""} or sum(pages) == 10
            pages = [each.allowance or 0 for each in orders]
        assert sum(pages) == 10
        assert [each.over for each in orders] == [why, why]


def test_allowance__the_limit_is_the_end_also_with_fewer_workers_than_before(build: Build) -> None:
    """What those fetched that are not there any more counts, too."""
    frontier = build(workers=2, max_pages=10)
    for worker in crew(frontier, 2):
        worker.exchange()
        worker.exchange(pages=4)
    frontier.prepare(1, Limits(max_pages=10))
    frontier.add(seeds_of("a"))
    (worker,) = crew(frontier, 1)
    assert worker.exchange(pages=4).allowance == 6
    assert fetched(worker, 6, 6, pending=3).over == "page limit"


def test_allowance__pages_of_an_earlier_run_count(build: Build) -> None:
    """A crawl that goes on may fetch what is left of its limit, or of a new one."""
    frontier = build(workers=2, max_pages=10)
    for worker in crew(frontier, 2):
        worker.exchange()
        fetched(worker, 5, 5)
    for most, left in ((10, 0), (16, 6)):
        frontier.prepare(2, Limits(max_pages=most))
        workers = crew(frontier, 2)
        shares = [worker.exchange(pages=5).allowance or 0 for worker in workers]
        assert all(share >= 5 for share in shares)
        assert sum(shares) - 10 <= left
        assert (sum(shares) > 10) == (left > 0)


def test_bytes__of_all_workers_together_end_the_crawl(build: Build) -> None:
    """The limit is the crawl's, not each worker's; those of earlier runs count."""
    frontier = build(workers=2)
    frontier.prepare(2, Limits(max_pages=None, max_bytes=1000))
    first, second = crew(frontier, 2)
    assert first.exchange(amount=600).over == ""
    assert second.exchange(amount=399).over == ""
    assert second.exchange(amount=400).over == "byte limit"
    assert first.exchange(amount=600).over == "byte limit"


def test_time__of_the_worker_that_ran_longest_ends_the_crawl(build: Build) -> None:
    """For all of them, and as the time limit."""
    frontier = build(workers=2)
    frontier.prepare(2, Limits(max_pages=None, max_time=100.0))
    first, second = crew(frontier, 2)
    assert first.exchange(seconds=99.0, pending=3).over == ""
    assert second.exchange(seconds=100.0).over == "time limit"
    assert first.exchange(seconds=99.5, pending=3).over == "time limit"


def test_allowance__the_last_page_is_fetched_whoever_asked_first(build: Build) -> None:
    """One page short of the limit: the one who cannot use it was given it, and gives it back before the end is said."""
    frontier = build(workers=2, max_pages=10)
    second, first = crew(frontier, 2)
    second.exchange(pages=9, pending=5, starved=True, idle=True)
    frontier.prepare(2, Limits(max_pages=10))
    assert first.exchange(pages=0, idle=True).allowance == 1
    for _ in range(6):
        orders = second.exchange(pages=9, pending=5, starved=True, idle=True)
        if orders.allowance == 10:
            break
        assert orders.over == "", "there is a page to fetch, and leave to fetch it"
        assert first.exchange(pages=0, idle=True).over == ""
    assert second.exchange(pages=10, pending=4, starved=True, idle=True).over == "page limit"


# --- addresses ---


def test_address__is_lent_to_one_at_a_time(build: Build) -> None:
    """Whoever asks first has it, as often as it asks; others wait."""
    first, second = crew(build(workers=2), 2)
    assert first.exchange(wanted=[("192.0.2.1", True), ("2001:db8::1", True)]).lent == [
        ("192.0.2.1", 0.0),
        ("2001:db8::1", 0.0),
    ]
    orders = second.exchange(wanted=[("192.0.2.1", True), ("192.0.2.2", True)])
    assert orders.lent == [("192.0.2.2", 0.0)]
    assert first.exchange(wanted=[("192.0.2.1", True)]).lent == [("192.0.2.1", 0.0)]
    assert first.exchange().lent == []
    assert second.exchange(wanted=[("192.0.2.1", True)]).lent == []


def test_address__is_recalled_when_another_wants_it(build: Build) -> None:
    """Until it is given back, and no more then; when it may be visited next is handed on."""
    first, second = crew(build(workers=2), 2)
    first.exchange(wanted=[("192.0.2.1", True), ("192.0.2.2", True)])
    assert first.exchange().recalled == []
    second.exchange(wanted=[("192.0.2.1", True)])
    assert first.exchange().recalled == ["192.0.2.1"]
    assert first.exchange().recalled == ["192.0.2.1"]
    assert first.exchange(released=[("192.0.2.1", 1234.5)]).recalled == []
    orders = second.exchange(wanted=[("192.0.2.1", True)])
    assert orders.lent == [("192.0.2.1", 1234.5)]
    assert orders.recalled == []
    first.exchange(wanted=[("192.0.2.1", True)])
    assert second.exchange().recalled == ["192.0.2.1"]


def test_address__goes_to_the_first_who_waited_for_it(build: Build) -> None:
    """Not to the one who gave it back, nor to one who asked later, though they ask first now."""
    first, second, third = crew(build(workers=3), 3)
    for worker in (first, second, third):
        worker.exchange(wanted=[("192.0.2.1", True)])
    assert first.exchange().recalled == ["192.0.2.1"]
    first.exchange(released=[("192.0.2.1", 5.0)])
    assert first.exchange(wanted=[("192.0.2.1", True)]).lent == []
    assert third.exchange(wanted=[("192.0.2.1", True)]).lent == []
    orders = second.exchange(wanted=[("192.0.2.1", True)])
    assert orders.lent == [("192.0.2.1", 5.0)]
    assert orders.recalled == ["192.0.2.1"], "others wait for it in their turn"
    second.exchange(released=[("192.0.2.1", 6.0)])
    assert third.exchange(wanted=[("192.0.2.1", True)]).lent == []
    assert first.exchange(wanted=[("192.0.2.1", True)]).lent == [("192.0.2.1", 6.0)]


def test_address__is_given_back_by_its_holder_only(build: Build) -> None:
    """What a worker says of an address that it has not, changes nothing."""
    first, second = crew(build(workers=2), 2)
    first.exchange(wanted=[("192.0.2.1", True)])
    second.exchange(released=[("192.0.2.1", 99.0)])
    assert second.exchange(wanted=[("192.0.2.1", True)]).lent == []
    first.exchange(released=[("192.0.2.1", 7.0)])
    assert second.exchange(wanted=[("192.0.2.1", True)]).lent == [("192.0.2.1", 7.0)]


def test_address__given_back_unasked_is_free_with_its_time(build: Build) -> None:
    """Also for the one who gave it back."""
    first, second = crew(build(workers=2), 2)
    first.exchange(wanted=[("192.0.2.1", True)])
    first.exchange(released=[("192.0.2.1", 50.0)])
    assert first.exchange(wanted=[("192.0.2.1", True)]).lent == [("192.0.2.1", 50.0)]
    first.exchange(released=[("192.0.2.1", 60.0)])
    assert second.exchange(wanted=[("192.0.2.1", True)]).lent == [("192.0.2.1", 60.0)]


def test_address__of_a_worker_that_started_again_is_still_its_own(build: Build) -> None:
    """Nobody visits it before the new process gives it back, which it is asked to."""
    frontier = build(workers=2)
    first, second = crew(frontier, 2)
    first.exchange(wanted=[("192.0.2.1", True)])
    again = Peer(frontier, 0)
    assert second.exchange(wanted=[("192.0.2.1", True)]).lent == []
    assert again.exchange().recalled == ["192.0.2.1"]
    again.exchange(released=[("192.0.2.1", 5.0)])
    assert second.exchange(wanted=[("192.0.2.1", True)]).lent == [("192.0.2.1", 5.0)]


# --- the operator ---


def all_told(workers: list[Peer]) -> list[Orders]:
    """What each is told with its next report."""
    return [worker.exchange() for worker in workers]


def test_scope__entries_reach_all_workers_once(build: Build) -> None:
    """Those of seeds, of redirected seeds that a worker found, and of seeds that were added; each is told once."""
    frontier = build(*seeds_of("a"), workers=3)
    workers = crew(frontier, 3)
    assert [orders.scope for orders in all_told(workers)] == [seeds_of("a")] * 3
    workers[0].commit(scope=["http://moved.example/"])
    workers[1].commit(scope=["http://moved.example/", "http://else.example/"])
    all_told(workers[:2])
    frontier.add(seeds_of("added"))
    for worker in workers:
        worker.exchange()
    everything = [*seeds_of("a"), "http://moved.example/", "http://else.example/", *seeds_of("added")]
    assert frontier.scope() == everything
    assert [orders.scope for orders in all_told(workers)] == [[]] * 3
    assert Peer(frontier, 0).exchange().scope == everything, "whoever starts again is told everything"


def test_blacklist__rules_reach_all_workers(build: Build) -> None:
    """All rules that are in force, whenever something changed; and nothing when nothing did."""
    frontier = build(workers=2)
    workers = crew(frontier, 2)
    assert [orders.rules for orders in all_told(workers)] == [[], []]
    frontier.change_blacklist(add=["a.example", "*.b.example"])
    assert [orders.rules for orders in all_told(workers)] == [["a.example", "*.b.example"]] * 2
    places = {orders.rules_at for orders in all_told(workers)}
    assert len(places) == 1
    assert [orders.rules for orders in all_told(workers)] == [[], []]
    frontier.change_blacklist(add=["c.example", "a.example"], remove=["*.b.example", "unknown.example"])
    assert [sorted(orders.rules) for orders in all_told(workers)] == [["a.example", "c.example"]] * 2
    frontier.change_blacklist(remove=["a.example", "c.example"])
    for orders in all_told(workers):
        assert orders.rules == []
        assert orders.rules_at not in places, "that all rules are gone is news, too"
    frontier.change_blacklist(add=["a.example"])
    assert Peer(frontier, 1).exchange().rules == ["a.example"]


def test_pause__reaches_all_workers_and_ends(build: Build) -> None:
    """With the next report of each."""
    frontier = build(workers=2)
    workers = crew(frontier, 2)
    for paused in (0, 1, 0):
        frontier.pause(paused=bool(paused))
        assert [orders.paused for orders in all_told(workers)] == [bool(paused)] * 2


def test_stop__reaches_all_workers(build: Build) -> None:
    """With the reason that was given, though there is work."""
    frontier = build(*seeds_of("a"), workers=2)
    workers = crew(frontier, 2)
    frontier.stop("told to stop")
    assert [orders.over for orders in all_told(workers)] == ["told to stop"] * 2
    assert [orders.over for orders in all_told(workers)] == ["told to stop"] * 2
    frontier.prepare(2, Limits(max_pages=None))
    assert [orders.over for orders in all_told(crew(frontier, 2))] == ["", ""]


def test_speed__is_shared(build: Build) -> None:
    """Together no more than the target, of pages and of bytes; none where none is set."""
    frontier = build(workers=3)
    workers = crew(frontier, 3)
    assert [orders.speed for orders in all_told(workers)] == [(None, None)] * 3
    frontier.set_speed("300 pages/s 9000 bytes/s")
    for worker in workers:
        worker.exchange(hungry=True)
    assert [worker.exchange(hungry=True).speed for worker in workers] == [pytest.approx((100.0, 3000.0))] * 3
    frontier.set_speed("60 bytes/s")
    for worker in workers:
        pages, amount = worker.exchange(hungry=True).speed
        assert pages is None
        assert amount == pytest.approx(20.0)
    frontier.set_speed("")
    assert [orders.speed for orders in all_told(workers)] == [(None, None)] * 3


def test_speed__what_one_does_not_use_is_for_others(build: Build) -> None:
    """By what each says that it fetched recently, and whether it was held back."""
    frontier = build(workers=2)
    slow, fast = crew(frontier, 2)
    frontier.set_speed("100 pages/s")
    for _ in range(3):
        slow.exchange(rate=(10.0, 0.0), hungry=False)
        fast.exchange(rate=(50.0, 0.0), hungry=True)
    mine = slow.exchange(rate=(10.0, 0.0), hungry=False).speed[0]
    rest = fast.exchange(rate=(50.0, 0.0), hungry=True).speed[0]
    assert mine is not None
    assert rest is not None
    assert 10.0 < mine < 20.0
    assert rest > 80.0
    assert mine + rest <= 100.01


def test_speed__follows_the_hours(build: Build, clock: VirtualClock, implementation: str) -> None:
    """By the clock of whoever divides it."""
    if implementation != "sqlite":
        pytest.skip("its clock is the database's, which nobody can move")
    frontier = build()
    (worker,) = crew(frontier, 1)
    frontier.set_speed("10 pages/s; 00:00-12:00 20 pages/s")
    told = set()
    for _ in range(24):
        told.add(worker.exchange(hungry=True).speed)
        clock.advance(3600.0)
    assert told == {(10.0, None), (20.0, None)}


def test_speed__of_a_run_is_that_of_the_last_unless_another_is_given(build: Build) -> None:
    """A limit outlives the processes that keep it."""
    frontier = build()
    for given_speed, told in (("5 pages/s", 5.0), (None, 5.0), ("7 pages/s", 7.0)):
        frontier.prepare(1, Limits(max_pages=None), speed=given_speed)
        assert Peer(frontier, 0).exchange(hungry=True).speed == (told, None)


def test_add__seeds_reach_whoever_holds_their_group(build: Build) -> None:
    """As seeds, and in the scope of all; those of free groups wait like others."""
    frontier = build(*seeds_of("a"), workers=2)
    first, second = crew(frontier, 2)
    second.exchange(wants=1)
    frontier.add(["http://a.example/added", "http://www.b.example/"])
    first.exchange(wants=1)
    second.exchange(wants=1)
    assert second.urls == ["http://a.example/", "http://a.example/added"]
    assert first.urls == ["http://www.b.example/"]
    assert {link.kind for link in (*first.links, *second.links)} == {Kind.SEED}


def test_add__holds_off_the_end(build: Build) -> None:
    """Workers that were idle are asked again."""
    frontier = build(workers=2)
    first, second = crew(frontier, 2)
    assert standing(first, idle=True) == [""]
    frontier.add(seeds_of("a"))
    assert standing(second, idle=True, wants=0) == [""]
    assert standing(first, idle=True, wants=1) == [""]
    assert first.groups == domains("a")


def test_lists__say_where_sites_stand(build: Build) -> None:
    """To be crawled, being crawled, crawled, set aside; each site in one of them."""
    frontier = build(*seeds_of("a", "b"), workers=2)
    first, second = crew(frontier, 2)
    assert frontier.lists() == Lists(to_crawl=2, being_crawled=0, crawled=0, set_aside=0)
    first.exchange(wants=1)
    first.commit(lists={"a.example": BEING_CRAWLED, "www.a.example": SET_ASIDE})
    first.exchange()
    assert frontier.lists() == Lists(to_crawl=1, being_crawled=1, crawled=0, set_aside=1)
    first.commit(lists={"a.example": CRAWLED})
    first.exchange()
    second.exchange(wants=1)
    assert frontier.lists() == Lists(to_crawl=0, being_crawled=0, crawled=1, set_aside=1)


# --- messages ---


def test_messages__are_numbered_for_each_worker_without_a_gap(build: Build) -> None:
    """From 1 on, whatever is sent to others in between."""
    frontier = build(*seeds_of("a", "b"), workers=3)
    first, second, third = crew(frontier, 3)
    first.exchange(wants=1)
    second.exchange(wants=1)
    numbers = []
    for number in range(4):
        third.commit(to(f"http://{'ab'[number % 2]}.example/{number}"), to(f"http://b.example/{number}/x"))
        third.exchange()
        numbers.append((first.exchange().taken, second.exchange().taken))
    assert numbers == [(2, 2), (2, 3), (3, 4), (3, 5)]


def test_messages__become_visible_in_the_order_of_their_numbers(implementation: str, tmp_path: Path) -> None:
    """A transaction that has taken a number and is not done yet holds back who would take the next one: a worker's
    cursor can pass no message that comes later.
    """
    if implementation != "postgres":
        pytest.skip("SQLite has one writer at a time")
    place = peers.created(implementation, tmp_path, by_size=False, seeds=seeds_of("a"))
    frontier, other = (peers.opened(implementation, place, VirtualClock()) for _ in range(2))
    frontier.prepare(3, Limits())
    receiver, sender = Peer(frontier, 0), Peer(other, 1)
    receiver.exchange(wants=1)
    sender.commit(to("http://a.example/second"))
    address = address_in(place)
    with psycopg.connect(address.uri) as slow:
        slow.execute(f"set search_path to {address.schema}".encode())
        ((_, sent),) = rows(slow, "number_messages", workers=[0], counts=[1])
        told = message_block(Message(notices=[to("http://a.example/first")]))
        slow.execute("insert into inbox values(0, %s, 1, %s)", (sent + 1, told))
        telling = threading.Thread(target=sender.exchange)
        telling.start()
        telling.join(0.3)
        assert telling.is_alive(), "it waits"
        assert receiver.exchange().messages == []
        slow.commit()
        telling.join(PATIENCE)
    receiver.exchange()
    assert receiver.urls == ["http://a.example/", "http://a.example/first", "http://a.example/second"]
    frontier.close()
    other.close()


# --- leaving ---


def test_worker__that_is_taken_away_is_told_to_leave(build: Build) -> None:
    """It is given no more groups; the crawl is not over while it holds some."""
    frontier = build(*seeds_of("a", "b", "c"), workers=2)
    first, second = crew(frontier, 2)
    second.exchange(wants=1)
    frontier.want_workers(1)
    assert not second.exchange().leave
    frontier.resize(1)
    orders = second.exchange(wants=9)
    assert orders.leave
    assert orders.messages == []
    assert not first.exchange(wants=9).leave
    first.exchange(wants=9)
    assert first.exchange(idle=True).over == "", "somebody still holds a group"
    assert frontier.surplus() == [1]
    assert [worker.in_run for worker in frontier.workers()] == [True, False]


def test_worker__that_is_left_out_keeps_nobody_from_the_end(build: Build) -> None:
    """Whatever its number is: what it held is handed over, and it is not waited for."""
    frontier = build(*seeds_of("a", "b", "c"), workers=3)
    first, second, third = crew(frontier, 3)
    second.exchange(wants=1)
    frontier.leave_out(1)
    assert [worker.in_run for worker in frontier.workers()] == [True, False, True]
    assert frontier.surplus() == [1]
    with pytest.raises(WeftError, match="another process goes by the number"):
        second.exchange()
    empty = Left(batches=[], number=0, taken=0, parcels=[], clean=False, at=0.0, rests={}, pages=0, statistics=b"")
    frontier.hand_over(1, empty)
    frontier.end_hand_over(1)
    assert frontier.surplus() == []
    first.exchange(wants=9)
    first.exchange(wants=9)
    assert len(frontier.held(0)) == 3, "what it held is given to another"
    third.exchange(idle=True)
    assert first.exchange(idle=True).over == "done"


def test_heard__is_told_in_seconds_by_the_frontiers_own_clock(build: Build) -> None:
    """Nobody else's clock is asked."""
    frontier = build(workers=2)
    first = Peer(frontier, 0)
    assert [worker.heard is None for worker in frontier.workers()] == [False, True]
    first.exchange()
    heard = frontier.workers()[0].heard
    assert heard is not None
    assert 0.0 <= heard < 3600.0


# --- several processes at once ---


def test_processes__that_exchange_at_once_lose_no_link(implementation: str, tmp_path: Path) -> None:
    """Real ones, on one frontier: every page that can be reached is fetched by exactly one, and all hear of the end."""
    place = peers.created(implementation, tmp_path, by_size=False, seeds=map(peers.address, range(4)))
    frontier = peers.opened(implementation, place, VirtualClock())
    frontier.prepare(2, Limits(max_pages=None))
    frontier.close()
    commands = [
        [sys.executable, "-m", "tests.contract.peers", implementation, place, str(number)] for number in range(2)
    ]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes: list[Any] = [subprocess.Popen(command, cwd=ROOT, **pipes) for command in commands]
    try:
        for process in processes:
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            process.stdin.write("begin\n")
            process.stdin.flush()
        found = [json.loads(process.communicate(timeout=PATIENCE)[0]) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    reached, ahead = set(range(4)), list(range(4))
    while ahead:
        new = set(peers.links_of(ahead.pop())) - reached
        reached |= new
        ahead += new
    assert [each["why"] for each in found] == ["done", "done"]
    fetched = [page for each in found for page in each["fetched"]]
    assert len(fetched) == len(set(fetched))
    assert set(fetched) == reached
    groups = [group for each in found for group in each["groups"]]
    assert len(groups) == len(set(groups)) == len({peers.group_of(peers.address(page)) for page in reached})
    assert all(each["groups"] for each in found), "both took part"
