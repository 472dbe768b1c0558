"""The crawling application, apart from the crawling system (P4): it decides what to request and what to do with a
page.

The system does the rest: robots, politeness, names, download, storage. Without an application a crawl follows the
links of every page within its scope.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

from weft.model import Page, Parsed, Turn
from weft.parse.page import Parser
from weft.urls import normal_form


class Request(NamedTuple):
    """A page that an application wants; the one with the highest priority comes first."""

    url: str
    priority: float = 0.0


class FetchedPage:
    """A page as an application sees it."""

    def __init__(self, turn: Turn, page: Page, parsed: Parsed, parser: Parser) -> None:
        self.url = turn.url
        self.depth = turn.depth
        self.status = page.status
        self.headers = page.headers
        self.title = parsed.title
        self.type = parsed.type
        self.language = parsed.language
        self._page = page
        self._parsed = parsed
        self._parser = parser

    def __repr__(self) -> str:
        return f"FetchedPage({self.status} {self.url})"

    @cached_property
    def body(self) -> bytes:
        """The content, its content coding undone."""
        return self._parser.content(self._page)[0]

    @cached_property
    def text(self) -> str:
        """The content as text, by its charset."""
        return self.body.decode(self._parsed.charset or "utf-8", "replace")

    @cached_property
    def links(self) -> list[str]:
        """Where the page's links lead, in normal form, each once, in their order on the page."""
        if not self._parsed.follow:
            return []
        found = (normal_form(written, self._parsed.base) for written, _ in self._parsed.links)
        return list(dict.fromkeys(url for url in found if type(url) is str))


class Application:
    """What to request next, and what to do with a page. Subclass it, or give any object with these two methods."""

    def visited(self, page: FetchedPage) -> Iterable[Request | str] | None:
        """A page has come: do something with it, and say what to request next (or nothing)."""
        return page.links

    def failed(self, url: str, reason: str) -> Iterable[Request | str] | None:
        """A page could not be had, for a reason from the list of reasons: request something else, or nothing."""
        del url, reason
        return None

    def redirected(self, url: str, target: str) -> None:
        """A page redirects; the system follows by itself, and `visited` is told of the target."""


class Together:
    """Several applications that share one system and its politeness: each is told of the pages that it asked for.

    A seed belongs to all of them. A page that two have asked for is fetched once and given to both.
    """

    def __init__(self, *applications: Application) -> None:
        self._applications = applications
        self._wanted: dict[str, int] = {}  # by URL, until it is there: a bit for each application that asked for it

    def visited(self, page: FetchedPage) -> Iterable[Request | str]:
        """Hand the page to those who asked for it, and gather what they want next."""
        for number, application in self._owners(page.url):
            yield from self._noted(number, page.url, application.visited(page))

    def failed(self, url: str, reason: str) -> Iterable[Request | str]:
        """Tell those who asked for it."""
        for number, application in self._owners(url):
            yield from self._noted(number, url, application.failed(url, reason))

    def redirected(self, url: str, target: str) -> None:
        """Who asked for a page wants where it leads."""
        self._wanted[target] = self._wanted.get(target, 0) | self._wanted.pop(url, -1)

    def _owners(self, url: str) -> list[tuple[int, Application]]:
        wanted = self._wanted.pop(url, -1)
        return [(number, application) for number, application in enumerate(self._applications) if wanted >> number & 1]

    def _noted(self, number: int, base: str, requests: Iterable[Request | str] | None) -> Iterable[Request | str]:
        """Remember who asked for what; a request may be relative to the page it was made on."""
        for request in requests or ():
            url = normal_form(request if isinstance(request, str) else request.url, base)
            if type(url) is str:
                self._wanted[url] = self._wanted.get(url, 0) | 1 << number
            yield request
