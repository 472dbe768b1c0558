"""Outages of our own on a virtual clock: a web of small sites, a network that fails as it is told to, and a worker's
loop with its global frontier. Minutes take milliseconds.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
from tests.scripted import PlainNames

from weft.clock import VirtualClock
from weft.engine.asker import Asker
from weft.engine.drive import Ask
from weft.engine.gate import Gate, Identity
from weft.engine.loop import Loop
from weft.engine.marker import Marker
from weft.engine.progress import Progress
from weft.engine.wires import Wires
from weft.events import Bus, Event, Fetched, OutageBegan, OutageEnded
from weft.fetch.denials import Denials
from weft.fetch.dns import Answer
from weft.fetch.transport import Connection, Request
from weft.frontier.local.frontier import LocalFrontier
from weft.frontier.local.parts import Terms
from weft.frontier.local.visit import Visit
from weft.frontier.overrides import Overrides
from weft.frontier.politeness import Politeness
from weft.frontier.retries import Retries
from weft.frontier.scope import Selection
from weft.frontier.shared.contract import Limits
from weft.frontier.shared.opening import create_frontier, open_frontier
from weft.model import Kind, Page, Reason
from weft.ordering.breadth_first import BreadthFirst
from weft.parse.options import Reading
from weft.parse.page import Parser
from weft.store.store import Store
from weft.store.volumes import Storing
from weft.urls import UrlRules

Pages = dict[str, list[str]]  # by page: what it links to
Names = dict[str, str]  # by host: its address

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
BEGAN = 1000.0  # a crawl, on the virtual clock; times of outages are from then on
TOOK = 0.3  # seconds for a page
EVERY = 15.0  # seconds between two commits


class Fails:
    """How a network fails: what resolving comes to, then connecting; each with the seconds it takes to show."""

    resolving: tuple[Reason, float] | None = None
    connecting: tuple[Reason, float] | None = None
    lie = ""  # the address of every name
    ours = ""  # what our own side knows


class NoRoute(Fails):
    """The machine's own network is gone, and the system says so at once."""

    resolving, connecting = (Reason.DNS_FAILED, 0.0), (Reason.CONNECT_FAILED, 0.0)
    ours = "no network"


class NoNameServer(Fails):
    """Servers are there, but no name server; names that were resolved before are forgotten."""

    resolving = (Reason.DNS_FAILED, 15.0)
    ours = "no name server"


class Silence(Fails):
    """Somewhere behind our router all packets are lost; names come from a cache."""

    connecting = (Reason.CONNECT_TIMEOUT, 20.0)


class NoNames(Fails):
    """A name server that says of every name that it does not exist."""

    resolving = (Reason.DNS_NOT_FOUND, 0.05)


class Rejects(Fails):
    """A firewall of ours refuses every connection in the name of the server."""

    connecting = (Reason.CONNECT_REFUSED, 0.01)


class Lies(Fails):
    """A name server gives one and the same private address for every name, as captive portals do."""

    lie = "10.0.0.1"


ALL = (NoRoute, NoNameServer, Silence, NoNames, Rejects, Lies)


def web(sites: int, pages: int, *, first: int = 0) -> Pages:
    """Sites of so many pages each, at addresses of their own; each page links to the next of its site."""
    made: Pages = {}
    for site in range(first, first + sites):
        for page in range(pages):
            following = [url(site, page + 1)] if page + 1 < pages else []
            made[url(site, page)] = following
    return made


def url(site: int, page: int = 0) -> str:
    """The URL of a page."""
    return f"http://s{site}.example/{page or ''}"


def host(site: int) -> str:
    """The host of a site."""
    return f"s{site}.example"


def address_of(host: str) -> str:
    """Every site has an address of its own."""
    number = int(host.partition(".")[0][1:])
    return f"198.18.{number // 250}.{number % 250 + 1}"


class FailingNetwork(PlainNames):
    """Answers for all pages of a web, when it does not fail; some sites are dead for good."""

    def __init__(self, clock: VirtualClock, pages: Pages, outages: list[tuple[float, float, type[Fails]]]) -> None:
        self._clock = clock
        self._pages = pages
        self._outages = outages
        self._numbers = count()
        self.dead: dict[str, type[Fails]] = {}  # by host
        self.later: list[tuple[float, int, Callable[[], None]]] = []
        self.asked: list[tuple[float, str]] = []  # connections that were tried: when, to whom
        self._found: set[str] = set()  # hosts
        self.questions: Counter[str] = Counter()  # by host, to the name servers
        self.keeps_names = False  # a name that was found is not asked for again
        self._denials = Denials(self._exists, now=clock.now, later=self._after)

    def failing(self, host: str) -> type[Fails] | None:
        """What is wrong at the moment."""
        now = self._clock.now() - BEGAN
        for begin, end, fails in self._outages:
            if begin <= now < end:
                return fails
        return self.dead.get(host)

    def _after(self, seconds: float, then: Callable[[], None]) -> None:
        heapq.heappush(self.later, (self._clock.now() + seconds, next(self._numbers), then))

    def resolve(self, host: str) -> Ask[Answer]:
        """An address from the host's number, or a failure."""

        def start(done: Callable[[Answer], None]) -> None:
            if self.keeps_names and host in self._found:
                done(Answer((address_of(host),), None, 0.0))
                return
            self.questions[host] += 1
            fails = self.failing(host)
            if fails is not None and fails.lie:
                done(Answer((fails.lie,), None, 0.0))
            elif fails is not None and fails.resolving is not None:
                reason, seconds = fails.resolving
                denied = reason is Reason.DNS_NOT_FOUND
                self._after(seconds, lambda: done(Answer((), reason, 0.0, fails.ours, unregistered=denied)))
            else:
                self._found.add(host)
                self._denials.exists(host)
                done(Answer((address_of(host),), None, 0.0))

        return Ask(start)

    def _exists(self, host: str, done: Callable[[bool], None]) -> None:
        """Past what is kept: has a name an address?"""
        self.questions[host] += 1
        fails = self.failing(host)
        self._after(0.05, lambda: done(fails is None or fails.resolving is None))

    def denials_hold(self) -> Ask[bool]:
        """Can a denial be believed?"""
        return Ask(self._denials.true)

    def connect(self, visit: Visit, address: str, answered: Callable[[], None] | None) -> Connection:
        """Nothing is opened."""
        return Connection(visit.site.host, 80, address, verify=False, answered=answered)

    def fetch(self, connection: Connection, request: Request) -> Ask[Page | None]:
        """The page, later; or what the failure comes to."""

        def start(done: Callable[[Page | None], None]) -> None:
            self.asked.append((self._clock.now(), connection.host))
            fails = self.failing(connection.host)
            seconds = TOOK
            if fails is not None:
                seconds = 0.0 if fails.connecting is None else fails.connecting[1]
            self._after(seconds, lambda: done(self._page(connection, request, fails)))

        return Ask(start)

    def _page(self, connection: Connection, request: Request, fails: type[Fails] | None) -> Page:
        now = self._clock.now()
        if fails is None:
            fails = self.failing(connection.host)  # it went while the answer was under way
        if fails is not None and fails.connecting is not None:
            reason, seconds = fails.connecting
            return _made(request.url, 0, reason, b"", connection, now, seconds, fails.ours)
        links = self._pages.get(request.url)
        body = b"" if links is None else "".join(f'<a href="{link}">x</a>' for link in links).encode()
        return _made(request.url, 404 if links is None else 200, None, body, connection, now, TOOK, "")

    def close(self, connection: Connection) -> None:
        """Nothing to close."""


def _made(
    url: str, status: int, reason: Reason | None, body: bytes, at: Connection, now: float, took: float, ours: str
) -> Page:
    head = HEAD if status else b""
    headers = {"content-type": "text/html"} if status else {}
    return Page(
        url,
        status,
        reason,
        b"GET",
        head,
        headers,
        body,
        "",
        at.address,
        "",
        now,
        now,
        took,
        closed=not status,
        ours=ours,
    )


class Crawl:
    """One worker and its global frontier, on a virtual clock. It can be killed, and go on from its log."""

    def __init__(
        self,
        folder: Path,
        pages: Pages,
        outages: list[tuple[float, float, type[Fails]]] | None = None,
        *,
        seeds: list[str] | None = None,
        retries: Retries | None = None,
    ) -> None:
        self.clock = VirtualClock(BEGAN)
        self.pages = pages
        self._retries = retries or Retries()
        self.network = FailingNetwork(self.clock, pages, outages or [])
        self.events: list[tuple[float, Event]] = []
        self.failures: list[BaseException] = []
        self.over = ""
        self._folder = folder
        self._crawls = count()
        create_frontier(folder, by_size=False, seeds=seeds or [page for page in pages if page.endswith("/")])
        self.start()

    def start(self) -> None:
        """Begin, or go on from what is on disk."""
        clock = self.clock
        self.shared = open_frontier(self._folder, clock)
        self.shared.prepare(1, Limits(max_pages=None))
        politeness = Politeness()
        self.frontier = LocalFrontier(
            Terms(
                ordering=BreadthFirst(),
                politeness=politeness,
                selection=Selection(scope="all", max_depth=1000, max_depth_dynamic=1000),
                retries=self._retries,
                overrides=Overrides(),
                rules=UrlRules(),
                agent="weft",
                secret=bytes(16),
                capacity=1 << 14,
            ),
            path=self._folder / "frontier.log",
            clock=clock,
        )
        self.frontier.commits.recover(self.shared.begin(0))
        bus = Bus()
        bus.subscribe(lambda event: self.events.append((clock.now(), event)))
        progress = Progress(clock)
        bus.subscribe(progress.on_event)
        self.counts = progress.counts
        apart: Any = None
        outputs = self._folder / f"run{next(self._crawls)}"
        outputs.mkdir()
        self.marker = Marker(outputs / "reading")
        self.wires = Wires(
            clock=clock,
            network=self.network,
            frontier=self.frontier,
            parser=Parser(Reading(), "weft"),
            apart=apart,
            marker=self.marker,
            store=Store(outputs, Storing(), info={}, chance=random.Random(0)),
            asker=Asker("weft", self.frontier.scope.wanted, max_bytes=10**6, encodings=""),
            gate=Gate(Identity(contact="mailto:me@example.org", allow_address=("198.18.0.0/15",)), ()),
            bus=bus,
            progress=progress,
            politeness=politeness,
            application=None,
            verify_tls=False,
        )
        self.loop = Loop(self.wires, self.failures.append, lambda: None)

    def kill(self) -> None:
        """What was not committed is gone; another process goes on."""
        self.loop.drop()
        self.network.later.clear()
        self.frontier.close()
        self.marker.close()
        self.shared.close()
        self.start()

    def run(self, until: float) -> None:
        """Crawl until it is over, or so many seconds after the beginning."""
        clock, network = self.clock, self.network
        commit_at = clock.now()
        while not self.over and clock.now() < BEGAN + until:
            if clock.now() >= commit_at:
                commit_at = clock.now() + EVERY
                self._exchange()
            instants = [commit_at]
            if network.later:
                instants.append(network.later[0][0])
            if (opens := self.loop.next_event()) is not None:
                instants.append(max(opens, clock.now() + 0.01))
            clock.move_to(max(clock.now(), min(instants)))
            while network.later and network.later[0][0] <= clock.now():
                heapq.heappop(network.later)[2]()
            self.loop.pump()
        assert self.failures == []

    def close(self) -> None:
        """Give files back."""
        self.frontier.close()
        self.marker.close()
        self.shared.close()

    def _exchange(self) -> None:
        frontier = self.frontier
        frontier.commits.commit(marks={})
        report = frontier.exchanges.report(0, wants=frontier.exchanges.wants)
        report = msgspec.structs.replace(report, idle=report.idle and self.loop.idle)
        orders = self.shared.exchange(report)
        frontier.exchanges.obey(orders)
        self.over = orders.over
        self.loop.pump()

    # What came of it.

    def fetched(self) -> Counter[str]:
        """How often each page was had."""
        return Counter(event.outcome.turn.url for event in self._finals() if event.outcome.reason is None)

    def given_up(self) -> Counter[str]:
        """How often a page came to which end without an answer."""
        return Counter(str(event.outcome.reason) for event in self._finals() if event.outcome.reason is not None)

    def pages_given_up(self) -> int:
        """Pages that were not had: each by itself, or with its site."""
        return sum(self.given_up().values()) + self.frontier.discovery.refusals().get("site-failed", 0)

    def _finals(self) -> list[Fetched]:
        kinds = (event for _, event in self.events if isinstance(event, Fetched))
        return [event for event in kinds if event.outcome.final and event.outcome.turn.kind != Kind.ROBOTS]

    def rows(self, of: str) -> int:
        """Rows whose URLs have this in them."""
        fetched = (event for _, event in self.events if isinstance(event, Fetched))
        return sum(of in event.outcome.turn.url for event in fetched)

    def told(self) -> list[tuple[float, str]]:
        """When an outage began, with its cause, and when it ended."""
        return [
            (at - BEGAN, event.cause if isinstance(event, OutageBegan) else "over")
            for at, event in self.events
            if isinstance(event, OutageBegan | OutageEnded)
        ]

    def tried(self) -> list[tuple[float, str]]:
        """Connections that were tried: when, from the beginning on, and to whom."""
        return [(at - BEGAN, name) for at, name in self.network.asked]

    def answers(self) -> list[float]:
        """When somebody answered, from the beginning on."""
        fetched = ((at, event) for at, event in self.events if isinstance(event, Fetched))
        return [at - BEGAN for at, event in fetched if event.outcome.page.status]

    def blamed(self) -> list[str]:
        """Sites that something is counted against."""
        sites = [self.frontier.sites[number] for number in self.frontier.sites.numbers.values()]
        return [site.name for site in sites if site.failures or site.set_aside or site.second_chance]
