"""How the loop has pages read: here, or apart where that may do harm. The network is a script."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.scripted import PlainNames

from weft.clock import VirtualClock
from weft.engine.asker import Asker
from weft.engine.drive import Ask
from weft.engine.gate import Gate, Identity
from weft.engine.loop import Loop
from weft.engine.marker import Marker
from weft.engine.progress import Progress
from weft.engine.wires import Wires
from weft.events import Bus, Event, Fault, Fetched
from weft.fetch.dns import Answer
from weft.fetch.transport import Connection, Request
from weft.frontier.local.frontier import LocalFrontier
from weft.frontier.local.parts import Terms
from weft.frontier.local.visit import Visit
from weft.frontier.overrides import Overrides, SiteSettings
from weft.frontier.politeness import Politeness
from weft.frontier.retries import Retries
from weft.frontier.scope import Selection
from weft.model import Page, Parsed, Reason, Turn
from weft.ordering.breadth_first import BreadthFirst
from weft.parse.options import Reading
from weft.parse.page import Parser
from weft.parse.tags import LargePage
from weft.store.store import Store
from weft.store.volumes import Storing
from weft.urls import UrlRules, fingerprint, site_of

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
POLITENESS = Politeness(wait=0.0, per_visit=10, margin=0.0)


def hostile(url: str) -> Parsed:
    """What is known of a page that cannot be read."""
    return Parsed("", "", "", "", url, [], [], follow=False, reason=Reason.HOSTILE)


class ScriptedNetwork(PlainNames):
    """Every name has an address, every page is there at once."""

    def __init__(self, pages: dict[str, bytes]) -> None:
        self._pages = pages

    def resolve(self, host: str) -> Ask[Answer]:
        """Always the same address."""
        del host
        return Ask(lambda done: done(Answer(("192.0.2.1",), None, 1e9)))

    def connect(self, visit: Visit, address: str, answered: Callable[[], None] | None) -> Connection:
        """Nothing is opened."""
        return Connection(visit.site.host, 80, address, verify=False, answered=answered)

    def fetch(self, connection: Connection, request: Request) -> Ask[Page | None]:
        """The page, or a 404."""
        del connection
        body = self._pages.get(request.url)
        headers = {"content-type": "text/html"}
        page = Page(
            request.url,
            404 if body is None else 200,
            None,
            b"GET / HTTP/1.1\r\n\r\n",
            HEAD,
            headers,
            body or b"",
            "",
            "192.0.2.1",
            "",
            1e9,
            1e9,
            0.1,
            closed=False,
        )
        return Ask(lambda done: done(page))

    def close(self, connection: Connection) -> None:
        """Nothing to close."""


class ScriptedApart:
    """Reads pages apart when it is told to."""

    def __init__(self) -> None:
        self.waiting: list[tuple[str, Callable[[Parsed], None]]] = []
        self.asked: list[str] = []

    def parse(self, page: Page, kind: int, done: Callable[[Parsed], None]) -> None:
        """Note what is to be read."""
        del kind
        self.asked.append(page.url)
        self.waiting.append((page.url, done))

    def answer(self, make: Callable[[str], Parsed]) -> None:
        """Answer everything that waits."""
        while self.waiting:
            url, done = self.waiting.pop(0)
            done(make(url))


class ScriptedParser(Parser):
    """The real parser, but for pages that a script names; it writes down what it was given, and what was marked."""

    def __init__(self, large: set[str], failing: set[str], marked: Callable[[], int]) -> None:
        super().__init__(Reading(), "weft")
        self._large = large
        self._failing = failing
        self._marked = marked
        self.read: list[tuple[str, int]] = []  # page, and what was marked meanwhile

    def parse(self, page: Page, kind: int) -> Parsed:
        """Read a page."""
        self.read.append((page.url, self._marked()))
        if page.url in self._large:
            raise LargePage
        if page.url in self._failing:
            raise RuntimeError("a fault")
        return super().parse(page, kind)


class Bench:
    """A loop over a scripted web."""

    def __init__(self, folder: Path, pages: dict[str, bytes], left: int, **script: set[str]) -> None:
        path = folder / "reading"
        path.write_bytes(left.to_bytes(8, "little"))
        self.marker = Marker(path)
        self.apart = ScriptedApart()
        self.parser = ScriptedParser(script.get("large", set()), script.get("failing", set()), self.marked)
        self._path = path
        self.clock = clock = VirtualClock(1000.0)
        self.frontier = LocalFrontier(
            Terms(
                ordering=BreadthFirst(),
                politeness=POLITENESS,
                selection=Selection(scope="all", robots="ignore", max_hostile=3),
                retries=Retries(),
                overrides=Overrides(),
                rules=UrlRules(),
                agent="weft",
                secret=bytes(16),
                capacity=1 << 14,
            ),
            path=folder / "frontier.log",
            clock=clock,
        )
        self.events: list[Event] = []
        bus = Bus()
        bus.subscribe(self.events.append)
        chance, nothing = random.Random(0), dict[str, str]()
        apart: Any = self.apart
        self.failures: list[BaseException] = []
        self.loop = Loop(
            Wires(
                clock=clock,
                network=ScriptedNetwork(pages),
                frontier=self.frontier,
                parser=self.parser,
                apart=apart,
                marker=self.marker,
                store=Store(folder, Storing(), info=nothing, chance=chance),
                asker=Asker("weft", self.frontier.scope.wanted, max_bytes=10**6, encodings=""),
                gate=Gate(Identity(contact="mailto:me@example.org", allow_address=("192.0.2.0/24",)), ()),
                bus=bus,
                progress=Progress(clock),
                politeness=POLITENESS,
                application=None,
                verify_tls=False,
            ),
            self.failures.append,
            lambda: None,
        )

    def marked(self) -> int:
        """What another process would find if this one died now."""
        return int.from_bytes(self._path.read_bytes()[:8], "little")

    def crawl(self, *seeds: str) -> None:
        """Begin with some seeds, and go as far as nothing must be waited for."""
        for seed in seeds:
            assert self.frontier.add_seed(seed) is None
        self.loop.pump()

    @property
    def outcomes(self) -> dict[str, Reason | None]:
        """What came of each page."""
        return {event.outcome.turn.url: event.outcome.reason for event in self.events if isinstance(event, Fetched)}

    @property
    def read(self) -> list[str]:
        """The pages that were read here, in order."""
        return [url for url, _ in self.parser.read]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    """Makes loops."""
    made: list[Bench] = []

    def build(pages: dict[str, bytes], left: str = "", **script: set[str]) -> Bench:
        made.append(Bench(tmp_path, pages, fingerprint(left) if left else 0, **script))
        return made[-1]

    yield build
    for each in made:
        each.loop.drop()
        each.marker.close()
        each.frontier.close()
        assert each.failures == []


A = "http://a.example/"
B = "http://b.example/"


def site(base: str, pages: int) -> dict[str, bytes]:
    """A home page that links to others, which link nowhere."""
    links = "".join(f"<a href=/{number}>" for number in range(1, pages))
    return {base: links.encode()} | {f"{base}{number}": b"%d" % number for number in range(1, pages)}


def test_lease__that_has_run_out_begins_no_visit(bench: Callable[..., Bench]) -> None:
    """Until it is renewed: others may hold by now what this worker thinks is its own."""
    crawl = bench(site(A, 3))
    crawl.loop.lease = crawl.clock.now()
    crawl.clock.advance(0.5)
    crawl.crawl(A)
    assert crawl.read == []
    crawl.loop.lease = crawl.clock.now() + 1.0
    crawl.loop.pump()
    assert crawl.read == [A, f"{A}1", f"{A}2"]


def test_visit__whose_first_turn_fails_inside_is_left(
    bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fault is told, and the site can be visited again: it does not stay busy for ever."""
    crawl = bench(site(A, 2))
    turn, faults = crawl.frontier.turn, [RuntimeError("a fault")]

    def fails_once(visit: Visit) -> Turn | None:
        if faults:
            raise faults.pop()
        return turn(visit)

    monkeypatch.setattr(crawl.frontier, "turn", fails_once)
    crawl.crawl(A)
    assert [str(failure) for failure in crawl.failures] == ["a fault"]
    crawl.failures.clear()
    crawl.loop.pump()
    assert crawl.read == [A, f"{A}1"]
    assert crawl.frontier.schedule.busy == 0


def test_page__is_marked_while_it_is_read(bench: Callable[..., Bench]) -> None:
    """Each with its id, for as long as it is read and no longer; the next process would find it."""
    crawl = bench(site(A, 4))
    crawl.crawl(A)
    assert crawl.read == [A, f"{A}1", f"{A}2", f"{A}3"]
    assert [mark for _, mark in crawl.parser.read] == [fingerprint(url) for url in crawl.read]
    assert crawl.marked() == 0
    assert crawl.apart.asked == []


def test_page__that_was_being_read_when_a_worker_died_is_read_apart(bench: Callable[..., Bench]) -> None:
    """It is not read here, nor marked; what comes back is taken as if it were. All others are read here."""
    crawl = bench(site(A, 4), left=f"{A}2")
    crawl.crawl(A)
    assert crawl.apart.asked == []  # not before what was done until then is on disk
    crawl.frontier.commits.commit(marks={})
    assert crawl.apart.asked == [f"{A}2"]
    assert crawl.marked() == 0
    assert f"{A}2" not in crawl.outcomes
    crawl.apart.answer(
        lambda url: Parsed("text/html", "utf-8", "", "T", url, [("/found", 1)], [], follow=True, reason=None)
    )
    assert f"{A}2" not in crawl.read
    assert list(crawl.marker.suspects) == [fingerprint(f"{A}2")]
    crawl.frontier.commits.commit(marks={})
    assert list(crawl.marker.suspects) == []
    assert crawl.outcomes == {A: None, f"{A}1": None, f"{A}2": None, f"{A}3": None, f"{A}found": Reason.STATUS_4XX}
    assert crawl.frontier.schedule.done


def test_page__that_is_large_is_read_apart_while_others_go_on(bench: Callable[..., Bench]) -> None:
    """Its visit waits for it, others do not; meanwhile nothing is marked, since nothing is read here."""
    crawl = bench(site(A, 3) | site(B, 3), large={A})
    crawl.crawl(A, B)
    assert crawl.apart.asked == [A]
    assert crawl.outcomes == dict.fromkeys((B, f"{B}1", f"{B}2"))
    assert crawl.loop.active == 1
    assert crawl.marked() == 0
    crawl.apart.answer(lambda url: Parser(Reading(), "weft").parse(page_of(url, site(A, 3)[A]), 0))
    assert set(crawl.outcomes) == {A, f"{A}1", f"{A}2", B, f"{B}1", f"{B}2"}
    assert set(crawl.outcomes.values()) == {None}
    assert crawl.loop.active == 0


def test_links__that_are_many_are_followed_bit_by_bit_and_all(bench: Callable[..., Bench]) -> None:
    """In their order, those that ask not to be followed among them; others have their turn in between."""
    many = "".join(f"<a href=/{number}>" for number in range(1500)) + "<a rel=nofollow href=/n>" * 3
    crawl = bench({A: many.encode()})
    crawl.frontier.sites[crawl.frontier.sites.number(site_of(A))].settings = SiteSettings(robots="obey")
    crawl.crawl(A)
    outcomes = [event.outcome for event in crawl.events if isinstance(event, Fetched)]
    followed = [outcome.turn.url for outcome in outcomes if outcome.turn.page >= 0]
    assert followed == [A, *(f"{A}{number}" for number in range(1500))]
    assert crawl.frontier.discovery.refused[Reason.NOFOLLOW] == 1
    assert crawl.loop.active == 0


def page_of(url: str, body: bytes) -> Page:
    """A page as it came."""
    return Page(url, 200, None, b"", HEAD, {"content-type": "text/html"}, body, "", "", "", 0, 0, 0, closed=False)


def test_page__on_which_reading_fails_is_that_pages_reason(bench: Callable[..., Bench]) -> None:
    """It is reported, is not marked any more, and does no harm to its site."""
    crawl = bench(site(A, 6), failing={f"{A}{number}" for number in range(1, 5)})
    crawl.crawl(A)
    assert [crawl.outcomes[f"{A}{number}"] for number in range(1, 6)] == [Reason.INTERNAL] * 4 + [None]
    assert sum(isinstance(event, Fault) for event in crawl.events) == 4
    assert crawl.marked() == 0


@pytest.mark.parametrize("harmful", [2, 3, 5])
def test_site__with_three_hostile_pages_is_left_alone(bench: Callable[..., Bench], harmful: int) -> None:
    """Its other pages are refused, and those of other sites are not; two are not enough."""
    bad = {f"{A}{number}" for number in range(1, harmful + 1)}
    crawl = bench(site(A, 9) | site(B, 4), large=bad)
    crawl.crawl(A, B)
    crawl.apart.answer(hostile)
    assert sorted(crawl.apart.asked) == sorted(bad)[: min(harmful, 3)]
    reasons = [reason for url, reason in crawl.outcomes.items() if url.startswith(A)]
    assert reasons.count(Reason.HOSTILE) == min(harmful, 3)
    assert crawl.frontier.discovery.refused[Reason.SITE_HOSTILE] == (0 if harmful < 3 else 9 - 4)
    assert len(reasons) == (9 if harmful < 3 else 4)
    assert {url for url, reason in crawl.outcomes.items() if reason is None} >= set(site(B, 4))
    assert crawl.frontier.schedule.done


def test_site__keeps_its_hostile_pages_in_mind_across_a_restart(bench: Callable[..., Bench]) -> None:
    """What is found there later is refused, too."""
    crawl = bench(site(A, 9), large={f"{A}{number}" for number in range(1, 9)})
    crawl.crawl(A)
    crawl.apart.answer(hostile)
    assert crawl.frontier.discovery.refused[Reason.SITE_HOSTILE] == 5
    crawl.frontier.commits.commit(marks={}, clean=True)
    again = bench({f"{A}late": b"late", B: b"other"})
    again.frontier.commits.recover()
    again.crawl(f"{A}late", B)
    assert again.outcomes == {B: None}
    assert again.frontier.discovery.refused[Reason.SITE_HOSTILE] == 1


def test_page__that_is_read_apart_when_the_crawl_stops_stays_pending(bench: Callable[..., Bench]) -> None:
    """Nothing is written down of it, and an answer that comes too late changes nothing."""
    crawl = bench({A: b"x"}, large={A})
    crawl.crawl(A)
    crawl.loop.drop()
    crawl.apart.answer(hostile)
    assert crawl.outcomes == {}
    crawl.frontier.commits.commit(marks={}, clean=True)
    again = bench({A: b"x"})
    again.frontier.commits.recover()
    again.crawl()
    assert again.outcomes == {A: None}
