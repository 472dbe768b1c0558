"""What happens in a crawl, as values. The crawl log, the counters and the display subscribe; tests assert these,
not wording.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import msgspec

from weft.model import Outcome


class Fetched(msgspec.Struct, frozen=True, gc=False):
    """A fetch was tried, and what came of it is written down."""

    outcome: Outcome
    site: str
    visit: int
    digest: str
    duplicate: bool
    rest: float | None = None  # seconds that the site rests, where the connection was closed behind this fetch
    closed_at: float | None = None  # wall time, where it was closed
    redirected_from: int = 0  # the id of the URL where the chain of redirects began that led here
    robots: str = ""  # what the page asks of robots, as `parse.directives` writes it
    links: int = 0  # that were found on it
    staged: dict[str, Any] | None = None  # what stages found out, by column, where a crawl has any
    dropped: str = ""  # why its answer is not in the archive, though it came: noarchive or application


class Stopped(msgspec.Struct, frozen=True, gc=False):
    """The crawl has come to an end, or was told to."""

    why: str


class Fault(msgspec.Struct, frozen=True, gc=False):
    """weft itself, or the application, failed on something; the crawl goes on."""

    error: BaseException
    where: str
    of_application: bool = False


class OutageBegan(msgspec.Struct, frozen=True, gc=False):
    """Nobody can be reached, which is no site's fault: visits wait."""

    cause: str


class OutageEnded(msgspec.Struct, frozen=True, gc=False):
    """Somebody was reached again."""

    seconds: float  # that it took


Event = Fetched | Stopped | Fault | OutageBegan | OutageEnded
Listener = Callable[[Event], None]


class Bus:
    """Hands every event to whoever listens to its kind, in the order they came."""

    def __init__(self) -> None:
        self._listeners: dict[type, list[Listener]] = {kind: [] for kind in get_args(Event)}

    def subscribe(self, listener: Listener, *kinds: type[Event]) -> None:
        """Have a listener told of these kinds of events from now on, or of all."""
        for kind in kinds or self._listeners:
            self._listeners[kind].append(listener)

    def emit(self, event: Event) -> None:
        """Tell everybody."""
        for listener in self._listeners[type(event)]:
            listener(event)

    def report(self, error: BaseException, where: str, *, of_application: bool = False) -> None:
        """Tell everybody of an internal error, or of one of the application."""
        self.emit(Fault(error, where, of_application))
