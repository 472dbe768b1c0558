"""A worker: one process, one event loop, one local frontier. Runs the loop, commits once a second, stops when told
or done.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from weft.engine.loop import Loop
from weft.engine.progress import Progress
from weft.engine.wires import Wires
from weft.errors import WeftError
from weft.events import Stopped
from weft.settings import setting

_TICK = 0.01  # seconds: timers that are due closer together than this are served together


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """When a crawl ends before it has everything."""

    max_pages: int | None = setting(None, "stop after so many pages")
    max_time: float | None = setting(None, "stop after so many seconds")
    max_bytes: int | None = setting(None, "stop after so many bytes of content")
    grace: float = setting(10.0, "seconds that pages under way have to finish when the crawl is told to stop")
    commit_every: float = setting(1.0, "seconds between two commits")


class Worker:
    """Runs a crawl on an event loop until it is done or told to stop."""

    def __init__(self, wires: Wires, progress: Progress, limits: Limits) -> None:
        self._wires = wires
        self._progress = progress
        self._limits = limits
        self._loop = Loop(wires, self._on_failure, self._after_pump)
        self._events: asyncio.AbstractEventLoop | None = None
        self._over: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._fatal: BaseException | None = None
        self.why = ""  # it stopped

    def __repr__(self) -> str:
        return f"Worker({self._loop}, {self._progress})"

    async def run(self, on_tick: Callable[[], None]) -> None:
        """Crawl. `on_tick` is called a few times a second, for the display."""
        events = self._events = asyncio.get_running_loop()
        self._over = events.create_future()
        signals = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
        for number, why in signals.items():
            events.add_signal_handler(number, self._on_signal, why)
        ticking = asyncio.create_task(self._tick(on_tick), name="tick")
        try:
            if self._limits.max_pages is not None:
                self._wires.frontier.quota = max(0, self._limits.max_pages - self._progress.counts.pages)
            self._loop.pump()
            await self._over
        finally:
            ticking.cancel()
            for number in signals:
                events.remove_signal_handler(number)
            if self._timer is not None:
                self._timer.cancel()
            self._loop.drop()
        if self._fatal is not None:
            raise self._fatal
        self.commit(clean=True)
        self._wires.bus.emit(Stopped(self.why))

    def stop(self, why: str) -> None:
        """Begin no more visits; those under way may finish their page."""
        if self._loop.stopping:
            return
        self.why = why
        self._loop.stopping = True
        if self._events is not None:
            self._events.call_later(self._limits.grace, self._end)
        self._after_pump()

    def commit(self, *, clean: bool = False) -> None:
        """Make everything so far durable and consistent: outputs first, then the frontier's record of them."""
        self._progress.sample()
        lengths = self._wires.store.flush()
        self._wires.frontier.commit(lengths=lengths, counts=msgspec.msgpack.encode(self._progress.counts), clean=clean)

    def _on_signal(self, why: str) -> None:
        """The first Ctrl-C lets pages under way finish, the second does not."""
        if self._loop.stopping:
            self._end()
        else:
            self.stop(why)

    def _end(self) -> None:
        if self._over is not None and not self._over.done():
            self._over.set_result(None)

    async def _tick(self, on_tick: Callable[[], None]) -> None:
        """Every quarter of a second: the display; every second: a commit."""
        elapsed = 0.0
        while True:
            await asyncio.sleep(0.25)
            elapsed += 0.25
            try:
                if elapsed >= self._limits.commit_every:
                    elapsed = 0.0
                    self.commit()
                on_tick()
            except Exception as error:  # noqa: BLE001  a crawl that cannot commit must not go on
                self._fail(error)
                return
            self._check_limits()

    def _check_limits(self) -> None:
        limits, counts = self._limits, self._progress.counts
        if limits.max_time is not None and counts.seconds >= limits.max_time:
            self.stop("time limit")
        elif limits.max_bytes is not None and counts.bytes >= limits.max_bytes:
            self.stop("byte limit")

    def _after_pump(self) -> None:
        """Every visit that may begin has begun: are we done, and if not, when to look again?"""
        if self._loop.stopping:
            if self._loop.active == 0:
                self._end()
            return
        frontier = self._wires.frontier
        if frontier.done or (frontier.quota == 0 and self._loop.active == 0):
            self.why = "done" if frontier.done else "page limit"
            self._loop.stopping = True
            self._end()
            return
        at = frontier.schedule.next_event()
        if at is not None and (self._timer is None or at < self._timer_at) and self._events is not None:
            if self._timer is not None:
                self._timer.cancel()
            now = self._wires.clock.now()
            self._timer_at = max(at, now + _TICK)
            self._timer = self._events.call_later(self._timer_at - now, self._on_time)

    def _on_time(self) -> None:
        self._timer = None
        self._loop.pump()

    def _fail(self, error: BaseException) -> None:
        """End the crawl with an error; what was committed is whole."""
        self._fatal = error
        self._loop.stopping = True
        self._end()

    def _on_failure(self, error: BaseException) -> None:
        """A visit failed. The disk's failure ends the crawl; a fault of ours is reported and the crawl goes on."""
        if isinstance(error, WeftError):
            self._fail(error)
        else:
            self._wires.bus.report(error, "a visit")
