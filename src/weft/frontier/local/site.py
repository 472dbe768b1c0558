"""A site as the frontier has it in memory: what is remembered of it, and what it must fetch for others."""

from __future__ import annotations

import msgspec

from weft.fetch.cookies import Jar
from weft.frontier.durable.memory import SiteMemory, decoded
from weft.frontier.overrides import SiteSettings
from weft.model import SiteNumber, Turn
from weft.parse.robots import Robots
from weft.urls import host_of, registered_domain

_encode = msgspec.msgpack.Encoder().encode


class Site:
    """A site that is, was or will be visited by this worker."""

    __slots__ = (
        "address",
        "copies",
        "crawl_delay",
        "denied_at",
        "domain",
        "doorway",
        "errands",
        "failures",
        "families",
        "fetched",
        "held",
        "host",
        "jar",
        "name",
        "named",
        "network",
        "next_visit",
        "number",
        "robots",
        "robots_at",
        "second_chance",
        "sent",
        "set_aside",
        "settings",
        "share",
        "signs",
        "spent",
        "strikes",
        "tls",
        "took",
        "visited",
    )

    def __init__(self, number: SiteNumber, name: str, settings: SiteSettings) -> None:
        self.number = number
        self.name = name
        self.host = host_of(name)
        self.domain = registered_domain(name)
        self.settings = settings
        self.next_visit = 0.0  # monotonic
        self.took = 0.0  # the last download
        self.address = ""  # of the last visit
        self.network = ""  # in which it waits for a place
        self.named = False  # its name was asked for before the first visit
        self.denied_at = 0.0  # wall time when there was no such name
        self.crawl_delay: float | None = None  # as far as it is obeyed
        self.fetched = 0
        self.failures = 0  # visits in a row that did not reach it
        self.strikes = 0  # pages that harmed who read them
        self.copies = 0  # pages that are copies of others
        self.share = 0.0  # of these among the last hundred, about
        self.sent = 0  # bytes of contents
        self.spent = 0.0  # seconds of downloads
        self.families: dict[str, int] = {}  # of URLs: those in a row that came to nothing new
        self.doorway = False  # it looks as others of its domain, which has any name
        self.signs: Signs | None = None  # what its pages look like, once it has some
        self.held = False  # its robots.txt is being fetched from another site
        self.set_aside = False
        self.second_chance = False
        self.visited = False  # a visit is under way, or took place
        self.tls = ""  # the verdict on its certificate; "" before the first handshake
        self.robots: dict[str, Robots] = {}  # by scheme, as far as they are kept ready
        self.robots_at: dict[str, float] = {}  # by scheme: wall time when it was had
        self.jar = Jar()
        self.errands: list[Errand] = []

    def __repr__(self) -> str:
        return f"Site({self.number} {self.name}, {self.fetched} fetched, {self.failures} failures)"

    def memory(self, now: float, wall: float) -> bytes:
        """What must outlive a restart, beside cookies; it is now by the monotonic clock, and by the wall clock."""
        return _encode(
            SiteMemory(
                self.next_visit - now + wall,
                self.took,
                self.address,
                self.fetched,
                self.failures,
                self.strikes,
                self.set_aside,
                self.second_chance,
                self.tls,
                max(0.0, self.next_visit - now),
                {},
                self.denied_at,
                self.copies,
                self.share,
                self.families,
                self.doorway,
                self.sent,
                round(self.spent, 3),
                self.network,
            )
        )

    def new_cookies(self) -> bytes | None:
        """Its cookies, encoded, if they changed since they were asked for last."""
        if not self.jar.changed:
            return None
        self.jar.changed = False
        return _encode(self.jar.cookies)

    def remember(self, data: bytes, now: float, wall: float) -> None:
        """Take up where an earlier run left off."""
        memory = decoded(data)
        self.next_visit = now + memory.left(wall)
        self.took = memory.took
        self.visited = not (memory.network or memory.denied_at) or memory.address != ""
        self.denied_at = memory.denied_at
        self.address = memory.address
        self.fetched = memory.fetched
        self.failures = memory.failures
        self.strikes = memory.strikes
        self.copies, self.share = memory.copies, memory.share
        self.families, self.doorway = memory.families, memory.doorway
        self.sent, self.spent = memory.sent, memory.spent
        self.set_aside = memory.set_aside
        self.second_chance = memory.second_chance
        self.tls = memory.tls
        self.jar = Jar(memory.cookies)
        self.jar.changed = bool(memory.cookies)  # they may come from another worker's log


class Signs:
    """What the last pages of a site look like, and what it says of a URL that cannot exist. It is lost with the
    process, and found out again.
    """

    __slots__ = ("alike", "apology", "links", "shown", "size", "unsure")

    def __init__(self) -> None:
        self.links = self.size = -1  # of the last page
        self.alike = 0  # pages that looked as the one before, less those that did not
        self.unsure = ""  # a URL beside which one is to be asked for that cannot exist
        self.apology: frozenset[str] | None = None  # the words of what it says of such a one; empty: it says 404
        self.shown: tuple[Turn, frozenset[str]] | None = None  # a page to ask for as a browser would, and its words


class Errand(msgspec.Struct, frozen=True):
    """A robots.txt that lives on another site, to be fetched under that site's politeness."""

    url: str
    hops: int
    owner: str  # the site that it speaks for
    scheme: str
