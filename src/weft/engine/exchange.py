"""One exchange: what to ask, and what to make of the answer. Pure."""

from __future__ import annotations

from collections.abc import Callable

from weft.fetch.headers import header_values, keep_alive, retry_after
from weft.fetch.transport import Request
from weft.frontier.politeness import Politeness
from weft.frontier.sites import Site
from weft.model import FIRST_REQUISITE, Kind, Page, Reason, Turn
from weft.parse.media import Wanted
from weft.urls import normal_form, target_of

# The site could not be reached: nothing is known of the page, and the next one would fare no better.
UNREACHED = frozenset(
    (
        Reason.DNS_NOT_FOUND,
        Reason.DNS_FAILED,
        Reason.CONNECT_REFUSED,
        Reason.CONNECT_TIMEOUT,
        Reason.CONNECT_FAILED,
        Reason.TLS,
        Reason.PROXY,
        Reason.ROBOTS_UNREACHABLE,
    )
)

_ACCEPT = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
_MOST_OF_A_SITEMAP = 50_000_000  # bytes, by the sitemaps protocol


class Asker:
    """Writes requests in the name of one crawl."""

    def __init__(self, agent: str, wanted: Wanted, *, max_bytes: int, encodings: str) -> None:
        self._common = [f"User-Agent: {agent}", _ACCEPT]
        if encodings:
            self._common.append(f"Accept-Encoding: {encodings}")
        self._wanted = wanted
        self._max_bytes = max_bytes

    def page(self, site: Site, turn: Turn, *, last: bool, now: float) -> Request:
        """The request for a page; what is not a part of another page must be of a type that is collected."""
        if turn.kind == Kind.MAP:
            return self._request(site, turn.url, _MOST_OF_A_SITEMAP, None, last=last, now=now)
        accepts = self._wanted.type if turn.kind < FIRST_REQUISITE else None
        return self._request(site, turn.url, self._max_bytes, accepts, last=last, now=now)

    def robots(self, site: Site, url: str, *, most: int, now: float) -> Request:
        """The request for a robots.txt."""
        return self._request(site, url, most, None, last=False, now=now)

    def _request(
        self, site: Site, url: str, most: int, accepts: Callable[[str], bool] | None, *, last: bool, now: float
    ) -> Request:
        target = target_of(url)
        headers = [f"Host: {site.name}", *self._common]
        if site.jar.cookies and (cookies := site.jar.header(target, secure=url[4] == "s", now=now)):
            headers.append(f"Cookie: {cookies}")
        if site.settings.headers:
            headers += [f"{name}: {value}" for name, value in site.settings.headers.items() if value]
        if last:
            headers.append("Connection: close")
        return Request(url, target, headers, most, accepts, last)


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
