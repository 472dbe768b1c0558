"""A frontier that goes through parcels is the same frontier elsewhere."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from tests.unit.frontier.conftest import parsed

from weft.clock import VirtualClock
from weft.frontier.durable.log import Commit, FrontierLog
from weft.frontier.durable.memory import RobotsRecord, SiteMemory, packed_robots
from weft.frontier.durable.parcels import (
    DONE,
    PENDING,
    REFUSED,
    RETRY,
    Content,
    Estate,
    disturbed,
    pages_of,
    parcels_of,
    unpacked,
)
from weft.frontier.local.frontier import LocalFrontier
from weft.frontier.politeness import Politeness
from weft.frontier.scope import Selection
from weft.frontier.shared.contract import (
    BEING_CRAWLED,
    CRAWLED,
    Batch,
    Found,
    Left,
    Limits,
    Lists,
    Message,
    Orders,
    Parcel,
    Report,
    SharedFrontier,
)
from weft.frontier.shared.opening import create_frontier, open_frontier
from weft.model import NO_ID, Kind, PageNumber, Reason, SiteNumber, UrlId
from weft.ordering.priority import Priority
from weft.store.files import Mark
from weft.urls import fingerprint, registered_domain, site_of

NO_WAIT = Politeness(wait=0.0, per_visit=5, margin=0.0)
ROBOTS = b"User-agent: *\nDisallow: /private/\n"


def send(parcels: Iterable[Parcel], frontier: LocalFrontier, links: Iterable[Found] = ()) -> None:
    """Have a frontier take parcels in, as it does when groups are checked out."""
    parcels = list(parcels)
    frontier.exchanges.obey(Orders(messages=[Message([parcel.group for parcel in parcels], list(links), parcels)]))


def states(content: Content) -> dict[str, int]:
    """Where every page of a parcel stands."""
    pages = pages_of(content)
    return dict(zip(pages.urls, pages.state.tolist(), strict=True))


def contents(path: Path) -> dict[str, Content]:
    """What a log's parcels hold, by group; when they were made is left out."""
    return {parcel.group: unpacked(parcel.content) for parcel in parcels_of(path)}


def comparable(content: Content) -> dict[str, Any]:
    """A parcel's content, whatever numbers its sites have."""
    pages = pages_of(content)
    rows = zip(
        pages.urls,
        [content.sites[place].name for place in pages.site],
        pages.via.tolist(),
        pages.depth.tolist(),
        pages.kind.tolist(),
        pages.state.tolist(),
        strict=True,
    )
    return {
        "pages": list(rows),
        "retries": content.retries,
        "scores": pages.scores.tolist(),
        "sites": {
            site.name: (site.memory and msgspec.msgpack.decode(site.memory, type=SiteMemory), site.robots)
            for site in content.sites
        },
    }


def one_of_each(frontier: LocalFrontier, clock: VirtualClock) -> None:
    """A site with a page in every state."""
    for path in ("done", "private/refused", "retry", "pending", "last"):
        frontier.add_seed(f"http://www.a.example/{path}")
    frontier.add_seed("http://b.example/")
    visit = frontier.visit()
    assert visit is not None
    frontier.enter(visit, "192.0.2.1")
    turn = frontier.turn(visit)
    assert turn is not None
    frontier.robots.learn(visit.site, "http", ROBOTS)
    frontier.discovery.follow(visit.site, turn, parsed(turn.url, "/found", "http://static.a.example/x"))
    frontier.settle(visit, turn, None)
    turn = frontier.turn(visit)
    assert turn is not None
    assert turn.url.endswith("/retry")
    frontier.settle(visit, turn, Reason.STATUS_5XX)
    visit.site.tls = "expired"
    clock.advance(1.0)
    visit.took = 0.5
    frontier.leave(visit)


def test_round_trip__keeps_every_page_state_retry_and_robots(make: Any, clock: VirtualClock, tmp_path: Path) -> None:
    """What a worker knew of its groups is what the next one knows, now and after a restart of its own."""
    first = make(politeness=Politeness(wait=2.0, per_visit=5, margin=0.0))
    one_of_each(first, clock)
    first.commits.commit(marks={}, clean=True)
    before = contents(tmp_path / "frontier.log")
    assert states(before["a.example"]) == {
        "http://www.a.example/done": DONE,
        "http://www.a.example/private/refused": REFUSED,
        "http://www.a.example/retry": RETRY,
        "http://www.a.example/pending": PENDING,
        "http://www.a.example/last": PENDING,
        "http://www.a.example/found": PENDING,
        "http://static.a.example/x": PENDING,
    }
    assert {parcel.group: parcel.pending for parcel in parcels_of(tmp_path / "frontier.log")} == {
        "a.example": 5,
        "b.example": 1,
    }
    second = make(path=tmp_path / "second.log")
    second.holdings.alone = False
    second.exchanges.obey(Orders(messages=[Message(["c.example"], [Found("http://c.example/", Kind.A, 1, UrlId(1))])]))
    send(parcels_of(tmp_path / "frontier.log"), second)
    assert second.schedule.pending == first.schedule.pending + 1
    second.commits.commit(marks={}, clean=True)
    after = contents(tmp_path / "second.log")
    for group in ("a.example", "b.example"):
        assert comparable(after[group]) == comparable(before[group])
    robots = msgspec.msgpack.decode(after["a.example"].sites[0].robots["http"], type=RobotsRecord)
    assert robots.body == ROBOTS
    third = make(path=tmp_path / "second.log")
    assert third.commits.recover() is not None
    assert third.schedule.pending == second.schedule.pending
    assert third.holdings.groups == {"a.example", "b.example", "c.example"}


def test_load__site_rests_as_it_would_have(make: Any, clock: VirtualClock, tmp_path: Path) -> None:
    """A site that is handed over is not visited before its wait is over, and then with what is known of it."""
    first = make(politeness=Politeness(wait=2.0, per_visit=5, margin=0.0))
    one_of_each(first, clock)
    first.commits.commit(marks={}, clean=True)
    second = make(path=tmp_path / "second.log")
    send((parcel for parcel in parcels_of(tmp_path / "frontier.log") if parcel.group == "a.example"), second)
    assert second.visit() is None, "the domain was opened just now"
    clock.advance(0.5)
    visit = second.visit()
    assert visit is not None
    assert visit.site.name == "static.a.example", "a site that was never visited need not rest"
    second.settle(visit, second.turn(visit), None)
    second.leave(visit)
    clock.advance(1.4)
    assert second.visit() is None
    clock.advance(0.1)
    visit = second.visit()
    assert visit is not None
    assert (visit.site.name, visit.site.tls, visit.site.fetched) == ("www.a.example", "expired", 1)
    assert not second.robots.due(visit.site, "http")
    assert second.refusal(visit.site, "http://www.a.example/private/x") is Reason.ROBOTS


def test_load__retry_comes_when_it_is_due(make: Any, clock: VirtualClock, tmp_path: Path) -> None:
    """A page to be tried again keeps its time and the count of its tries."""
    first = make(politeness=NO_WAIT)
    one_of_each(first, clock)
    first.commits.commit(marks={}, clean=True)
    second = make(path=tmp_path / "second.log", politeness=NO_WAIT)
    send(parcels_of(tmp_path / "frontier.log"), second)
    urls = []
    while (visit := second.visit()) is not None:
        while (turn := second.turn(visit)) is not None:
            urls.append(turn.url)
            second.settle(visit, turn, None)
        second.leave(visit)
    assert "http://www.a.example/retry" not in urls
    clock.advance(60.0)
    visit = second.visit()
    assert visit is not None
    turn = second.turn(visit)
    assert turn is not None
    assert (turn.url, turn.attempt) == ("http://www.a.example/retry", 2)


def test_load__of_a_worker_that_died_waits_from_now(make: Any, clock: VirtualClock, tmp_path: Path) -> None:
    """Sites of a worker that did not stop by itself may have been visited just now, those never seen before too."""
    first = make(politeness=Politeness(wait=2.0, per_visit=5, margin=0.0))
    one_of_each(first, clock)
    first.commits.commit(marks={})
    clock.advance(100.0)
    second = make(path=tmp_path / "second.log")
    send((disturbed(parcel, clock.wall()) for parcel in parcels_of(tmp_path / "frontier.log")), second)
    second.exchanges.obey(
        Orders(messages=[Message(["new.example"], [Found("http://new.example/", Kind.A, 1, UrlId(1))])])
    )
    clock.advance(1.9)
    assert second.visit() is None
    clock.advance(0.1)
    assert second.visit() is not None


def test_load__is_ignored_when_the_group_is_there_already(make: Any, clock: VirtualClock, tmp_path: Path) -> None:
    """A message that is delivered again brings nothing back."""
    first = make(politeness=NO_WAIT)
    one_of_each(first, clock)
    first.commits.commit(marks={}, clean=True)
    parcels = list(parcels_of(tmp_path / "frontier.log"))
    second = make(path=tmp_path / "second.log", politeness=NO_WAIT)
    send(parcels, second)
    visit = second.visit()
    assert visit is not None
    turn = second.turn(visit)
    assert turn is not None
    second.settle(visit, turn, None)
    second.leave(visit)
    known, pending = len(second.pages), second.schedule.pending
    send(parcels, second)
    assert (len(second.pages), second.schedule.pending) == (known, pending)


def test_load__links_that_wait_find_their_pages(make: Any, clock: VirtualClock, tmp_path: Path) -> None:
    """A link that came with the parcel to a page that is in it makes no second page."""
    first = make(politeness=NO_WAIT)
    one_of_each(first, clock)
    first.commits.commit(marks={}, clean=True)
    second = make(path=tmp_path / "second.log", politeness=NO_WAIT)
    links = [
        Found(f"http://www.a.example/{path}", Kind.A, 1, UrlId(1))
        for path in ("done", "private/refused", "retry", "new")
    ]
    send(parcels_of(tmp_path / "frontier.log"), second, links)
    assert len(second.pages) == len(first.pages) + 1


def test_load__pages_of_a_site_count(make: Any, tmp_path: Path) -> None:
    """The limit of pages of a site holds over workers; parts of pages do not count."""
    selection = Selection(scope="all", max_site_pages=3)
    first = make(selection=selection)
    for number in range(2):
        first.discovery.offer(f"http://a.example/{number}", Kind.A, 1, UrlId(1))
    first.discovery.offer("http://a.example/picture", Kind.IMAGE, 1, UrlId(1))
    first.commits.commit(marks={}, clean=True)
    second = make(path=tmp_path / "second.log", selection=selection)
    send(parcels_of(tmp_path / "frontier.log"), second)
    second.discovery.offer("http://a.example/2", Kind.A, 1, UrlId(1))
    second.discovery.offer("http://a.example/3", Kind.A, 1, UrlId(1))
    assert len(second.pages) == 4
    assert second.discovery.refused[Reason.SITE_PAGES] == 1


def test_load__scores_decide_as_before(make: Any, tmp_path: Path) -> None:
    """Where the ordering scores, pages come in the same order, after a restart too."""
    first = make(politeness=NO_WAIT, ordering=Priority())
    chance = random.Random(1)
    for number in range(50):
        first.discovery.offer(f"http://a.example/{number}", Kind.REQUEST, 0, NO_ID, chance.choice((0.0, 1.0, 2.0, 3.0)))
        if number % 7 == 0:
            first.commits.commit(marks={})
    first.commits.commit(marks={}, clean=True)
    second = make(path=tmp_path / "second.log", politeness=NO_WAIT, ordering=Priority())
    second.discovery.offer("http://b.example/", Kind.REQUEST, 0, NO_ID, 1.5)
    send(parcels_of(tmp_path / "frontier.log"), second)
    second.commits.commit(marks={}, clean=True)
    third = make(path=tmp_path / "second.log", politeness=NO_WAIT, ordering=Priority())
    third.commits.recover()
    expected = order_of(first)["a.example"]
    assert order_of(second)["a.example"] == expected
    assert order_of(third)["a.example"] == expected


def order_of(frontier: LocalFrontier) -> dict[str, list[str]]:
    """By site, in which order its pending pages come; they are gone then."""
    found: dict[str, list[str]] = {}
    for number, name in enumerate(frontier.sites.names):
        while (page := frontier._heaps.pop(number)) >= 0:
            found.setdefault(name, []).append(frontier.pages.log.entry(page).url)
    return found


def retries_of(frontier: LocalFrontier) -> dict[str, tuple[float, int]]:
    """By page to be tried again: when, and how often it was tried."""
    return {frontier.pages.url_of(PageNumber(page)): known for page, known in frontier.pages.due.times().items()}


def wander(frontier: LocalFrontier, chance: random.Random, clock: VirtualClock, steps: int) -> None:
    """Crawl a random web for a while, with every outcome that a page can have."""
    outcomes = [None, None, None, Reason.STATUS_5XX, Reason.STATUS_4XX]
    for _ in range(steps):
        clock.advance(chance.choice((0.0, 0.5, 30.0)))
        if chance.random() < 0.1:
            frontier.commits.commit(marks={})
        visit = frontier.visit()
        if visit is None:
            continue
        frontier.enter(visit, f"192.0.2.{chance.randrange(3)}")
        if frontier.robots.due(visit.site, "http"):
            frontier.robots.learn(visit.site, "http", ROBOTS if chance.random() < 0.5 else None)
        while (turn := frontier.turn(visit)) is not None:
            links = [
                f"http://{chance.choice(('', 'www.', 'x.'))}s{chance.randrange(6)}.example/"
                f"{chance.choice(('', 'private/'))}{chance.randrange(40)}"
                for _ in range(chance.randrange(6))
            ]
            frontier.discovery.follow(visit.site, turn, parsed(turn.url, *links))
            if chance.random() < 0.1:
                frontier.give_back(visit, turn)
                break
            frontier.settle(visit, turn, chance.choice(outcomes))
        visit.took = chance.random()
        frontier.leave(visit)


@pytest.mark.parametrize("seed", range(25))
def test_order__within_a_site_is_the_same_elsewhere(make: Any, clock: VirtualClock, tmp_path: Path, seed: int) -> None:
    """Breadth-first, any crawl: handed on to two others, and from them to a third, pages come in the same order."""
    chance = random.Random(seed)
    first = make(politeness=NO_WAIT)
    first.add_seed("http://s0.example/")
    wander(first, chance, clock, chance.randrange(80))
    first.commits.commit(marks={}, clean=True)
    parcels = list(parcels_of(tmp_path / "frontier.log"))
    others = [make(path=tmp_path / f"{number}.log", politeness=NO_WAIT) for number in range(2)]
    for number, parcel in enumerate(parcels):
        send([parcel], others[number % 2])
    for other in others:
        other.commits.commit(marks={}, clean=True)
    third = make(path=tmp_path / "third.log", politeness=NO_WAIT)
    for number in range(2):
        send(parcels_of(tmp_path / f"{number}.log"), third)
    assert len(third.pages) == len(first.pages)
    assert sum(len(other.pages) for other in others) == len(first.pages)
    for frontier in (first, *others, third):
        frontier.schedule._advance(clock.now())
    assert retries_of(third) == retries_of(first)
    again = {**order_of(others[0]), **order_of(others[1])}
    expected = order_of(first)
    assert again == expected
    assert order_of(third) == expected


def test_parcels__have_what_was_committed_and_is_intact(make: Any, tmp_path: Path) -> None:
    """Records at the end whose outputs are not there do not count."""
    frontier = make()
    for number in range(3):
        frontier.add_seed(f"http://a.example/{number}")
        frontier.commits.commit(marks={"pages/part": Mark(number, 0, 0)})
    frontier.add_seed("http://b.example/")

    def intact(commit: Commit) -> bool:
        return commit.marks["pages/part"].length < 2

    (parcel,) = parcels_of(tmp_path / "frontier.log", intact)
    assert (parcel.group, parcel.pending) == ("a.example", 2)
    assert len(pages_of(unpacked(parcel.content)).urls) == 2


def test_parcels__leave_out_what_was_checked_in(tmp_path: Path) -> None:
    """A group that went back is not handed over again, unless it came again since."""
    log = FrontierLog(tmp_path / "frontier.log")

    def page(url: str, site: int) -> None:
        log.append(fingerprint(url), url, NO_ID, SiteNumber(site), 0, Kind.A)

    page("http://a.example/1", 0)
    page("http://b.example/1", 1)
    log.commit(Commit(sites=["a.example", "b.example"], groups=["a.example", "b.example"]))
    log.commit(Commit(left=[0]))
    assert [parcel.group for parcel in parcels_of(tmp_path / "frontier.log")] == ["b.example"]
    page("http://a.example/2", 2)
    log.commit(Commit(sites=["a.example"], groups=["a.example"]))
    log.close()
    found = contents(tmp_path / "frontier.log")
    assert states(found["a.example"]) == {"http://a.example/2": PENDING}
    assert states(found["b.example"]) == {"http://b.example/1": PENDING}
    assert [site.name for site in found["a.example"].sites] == ["a.example"]


def test_estate__of_a_worker_that_runs_ends_with_what_is_settled(tmp_path: Path) -> None:
    """The last two commits may yet be taken back. What changed is told by group, whatever it was, since some commit."""
    path = tmp_path / "frontier.log"
    log = FrontierLog(path)
    names = ["new.example", "done.example", "refused.example", "retry.example", "robots.example", "still.example"]
    for site, name in enumerate(names[1:], 1):
        log.append(fingerprint(name), f"http://{name}/", NO_ID, SiteNumber(site), 0, Kind.A)
    log.commit(Commit(sites=names, groups=names, number=1))
    log.append(fingerprint("x"), "http://new.example/", NO_ID, SiteNumber(0), 0, Kind.A)
    told = Commit(number=2, batch=msgspec.msgpack.encode(Batch(2)), taken=7)
    told.settled, told.refused = np.array([0], np.uint32).tobytes(), {"robots": np.array([1], np.uint32).tobytes()}
    told.delayed, told.robots = [(2, 1, 5.0)], [(4, "http", packed_robots(RobotsRecord(1.0, None)))]
    log.commit(told)
    log.commit(Commit(number=3, groups=["late.example"]))
    log.commit(Commit(number=4))

    def looked(since: int) -> tuple[int, set[str], list[int]]:
        estate = Estate.of_running(path, applied=1, since=since)
        assert estate.last is not None
        try:
            made = {each.group for each in estate.parcels(made_at=1.0, changed_only=True)}
            assert made == estate.changed
            return estate.last.number, estate.changed, [batch.number for batch in estate.batches]
        finally:
            estate.close()

    changed = {"new.example", "done.example", "refused.example", "retry.example", "robots.example"}
    assert looked(1) == (2, changed, [2])
    assert looked(0) == (2, set(names), [2])
    assert looked(2) == (2, set(), [2])
    log.commit(Commit(number=5))
    assert looked(2) == (3, {"late.example"}, [2])
    log.close()


def test_parcels__one_for_each_group(make: Any, tmp_path: Path) -> None:
    """Every page is in the parcel of its registered domain; a group without pages has a parcel all the same."""
    frontier = make()
    for name in ("a.example", "www.a.example", "b.co.uk", "x.b.co.uk", "192.0.2.1"):
        frontier.add_seed(f"http://{name}/")
    frontier.holdings.check_out("empty.example")
    frontier.commits.commit(marks={})
    found = contents(tmp_path / "frontier.log")
    assert set(found) == {"a.example", "b.co.uk", "192.0.2.1", "empty.example"}
    for group, content in found.items():
        assert all(registered_domain(site_of(url)) == group for url in pages_of(content).urls)
    assert sum(len(content.sites) for content in found.values()) == 5


# Taking back what a worker held.

Build = Callable[..., SharedFrontier]


@pytest.fixture
def build(tmp_path: Path, clock: VirtualClock) -> Iterator[Build]:
    """Makes a global frontier."""
    made: list[SharedFrontier] = []

    def made_of(*seeds: str, workers: int) -> SharedFrontier:
        create_frontier(tmp_path, by_size=False, seeds=seeds)
        made.append(open_frontier(tmp_path, clock))
        made[0].prepare(workers, Limits(max_pages=None))
        return made[0]

    yield made_of
    for each in made:
        each.close()


def exchange(shared: SharedFrontier, worker: int, **said: Any) -> Orders:
    """One exchange of a worker that has just started."""
    return shared.exchange(Report(worker, shared.begin(worker).incarnation, **said))


def told(*messages: Message) -> list[str]:
    """The pages that messages tell of."""
    return [notice.url for message in messages for notice in message.notices if isinstance(notice, Found)]


def left(**said: Any) -> Left:
    """What a worker left, by its log."""
    nothing: dict[str, Any] = {
        "batches": [],
        "number": 0,
        "taken": 0,
        "parcels": [],
        "clean": True,
        "at": 1000.0,
        "rests": {},
        "pages": 0,
        "statistics": b"",
    }
    return Left(**(nothing | said))


def test_hand_over__brings_parcels_and_what_was_not_said_yet(build: Build) -> None:
    """Batches that were not applied are, once; what was claimed with them comes back with its parcel, in its order."""
    frontier = build("http://a.example/", workers=2)
    exchange(frontier, 0, wants=10)
    batches = [
        Batch(1, claimed=["z.example", "m.example"], lists={"z.example": BEING_CRAWLED, "m.example": CRAWLED}),
        Batch(
            2, notices={"m.example": [Found("http://m.example/x", Kind.A, 1, UrlId(1))]}, scope=["http://z.example/"]
        ),
    ]
    parcels = [Parcel("a.example", 1, b"a"), Parcel("z.example", 3, b"z"), Parcel("m.example", 0, b"m")]
    lost = frontier.hand_over(0, left(batches=batches, number=2, parcels=parcels, taken=1, pages=7))
    assert lost == []
    assert frontier.lists() == Lists(to_crawl=3, being_crawled=0, crawled=1, set_aside=0)
    assert "http://z.example/" in frontier.scope()
    stood = frontier.workers()[0]
    assert (stood.applied, stood.pages, stood.pending) == (2, 7, 0)
    orders = exchange(frontier, 1, wants=10)
    messages = [*orders.messages, *exchange(frontier, 1, wants=10, taken=orders.taken).messages]
    assert [group for message in messages for group in message.groups] == ["a.example", "z.example", "m.example"]
    assert [parcel for message in messages for parcel in message.parcels] == parcels
    assert told(*messages) == ["http://m.example/x"]


def test_hand_over__unread_messages_come_back(build: Build) -> None:
    """What a worker was given and has not written down goes to the next: groups, links, parcels, nothing is lost."""
    frontier = build("http://a.example/", "http://b.example/", workers=1)
    exchange(frontier, 0, wants=10)
    frontier.hand_over(0, left(parcels=[], taken=0))
    assert frontier.waiting() == 2
    orders = exchange(frontier, 0, wants=10)
    (message,) = orders.messages
    assert (message.groups, message.parcels) == (["a.example", "b.example"], [])
    packed = disturbed(Parcel("a.example", 5, b""), 1.0)
    taken = orders.taken
    frontier.hand_over(0, left(parcels=[packed, Parcel("b.example", 0, b"b")], taken=taken))
    assert frontier.waiting() == 5
    assert exchange(frontier, 0, wants=10, taken=taken).messages[0].parcels == [packed]
    frontier.hand_over(0, left(taken=taken))
    assert frontier.waiting() == 5, "its pages wait again"
    assert exchange(frontier, 0, wants=10, taken=taken).messages[0].parcels == [packed]


def test_hand_over__of_a_worker_that_died_disturbs_what_it_had_not_read(build: Build) -> None:
    """It may have taken a message in and visited a site of it before it died; the next one must know when."""
    frontier = build("http://a.example/", workers=1)
    exchange(frontier, 0, wants=10)
    frontier.hand_over(0, left(clean=False, at=1234.0))
    (message,) = exchange(frontier, 0, wants=10).messages
    content = unpacked(message.parcels[0].content)
    assert (content.clean, content.made_at, content.sites) == (False, 1234.0, [])
    assert told(message) == ["http://a.example/"]


def test_hand_over__groups_without_a_record_start_over(build: Build) -> None:
    """Where the log is gone groups are named, and have their seeds again."""
    frontier = build("http://a.example/1", "http://b.example/", "http://a.example/2", workers=1)
    taken = exchange(frontier, 0, wants=10).taken
    assert frontier.missing(0, (), 0) == [], "they are in its inbox"
    assert frontier.missing(0, ["b.example"], taken) == ["a.example"]
    assert frontier.hand_over(0, left(taken=taken, parcels=[Parcel("b.example", 2, b"b")])) == ["a.example"]
    (message,) = exchange(frontier, 0, wants=10, taken=taken).messages
    assert told(message) == ["http://a.example/1", "http://a.example/2"]


def test_hand_over__addresses_rest(build: Build) -> None:
    """An address that was lent is free, and not visited before its time."""
    frontier = build("http://a.example/", workers=2)
    exchange(frontier, 0, wanted=[("192.0.2.1", True)])
    frontier.hand_over(0, left(rests={"192.0.2.1": 5.0, "192.0.2.2": 7.0}))
    orders = exchange(frontier, 1, wanted=[(f"192.0.2.{number}", True) for number in (1, 2, 3)])
    assert orders.lent == [("192.0.2.1", 5.0), ("192.0.2.2", 7.0), ("192.0.2.3", 0.0)]


def test_alone__is_not_who_must_first_be_told(build: Build) -> None:
    """The only worker takes groups by itself only where nothing is known of them that it has not got."""
    frontier = build("http://a.example/", workers=1)
    assert frontier.begin(0).alone
    taken = exchange(frontier, 0, wants=10).taken
    parcel = disturbed(Parcel("a.example", 1, b""), 1.0)
    frontier.hand_over(0, left(parcels=[parcel], taken=taken))
    assert not frontier.begin(0).alone
    orders = exchange(frontier, 0, wants=10, taken=taken)
    assert not frontier.begin(0).alone, "it may not have been read"
    exchange(frontier, 0, taken=orders.taken, settled=orders.taken)
    assert frontier.begin(0).alone


def test_check_out__of_large_parcels_is_in_parts(build: Build) -> None:
    """Loading takes time: a worker is given no more at once than it can take in between two signs of life."""
    names = [f"{letter}.example" for letter in "abcde"]
    frontier = build(*(f"http://{name}/" for name in names), workers=1)
    taken = exchange(frontier, 0, wants=10).taken
    frontier.hand_over(0, left(parcels=[Parcel(name, 1, bytes(1_500_000)) for name in names], taken=taken))
    orders = exchange(frontier, 0, wants=10, taken=taken)
    assert [message.groups for message in orders.messages] == [names[:3]]
    orders = exchange(frontier, 0, wants=10, taken=orders.taken)
    assert [message.groups for message in orders.messages] == [names[3:]]
