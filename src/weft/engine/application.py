"""The crawling application, apart from the crawling system (P4): it decides what to request and what to do with a
page.

The system does the rest: robots, politeness, names, download, storage. Without an application a crawl follows the
links of every page within its scope.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlencode

import msgspec

from weft.fetch.headers import check_headers
from weft.frontier.special import Special
from weft.model import Page, Parsed, Turn
from weft.parse.page import Parser
from weft.parse.stage import ReadPage

_MOST_BODY = 1_000_000  # bytes
_MOST_META = 64_000  # bytes


@dataclass(frozen=True, slots=True)
class Request:
    """A page that an application wants.

    A POST is for logging in and the like. Its method and body are part of what it is: a POST and a GET of one URL are
    two requests, each asked for once. It is never sent twice, by a crash or by a connection that breaks, unless
    `repeat` says that it may be: if it is not known what came of it, `failed` is told `outcome-unknown`. The system
    follows its redirect with a GET, also to a page that was fetched before.

    Headers are sent with this request only, not with its redirect. Header values and bodies are secrets: they are not
    in the archive unless `store_credentials` is set.

    A page that was fetched before is not fetched once more unless it is asked for `again`, and nothing is told of that;
    one that is still to be fetched is fetched once, whoever asks.
    """

    url: str  #: relative to the page on which it is asked for, or absolute; without user name and password
    priority: float = 0.0  #: the highest comes first
    headers: Mapping[str, str] | None = field(default=None, repr=False)  #: further headers
    method: Literal["GET", "POST"] = "GET"
    body: bytes | str | Mapping[str, str] | None = field(default=None, repr=False)  #: of a POST; a mapping is a form
    repeat: bool = False  #: a POST that may be sent again when its outcome is unknown
    again: bool = False  #: fetch the page also where that was done before
    later: float = 0.0  #: seconds that it is not asked for yet
    #: what comes back with whatever comes of it, also after a resume and at another worker: numbers, texts, bytes,
    #: lists and dictionaries of them
    meta: Any = None
    owners: int = field(default=-1, repr=False)  #: who of several asks for it; `Together` sets it

    def __post_init__(self) -> None:
        check_headers(self.headers)
        if self.method not in ("GET", "POST"):
            raise ValueError(f"the method {self.method!r} is neither GET nor POST")
        if self.body is not None and self.method != "POST":
            raise ValueError("a body is for POST: say method='POST'")
        if len(self._bytes()) > _MOST_BODY:
            raise ValueError(f"the body is larger than {_MOST_BODY:,} bytes")
        if not 0 <= self.later < math.inf:
            raise ValueError(f"it cannot be asked for in {self.later} seconds")
        if len(packed_meta(self.meta)) > _MOST_META:
            raise ValueError(f"the meta is larger than {_MOST_META:,} bytes")

    def special(self, wall: float) -> Special | None:
        """What the frontier must remember beside the URL; None where that is nothing. The time is `wall` now."""
        if self.method == "GET" and not (self.headers or self.later) and self.meta is None and self.owners == -1:
            return None
        return Special(
            dict(self.headers or {}),
            self._bytes() if self.method == "POST" else None,
            self.repeat,
            meta=packed_meta(self.meta),
            owners=self.owners,
            due=wall + self.later if self.later else 0.0,
        )

    def _bytes(self) -> bytes:
        if isinstance(self.body, Mapping):
            return urlencode(self.body).encode()
        return self.body.encode() if isinstance(self.body, str) else self.body or b""


def packed_meta(meta: Any) -> bytes:
    """What comes back with a request, as the frontier keeps it: nothing for None."""
    if meta is None:
        return b""
    try:
        return msgspec.msgpack.encode(meta)
    except (TypeError, ValueError, OverflowError, UnicodeEncodeError) as error:
        raise TypeError(f"the meta of a request cannot be kept: {error}") from error


def unpacked_meta(data: bytes) -> Any:
    """The same again.

    >>> unpacked_meta(packed_meta({"walker": 3})), unpacked_meta(packed_meta(None))
    ({'walker': 3}, None)
    """
    return msgspec.msgpack.decode(data) if data else None


class FetchedPage(ReadPage):
    """A page as an application sees it."""

    def __init__(
        self,
        turn: Turn,
        page: Page,
        parsed: Parsed,
        parser: Parser,
        special: Special | None = None,
        columns: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(turn, page, parsed, parser, columns)
        self._special = special
        self._kept = True

    @property
    def meta(self) -> Any:
        """What the request came with; None where it had nothing, or nobody asked for the page."""
        return None if self._special is None else unpacked_meta(self._special.meta)

    @property
    def owners(self) -> int:
        """Who of several applications asked for it, a bit for each; -1: all of them."""
        return -1 if self._special is None else self._special.owners

    @property
    def kept(self) -> bool:
        """Does it go to the archive, as far as the application has a say?"""
        return self._kept

    def discard(self) -> None:
        """Do not keep it: it has its row and its links, and no record in the archive."""
        self._kept = False


class Application:
    """What to request next, and what to do with a page.

    Subclass it and write `visited`, `failed` or `redirected`, or those of them that matter. Or give any object that has
    `visited` and `failed`; all other methods may be missing. An application hears of every end of what it asked for:
    that a page came, redirects, or could not be had, for whatever reason, and be it that a rule refuses it. `failed`
    and `redirected` may have a parameter `meta`: what the request came with.

    An object is called in the process that calls `weft.crawl`, by one worker. One that is named (`module:Class`) is
    made by every worker, and told of what that worker fetches: a request that leads to the site of another worker is
    told to the application there. Under `application_apart` each has a process to itself.

    The methods are called one at a time. Unless it has a process to itself, its worker does nothing else meanwhile:
    what takes long holds up every site. For an object that is the thread that called `weft.crawl`, unless an event loop
    runs there; see `weft.crawl` and `weft.crawl_async`.

    What must outlive the process is its state: with methods `state` and `restore` it is part of every commit, so that a
    crawl that goes on after whatever ended it has it as it was when the last page was that is there too. An attribute
    `changed`, where there is one, says whether it is to be asked for; it is set to False then.
    """

    def begin(self) -> Iterable[Request | str] | None:
        """The worker begins, or goes on, after `restore`: request something, or nothing."""
        return None

    def visited(self, page: FetchedPage) -> Iterable[Request | str] | None:
        """A page has come: do something with it, and say what to request next (or nothing)."""
        return page.links

    def failed(self, url: str, reason: str) -> Iterable[Request | str] | None:
        """A page could not be had, for a reason from the list of reasons: request something else, or nothing."""
        del url, reason
        return None

    def redirected(self, url: str, target: str) -> Iterable[Request | str] | None:
        """A page redirects; the system follows by itself, and `visited` is told of the target, unless that was asked
        for before: request something, or nothing.
        """
        del url, target
        return None

    def end(self) -> None:
        """The worker has done its part, or was told to stop."""


class Together:
    """Several applications that share one system and its politeness: each is told of the pages that it asked for.

    A seed belongs to all of them. A page that two ask for before it is there is fetched once and given to both. Who
    asked for what is kept with the requests: it survives a resume, and the way to another worker.
    """

    def __init__(self, *applications: Application) -> None:
        self._applications = applications

    def begin(self) -> Iterable[Request | str]:
        """All of them begin."""
        for number, application in enumerate(self._applications):
            yield from _owned(number, _called(application, "begin"))

    def visited(self, page: FetchedPage) -> Iterable[Request | str]:
        """Hand the page to those who asked for it, and gather what they want next."""
        for number, application in self._owners(page.owners):
            yield from _owned(number, application.visited(page))

    def failed(self, url: str, reason: str, *, meta: Any = None, owners: int = -1) -> Iterable[Request | str]:
        """Tell those who asked for it."""
        for number, application in self._owners(owners):
            yield from _owned(number, _called(application, "failed", url, reason, meta=meta))

    def redirected(self, url: str, target: str, *, meta: Any = None, owners: int = -1) -> Iterable[Request | str]:
        """Tell those who asked for it."""
        for number, application in self._owners(owners):
            yield from _owned(number, _called(application, "redirected", url, target, meta=meta))

    def end(self) -> None:
        """All of them end."""
        for application in self._applications:
            _called(application, "end")

    @property
    def changed(self) -> bool:
        """Has the state of one of them changed, or may it have?"""
        return any(getattr(each, "changed", True) for each in self._applications if hasattr(each, "state"))

    @changed.setter
    def changed(self, changed: bool) -> None:
        for each in self._applications:
            if hasattr(each, "changed"):
                each.changed = changed

    def state(self) -> list[Any]:
        """The states of all of them, in their order."""
        return [_called(each, "state") for each in self._applications]

    def restore(self, state: list[Any]) -> None:
        """Give each its own back."""
        for each, own in zip(self._applications, state, strict=True):
            _called(each, "restore", own)

    def _owners(self, owners: int) -> list[tuple[int, Application]]:
        return [(number, application) for number, application in enumerate(self._applications) if owners >> number & 1]


def _owned(number: int, requests: Iterable[Any] | None) -> Iterable[Request | str]:
    """What an application asks for, with its bit."""
    for each in requests or ():
        request = Request(each) if isinstance(each, str) else each
        if not isinstance(request, Request):
            yield each  # it is refused where everything is
        else:
            yield dataclasses.replace(request, owners=1 << number)


def _called(application: Any, method: str, *arguments: Any, **further: Any) -> Any:
    """Call a method if there is one; what it does not know of is not given to it."""
    bound = getattr(application, method, None)
    if bound is None:
        return None
    return bound(*arguments, **{name: value for name, value in further.items() if name in known_keywords(bound)})


def known_keywords(method: Any) -> frozenset[str]:
    """Which of `meta` and `owners` a method takes."""
    parameters = inspect.signature(method).parameters.values()
    every = any(each.kind is each.VAR_KEYWORD for each in parameters)
    return frozenset(name for name in ("meta", "owners") if every or any(each.name == name for each in parameters))
