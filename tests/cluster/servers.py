"""The web's side of the wire. In: connections and requests. Out: answers; and every rule of politeness that was broken,
by the servers' own clock.

What a server may expect: one connection to a site at a time, whoever opens it; its wait between the end of one and the
next, a longer one where its robots.txt asks for that and is known, or it asked to be left alone; places and gaps at an
address and in a domain, in a network where the crawl has such limits; no request behind a lease, and none that
robots.txt forbids.

What a worker knew, and had not on disk when it died, nobody can be expected to know: its wait then is the plain one. A
pause is kept by the time of day as machines believe it, so one whose clock is ahead ends it early; by no more than
that.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

from tests.cluster.clock import Time
from tests.cluster.web import WAIT, Page, Site, Web

from weft.fetch.dns import Answer
from weft.fetch.transport import Connection, Request
from weft.frontier.politeness import Politeness
from weft.model import Page as Answered
from weft.model import Reason

if TYPE_CHECKING:
    from tests.cluster.process import Process

PLACES = 2  # connections at once to an address, and to a domain
PAUSE = 4  # seconds that a site asks to be left alone for
_EPS = 1e-6


@dataclass(slots=True)
class Link:
    """A connection as a server sees it."""

    site: Site
    process: Process
    opened: float
    requests: int = 0


@dataclass(slots=True)
class Pause:
    """A site asked to be left alone."""

    until: float
    wall: float  # the same on the clock of the machine that was asked
    asked: float
    by: Process


@dataclass(slots=True)
class Known:
    """What a server remembers of its visitors."""

    closed: float = -1e9  # when the last connection ended
    delay_since: float | None = None  # when a crawler learned of its crawl-delay, by which it waits since
    delay_by: Process | None = None
    pause: Pause | None = None


class Servers:
    """All sites of a web."""

    def __init__(
        self,
        web: Web,
        time: Time,
        chance: random.Random,
        politeness: Politeness,
        trace: Callable[[str], None],
        broken: Callable[[str], None],
    ) -> None:
        self.web = web
        self._politeness = politeness
        self._time = time
        self._chance = chance
        self._trace = trace
        self._broken = broken
        self.open: dict[str, Link] = {}
        self._known = {name: Known() for name in web.sites}
        self._opened: dict[str, float] = {}  # by address or domain: when a connection was opened last
        self._asked: dict[str, int] = {}  # by URL: how often
        self.requests = 0

    def __repr__(self) -> str:
        return f"Servers({self.requests} requests, {len(self.open)} open)"

    # What is expected of visitors.

    def connect(self, process: Process, site: Site) -> Link:
        """Somebody opens a connection."""
        now, known = self._time.now, self._known[site.name]
        other = self.open.get(site.name)
        if other is not None:
            self._broken(f"two connections to {site.name}: {other.process} and {process}")
        for what, due in self._due(process, site, known).items():
            if now < due - _EPS:
                self._broken(f"{process} visits {site.name} {due - now:.3f} s too early: {what}")
        for place, mine, most, least in self._limits(site):
            held = [link for link in self.open.values() if mine(link.site) == mine(site)]
            if len(held) >= most:
                self._broken(f"{process} is the {len(held) + 1}th at once at {place}")
            gap = now - self._opened.get(place, -1e9)
            if gap < least - _EPS:
                self._broken(f"{process} opens a connection at {place} {gap:.3f} s behind another")
            self._opened[place] = now
        self._trace(f"{process} opens {site.name}")
        link = self.open[site.name] = Link(site, process, now)
        return link

    def _limits(self, site: Site) -> Iterator[tuple[str, Callable[[Site], str], float, float]]:
        """Where a site shares limits with others: the place, who is there, how many at once, the least gap."""
        yield f"address {site.address}", attrgetter("address"), PLACES, WAIT / 4
        yield f"domain {site.group}", attrgetter("group"), PLACES, WAIT / 4
        yield (
            f"network {network_in(site)}",
            network_in,
            self._politeness.per_network or math.inf,
            self._politeness.network_gap,
        )

    def _due(self, process: Process, site: Site, known: Known) -> dict[str, float]:
        """Until when a site is to be left alone, and why."""
        wait = max(WAIT, site.delay) if known.delay_since is not None else WAIT
        due = {"its wait" if wait == WAIT else "its crawl-delay": known.closed + wait}
        if known.pause is not None:
            pause = known.pause
            until = pause.until
            if pause.by is not process:
                until = min(until, pause.wall - process.machine.clock.most_offset)
            due["its Retry-After"] = until
        return due

    def disconnect(self, link: Link, how: str) -> None:
        """A connection has ended."""
        if self.open.get(link.site.name) is link:
            del self.open[link.site.name]
            self._known[link.site.name].closed = self._time.now
            self._trace(f"{link.process} {how} {link.site.name}")

    def died(self, process: Process, durable: float, *, pauses: bool) -> None:
        """A process is gone, and knew nothing any more that came later than `durable`; of pauses, where they count."""
        for link in [link for link in self.open.values() if link.process is process]:
            self.disconnect(link, "drops")
        for known in self._known.values():
            if known.delay_by is process and known.delay_since is not None and known.delay_since > durable:
                known.delay_since = known.delay_by = None
            if pauses and known.pause is not None and known.pause.by is process and known.pause.asked > durable:
                known.pause = None

    # What they answer.

    def ask(self, link: Link, url: str) -> tuple[float, Answered]:
        """A request: how long the answer takes, and the answer."""
        site, process = link.site, link.process
        self.requests += 1
        link.requests += 1
        self._trace(f"{process} asks {url}")
        late = self._time.now - process.lease_ends
        if late > _EPS:
            self._broken(f"{process} asks for {url} {late:.3f} s behind its lease")
        if url.endswith("/robots.txt"):
            return self._chance.uniform(0.01, 0.2), self._robots(site, url)
        page = self.web.pages[url]
        if site.forbids and "/private/" in url:
            self._broken(f"{process} asks for {url}, which robots.txt forbids")
        self._asked[url] = self._asked.get(url, 0) + 1
        return page.takes * self._chance.uniform(0.8, 1.2), self._answer(page, self._asked[url], link)

    def heard(self, link: Link, answer: Answered) -> None:
        """An answer has come to whoever asked."""
        known, now = self._known[link.site.name], self._time.now
        if (
            answer.url.endswith("/robots.txt")
            and answer.status == 200
            and link.site.delay
            and known.delay_since is None
        ):
            known.delay_since, known.delay_by = now, link.process
        if "retry-after" in answer.headers:
            wall = now + PAUSE + link.process.machine.clock.offset
            known.pause = Pause(now + PAUSE, wall, now, link.process)
            link.process.said("paused", None)

    def _robots(self, site: Site, url: str) -> Answered:
        if site.robots_at:
            return self._say(url, 301, location=f"http://{site.robots_at}/robots.txt")
        lines = ["User-agent: *"]
        if site.delay:
            lines.append(f"Crawl-delay: {site.delay}")
        if site.forbids:
            lines.append("Disallow: /private/")
        return self._say(url, 200, "\n".join(lines)) if len(lines) > 1 else self._say(url, 404)

    def _answer(self, page: Page, times: int, link: Link) -> Answered:
        closes = page.closes
        if times <= page.failures:
            if page.failure == "reset":
                return self._nothing(page.url, Reason.NO_ANSWER, link.site.address)
            if page.failure == "pause":
                return self._say(page.url, 503, "later", retry_after=str(PAUSE))
            return self._say(page.url, 503, "no")
        if page.status == 301:
            return self._say(page.url, 301, location=page.location)
        return self._say(page.url, page.status, page.url, connection="close" if closes else "keep-alive")

    def _say(self, url: str, status: int, body: str = "", **headers: str) -> Answered:
        named = {"content-type": "text/html"} | {name.replace("_", "-"): value for name, value in headers.items()}
        lines = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in named.items()), "", ""]
        head = "\r\n".join(lines).encode()
        now = self._time.now
        return Answered(url, status, None, b"GET", head, named, body.encode(), "", "", "", now, now, 0.1, closed=False)

    def _nothing(self, url: str, reason: Reason, address: str) -> Answered:
        now = self._time.now
        return Answered(url, 0, reason, b"GET", b"", {}, b"", "", address, "", now, now, 0.1, closed=True)

    def refused(self, url: str, address: str) -> Answered:
        """Nobody is there."""
        return self._nothing(url, Reason.CONNECT_REFUSED, address)


def network_in(site: Site) -> str:
    """The network that the address of a site lies in."""
    return site.address.rpartition(".")[0]


class ScriptedTransport:
    """What one process sends to the servers."""

    def __init__(self, servers: Servers, process: Process, chance: random.Random) -> None:
        self._servers = servers
        self._process = process
        self._chance = chance
        self._links: dict[Connection, Link] = {}

    def fetch(self, connection: Connection, request: Request, done: Callable[[Answered | None], None]) -> None:
        """Ask, and call `done` when the answer has come."""
        servers, later = self._servers, self._process.lane.call_later
        site = servers.web.sites[connection.host]
        if site.dead:
            later(0.05, done, servers.refused(request.url, site.address))
            return
        link = self._links.get(connection)
        if link is None:
            link = self._links[connection] = servers.connect(self._process, site)
        elif self._chance.random() < 0.03:  # a kept connection was dead by then
            later(0.001, done, None)
            return
        takes, answer = servers.ask(link, request.url)

        def come() -> None:
            if connection.answered is not None:
                connection.answered()
                connection.answered = None
            servers.heard(link, answer)
            done(answer)

        later(takes, come)

    def close(self, connection: Connection) -> None:
        """The visit is over."""
        connection.closed = True
        link = self._links.pop(connection, None)
        if link is not None and not self._process.gone:
            self._servers.disconnect(link, "leaves")


class ScriptedNames:
    """Names and their addresses."""

    def __init__(self, web: Web, process: Process, chance: random.Random) -> None:
        self._web = web
        self._process = process
        self._chance = chance

    def resolve(self, host: str, done: Callable[[Answer], None]) -> None:
        """Each has one, or does not exist."""
        site = self._web.sites[host]
        answer = Answer((site.address,), None, 1e12)
        if site.nameless:
            answer = Answer((), Reason.DNS_NOT_FOUND, 0.0, unregistered=True)
        if self._chance.random() < 0.5:
            done(answer)
        else:
            self._process.lane.call_later(self._chance.uniform(0.0, 0.05), done, answer)

    def another(self, _host: str, _address: str, _allowed: Callable[[str], bool], done: Callable[[bool], None]) -> None:
        """And no other."""
        done(False)

    def silent(self, done: Callable[[str], None]) -> None:
        """Name servers answer."""
        done("")

    def is_wildcard(self, _domain: str, _chance: random.Random, done: Callable[[bool], None]) -> None:
        """No domain has any name."""
        done(False)

    def denials_hold(self, done: Callable[[bool], None]) -> None:
        """What is said of names is true; now and then nobody can say so."""
        done(self._chance.random() < 0.8)

    def mistrust(self, _host: str) -> None:
        """Nothing is kept."""

    def forget_failures(self) -> None:
        """Nothing is kept."""
