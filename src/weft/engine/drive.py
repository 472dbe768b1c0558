"""Drives visits: coroutines that ask for something slow and go on when it has come.

A visit is written as one straight `async def`, and awaits `Ask`s: a name resolved, a page fetched. No event loop is
needed to run it: an `Ask` says how to begin, and is given what to call when it is done. Live, that is libcurl's
callback; on a virtual clock, a script. Between two pages of a visit there is no task, no future and no turn of the
loop.

>>> async def double(ask):
...     return 2 * await ask
>>> driver = Driver(print, lambda: None)
>>> waiting = []
>>> driver.run(double(Ask(waiting.append)))
>>> driver.active
1
>>> waiting[0](21)
>>> driver.active
0
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Ask(Generic[T]):
    """Something to wait for: `start` begins it and will call what it is given with the answer, now or later."""

    __slots__ = ("start",)

    def __init__(self, start: Callable[[Callable[[T], None]], None]) -> None:
        self.start = start

    def __await__(self) -> Generator[Ask[T], T, T]:
        """Hand the ask to the driver and take the answer from it."""
        return (yield self)


class Driver:
    """Runs coroutines that await nothing but `Ask`s."""

    def __init__(self, on_failure: Callable[[BaseException], None], on_end: Callable[[], None]) -> None:
        self._on_failure = on_failure
        self._on_end = on_end  # called when a coroutine is over
        self._running: set[_Running] = set()

    def __repr__(self) -> str:
        return f"Driver({len(self._running)} active)"

    @property
    def active(self) -> int:
        """Coroutines that wait for something."""
        return len(self._running)

    def run(self, coroutine: Coroutine[Ask[Any], Any, Any]) -> None:
        """Begin a coroutine; it goes on by itself. What it raises is handed to `on_failure`."""
        running = _Running(coroutine, self)
        self._running.add(running)
        running.go_on(None)

    def close(self) -> None:
        """End every coroutine where it stands; their `finally` clauses run."""
        for running in list(self._running):
            self._running.discard(running)
            try:
                running.close()
            except Exception as error:  # noqa: BLE001  the others must be ended too
                self._on_failure(error)

    def ended(self, running: _Running, error: BaseException | None) -> None:
        """A coroutine is over."""
        self._running.discard(running)
        if error is not None:
            self._on_failure(error)
        self._on_end()


class _Running:
    """A coroutine with where it stands. An answer that comes at once is taken in a loop, not by recursion."""

    __slots__ = ("_answer", "_answered", "_coroutine", "_driver", "_over", "_starting")

    def __init__(self, coroutine: Coroutine[Ask[Any], Any, Any], driver: Driver) -> None:
        self._coroutine = coroutine
        self._driver = driver
        self._starting = False
        self._answered = False
        self._over = False
        self._answer: Any = None

    def go_on(self, answer: Any) -> None:
        error: Exception | None = None
        while True:
            try:
                ask = self._coroutine.send(answer) if error is None else self._coroutine.throw(error)
            except StopIteration:
                self._over = True
                self._driver.ended(self, None)
                return
            except Exception as failure:  # noqa: BLE001  whatever a visit raises must not end the crawl
                self._over = True
                self._driver.ended(self, failure)
                return
            error = None
            self._starting = True
            self._answered = False
            try:
                ask.start(self._take)
            except Exception as failure:  # noqa: BLE001  it is raised where the coroutine waits
                error = failure
            self._starting = False
            if error is None and not self._answered:
                return
            answer = self._answer

    def close(self) -> None:
        self._over = True
        self._coroutine.close()

    def _take(self, answer: Any) -> None:
        if self._starting:
            self._answered = True
            self._answer = answer
        elif not self._over:  # an answer may come when nobody waits for it any more
            self.go_on(answer)


def later(done: Callable[[None], None]) -> None:
    """Go on when others had their turn; on a virtual clock there is nobody else."""
    try:
        events = asyncio.get_running_loop()
    except RuntimeError:
        done(None)
    else:
        events.call_soon(done, None)
