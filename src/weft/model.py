"""The values that cross borders, and the words they are made of.

Values only move to the right: `frontier → Turn → fetch → Page → parse → Parsed → judge → Outcome → store, frontier`.
They are frozen; a stage returns a new value and never edits the one it was given.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, IntEnum
from typing import Any, Final, NewType, Self

import msgspec


class Reason(Enum):
    """Why a page failed or a URL was refused: the one list. Its documentation is the reference page of reasons."""

    retry: bool
    doc: str

    def __new__(cls, text: str, retry: bool, doc: str) -> Self:
        """A reason is its text; beside it stand whether it is worth another try, and what it means."""
        member = object.__new__(cls)
        member._value_ = text
        member.retry = retry
        member.doc = doc
        return member

    def __str__(self) -> str:
        return str(self.value)

    __hash__ = object.__hash__  # each is one object; an enumeration's own takes ten times as long

    @classmethod
    def named(cls, text: str) -> Reason:
        """The reason of a text."""
        return next(reason for reason in cls if reason.value == text)

    # A rule said no; nothing was asked of the server.
    NOT_A_URL = "not-a-url", False, "the text cannot be read as a URL of the web"
    URL_LENGTH = "url-length", False, "the URL is longer than the limit"
    SCOPE = "scope", False, "the URL lies outside the scope of the crawl"
    EXCLUDED = "excluded", False, "an exclude pattern matches the URL"
    NOT_INCLUDED = "not-included", False, "include patterns were given and none matches the URL"
    BLACKLISTED = "blacklisted", False, "the operator has forbidden it (weft blacklist)"
    DUPHOST = (
        "duphost",
        False,
        "its site is a copy of another one (--duphosts, --www), whose page is asked for in its place",
    )
    EXTENSION = "extension", False, "the file name says a media type that is not collected"
    DEPTH = "depth", False, "too many links away from the seeds"
    REPEATS = "repeats", False, "a folder or a parameter stands in the URL more often than the limit, as in a trap"
    CALENDAR = "calendar", False, "a date in the URL is further ahead than the limit, as in a calendar without end"
    CHAIN = "chain", False, "the chain is too long: of redirects, of sitemaps that name others, or of imports"
    SITEMAPS = "sitemaps", False, "robots.txt names more sitemaps, or more on other domains, than are read"
    SITE_PAGES = "site-pages", False, "the site has reached its limit of pages"
    WILDCARD = (
        "wildcard",
        False,
        "the domain has any name, and has as many sites, or as many that look the same, as are taken of such a domain",
    )
    FRONTIER_FULL = "frontier-full", False, "its worker knows as many URLs as it can; with more workers there is room"
    PAGE_LINKS = "page-links", False, "the page has more links than the limit; those behind it are left out"
    PAGE_SITES = "page-sites", False, "the page leads to more new sites than the limit"
    DOMAIN_SITES = "domain-sites", False, "the registered domain has as many sites as it may have"
    NOFOLLOW = "nofollow", False, "the page or the link asks that it not be followed"
    PORT = "port", False, "the port is not for the web"
    ADDRESS = "special-address", False, "the URL names a loopback, private or otherwise special address: not allowed"
    NOBODY = "nobody", False, "any name under its top-level domain leads to this address: nobody has it"
    CONTACT = "no-contact", False, "no contact was given, and the address is not loopback"
    ROBOTS = "robots", False, "robots.txt disallows the URL"
    SITE_HOSTILE = "site-hostile", False, "too many of the site's pages crash or stall the parser; it is left alone"
    SITE_DUPLICATES = "site-duplicates", False, "too many of the site's pages are copies of others; it is left alone"
    SITE_BYTES = "site-bytes", False, "the site has sent as many bytes as it may; it is left alone"
    SITE_TIME = "site-time", False, "downloads from the site have taken as long as they may; it is left alone"
    BARREN = (
        "barren",
        False,
        "so many in a row of the site's URLs that differ in numbers alone came to nothing new; others are left alone",
    )
    SITE_FAILED = "site-failed", False, "the site kept failing and was given up"
    # No answer came.
    DNS_NOT_FOUND = "dns-not-found", True, "the name does not exist, or has no address"
    DNS_FAILED = "dns-failed", True, "the name servers did not answer, or answered with an error"
    DNS_SPECIAL = (
        "dns-special",
        True,
        "the name has only special addresses (loopback, private …), which are not allowed; or its name server lies",
    )
    CONNECT_REFUSED = "connect-refused", True, "the server refused the connection"
    CONNECT_TIMEOUT = "connect-timeout", True, "the connection was not established in time"
    CONNECT_FAILED = "connect-failed", True, "the connection could not be established (network unreachable, reset …)"
    TLS = "tls", True, "the TLS handshake failed, or the certificate was refused under --verify-tls"
    PROXY = "proxy", True, "the proxy could not be reached, or refused"
    NO_ANSWER = "no-answer", True, "the server closed the connection without an answer"
    TIMEOUT = "timeout", True, "the answer did not come in time"
    RESET = "reset", True, "the connection broke before the answer was complete"
    OUTCOME_UNKNOWN = (
        "outcome-unknown",
        False,
        "it was sent, must not be sent twice, and the crawl ended before an answer",
    )
    # An answer came that cannot be used.
    BAD_ANSWER = "bad-answer", False, "the answer is not HTTP that can be understood"
    HEADERS = "headers", False, "the answer's header is larger than the limit"
    STATUS_4XX = "status-4xx", False, "the server says that the request cannot be met (status 400 to 499)"
    STATUS_429 = "status-429", True, "the server says that it is asked too often"
    STATUS_5XX = "status-5xx", True, "the server says that it failed (status 500 to 599)"
    STATUS = "status", False, "the server answered with a status that makes no sense here"
    TYPE = "type", False, "the answer's media type is not collected"
    SOFT_404 = (
        "soft-404",
        False,
        "it says what the site says of any URL that does not exist, with status 200; kept, and its links not followed",
    )
    ENCODING = "encoding", False, "the content encoding is broken or unknown; the bytes are kept as they came"
    EXPANSION = "expansion", False, "the content expands beyond the limit when it is decoded; kept as it came"
    HOSTILE = "hostile", False, "reading the page took too long, too much memory, or ended the process that read it"
    STAGE = "stage", False, "a stage failed on this page, which is kept and followed; the log has the traceback"
    INTERNAL = "internal", False, "weft itself failed on this page; the log has the traceback"


class Kind(IntEnum):
    """How a URL was found. From IMAGE on it is a part of a page, not a page to be read and followed."""

    SEED = 0
    A = 1
    AREA = 2
    FRAME = 3
    IFRAME = 4
    LINK = 5
    REFRESH = 6
    REDIRECT = 7
    SITEMAP = 8  # listed in a sitemap
    FEED = 9
    REQUEST = 10  # asked for by an application
    MAP = 11  # is itself a sitemap
    ROBOTS = 12
    JS = 14  # looks like a link in a script
    CHECK = 13  # asked for by weft itself, to compare an answer with; its content is not kept
    IMAGE = 32
    STYLE = 33
    SCRIPT = 34
    PART = 35  # any other part: fonts, media, icons


FIRST_REQUISITE: Final = int(Kind.IMAGE)

NO_PAGES: Final = tuple(
    kind.name.lower() for kind in Kind if kind in (Kind.MAP, Kind.ROBOTS, Kind.CHECK) or kind >= FIRST_REQUISITE
)
"""The words of what is no page, though it was fetched."""

ASIDE: Final = (Kind.ROBOTS.name.lower(), Kind.CHECK.name.lower())
"""The words of what is asked for about a site, beside what was found there."""

KINDS: Final = {kind.name.lower(): int(kind) for kind in Kind}
"""Kinds by their words, as columns have them."""

KIND_NAMES: Final = {number: name for name, number in KINDS.items()}
"""The words of kinds, by their numbers."""


_SEED, _REDIRECT = int(Kind.SEED), int(Kind.REDIRECT)  # asked for often, and an enumeration's members are slow to find


def is_named(kind: int, depth: int) -> bool:
    """Is this a seed, or where a seed redirects to? Somebody asked for that very page, whatever its type."""
    return kind == _SEED or (kind == _REDIRECT and depth == 0)


PageNumber = NewType("PageNumber", int)
"""A page of one local frontier: its place in the order of discovery."""

SiteNumber = NewType("SiteNumber", int)
"""A site of one local frontier."""

UrlId = NewType("UrlId", int)
"""The public fingerprint of a URL, or of what else makes a request: what columns, logs and other workers name it by."""

NO_ID: Final = UrlId(0)
"""Where a seed was found."""

NO_PAGE: Final = PageNumber(-1)
"""Of what has no number: a robots.txt, or a page that is not known here."""


class Turn(msgspec.Struct, frozen=True, gc=False):
    """Leave to fetch one page now."""

    page: PageNumber  # `NO_PAGE` for robots.txt
    id: UrlId
    url: str
    depth: int
    kind: int
    via: UrlId  # the page where it was found first, `NO_ID` for a seed
    attempt: int  # 1 for the first
    steps: int = 0  # redirects in a row that led to it; of a sitemap or a part: such as it above it


class Page(msgspec.Struct, frozen=True, gc=False):
    """What came of a turn: request and answer as they went over the wire, or the reason why there is none."""

    url: str
    status: int  # 0 when no answer came
    reason: Reason | None  # None when the answer is complete, or cut by our own limit
    request: bytes  # as sent
    head: bytes  # status line and header lines as received
    headers: dict[str, str]  # by lower-case name; repeated ones joined by a comma
    body: bytes  # as received, transfer coding removed, content coding left
    truncated: str  # "", "length" or "time": cut by our own limit
    address: str
    tls: str  # "" for plain HTTP, else the verdict: "ok" or what is wrong with the certificate
    connected_at: float  # wall time when the connection was opened
    fetched_at: float  # wall time when the request was sent
    took: float  # seconds from sending the request to the last byte
    closed: bool  # the connection is gone
    ours: str = ""  # what failed on our own side, where that is why nothing came


class Parsed(msgspec.Struct, frozen=True, gc=False):
    """What is in a page."""

    type: str  # media type as detected
    charset: str
    language: str  # as declared
    title: str
    base: str  # what the links are relative to
    links: Sequence[tuple[str, int]]  # (text as written, kind)
    nofollow: list[tuple[str, int]]  # links that ask not to be followed
    follow: bool  # False where the page asks that none of its links be followed
    reason: Reason | None  # why it could not be read, if so
    labels: list[tuple[str, str]] = []  # text and relations of the links, then of those in `nofollow`; if asked for
    left_out: int = 0  # links beyond the limit of a page, which are not among these
    robots: str = ""  # what it asks of robots, its header included, as `parse.directives` writes it
    canonical: str = ""  # the URL that it calls its own, in normal form; "" where it names none
    whole: bool = True  # False where its content coding breaks off, though nothing cut it: it was read so far


class Column(msgspec.Struct, frozen=True):
    """A column that a stage fills; null where it says nothing."""

    name: str
    type: str  # as Arrow names it: string, int32, int64, float32, float64, bool, binary …
    doc: str


class Fills(msgspec.Struct, frozen=True):
    """What a stage fills."""

    name: str  # of the stage
    columns: tuple[Column, ...] = ()  # of `pages`
    table: tuple[Column, ...] = ()  # its own one, behind the id of the page


class Filled(msgspec.Struct, frozen=True):
    """What a stage found out about a page."""

    values: dict[str, Any] = {}  # by column
    rows: list[tuple[Any, ...]] = []  # of its table, in the order of its columns; the id of the page is put before them
    conversion: str = ""  # the column whose text is also written as a conversion record, behind the page's own
    unwritten: tuple[str, ...] = ()  # columns that are for later stages and applications, and stay null in the row


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """What came of a turn, judged: whatever is done about it follows from this."""

    turn: Turn
    page: Page
    parsed: Parsed | None  # what is in it, where there was something to read
    reason: Reason | None  # why it counts as failed
    redirect: str | None = None  # where it leads, in normal form
    cut: str = ""  # how its content is not whole, as WARC-Truncated says it
    pause: float = 0.0  # seconds that the server asks to be left alone for
    final: bool = True  # False when it will be tried again
    again: bool = False  # by the site's next visit, without a pause of its own
