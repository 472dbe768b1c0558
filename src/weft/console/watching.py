"""A crawl that is watched. In: how to look at it. Out: overviews, one after the other, for as long as somebody watches.

However many watch, one look serves all; when nobody does, nobody looks. A look is taken once a second at most, and
seldomer where it takes long (see `kept`).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable

from starlette.concurrency import run_in_threadpool

from weft.clock import Clock
from weft.console.kept import Kept
from weft.console.overview import Overview, overview_of
from weft.operations.status import Status

_LEAST, _MOST = 1.0, 15.0  # seconds between two looks
_REMEMBERED = 300  # looks whose rates are shown


class Watching:
    """Looks at one crawl."""

    def __init__(self, look: Callable[[], Status], clock: Clock) -> None:
        self._look = look
        self._pages: deque[float] = deque(maxlen=_REMEMBERED)
        self._bytes: deque[float] = deque(maxlen=_REMEMBERED)
        self._kept = Kept(self._see, clock, least=_LEAST, most=_MOST)
        self.watchers = 0

    def __repr__(self) -> str:
        return f"Watching({self.watchers} watchers)"

    def now(self) -> Overview:
        """How the crawl stands."""
        return self._kept.get()

    def _see(self) -> Overview:
        found = self._look()
        self._pages.append(round(found.pages_rate, 2))
        self._bytes.append(round(found.bytes_rate))
        return overview_of(found, {"pages": list(self._pages), "bytes": list(self._bytes)})

    async def stream(self, go_on: Callable[[], bool]) -> AsyncIterator[Overview]:
        """How it stands, again and again."""
        self.watchers += 1
        try:
            while go_on():
                yield await run_in_threadpool(self.now)
                await asyncio.sleep(self._kept.period)
        finally:
            self.watchers -= 1
