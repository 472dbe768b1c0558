"""What is asked, and what is made of an answer."""

from __future__ import annotations

from typing import Any

import pytest

from weft.engine.asker import Asker, discreet
from weft.engine.outcome import cut_of, keeps_open, nothing_came, pause_of, redirect_of, verdict
from weft.fetch.headers import parse_head
from weft.frontier.local.site import Site
from weft.frontier.overrides import SiteSettings
from weft.frontier.politeness import Politeness
from weft.frontier.special import Special
from weft.model import NO_ID, Kind, Page, PageNumber, Reason, SiteNumber, Turn, UrlId
from weft.parse.media import Wanted

NOW = 1_000_000.0


def answer(text: str | bytes, **changes: Any) -> Page:
    """A page with this header."""
    raw = text.encode("latin-1") if isinstance(text, str) else text
    lines = [line + b"\r\n" for line in raw.split(b"\n")] + [b"\r\n"]
    status, head, headers = parse_head(lines)
    values: dict[str, Any] = {
        "url": "http://site.test/a/b",
        "status": status,
        "reason": None,
        "request": b"",
        "head": head,
        "headers": headers,
        "body": b"",
        "truncated": "",
        "address": "",
        "tls": "",
        "connected_at": 0.0,
        "fetched_at": NOW,
        "took": 0.0,
        "closed": False,
    }
    return Page(**(values | changes))


def turn(kind: Kind = Kind.A, url: str = "http://site.test/a?q=1") -> Turn:
    """Leave to fetch a page."""
    return Turn(PageNumber(1), UrlId(2), url, 0 if kind == Kind.SEED else 1, kind, NO_ID, 1)


ASKER = Asker("weft/1 (+me)", Wanted(), max_bytes=1000, encodings="gzip")


# --- requests ---


def test_request__has_its_headers_in_order() -> None:
    """Host first, then who asks and what is understood; the site's cookies and its own headers behind."""
    site = Site(SiteNumber(1), "site.test:8080", SiteSettings(headers={"X-Key": "k", "X-Empty": ""}))
    site.jar.store(["a=1", "s=2; Secure", "p=3; Path=/other"], NOW)
    request = ASKER.page(site, turn(url="http://site.test:8080/a?q=1"), last=False, now=NOW)
    assert request.headers == [
        "Host: site.test:8080",
        "User-Agent: weft/1 (+me)",
        "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        "Accept-Encoding: gzip",
        "Cookie: a=1",
        "X-Key: k",
    ]
    assert (request.url, request.target, request.max_bytes) == ("http://site.test:8080/a?q=1", "/a?q=1", 1000)
    assert not request.last


def test_request__secure_cookies_go_over_tls() -> None:
    """The scheme of the URL decides."""
    site = Site(SiteNumber(1), "site.test", SiteSettings())
    site.jar.store(["s=2; Secure"], NOW)
    assert "Cookie: s=2" in ASKER.page(site, turn(url="https://site.test/"), last=False, now=NOW).headers
    assert "Cookie: s=2" not in ASKER.page(site, turn(url="http://site.test/"), last=False, now=NOW).headers


def test_request__the_last_one_says_so() -> None:
    """The server is told that the connection ends."""
    request = ASKER.page(Site(SiteNumber(1), "site.test", SiteSettings()), turn(), last=True, now=NOW)
    assert request.last
    assert request.headers[-1] == "Connection: close"


def test_request__without_codings_asks_for_none() -> None:
    """An empty setting leaves the header out."""
    asker = Asker("weft", Wanted(), max_bytes=10, encodings="")
    request = asker.page(Site(SiteNumber(1), "site.test", SiteSettings()), turn(), last=False, now=NOW)
    assert not any(line.startswith("Accept-Encoding") for line in request.headers)


@pytest.mark.parametrize(
    ("kind", "judged"),
    [(Kind.A, True), (Kind.REDIRECT, True), (Kind.SEED, False), (Kind.IMAGE, False), (Kind.MAP, False)],
)
def test_request__pages_must_be_of_a_type_that_is_collected(kind: Kind, judged: bool) -> None:
    """Seeds, parts of pages and sitemaps may be of any type."""
    request = ASKER.page(Site(SiteNumber(1), "site.test", SiteSettings()), turn(kind), last=False, now=NOW)
    assert (request.accepts is not None) is judged
    if request.accepts is not None:
        assert request.accepts("text/html")
        assert not request.accepts("image/png")


def test_request__for_robots_has_its_own_limit_and_any_type() -> None:
    """And does not count as the last."""
    request = ASKER.robots(
        Site(SiteNumber(1), "site.test", SiteSettings()), "http://site.test/robots.txt", most=99, now=NOW
    )
    assert (request.target, request.max_bytes, request.accepts, request.last) == ("/robots.txt", 99, None, False)


# --- answers ---


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (200, None),
        (204, None),
        (301, None),
        (304, None),
        (399, None),
        (400, Reason.STATUS_4XX),
        (404, Reason.STATUS_4XX),
        (429, Reason.STATUS_429),
        (499, Reason.STATUS_4XX),
        (500, Reason.STATUS_5XX),
        (503, Reason.STATUS_5XX),
        (599, Reason.STATUS_5XX),
        (600, Reason.STATUS),
        (999, Reason.STATUS),
        (101, Reason.STATUS),
        (99, Reason.STATUS),
    ],
)
def test_verdict__by_status(status: int, reason: Reason | None) -> None:
    """Every status is a success or has a reason."""
    assert verdict(answer(f"HTTP/1.1 {status} x")) is reason


def test_verdict__what_happened_on_the_wire_comes_first() -> None:
    """A page that broke off is not saved by its status."""
    assert verdict(answer("HTTP/1.1 200 OK", reason=Reason.RESET)) is Reason.RESET


@pytest.mark.parametrize(
    ("truncated", "reason", "cut"),
    [
        ("", None, ""),
        ("length", None, "length"),
        ("time", None, "time"),
        ("", Reason.RESET, "disconnect"),
        ("", Reason.TIMEOUT, "time"),
        ("", Reason.BAD_ANSWER, "unspecified"),
        ("", Reason.HEADERS, "unspecified"),
        ("", Reason.TYPE, ""),
    ],
)
def test_cut__is_told_in_the_words_of_warc(truncated: str, reason: Reason | None, cut: str) -> None:
    """A content that may lack something is never taken for whole."""
    assert cut_of(answer("HTTP/1.1 200 OK", truncated=truncated, reason=reason)) == cut


@pytest.mark.parametrize(
    ("head", "target"),
    [
        ("HTTP/1.1 301 x\nLocation: /c", "http://site.test/c"),
        ("HTTP/1.1 302 x\nLocation: c?d#e", "http://site.test/a/c?d"),
        ("HTTP/1.1 303 x\nlocation: HTTPS://Other.TEST", "https://other.test/"),
        ("HTTP/1.1 307 x\nLocation: //other.test/x", "http://other.test/x"),
        ("HTTP/1.1 308 x\nLocation: /a b", "http://site.test/a%20b"),
        ("HTTP/1.1 301 x\nLocation: /1\nLocation: /2", "http://site.test/1"),
        ("HTTP/1.1 301 x\nLocation: /a,b", "http://site.test/a,b"),
        ("HTTP/1.1 301 x\nLocation: /caf\xc3\xa9", "http://site.test/caf%C3%A9"),
        ("HTTP/1.1 301 x\nLocation: /caf\xe9", "http://site.test/caf%E9"),
        ("HTTP/1.1 301 x\nLocation: mailto:x", None),
        ("HTTP/1.1 301 x\nLocation:", None),
        ("HTTP/1.1 301 x", None),
        ("HTTP/1.1 200 x\nLocation: /c", None),
        ("HTTP/1.1 304 x\nLocation: /c", None),
        ("HTTP/1.1 300 x\nLocation: /c", None),
    ],
)
def test_redirect__leads_where_a_browser_would_go(head: str, target: str | None) -> None:
    """The first Location, resolved, in normal form, its bytes read as UTF-8 where they are; None where none can be."""
    assert redirect_of(answer(head)) == target


@pytest.mark.parametrize(
    ("head", "pause"),
    [
        ("HTTP/1.1 429 x\nRetry-After: 30", 30.0),
        ("HTTP/1.1 503 x\nRetry-After: 30", 30.0),
        ("HTTP/1.1 503 x\nRetry-After: 999999999", 86_400.0),
        ("HTTP/1.1 429 x\nRetry-After: Mon, 12 Jan 1970 13:47:40 GMT", 60.0),
        ("HTTP/1.1 429 x\nRetry-After: Mon, 12 Jan 1970 13:00:00 GMT", 0.0),
        ("HTTP/1.1 429 x\nRetry-After: \xb2", 60.0),
        ("HTTP/1.1 429 x", 60.0),
        ("HTTP/1.1 503 x", 0.0),
        ("HTTP/1.1 200 x\nRetry-After: 30", 0.0),
        ("HTTP/1.1 500 x\nRetry-After: 30", 0.0),
    ],
)
def test_pause__is_what_the_server_asks_for(head: str, pause: float) -> None:
    """Within a bound; a server that is asked too often and names no time gets a default one."""
    assert pause_of(answer(head), Politeness(), NOW) == pause


@pytest.mark.parametrize(
    ("head", "changes", "open_"),
    [
        ("HTTP/1.1 200 OK", {}, True),
        ("HTTP/1.1 200 OK", {"closed": True}, False),
        ("HTTP/1.1 200 OK\nConnection: Close", {}, False),
        ("HTTP/1.1 200 OK\nConnection: keep-alive, close", {}, False),
        ("HTTP/1.0 200 OK", {}, False),
        ("HTTP/1.0 200 OK\nConnection: Keep-Alive", {}, True),
        ("HTTP/1.1 200 OK\nKeep-Alive: timeout=5, max=99", {}, True),
        ("HTTP/1.1 200 OK\nKeep-Alive: timeout=5, max=0", {}, False),
        ("HTTP/1.1 200 OK\nKeep-Alive: timeout=0", {}, False),
        ("HTTP/1.1 101 Switching Protocols\nUpgrade: x", {}, False),
        ("", {"status": 0}, False),
    ],
)
def test_keeps_open__as_the_server_says(head: str, changes: dict[str, Any], open_: bool) -> None:
    """Another page is asked for only where the server will answer it."""
    assert keeps_open(answer(head, **changes)) is open_


def test_nothing_came__is_a_page_without_an_exchange() -> None:
    """It has its reason, its time, and nothing else."""
    page = nothing_came(turn(), Reason.DNS_FAILED, NOW)
    assert (page.url, page.reason, page.fetched_at, page.closed) == (turn().url, Reason.DNS_FAILED, NOW, True)
    assert not any([page.status, page.request, page.head, page.body, page.address, page.connected_at])


# --- secrets ---


def test_headers__of_a_request_go_before_a_sites_and_those_before_everybodys() -> None:
    """By name, in any spelling; what weft says by itself gives way; one Cookie line has both kinds of cookies."""
    asker = Asker("weft/1", Wanted(), max_bytes=1000, encodings="gzip", headers={"X-A": "1", "accept": "a/b"})
    site = Site(SiteNumber(1), "site.test", SiteSettings(headers={"x-a": "2", "X-B": "3", "Cookie": "mine=1"}))
    site.jar.store(["theirs=2"], NOW)
    special = Special({"X-B": "4"}, None, repeat=False)
    request = asker.page(site, turn(), special, last=True, now=NOW)
    assert request.headers == [
        "Host: site.test",
        "User-Agent: weft/1",
        "Accept-Encoding: gzip",
        "x-a: 2",
        "accept: a/b",
        "X-B: 4",
        "Cookie: mine=1; theirs=2",
        "Connection: close",
    ]
    assert request.shown is not None
    assert [line for line in request.shown if "(not kept)" in line] == [
        "x-a: (not kept)",
        "accept: (not kept)",
        "X-B: (not kept)",
        "Cookie: (not kept)",
    ]


def test_post__has_a_length_and_a_type_and_no_limit_of_types() -> None:
    """A form unless something else is said; from then on cookies are secret."""
    asker = Asker("weft/1", Wanted(), max_bytes=1000, encodings="")
    site = Site(SiteNumber(1), "site.test", SiteSettings())
    site.jar.store(["id=7"], NOW)
    plain = asker.page(site, turn(), last=False, now=NOW)
    assert (plain.shown, asker.guarded) == (None, False)
    request = asker.page(site, turn(), Special({}, b"a=b", repeat=False), last=False, now=NOW)
    assert request.headers[-2:] == ["Content-Length: 3", "Content-Type: application/x-www-form-urlencoded"]
    assert (request.body, request.shown_body, request.accepts) == (b"a=b", b"", None)
    after = asker.page(site, turn(), last=False, now=NOW)
    assert "Cookie: id=7" in after.headers
    assert after.shown is not None
    assert "Cookie: (not kept)" in after.shown


def test_discreet__leaves_out_the_cookies_that_are_set() -> None:
    """Every one of them, and nothing else."""
    page = answer("HTTP/1.1 200 OK\nSet-Cookie: a=1; Path=/\nX: y\nset-cookie: b=2")
    assert discreet(page).head == (
        b"HTTP/1.1 200 OK\r\nSet-Cookie: (not kept)\r\nX: y\r\nset-cookie: (not kept)\r\n\r\n"
    )
    assert discreet(answer("HTTP/1.1 200 OK\nX: y")).head == b"HTTP/1.1 200 OK\r\nX: y\r\n\r\n"
