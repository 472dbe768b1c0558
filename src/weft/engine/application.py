"""The crawling application, apart from the crawling system (P4): it decides what to request and what to do with a
page.

The system does the rest: robots, politeness, names, download, storage. Without an application a crawl follows the
links of every page within its scope.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal
from urllib.parse import urlencode

from weft.fetch.headers import check_headers
from weft.frontier.special import Special
from weft.model import Page, Parsed, Turn
from weft.parse.page import Parser
from weft.urls import normal_form

_MOST_BODY = 1_000_000  # bytes


@dataclass(frozen=True, slots=True)
class Request:
    """A page that an application wants.

    A POST is for logging in and the like. Its method and body are part of what it is: a POST and a GET of one URL are
    two requests, each asked for once. It is never sent twice, by a crash or by a connection that breaks, unless
    `repeat` says that it may be: if it is not known what came of it, `failed` is told `outcome-unknown`. The system
    follows its redirect with a GET, also to a page that was fetched before.

    Headers are sent with this request only, not with its redirect. Header values and bodies are secrets: they are not
    in the archive unless `store_credentials` is set.
    """

    url: str  #: relative to the page on which it is asked for, or absolute; without user name and password
    priority: float = 0.0  #: the highest comes first
    headers: Mapping[str, str] | None = field(default=None, repr=False)  #: further headers
    method: Literal["GET", "POST"] = "GET"
    body: bytes | str | Mapping[str, str] | None = field(default=None, repr=False)  #: of a POST; a mapping is a form
    repeat: bool = False  #: a POST that may be sent again when its outcome is unknown

    def __post_init__(self) -> None:
        check_headers(self.headers)
        if self.method not in ("GET", "POST"):
            raise ValueError(f"the method {self.method!r} is neither GET nor POST")
        if self.body is not None and self.method != "POST":
            raise ValueError("a body is for POST: say method='POST'")
        if len(self._bytes()) > _MOST_BODY:
            raise ValueError(f"the body is larger than {_MOST_BODY:,} bytes")

    @property
    def special(self) -> Special | None:
        """What the frontier must remember beside the URL."""
        if self.method == "GET" and not self.headers:
            return None
        return Special(dict(self.headers or {}), self._bytes() if self.method == "POST" else None, self.repeat)

    def _bytes(self) -> bytes:
        if isinstance(self.body, Mapping):
            return urlencode(self.body).encode()
        return self.body.encode() if isinstance(self.body, str) else self.body or b""


class FetchedPage:
    """A page as an application sees it."""

    def __init__(self, turn: Turn, page: Page, parsed: Parsed, parser: Parser) -> None:
        self._turn = turn
        self._page = page
        self._parsed = parsed
        self._parser = parser

    def __repr__(self) -> str:
        return f"FetchedPage({self.status} {self.url})"

    @property
    def url(self) -> str:
        """Its URL, in normal form."""
        return self._turn.url

    @property
    def method(self) -> str:
        """How it was asked for: GET or POST."""
        return "POST" if self._page.request.startswith(b"POST ") else "GET"

    @property
    def depth(self) -> int:
        """How many links, or requests, it is away from a seed."""
        return self._turn.depth

    @property
    def status(self) -> int:
        """The status of the answer."""
        return self._page.status

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the answer, by their names in lower case; values of repeated ones are joined by a comma."""
        return self._page.headers

    @property
    def title(self) -> str:
        """Its title, "" where it has none."""
        return self._parsed.title

    @property
    def type(self) -> str:
        """Its media type, by what it is more than by what the server says."""
        return self._parsed.type

    @property
    def language(self) -> str:
        """The language that it declares, "" where it declares none."""
        return self._parsed.language

    # Properties that stand on cached ones: `help` shows these only.

    @property
    def body(self) -> bytes:
        """The content, its content coding undone."""
        return self._body

    @property
    def text(self) -> str:
        """The content as text, by its charset."""
        return self._text

    @property
    def links(self) -> list[str]:
        """Where its links lead, in normal form, each once, in their order on the page; none where it asks that they not
        be followed.
        """
        return self._links

    @cached_property
    def _body(self) -> bytes:
        return self._parser.content(self._page)[0]

    @cached_property
    def _text(self) -> str:
        return self.body.decode(self._parsed.charset or "utf-8", "replace")

    @cached_property
    def _links(self) -> list[str]:
        if not self._parsed.follow:
            return []
        found = (normal_form(written, self._parsed.base) for written, _ in self._parsed.links)
        return list(dict.fromkeys(url for url in found if type(url) is str))


class Application:
    """What to request next, and what to do with a page.

    Subclass it and write `visited`, `failed` or `redirected`, or those of them that matter. Or give any object that has
    `visited` and `failed`; `redirected` may be missing.

    The methods are called one at a time, in the thread of the crawl, which does nothing else meanwhile: what takes long
    holds up every site. That is the thread that called `weft.crawl`, unless an event loop runs there; see `weft.crawl`
    and `weft.crawl_async`.
    """

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

    A seed belongs to all of them. A page that two have asked for is fetched once and given to both. Pages are known by
    their URLs: what comes of a POST and of a GET of one URL goes to whoever asked for either.
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
