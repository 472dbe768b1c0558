"""One exchange: what to ask, and what to make of the answer. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import msgspec

from weft.fetch.headers import header_values, keep_alive, retry_after
from weft.fetch.transport import Request
from weft.frontier.politeness import Politeness
from weft.frontier.sites import Site
from weft.frontier.special import Special
from weft.model import FIRST_REQUISITE, Kind, Page, Reason, Turn, is_named
from weft.parse.media import Wanted
from weft.urls import normal_form, target_of

# The site could not be reached: nothing is known of the page, and the next one would fare no better.
UNREACHED = frozenset(
    (
        Reason.DNS_NOT_FOUND,
        Reason.DNS_FAILED,
        Reason.DNS_SPECIAL,
        Reason.CONNECT_REFUSED,
        Reason.CONNECT_TIMEOUT,
        Reason.CONNECT_FAILED,
        Reason.TLS,
        Reason.PROXY,
    )
)

# Nothing came, or not all of it: that may be our own failure.
LOST = UNREACHED | {Reason.NO_ANSWER, Reason.TIMEOUT, Reason.RESET}

_ACCEPT = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
_CLOSE = "Connection: close"
_NOT_KEPT = "(not kept)"  # stands for a secret in the archive
# Bytes as they come. The protocol has 50 MB of text, which servers compress to a tenth; what is sent is also written
# down, and more than this would take others' time.
_MOST_OF_A_SITEMAP = 8_000_000


class Asker:
    """Writes requests in the name of one crawl."""

    def __init__(
        self,
        agent: str,
        wanted: Wanted,
        *,
        max_bytes: int,
        encodings: str,
        headers: Mapping[str, str] | None = None,
        keeps: bool = False,
        guarded: bool = False,
    ) -> None:
        self._common = [f"User-Agent: {agent}", _ACCEPT]
        if encodings:
            self._common.append(f"Accept-Encoding: {encodings}")
        self._wanted = wanted
        self._max_bytes = max_bytes
        self._headers = headers or {}  # of every request
        self._keeps = keeps  # secrets may be written down
        self.guarded = guarded and not keeps  # somebody may be logged in somewhere: cookies are secret too

    def page(self, site: Site, turn: Turn, special: Special | None = None, *, last: bool, now: float) -> Request:
        """The request for a page; one that was found, and is no part, must be of a type that is collected."""
        if turn.kind == Kind.MAP:
            return self._request(site, turn.url, _MOST_OF_A_SITEMAP, None, special, last=last, now=now)
        found = turn.kind < FIRST_REQUISITE and (turn.depth > 0 or not is_named(turn.kind, turn.depth))
        accepts = self._wanted.type if found else None
        return self._request(site, turn.url, self._max_bytes, accepts, special, last=last, now=now)

    def robots(self, site: Site, url: str, *, most: int, now: float) -> Request:
        """The request for a robots.txt."""
        return self._request(site, url, most, None, None, last=False, now=now)

    def _request(
        self,
        site: Site,
        url: str,
        most: int,
        accepts: Callable[[str], bool] | None,
        special: Special | None,
        *,
        last: bool,
        now: float,
    ) -> Request:
        target = target_of(url)
        headers = [f"Host: {site.name}", *self._common]
        if site.jar.cookies and (cookies := site.jar.header(target, secure=url[4] == "s", now=now)):
            headers.append(f"Cookie: {cookies}")
        if self._headers or self.guarded or special is not None or site.settings.headers:
            return self._with_secrets(site, Request(url, target, headers, most, accepts, last), special)
        if last:
            headers.append(_CLOSE)
        return Request(url, target, headers, most, accepts, last)

    def _with_secrets(self, site: Site, plain: Request, special: Special | None) -> Request:
        """The request with headers that were given for it, and a body; and how it is written down."""
        given = _merged(self._headers, site.settings.headers, None if special is None else special.headers)
        body = None if special is None else special.body
        if (given or body is not None) and not self._keeps:
            self.guarded = True
        known = [line for line in plain.headers if line.partition(":")[0].lower() not in given]
        cookies = [line.partition(": ")[2] for line in plain.headers if line.startswith("Cookie: ")]
        if cookies and "cookie" in given:  # a request has one Cookie header
            name, value = given["cookie"]
            given["cookie"] = name, "; ".join(filter(None, (value, *cookies)))
        own = [f"{name}: {value}" for name, value in given.values() if value]
        shown = [f"{name}: {_NOT_KEPT}" for name, value in given.values() if value]
        rest = []
        if body is not None:
            rest.append(f"Content-Length: {len(body)}")
            if "content-type" not in given:
                rest.append("Content-Type: application/x-www-form-urlencoded")
        if plain.last:
            rest.append(_CLOSE)
        return msgspec.structs.replace(
            plain,
            headers=[*known, *own, *rest],
            accepts=plain.accepts if body is None else None,  # the answer to a POST is what was asked for
            body=body,
            shown=None if self._keeps else [*map(_without_cookies, known), *shown, *rest],
            shown_body=body or b"" if self._keeps else b"",
        )


def _merged(*given: Mapping[str, str] | None) -> dict[str, tuple[str, str]]:
    """Headers by their name in lower case; what comes later wins."""
    return {name.lower(): (name, value) for headers in given if headers is not None for name, value in headers.items()}


def _without_cookies(line: str) -> str:
    return f"Cookie: {_NOT_KEPT}" if line.startswith("Cookie: ") else line


_set_cookie = re.compile(rb"(?im)^(set-cookie[ \t]*:)[^\r\n]*")


def discreet(page: Page) -> Page:
    """A page whose answer sets a cookie, as it is written down by a crawl that may be logged in somewhere."""
    if "set-cookie" not in page.headers:
        return page
    return msgspec.structs.replace(page, head=_set_cookie.sub(rb"\1 " + _NOT_KEPT.encode(), page.head))


def verdict(page: Page) -> Reason | None:
    """Why a page counts as failed, or None: by what happened on the wire, then by its status."""
    if page.reason is not None:
        return page.reason
    status = page.status
    if 200 <= status < 400:
        return None
    if status == 429:
        return Reason.STATUS_429
    if 400 <= status < 500:
        return Reason.STATUS_4XX
    if 500 <= status < 600:
        return Reason.STATUS_5XX
    return Reason.STATUS


def is_lost(page: Page) -> bool:
    """Did nothing come, or not all of it, for whatever reason but a limit of ours?"""
    return page.reason in LOST or page.truncated == "time"


_CUT = {
    Reason.RESET: "disconnect",
    Reason.TIMEOUT: "time",
    Reason.BAD_ANSWER: "unspecified",
    Reason.HEADERS: "unspecified",
}


def cut_of(page: Page) -> str:
    """How the content is not whole, as WARC-Truncated says it; "" when it is."""
    if page.truncated or page.reason is None:
        return page.truncated
    return _CUT.get(page.reason, "")


def redirect_of(page: Page) -> str | None:
    """Where a redirect leads, in normal form; None when the page is none, or leads nowhere."""
    if page.status in (301, 302, 303, 307, 308):
        # The bytes are UTF-8 more often than not, whatever the standard says; what is no UTF-8 stays as it came.
        first = next(iter(header_values(page.head, "location")), page.headers.get("location", ""))
        written = first.encode("latin-1", "replace").decode("utf-8", "surrogateescape")
        url = normal_form(written, page.url) if written else None
        if type(url) is str:
            return url
    return None


def pause_of(page: Page, settings: Politeness, now: float) -> float:
    """How long a server that is asked too often, or is out of service, wants to be left alone."""
    if page.status not in (429, 503):
        return 0.0
    asked = retry_after(page.headers.get("retry-after", ""), now)
    if asked is not None:
        return min(asked, settings.retry_after_most)
    return settings.too_often_pause if page.status == 429 else 0.0


def keeps_open(page: Page) -> bool:
    """Will the server answer another request on this connection?"""
    if page.closed or page.status < 200:
        return False
    connection = page.headers.get("connection", "").lower()
    if "close" in connection or (page.head.startswith(b"HTTP/1.0") and "keep-alive" not in connection):
        return False
    if "keep-alive" in page.headers:
        further, idle = keep_alive(page.headers)
        return further != 0 and idle != 0
    return True


def nothing_came(turn: Turn, reason: Reason, now: float) -> Page:
    """A page for which nothing went over the wire."""
    return Page(turn.url, 0, reason, b"", b"", {}, b"", "", "", "", 0.0, now, 0.0, closed=True)
