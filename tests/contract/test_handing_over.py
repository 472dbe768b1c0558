"""What every global frontier does beside exchanges: it hands over, is looked at, and is told things by the operator."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.contract import peers
from tests.contract.peers import Build, Peer, crew, domains, group_of, seeds_of, to

from weft.clock import VirtualClock
from weft.errors import WeftError
from weft.frontier.durable.parcels import Content, packed, unpacked
from weft.frontier.shared import postgres_making
from weft.frontier.shared.address import address_in
from weft.frontier.shared.contract import (
    ALL_AT_ONCE,
    CRAWLED,
    SET_ASIDE,
    CrawlState,
    Found,
    Left,
    Limits,
    Lists,
    Parcel,
    Remains,
    Restart,
    SharedFrontier,
)
from weft.frontier.shared.opening import create_frontier, open_frontier
from weft.model import Kind, UrlId


def parcel(group: str, *urls: str, pending: int = 0) -> Parcel:
    """What a worker knew of a group."""
    return Parcel(group, pending, packed(Content(urls="\n".join(urls).encode())))


def left(peer: Peer, *parcels: Parcel, clean: bool = True, **more: Any) -> Left:
    """What a worker left that has taken everything in."""
    values: dict[str, Any] = {
        "batches": list(peer.batches),
        "number": peer.last,
        "taken": peer.taken,
        "parcels": iter(parcels),
        "clean": clean,
        "at": 1_700_000_000.0,
        "rests": {},
        "pages": 0,
        "statistics": b"",
    }
    return Left(**(values | more))


def handed(frontier: SharedFrontier, peer: Peer, *parcels: Parcel, **more: Any) -> list[str]:
    """Dissolve a worker; what is lost."""
    lost = frontier.hand_over(peer.number, left(peer, *parcels, **more))
    frontier.end_hand_over(peer.number)
    return lost


def test_hand_over__gives_groups_to_others_with_all_that_was_known(build: Build) -> None:
    """Each with its parcel, in the old order of finding, before what was found later; seeds first."""
    frontier = build(*seeds_of("a", "b", "c"), workers=2)
    first, second = crew(frontier, 2)
    first.exchange(wants=4)
    first.exchange(wants=4)
    assert first.groups == domains("a", "b", "c")[: len(first.groups)]
    first.exchange(wants=4)
    second.commit(to("http://d.example/1"))
    second.exchange()
    parcels = [
        parcel(name, f"http://{name}/{number}", pending=number) for number, name in enumerate(domains(*"abc"), 1)
    ]
    assert handed(frontier, first, *reversed(parcels), pages=7, statistics=b"\x80") == []
    assert frontier.handed_over() == []
    assert frontier.waiting() == 1 + 2 + 3 + 1
    second.exchange(wants=9)
    second.exchange(wants=9)
    for _ in range(4):
        second.exchange(wants=9)
    assert second.groups == domains("a", "b", "c", "d")
    assert sorted(second.parcels, key=lambda each: each.group) == parcels
    stood = frontier.workers()[0]
    assert (stood.pages, stood.statistics, stood.applied) == (7, b"\x80", 0)
    with pytest.raises(WeftError, match="another process goes by the number"):
        first.exchange()


def test_hand_over__of_who_waits_for_an_address_lets_others_have_it(build: Build) -> None:
    """Who is gone gets no address when its holder gives it back: nobody could ever have it again."""
    frontier = build(*seeds_of("a"), workers=3)
    first, second, third = crew(frontier, 3)
    assert first.exchange(wanted=[("192.0.2.1", True)]).lent == [("192.0.2.1", 0.0)]
    assert third.exchange(wanted=[("192.0.2.1", True)]).lent == []
    frontier.resize(2)
    handed(frontier, third)
    first.exchange(released=[("192.0.2.1", 0)])
    assert second.exchange(wanted=[("192.0.2.1", True)]).lent == [("192.0.2.1", 0.0)]


def test_group__that_was_given_away_in_a_lost_commit_does_not_come_again(build: Build) -> None:
    """Its message is given again, because the commit that took it in was not settled; the group has another worker."""
    frontier = build(*seeds_of("a", "b"), workers=2)
    first, second = crew(frontier, 2)
    first.exchange(wants=4)
    first.exchange(wants=4)
    given = first.groups
    second.exchange(wanted=[("192.0.2.1", True)])
    first.commit(moved=[(given[0], "192.0.2.1")])
    first.exchange()
    second.exchange()
    assert second.groups == given[:1]
    again = Peer(frontier, 0)
    again.exchange()
    assert again.groups == given[1:]
    assert frontier.held(0) | frontier.held(1) == set(domains("a", "b")[: len(given)])


def test_surplus__is_also_who_has_given_all_away_and_has_mail(build: Build) -> None:
    """What it has not read must go to others, or the crawl never ends."""
    frontier = build(*seeds_of("a"), workers=2)
    first, second = crew(frontier, 2)
    second.exchange(wants=1)
    second.exchange(wants=1)
    for number in range(3):
        first.commit(to(f"http://a.example/{number}"))
        first.exchange()
    frontier.resize(1)
    first.exchange(wanted=[("192.0.2.1", True)])
    second.settled = second.taken
    second.commit(moved=[("a.example", "192.0.2.1")])
    frontier.exchange(second.report())
    assert frontier.held(1) == set()
    assert frontier.surplus() == [1]
    handed(frontier, second)
    assert frontier.surplus() == []


def test_surplus__is_also_who_has_an_address_or_waits_for_one(build: Build) -> None:
    """Nobody else could have it, now or when it is given back, and the crawl would never end."""
    frontier = build(*seeds_of("a"), workers=3)
    first, second, third = crew(frontier, 3)
    first.exchange(wanted=[("192.0.2.1", True)])
    second.exchange(wanted=[("192.0.2.2", True)])
    third.exchange(wanted=[("192.0.2.1", True)])
    frontier.resize(1)
    assert frontier.surplus() == [1, 2]
    handed(frontier, second)
    handed(frontier, third)
    assert frontier.surplus() == []
    assert first.exchange(released=[("192.0.2.1", 0)], wanted=[("192.0.2.2", True)]).lent == [("192.0.2.2", 0.0)]
    assert first.exchange(wanted=[("192.0.2.1", True)]).lent == [("192.0.2.1", 0.0)]


def test_hand_over__is_noted_until_the_log_has_no_more(build: Build) -> None:
    """A crash between the two is finished by whoever starts next."""
    frontier = build(*seeds_of("a"), workers=2)
    first, _ = crew(frontier, 2)
    first.exchange(wants=1)
    frontier.hand_over(0, left(first, parcel("a.example")))
    assert frontier.handed_over() == [0]
    frontier.end_hand_over(0)
    assert frontier.handed_over() == []
    frontier.note_shared(2)
    assert frontier.state().shared_among == 2


def test_hand_over__is_waited_for_by_who_starts_meanwhile(build: Build) -> None:
    """The only worker that is left starts again before the other's groups are handed over: it takes none by itself."""
    frontier = build(*seeds_of("a", "b"), workers=2)
    _, second = crew(frontier, 2)
    second.exchange(wants=2)
    assert frontier.held(1)
    frontier.resize(1)
    assert frontier.surplus() == [1]
    assert not Peer(frontier, 0).begun.alone


def test_hand_over__of_groups_that_were_claimed_keeps_their_order(build: Build) -> None:
    """They have no place in the order of finding, and come before all that has one, as the parcels come."""
    frontier = build(workers=1)
    (worker,) = crew(frontier, 1)
    worker.commit(claimed=domains("z", "y", "x"))
    worker.exchange()
    frontier.prepare(2, Limits())
    frontier.add(seeds_of("seed"))
    worker = Peer(frontier, 0)
    handed(frontier, worker, *(parcel(name, pending=1) for name in domains("z", "y", "x")))
    taker = Peer(frontier, 1)
    for _ in range(6):
        taker.exchange(wants=9)
    assert taker.groups == domains("seed", "z", "y", "x")
    assert not taker.begun.alone


def test_hand_over__applies_what_was_not_heard_and_returns_what_was_not_read(build: Build) -> None:
    """Batches that only the log had, and messages that it had not taken in: each exactly once."""
    frontier = build(*seeds_of("a", "b", "c"), workers=2)
    first, second = crew(frontier, 2)
    first.exchange(wants=1)
    heard = first.commit(to("http://new.example/1"))
    first.exchange()
    first.commit(to("http://new.example/2"))  # never sent
    second.commit(to("http://a.example/late"))
    second.exchange()  # into the first one's inbox, which is not read any more
    batches = [heard, *first.batches]
    assert handed(frontier, first, parcel("a.example", pending=1), batches=batches) == []
    for _ in range(6):
        second.exchange(wants=9)
    assert sorted(second.urls) == sorted(
        [*seeds_of("b", "c"), "http://new.example/1", "http://new.example/2", "http://a.example/late"]
    )


@pytest.mark.parametrize("clean", [True, False])
def test_hand_over__of_groups_that_were_never_read(build: Build, clean: bool) -> None:
    """They come back with what they had; a worker that died may have visited them, and the next one is told so."""
    frontier = build(*seeds_of("a"), workers=2)
    first, second = crew(frontier, 2)
    frontier.exchange(first.report(wants=1))  # the answer is lost
    assert handed(frontier, first, clean=clean, at=1_700_000_000.0) == []
    second.exchange(wants=1)
    assert (second.groups, second.urls) == (domains("a"), seeds_of("a"))
    if clean:
        assert second.parcels == []
    else:
        content = unpacked(second.parcels[0].content)
        assert (content.clean, content.made_at) == (False, 1_700_000_000.0)


def test_hand_over__what_nobody_knows_of_any_more_starts_over(build: Build) -> None:
    """With its seeds; it is told which these are."""
    frontier = build("http://a.example/1", "http://a.example/2", *seeds_of("b"), workers=2)
    first, second = crew(frontier, 2)
    first.exchange(wants=1)
    assert handed(frontier, first) == domains("a")
    for _ in range(3):
        second.exchange(wants=9)
    assert sorted(second.urls) == ["http://a.example/1", "http://a.example/2", "http://b.example/"]


def test_hand_over__leaves_addresses_alone_and_sites_that_are_crawled(build: Build) -> None:
    """Addresses rest; sites that were being crawled are to be crawled again."""
    frontier = build(*seeds_of("a"), workers=2)
    first, second = crew(frontier, 2)
    first.exchange(wants=1, wanted=[("192.0.2.1", True), ("192.0.2.2", True)])
    first.commit(lists={"a.example": SET_ASIDE, "www.a.example": CRAWLED})
    first.exchange()
    handed(frontier, first, parcel("a.example", pending=3), rests={"192.0.2.1": 2 * 3600.0, "192.0.2.9": 3600.0})
    assert frontier.lists() == Lists(to_crawl=1, being_crawled=0, crawled=1, set_aside=0)
    wanted = [(f"192.0.2.{number}", True) for number in (1, 2, 9)]
    assert second.exchange(wanted=wanted).lent == [("192.0.2.1", 2.0), ("192.0.2.2", 0.0), ("192.0.2.9", 1.0)]


def test_hand_over__what_was_lent_to_who_died_rests(build: Build) -> None:
    """It may have been there just now, and not have written so; what others have is theirs."""
    frontier = build(*seeds_of("a"), workers=3)
    first, second, third = crew(frontier, 3)
    first.exchange(wanted=[("192.0.2.0/24", True), ("192.0.2.1", True)])
    second.exchange(wanted=[("192.0.3.0/24", True)])
    handed(frontier, first, clean=False, rests={"192.0.2.1": 2 * 3600.0}, unwritten=3600.0)
    assert third.exchange(wanted=[("192.0.2.0/24", True), ("192.0.2.1", True), ("192.0.3.0/24", False)]).lent == [
        ("192.0.2.0/24", 1.0),
        ("192.0.2.1", 2.0),
    ]
    assert second.exchange(wanted=[("192.0.3.0/24", True)]).lent == [("192.0.3.0/24", 0.0)]


def test_missing__are_groups_that_a_log_should_have(build: Build) -> None:
    """Beside those that it knows, and those in messages that it has not read."""
    frontier = build(*seeds_of("a", "b", "c"))
    (worker,) = crew(frontier, 1)
    worker.exchange(wants=2)
    taken = worker.taken
    worker.exchange(wants=1)
    assert frontier.held(0) == set(domains("a", "b", "c"))
    assert frontier.missing(0, domains("a"), taken) == domains("b")
    assert frontier.missing(0, domains("a"), worker.taken) == domains("b", "c")
    assert frontier.unsound() == []


def test_waits__for_a_page_wherever_it_is(build: Build) -> None:
    """With a free group, in a parcel, or on its way to a worker; and nowhere when it has been taken in."""
    frontier = build(*seeds_of("a", "b"), workers=2)
    first, second = crew(frontier, 2)
    assert frontier.waits("http://a.example/")
    assert not frontier.waits("http://a.example/other")
    second.commit(*(to(f"http://b.example/{number}/{'x' * 50}") for number in range(200)))
    second.exchange()
    assert frontier.waits(f"http://b.example/77/{'x' * 50}"), "also among many"
    assert frontier.waiting() == 202
    assert frontier.groups() == 2
    first.exchange(wants=1)
    first.exchange(settled=first.taken)
    assert not frontier.waits("http://a.example/")
    second.commit(to("http://a.example/mail"))
    second.exchange()
    assert frontier.waits("http://a.example/mail")
    handed(frontier, first, parcel("a.example", "http://a.example/known", pending=1))
    assert frontier.waits("http://a.example/known")


def test_offer_again__brings_links_and_notes_the_rules(build: Build) -> None:
    """To whoever holds the group, or to those that wait; they hold off the end."""
    frontier = build(*seeds_of("a"), workers=2)
    first, second = crew(frontier, 2)
    first.exchange(wants=1)
    links = [to("http://a.example/again"), to("http://x.example/new")]
    assert frontier.offer_again(iter(links), scope=["http://x.example/"], rules="wider") == 2
    assert frontier.state().offered_by == "wider"
    assert first.exchange().scope[-1] == "http://x.example/"
    assert first.urls == [*seeds_of("a"), "http://a.example/again"]
    second.exchange(wants=9)
    assert second.urls == ["http://x.example/new"]
    frontier.note_rules("widest")
    assert frontier.state().offered_by == "widest"


def test_state__is_what_was_said(build: Build) -> None:
    """Pause, speed, workers, the end, and workers that were started again: the last twenty of them."""
    frontier = build(workers=3)
    frontier.pause(paused=True)
    frontier.set_speed("5 pages/s")
    frontier.want_workers(2)
    frontier.end("stopped")
    for number in range(25):
        frontier.note_restart(Restart(number % 3, 1000.5 + number, "by signal 9", "it hung"))
    state = frontier.state()
    assert state == CrawlState(
        by_size=False,
        phase=ALL_AT_ONCE,
        over="stopped",
        paused=True,
        speed="5 pages/s",
        workers=3,
        wanted=2,
        watched=False,
        shared_among=None,
        offered_by=None,
        restarted=25,
        restarts=[Restart(number % 3, 1000.5 + number, "by signal 9", "it hung") for number in range(5, 25)],
    )


def test_blacklist__remembers_what_held_when(build: Build) -> None:
    """A rule that was taken away, and came again, is there twice."""
    frontier = build()
    frontier.change_blacklist(add=["a.example", "b.example"])
    frontier.change_blacklist(remove=["a.example"])
    frontier.change_blacklist(add=["a.example"])
    assert frontier.blacklist() == ["b.example", "a.example"]
    ever = frontier.blacklist_history()
    assert [each.rule for each in ever] == ["a.example", "b.example", "a.example"]
    assert [each.until is None for each in ever] == [False, True, True]
    assert all(each.since is not None for each in ever)


def test_report__that_knows_more_than_the_frontier_is_refused(build: Build) -> None:
    """The frontier was put back from a copy: nothing is changed, and it is said what to do."""
    frontier = build(*seeds_of("a"))
    (worker,) = crew(frontier, 1)
    version = worker.exchange().version
    worker.exchange(version=version)
    with pytest.raises(WeftError, match="older than what it has confirmed") as caught:
        worker.exchange(version=version + 2, wants=1)
    assert "weft repair" in str(caught.value)
    assert frontier.held(0) == set()
    worker.exchange(version=version + 1, wants=1)
    assert frontier.held(0) == set(domains("a"))


def test_lease__is_kept_by_the_frontiers_own_clock(build: Build, implementation: str) -> None:
    """From when the report was heard, which is later than when it was sent."""
    if implementation != "postgres":
        pytest.skip("on one machine the watchdog ends who is silent")
    frontier = build(workers=2)
    worker = Peer(frontier, 0)
    worker.exchange(lease=3600.0)
    lease = [stood.lease for stood in frontier.workers()]
    assert lease[0] is not None
    assert 3000.0 < lease[0] <= 3600.0
    assert lease[1] is None


@pytest.mark.restarts
def test_rebuilding__puts_in_what_remains(implementation: str, tmp_path: Path) -> None:
    """Groups with parcels, links, scope, blacklist, and how the crawl stood; all of it can be taken out again."""
    with closing(rebuilt(implementation, tmp_path)) as frontier:
        frontier.prepare(1, Limits())
        assert frontier.blacklist() == ["bad.example"]
        assert frontier.scope() == [*seeds_of("a"), "http://b.example/"]
        state = frontier.state()
        assert (state.paused, state.speed, state.restarted) == (True, "3 pages/s", 1)
        told = list(frontier.remains())
        urls = {notice.url for message in told for notice in message.notices if isinstance(notice, Found)}
        assert urls == {*seeds_of("a"), "http://c.example/1"}
        assert sum(len(message.parcels) for message in told) == 2
        (worker,) = crew(frontier, 1)
        assert not worker.begun.alone
        for _ in range(3):
            worker.exchange(wants=9)
        assert set(worker.groups) == set(domains("a", "b", "c"))
        assert {each.group for each in worker.parcels} == set(domains("a", "b"))


def rebuilt(implementation: str, folder: Path) -> SharedFrontier:
    """A global frontier made of what remains of another."""
    place = peers.created(implementation, folder, by_size=False, seeds=seeds_of("old"))
    state = CrawlState(
        by_size=False,
        phase=ALL_AT_ONCE,
        over="",
        paused=True,
        speed="3 pages/s",
        workers=1,
        wanted=1,
        watched=False,
        shared_among=None,
        offered_by=None,
        restarted=1,
        restarts=[Restart(0, 1.0, "by signal 9", "")],
    )
    remains = Remains(
        state=state,
        scope=["http://b.example/"],
        blacklist=["bad.example"],
        parcels=iter([parcel("b.example", pending=2), parcel("a.example")]),
        links=iter([to("http://c.example/1")]),
    )
    if implementation == "postgres":  # in place of the old one, in one step
        postgres_making.create(address_in(place), peers.CRAWL, by_size=False, seeds=seeds_of("a"), remains=remains)
        return peers.opened(implementation, place, VirtualClock(1e9))
    create_frontier(folder, by_size=False, seeds=seeds_of("a"), remains=remains)
    return open_frontier(folder, VirtualClock(1e9))


# --- whatever happens, in whatever order ---


@pytest.mark.parametrize(("name", "examples"), [("sqlite", 40), ("postgres", 12)])
def test_groups__have_one_holder_whoever_is_dissolved(
    name: str, examples: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Links are found, groups checked out, reports sent twice, workers restarted and dissolved, clean or not: no group
    has two holders, and every link is known to exactly one.
    """

    @settings(max_examples=examples)
    @given(data=st.data())
    def history(data: st.DataObject) -> None:
        place = peers.created(name, tmp_path_factory.mktemp("crawl"), by_size=data.draw(st.booleans()), seeds=())
        with closing(peers.opened(name, place, VirtualClock(1e9))) as frontier:
            _live(frontier, data)
        peers.released(name, place)

    history()


def _live(frontier: SharedFrontier, data: st.DataObject) -> None:
    frontier.prepare(3, Limits())
    workers = crew(frontier, 3)
    known: dict[str, set[str]] = {}  # by group: links that its holder, or its parcel, has
    sent: set[str] = set()
    acts = st.sampled_from(("exchange", "exchange", "exchange", "twice", "restart", "dissolve"))
    steps = st.tuples(acts, st.integers(0, 2), st.integers(0, 4), st.lists(st.integers(0, 7), max_size=4))
    for number, (act, who, wants, found) in enumerate(data.draw(st.lists(steps, max_size=25))):
        worker = workers[who]
        urls = [f"http://g{group}.example/{number}/{at}" for at, group in enumerate(found)]
        sent.update(urls)
        if urls:
            worker.commit(*map(to, urls))
        if act == "dissolve":
            _settle(worker, known)
            groups = frontier.held(who)
            parcels = [parcel(each, *known.pop(each, ()), pending=1) for each in sorted(groups & set(worker.groups))]
            assert handed(frontier, worker, *parcels, clean=data.draw(st.booleans())) == []
            workers[who] = _again(frontier, worker)
            workers[who].groups = []
            continue
        if act == "restart":
            workers[who] = worker = _again(frontier, worker)
        if act == "twice":
            frontier.exchange(worker.report(wants=wants))
        worker.exchange(wants=wants)
        _settle(worker, known)
    for worker in workers * 5:
        worker.exchange(wants=100)
        _settle(worker, known)
    held = [group for worker in workers for group in frontier.held(worker.number)]
    assert len(held) == len(set(held))
    assert sorted(url for urls in known.values() for url in urls) == sorted(sent)
    assert frontier.unsound() == []


def _again(frontier: SharedFrontier, old: Peer) -> Peer:
    """The same worker after a restart: its log has everything that was taken in."""
    new = Peer(frontier, old.number)
    new.taken, new.batches, new.last, new.groups = old.taken, old.batches, max(old.last, new.last), old.groups
    return new


def _settle(worker: Peer, known: dict[str, set[str]]) -> None:
    """Note what a worker has taken in: nobody else has it."""
    for each in worker.parcels:
        urls = unpacked(each.content).urls.decode().split("\n")
        known.setdefault(each.group, set()).update(filter(None, urls))
    for url in worker.urls:
        group = group_of(url)
        assert group in worker.groups, "a link came for a group that is not ours"
        assert url not in known.get(group, ()), "a link came twice"
        known.setdefault(group, set()).add(url)
    worker.parcels, worker.notices = [], []


# --- how links wait in a database ---


def test_links__that_wait_are_blocks_and_not_rows(implementation: str, tmp_path: Path) -> None:
    """A few are in the row of their group, many in blocks of dozens or more, and none is there twice."""
    if implementation != "postgres":
        pytest.skip("one file on one machine has a row a batch")
    place = peers.created(implementation, tmp_path, by_size=False, seeds=())
    with closing(peers.opened(implementation, place, VirtualClock())) as frontier:
        frontier.prepare(2, Limits())
        first, second = crew(frontier, 2)
        for page in range(100):
            first.commit(*(to(f"http://big.example/{page * 7 + at}/{'y' * 20}") for at in range(10)), via_of(page))
        first.commit(to("http://small.example/"))
        first.exchange()
        with psycopg.connect(address_in(place).uri) as base:
            base.execute(f"set search_path to {address_in(place).schema}".encode())
            (blocks,) = base.execute("select count(*) from waiting").fetchone() or (0,)
            (small,) = base.execute("select count(*) from groups where links is not null").fetchone() or (0,)
        assert 0 < blocks < 40
        assert small >= 1
        second.exchange(wants=1)
        assert second.groups == domains("big")
        assert len(set(second.urls)) == 703 + 1
        assert len(second.urls) < 1100, "most of those that say nothing new were dropped"


def via_of(page: int) -> Found:
    """The same link on every page."""
    return Found("http://big.example/home", Kind.A, 1, UrlId(page + 1))
