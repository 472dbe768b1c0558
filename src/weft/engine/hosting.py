"""An application as the crawl calls it. In: an object of the user's. Out: what it asks for; what it raises is told, and
costs no page.

The first exception of a kind is shown with its line; all are counted, and their tracebacks are in `log/faults.log`.
Under `strict_application` the first one ends the crawl. What cannot be caught (code that ends its process, or hangs) is
told by name when the worker is started again, and not called a third time (`calls`).

`Caller` calls; `Hosted` is what the crawl has of it in the same process, `hosting_apart.HostedApart` in another one.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import msgspec

from weft.engine.application import FetchedPage, Request, known_keywords, unpacked_meta
from weft.engine.calls import Calls
from weft.errors import UsageError, WeftError
from weft.events import Bus
from weft.frontier.special import Special
from weft.model import UrlId

NO_CALLS = nullcontext()


class Wanted(msgspec.Struct, frozen=True, array_like=True):
    """What an application asks for, where that is more than a URL."""

    url: str  # as written
    priority: float
    special: Special | None
    again: bool


Wish = Wanted | str


class Told(msgspec.Struct, frozen=True):
    """What an application said of a page."""

    wanted: list[Wish]
    kept: bool = True


class FailedNotice(msgspec.Struct, frozen=True, tag="failed"):
    """A page could not be had, and the application has not answered to that yet."""

    url: str
    reason: str
    special: Special | None
    depth: int
    via: UrlId  # the page


class RedirectedNotice(msgspec.Struct, frozen=True, tag="redirected"):
    """A page redirects, likewise."""

    url: str
    target: str
    special: Special | None
    depth: int
    via: UrlId


Notice = FailedNotice | RedirectedNotice
decode_notices = msgspec.msgpack.Decoder(list[Notice]).decode


OnWanted = Callable[[str, int, UrlId, list[Wish]], None]


def nobody(_url: str, _depth: int, _via: UrlId, _wanted: list[Wish]) -> None:
    """Offers nothing."""


class Caller:
    """Calls an application's methods, one at a time. Owned by whoever hosts it; keeps what it asked for before it
    raised.
    """

    def __init__(self, application: Any, name: str, wall: Callable[[], float]) -> None:
        self._application = application
        self._wall = wall
        self._takes = {
            method: known_keywords(bound)
            for method in ("failed", "redirected")
            if (bound := getattr(application, method, None)) is not None
        }
        self.name = name
        self.stateful = callable(getattr(application, "state", None))
        self._called = False  # since its state was asked for

    def __repr__(self) -> str:
        return f"Caller({self.name})"

    def begin(self) -> tuple[list[Wish], BaseException | None]:
        """The worker begins."""
        return self._gather("begin")

    def visited(self, page: FetchedPage) -> tuple[list[Wish], BaseException | None]:
        """A page has come."""
        return self._gather("visited", page)

    def failed(self, url: str, reason: str, special: Special | None) -> tuple[list[Wish], BaseException | None]:
        """A page could not be had."""
        return self._gather("failed", url, reason, **self._further("failed", special))

    def redirected(self, url: str, target: str, special: Special | None) -> tuple[list[Wish], BaseException | None]:
        """A page redirects."""
        return self._gather("redirected", url, target, **self._further("redirected", special))

    def end(self) -> BaseException | None:
        """The worker has done its part."""
        return self._call("end")[1]

    def state(self) -> tuple[bytes, BaseException | None]:
        """Its state, encoded; nothing where it has none, or where that is what it was."""
        if not (self.stateful and self._called and getattr(self._application, "changed", True)):
            return b"", None
        self._called = False
        state, error = self._call("state")
        if error is not None:
            return b"", error
        try:
            encoded = msgspec.msgpack.encode(state)
        except Exception as error:  # noqa: BLE001  whatever it is made of
            return b"", error
        if hasattr(self._application, "changed"):
            self._application.changed = False
        return encoded, None

    def restore(self, state: bytes) -> None:
        """Give it its state back, before anything else."""
        if not callable(getattr(self._application, "restore", None)):
            return
        _, error = self._call("restore", msgspec.msgpack.decode(state))
        if error is not None:
            raise WeftError(
                f"the application {self.name} does not take its state back: {described(error)}",
                todo="mend its method `restore`",
            ) from error

    def _further(self, method: str, special: Special | None) -> dict[str, Any]:
        takes = self._takes.get(method)
        if not takes:
            return {}
        known = {
            "meta": None if special is None else unpacked_meta(special.meta),
            "owners": -1 if special is None else special.owners,
        }
        return {name: known[name] for name in takes}

    def _call(self, method: str, *arguments: Any, **further: Any) -> tuple[Any, BaseException | None]:
        bound = getattr(self._application, method, None)
        if bound is None:
            return None, None
        self._called = True
        try:
            return bound(*arguments, **further), None
        except (Exception, SystemExit) as error:  # noqa: BLE001  an application does not end its worker
            return None, error

    def _gather(self, method: str, *arguments: Any, **further: Any) -> tuple[list[Wish], BaseException | None]:
        wanted: list[Wish] = []
        found, error = self._call(method, *arguments, **further)
        if error is not None or found is None:
            return wanted, error
        try:
            for each in found:
                if type(each) is str:
                    wanted.append(each)
                elif isinstance(each, Request):
                    wanted.append(Wanted(each.url, each.priority, each.special(self._wall()), each.again))
                elif isinstance(each, str):
                    wanted.append(str(each))
                else:
                    kind = type(each).__name__
                    raise TypeError(f"an application asks for URLs or weft.Request objects, not for {kind}")  # noqa: TRY301
        except (Exception, SystemExit) as error:  # noqa: BLE001  the same
            return wanted, error
        return wanted, None


class Hosted:
    """An application in the process of its worker."""

    def __init__(self, caller: Caller, bus: Bus, *, strict: bool, calls: Calls | None = None) -> None:
        self.on_wanted: OnWanted = nobody  # it answers at once
        self._caller = caller
        self._faults = Faults(bus, caller.name, strict=strict)
        self._calls = calls

    def __repr__(self) -> str:
        return f"Hosted({self._caller.name})"

    def begin(self, state: bytes) -> list[Wish]:
        """Give it its state back, if it had one; what it wants first."""
        if state:
            with self._under("restore", ""):
                self._caller.restore(state)
        with self._under("begin", ""):
            return self._heard("begin", "", self._caller.begin())

    def visited(self, page: FetchedPage) -> list[Wish]:
        """A page has come: what the application wants next."""
        if self._is_harmful("visited", page.url):
            return []
        with self._under("visited", page.url):
            return self._heard("visited", page.url, self._caller.visited(page))

    def failed(self, url: str, reason: str, special: Special | None, _depth: int, _via: UrlId) -> list[Wish]:
        """A page could not be had: what the application wants instead."""
        if self._is_harmful("failed", url):
            return []
        with self._under("failed", url):
            return self._heard("failed", url, self._caller.failed(url, reason, special))

    def redirected(self, url: str, target: str, special: Special | None, _depth: int, _via: UrlId) -> list[Wish]:
        """A page redirects: what the application wants beside where it leads."""
        if self._is_harmful("redirected", url):
            return []
        with self._under("redirected", url):
            return self._heard("redirected", url, self._caller.redirected(url, target, special))

    def state(self) -> tuple[bytes, bytes]:
        """What a commit keeps of it: its state, where that changed, and what it has not been told: nothing."""
        with self._under("state", ""):
            state, error = self._caller.state()
        self._heard("state", "", ([], error))
        return state, b""

    def end(self) -> None:
        """The worker has done its part."""
        with self._under("end", ""):
            self._heard("end", "", ([], self._caller.end()))

    def _under(self, method: str, url: str) -> Any:
        return NO_CALLS if self._calls is None else self._calls.under(self._caller.name, method, url)

    def _is_harmful(self, method: str, url: str) -> bool:
        if self._calls is None or not self._calls.harmful or not self._calls.is_harmful(self._caller.name, method, url):
            return False
        self._faults.report(self._calls.harm(self._caller.name, method, url), url or method)
        return True

    def _heard(self, method: str, url: str, answer: tuple[list[Wish], BaseException | None]) -> list[Wish]:
        wanted, error = answer
        if error is not None:
            self._faults.report(error, url or method)
        return wanted


class Faults:
    """Tells of what an application raises; where that is wanted, the first one ends the crawl."""

    def __init__(self, bus: Bus, name: str, *, strict: bool) -> None:
        self._bus = bus
        self._name = name
        self._strict = strict

    def __repr__(self) -> str:
        return f"Faults({self._name})"

    def report(self, error: BaseException, where: str) -> None:
        """An application failed on this."""
        self._bus.report(error, where, of_application=True)
        if self._strict:
            raise WeftError(
                f"the application failed: {described(error)}",
                where=where,
                todo="mend it, or leave strict_application out; the page is fetched again when the crawl goes on",
            ) from error


def check_application(application: Any) -> None:
    """Refuse what is no application, before anything is done."""
    missing = [name for name in ("visited", "failed") if not callable(getattr(application, name, None))]
    if isinstance(application, type):
        raise UsageError(
            f"the application is the class {application.__name__}, not an object of it",
            todo=f"give {application.__name__}(), or its name as module:{application.__name__}",
        )
    if missing:
        raise UsageError(
            f"this is not an application: {application!r} has no method {' and no method '.join(missing)}",
            todo="subclass weft.Application, or give an object with these methods",
        )


def described(error: BaseException) -> str:
    """An exception in one line, with the line of the program that raised it.

    >>> try:
    ...     {}["x"]
    ... except KeyError as error:
    ...     described(error).partition(" (")[0]
    "KeyError: 'x'"
    """
    if isinstance(error, RemoteError):
        return error.text
    text = "".join(traceback.format_exception_only(error)).strip().replace("\n", " ")
    frames = traceback.extract_tb(error.__traceback__)
    return f"{text} ({frames[-1].filename}:{frames[-1].lineno})" if frames else text


class RemoteError(Exception):
    """What user code raised in another process, in one line; its traceback is a note."""

    def __init__(self, text: str, trace: str) -> None:
        super().__init__(text)
        self.text = text
        self.add_note(trace)
