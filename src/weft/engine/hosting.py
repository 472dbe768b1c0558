"""An application as the crawl calls it. In: an object of the user's. Out: what it asks for; what it raises is told, and
costs no page.

The first exception of a kind is shown with its line; all are counted, and their tracebacks are in `log/faults.log`.
Under `strict_application` the first one ends the crawl.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from typing import Any

from weft.engine.application import FetchedPage, Request
from weft.errors import UsageError, WeftError
from weft.events import Bus


class Hosted:
    """Calls an application, and lets nothing that it raises through."""

    def __init__(self, application: Any, bus: Bus, *, strict: bool) -> None:
        self._application = application
        self._redirected = getattr(application, "redirected", None)  # need not be there
        self._bus = bus
        self._strict = strict

    def __repr__(self) -> str:
        return f"Hosted({self._application!r})"

    def visited(self, page: FetchedPage) -> list[Request | str]:
        """A page has come: what the application wants next."""
        return self._ask(page.url, lambda: self._application.visited(page))

    def failed(self, url: str, reason: str) -> list[Request | str]:
        """A page could not be had: what the application wants instead."""
        return self._ask(url, lambda: self._application.failed(url, reason))

    def redirected(self, url: str, target: str) -> None:
        """A page redirects."""
        redirected = self._redirected
        if redirected is not None:
            self._ask(url, lambda: redirected(url, target) and None)

    def _ask(self, url: str, call: Callable[[], Iterable[Any] | None]) -> list[Request | str]:
        wanted: list[Request | str] = []
        try:
            for request in call() or ():
                if not isinstance(request, (str, Request)):
                    kind = type(request).__name__
                    raise TypeError(f"an application asks for URLs or weft.Request objects, not for {kind}")  # noqa: TRY301
                wanted.append(request)
        except Exception as error:
            self._bus.report(error, url, of_application=True)
            if self._strict:
                raise WeftError(
                    f"the application failed: {described(error)}",
                    where=url,
                    todo="mend it, or leave strict_application out; the page is fetched again when the crawl goes on",
                ) from error
        return wanted


def check_application(application: Any) -> None:
    """Refuse what is no application, before anything is done."""
    missing = [name for name in ("visited", "failed") if not callable(getattr(application, name, None))]
    if isinstance(application, type):
        raise UsageError(
            f"the application is the class {application.__name__}, not an object of it",
            todo=f"give {application.__name__}()",
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
    text = "".join(traceback.format_exception_only(error)).strip().replace("\n", " ")
    frames = traceback.extract_tb(error.__traceback__)
    return f"{text} ({frames[-1].filename}:{frames[-1].lineno})" if frames else text
