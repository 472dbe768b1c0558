"""Requests, written in the name of one crawl. In: a turn, and what is known of its site. Out: what to send, and how
that is written down where some of it is secret. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import msgspec

from weft.fetch.transport import Request
from weft.frontier.local.site import Site
from weft.frontier.special import Special
from weft.model import FIRST_REQUISITE, Kind, Page, Turn, is_named
from weft.parse.media import Wanted, is_html
from weft.urls import target_of

_MAP = int(Kind.MAP)  # an enumeration's members are slow to find
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
        limits: dict[str, int] | None = None,
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
        self._limits = limits or {}  # in its place, by media type
        self._headers = headers or {}  # of every request
        self._keeps = keeps  # secrets may be written down
        self.guarded = guarded and not keeps  # somebody may be logged in somewhere: cookies are secret too

    def page(self, site: Site, turn: Turn, special: Special | None = None, *, last: bool, now: float) -> Request:
        """The request for a page; one that was found, and is no part, must be of a type that is collected."""
        if turn.kind == _MAP:
            return self._request(site, turn.url, _MOST_OF_A_SITEMAP, None, special, last=last, now=now)
        found = turn.kind < FIRST_REQUISITE and (turn.depth > 0 or not is_named(turn.kind, turn.depth))
        accepts = self._wanted.type if found else None
        request = self._request(site, turn.url, self._max_bytes, accepts, special, last=last, now=now)
        return msgspec.structs.replace(request, limits=self._limits) if self._limits else request

    def browser(self, site: Site, turn: Turn, agent: str, *, last: bool, now: float) -> Request:
        """The request for a page as a browser would write it."""
        plain = self.page(site, turn, last=last, now=now)
        named = [f"User-Agent: {agent}" if line.startswith("User-Agent: ") else line for line in plain.headers]
        return msgspec.structs.replace(plain, headers=named)

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
            return self._with_secrets(site, Request(url, target, headers, most, accepts, last, is_html), special)
        if last:
            headers.append(_CLOSE)
        return Request(url, target, headers, most, accepts, last, is_html)

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
