"""A crawl that visits its pages again. In: an interval. Out: every page, again and again.

Thin: every page has the same interval, and is fetched whether it changed or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from weft.engine.application import Application, FetchedPage, Request
from weft.errors import UsageError
from weft.model import Reason
from weft.units import quantity

# The server was asked, and may answer another time; what a rule refuses it refuses again.
_MAY_COME = frozenset(reason.value for reason in Reason if reason.retry) | {Reason.STATUS_4XX.value}


class Recrawl(Application):
    """Follows every link within the scope, and asks for each page again `interval` after it was fetched (seconds, or
    such as `6 h`), until it was fetched `rounds` times; 0: without end.
    """

    def __init__(self, interval: float | str = 86_400.0, rounds: int | str = 0) -> None:
        self._interval = float(quantity(interval, "seconds") if isinstance(interval, str) else interval)
        self._rounds = int(rounds)
        if self._interval <= 0 or self._rounds < 0:
            raise UsageError("the interval is more than nothing, and rounds are at least 0")

    def visited(self, page: FetchedPage) -> Iterator[Request | str]:
        """Follow the links, and ask for the page again; meta says which round it was."""
        yield from page.links
        yield from self._again(page.url, page.meta)

    def failed(self, url: str, reason: str, meta: Any = None) -> Iterator[Request]:
        """It may come the next time."""
        if reason in _MAY_COME:
            yield from self._again(url, meta)

    def redirected(self, url: str, target: str, meta: Any = None) -> Iterator[Request]:
        """It may lead elsewhere the next time; where it leads has its own turn."""
        del target
        yield from self._again(url, meta)

    def _again(self, url: str, meta: Any) -> Iterator[Request]:
        done = meta if isinstance(meta, int) else 1
        if not self._rounds or done < self._rounds:
            yield Request(url, again=True, later=self._interval, meta=done + 1)
