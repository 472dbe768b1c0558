"""What the frontier remembers of a site it has visited, and what of that outlives a restart."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import msgspec

from weft.fetch.cookies import Cookie, Jar
from weft.fetch.headers import check_headers, headers_complaint
from weft.parse.robots import Robots
from weft.settings import setting
from weft.urls import host_of, registered_domain

_encode = msgspec.msgpack.Encoder().encode
MOST_SITE_PAGES = 2**31 - 1  # that URL-seen can count


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteSettings:
    """What can be set for one site, or for all under a domain, in the settings file."""

    wait: float | None = setting(None, "seconds between visits, fixed", at_least=0, unit="seconds")
    per_visit: int | None = setting(None, "pages fetched on one connection", at_least=1)
    max_pages: int | None = setting(None, "pages of this site", at_least=1, at_most=MOST_SITE_PAGES)
    max_depth: int | None = setting(None, "links away from a seed, in place of the crawl's max_depth", at_least=0)
    robots: Literal["obey", "ignore"] | None = setting(
        None, "what to do about robots.txt, robots meta tags and nofollow"
    )
    headers: dict[str, str] | None = setting(
        None,
        "further headers of every request to it; a value env:NAME is taken from the environment",
        check=headers_complaint,
    )

    def __post_init__(self) -> None:
        check_headers(self.headers)


PLAIN = SiteSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """The settings of single sites: by name, or by `*.domain` for all below a domain."""

    sites: dict[str, SiteSettings] = field(default_factory=dict)

    def of(self, site: str) -> SiteSettings:
        """The most specific settings for a site.

        >>> Overrides(sites={"*.org": SiteSettings(wait=1.0)}).of("www.example.org").wait
        1.0
        """
        found = self.sites.get(site)
        rest = site
        while found is None and rest:
            found = self.sites.get(f"*.{rest}")
            rest = rest.partition(".")[2]
        return found or PLAIN


class RobotsRecord(msgspec.Struct, array_like=True):
    """A robots.txt as it was had: when, and what it said; `body` is None where there is none, and all is allowed."""

    fetched_at: float  # wall time
    body: bytes | None
    delay: float = 0.0  # the crawl-delay that it asks of
    agent: str = ""  # the one with this product token; "": nobody looked


_COMPRESSED = b"\x28\xb5\x2f\xfd"  # how what zstd made begins; a record begins otherwise
_SMALL = 1024  # bytes of a record that is kept as it is
_record = msgspec.msgpack.Decoder(RobotsRecord).decode


def packed_robots(record: RobotsRecord) -> bytes:
    """A robots.txt as it is written down: compressed where it is large.

    >>> len(packed_robots(RobotsRecord(0.0, b"Disallow: /a " * 40_000))) < 100
    True
    """
    data = _encode(record)
    if len(data) < _SMALL:
        return data
    import zstandard  # who only reads settings needs it not

    return zstandard.ZstdCompressor(level=3).compress(data)


def unpacked_robots(data: bytes) -> RobotsRecord:
    """A robots.txt that was written down."""
    if data.startswith(_COMPRESSED):
        import zstandard

        data = zstandard.ZstdDecompressor().decompress(data)
    return _record(data)


class SiteMemory(msgspec.Struct, array_like=True):
    """What is kept of a site across a restart."""

    next_visit: float  # wall time before which it is left alone
    took: float  # its last download
    address: str  # where it was visited last
    fetched: int  # pages fetched so far
    failures: int  # visits in a row that failed
    strikes: int  # pages that harmed who read them
    set_aside: bool
    second_chance: bool
    tls: str
    cookies: dict[str, Cookie]  # none where a commit has them for themselves, because they changed


_decode = msgspec.msgpack.Decoder(SiteMemory).decode
_decode_jar = msgspec.msgpack.Decoder(dict[str, Cookie]).decode


def with_cookies(memory: bytes, cookies: bytes) -> bytes:
    """What is kept of a site, with its cookies; all of them encoded."""
    return _encode(msgspec.structs.replace(_decode(memory), cookies=_decode_jar(cookies)))


class Site:
    """A site that is, was or will be visited by this worker."""

    __slots__ = (
        "address",
        "crawl_delay",
        "domain",
        "errands",
        "failures",
        "fetched",
        "held",
        "host",
        "jar",
        "name",
        "next_visit",
        "number",
        "robots",
        "robots_at",
        "second_chance",
        "set_aside",
        "settings",
        "strikes",
        "tls",
        "took",
        "visited",
    )

    def __init__(self, number: int, name: str, settings: SiteSettings) -> None:
        self.number = number
        self.name = name
        self.host = host_of(name)
        self.domain = registered_domain(name)
        self.settings = settings
        self.next_visit = 0.0  # monotonic
        self.took = 0.0  # the last download
        self.address = ""  # of the last visit
        self.crawl_delay: float | None = None  # as far as it is obeyed
        self.fetched = 0
        self.failures = 0  # visits in a row that did not reach it
        self.strikes = 0  # pages that harmed who read them
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

    def memory(self, wall_offset: float) -> bytes:
        """What must outlive a restart, beside cookies; `wall_offset` is wall time less monotonic time."""
        return _encode(
            SiteMemory(
                self.next_visit + wall_offset,
                self.took,
                self.address,
                self.fetched,
                self.failures,
                self.strikes,
                self.set_aside,
                self.second_chance,
                self.tls,
                {},
            )
        )

    def new_cookies(self) -> bytes | None:
        """Its cookies, encoded, if they changed since they were asked for last."""
        if not self.jar.changed:
            return None
        self.jar.changed = False
        return _encode(self.jar.cookies)

    def remember(self, data: bytes, wall_offset: float) -> None:
        """Take up where an earlier run left off."""
        memory = _decode(data)
        self.next_visit = memory.next_visit - wall_offset
        self.took = memory.took
        self.visited = True
        self.address = memory.address
        self.fetched = memory.fetched
        self.failures = memory.failures
        self.strikes = memory.strikes
        self.set_aside = memory.set_aside
        self.second_chance = memory.second_chance
        self.tls = memory.tls
        self.jar = Jar(memory.cookies)
        self.jar.changed = bool(memory.cookies)  # they may come from another worker's log


class Errand(msgspec.Struct, frozen=True):
    """A robots.txt that lives on another site, to be fetched under that site's politeness."""

    url: str
    hops: int
    owner: str  # the site that it speaks for
    scheme: str
