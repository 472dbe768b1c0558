"""Many names, asked for politely. In: names. Out: their answers, in the order of the names.

Name servers are others' machines: no more than so many questions a second go there, whatever is to be found out, and no
more than so many names are asked for at once. The second question for a name (IPv6) counts, and so does what is asked
again where name servers fail: what follows waits for it.

That no name server answers is our failure and says nothing of a name: it ends the work with an error, and nothing is
concluded from it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from weft.clock import Clock
from weft.errors import WeftError
from weft.fetch.dns import Answer, Resolver
from weft.fetch.options import Naming
from weft.model import Reason
from weft.settings import setting

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

T = TypeVar("T")
R = TypeVar("R")

_BURST = 0.1  # seconds of the rate that may be made up for at once
_AHEAD = 20  # names that may be answered before the first one, for each of those that are asked for at once
_KEPT = 10_000  # answers: a name is asked for once


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """Settings: how name servers are asked for many names."""

    questions_per_second: float = setting(
        200.0, "questions that name servers are asked a second, at most", at_least=0.01, at_most=1_000_000
    )
    names_at_once: int = setting(500, "names that are asked for at once", at_least=1, at_most=100_000)


class Pace:
    """When the next question may be asked, so that there are so many a second at most. Pure: time comes in.

    >>> pace = Pace(10.0)
    >>> [round(pace.wait(5.0), 3) for _ in range(4)]
    [0.0, 0.0, 0.1, 0.2]
    """

    def __init__(self, rate: float) -> None:
        self._step = 1 / rate
        self._free = float("-inf")  # when the next one may be asked

    def wait(self, now: float) -> float:
        """Take leave for a question; the seconds until it may be asked."""
        at = max(self._free, now - _BURST)
        self._free = at + self._step
        return max(0.0, at - now)

    def charge(self, questions: int) -> None:
        """Questions were asked without leave: what follows waits for them."""
        self._free += questions * self._step


class Names:
    """The name servers as they are asked for many names. Who asks for one waits for its place in the rate."""

    def __init__(self, resolver: Resolver, settings: Asking, naming: Naming) -> None:
        self._resolver = resolver
        self._where = ", ".join(naming.dns) or "the system's name servers"
        self._repeats = naming.dns_tries - 1  # of a question to those that fail
        self._pace = Pace(settings.questions_per_second)
        self._allowed = 0  # questions that the pace knows of
        self._at_once = settings.names_at_once

    def __repr__(self) -> str:
        return f"Names({self._where}, {self.questions} questions)"

    @property
    def questions(self) -> int:
        """Questions that were asked so far."""
        return self._resolver.questions

    async def answer(self, host: str) -> Answer:
        """The addresses of a name, or why there are none."""
        known = self._resolver.known(host)
        if known is not None:
            return known
        loop = asyncio.get_running_loop()
        wait = self._pace.wait(loop.time())
        self._allowed += 1
        if wait:
            await asyncio.sleep(wait)
        future: asyncio.Future[Answer] = loop.create_future()
        self._resolver.resolve(host, lambda answer: None if future.done() else future.set_result(answer))
        answer = await future
        further = self._resolver.questions - self._allowed
        if further > 0:
            self._pace.charge(further)
            self._allowed += further
        if answer.reason is Reason.DNS_FAILED:
            self._pace.charge(self._repeats)
        if answer.ours:
            raise WeftError(
                f"{answer.ours}: nothing can be said of names",
                where=self._where,
                todo="run the same command again when they do, or name others with --dns ADDRESS",
            )
        return answer

    async def each(self, items: Iterable[T], work: Callable[[T], Awaitable[R]], take: Callable[[T, R], None]) -> None:
        """Do some work for each item, many at once, and take what came of it in the order of the items.

        Memory is bounded: items are read as there is room for them, and one that takes long holds up a bounded number
        of those behind it. What fails ends all of it.
        """
        at_once, ahead = self._at_once, self._at_once * _AHEAD
        waiting: deque[tuple[T, asyncio.Task[R]]] = deque()
        moved = asyncio.Event()
        under_way = 0
        source: Iterator[T] | None = iter(items)

        def ended(_task: asyncio.Task[R]) -> None:
            nonlocal under_way
            under_way -= 1
            moved.set()

        async def doing(item: T) -> R:
            return await work(item)

        try:
            while source is not None or waiting:
                while source is not None and under_way < at_once and len(waiting) < ahead:
                    try:
                        item = next(source)
                    except StopIteration:
                        source = None
                        break
                    task = asyncio.create_task(doing(item))
                    under_way += 1
                    task.add_done_callback(ended)
                    waiting.append((item, task))
                if waiting and waiting[0][1].done():
                    item, task = waiting.popleft()
                    take(item, task.result())
                elif waiting:
                    moved.clear()
                    await moved.wait()
        finally:
            left = [task for _, task in waiting]
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)


@asynccontextmanager
async def name_servers(naming: Naming, settings: Asking, clock: Clock) -> AsyncIterator[Names]:
    """The name servers of some settings, for many questions."""
    resolver = Resolver(asyncio.get_running_loop(), clock, naming, keep=_KEPT)
    try:
        yield Names(resolver, settings, naming)
    finally:
        await resolver.stop()
