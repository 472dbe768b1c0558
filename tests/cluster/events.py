"""Threads and event loops as steps. In: callbacks of asyncio, jobs for threads. Out: one step after the other, in an
order that the seed chooses where several are possible.

Each process has a lane, which is an event loop as far as a worker needs one: what it calls soon keeps its order, as it
does in asyncio. Between two lanes anything may come first. A job for a thread is done at one instant of the time that
it takes, and its caller hears of it at the end. A lane that is dead runs nothing any more.
"""

from __future__ import annotations

import asyncio
import heapq
import random
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from itertools import count
from typing import TYPE_CHECKING, Any

from tests.cluster.clock import MachineClock, Time

if TYPE_CHECKING:
    from tests.cluster.process import Process


_NEVER = float("inf")
_EPS = 1e-9  # seconds: what is due closer together than this is due at once


class KilledError(BaseException):
    """The process that runs is killed where it stands."""


class Scheduler:
    """Runs everything there is, a step at a time."""

    def __init__(self, time: Time, chance: random.Random) -> None:
        self.time = time
        self.chance = chance
        self.lanes: list[Lane] = []
        self.current: Process | None = None  # whose step it is
        self.steps = 0
        self._loop: Any = None  # that runs, as asyncio knows it
        self._agenda: list[tuple[float, int, Callable[[], object]]] = []
        self._order = count()

    def at(self, when: float, do: Callable[[], object]) -> None:
        """Have something done at a true time, by nobody's lane."""
        heapq.heappush(self._agenda, (when, next(self._order), do))

    def run_as(self, loop: Any) -> None:
        """Have asyncio take this for the loop that runs. It asks the system each time, so it is told news only."""
        if loop is not self._loop:
            self._loop = loop
            asyncio._set_running_loop(loop)

    def step(self) -> bool:
        """Do one thing; False where there is nothing left to do."""
        self.steps += 1
        now = self.time.now
        ready, soonest = [], _NEVER
        for lane in self.lanes:
            at = lane.at if lane.at is not None else lane.next_at()
            if at <= now:
                ready.append(lane)
            elif at < soonest:
                soonest = at
        if ready:
            lane = ready[0] if len(ready) == 1 else self.chance.choice(ready)
            lane.run_one()
            return True
        if self._agenda:
            soonest = min(soonest, self._agenda[0][0])
        if soonest == _NEVER:
            return False
        self.time.now = now = max(now, soonest)
        while self._agenda and self._agenda[0][0] <= now:
            heapq.heappop(self._agenda)[2]()
        return True


class Pool:
    """Stands for a pool of one thread, in the process whose step made it."""

    scheduler: Scheduler  # of the run under way

    def __init__(self, _threads: int = 1, thread_name_prefix: str = "") -> None:
        self.name = thread_name_prefix

    def submit(self, job: Callable[..., Any], *arguments: Any) -> Job:
        """Have something done soon."""
        process = self.scheduler.current
        assert process is not None, "somebody uses a thread who is no process"
        done = Job()
        process.lane.do_apart(self.name, job, arguments, done.end)
        return done

    def shutdown(self) -> None:
        """Nothing is waited for: whoever shuts it down has waited."""


class Job:
    """What a thread was asked to do."""

    def __init__(self) -> None:
        self._over = False
        self._error: BaseException | None = None

    def end(self, _result: Any, error: BaseException | None) -> None:
        """It has come to its end."""
        self._over, self._error = True, error

    def done(self) -> bool:
        """Has it?"""
        return self._over

    def result(self) -> None:
        """What it raised, if it did."""
        if self._error is not None:
            raise self._error


class Lane:
    """The event loop of one process."""

    def __init__(self, scheduler: Scheduler, clock: MachineClock, process: Process) -> None:
        self.loop: Any = self  # as asyncio takes it: it asks for no more than is here
        self._scheduler = scheduler
        self._clock = clock
        self._process = process
        self._ready: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, int, asyncio.Handle]] = []
        self._order = count()
        self.tasks: list[asyncio.Task[Any]] = []
        self.dead = False
        self._frozen_until = 0.0  # true time: the process does not run before it, or its processor is busy
        self.at: float | None = None  # when there is something to run, where that was reckoned and has not changed
        self.apart: Callable[[str], tuple[float, float]] = lambda _name: (
            0.0,
            0.001,
        )  # when a job is done, and heard of
        scheduler.lanes.append(self)

    def __repr__(self) -> str:
        return f"Lane({self._process}, {len(self._ready)} ready, {len(self._timers)} timers)"

    # What the scheduler asks.

    def next_at(self) -> float:
        """When there is something to run."""
        while self._timers and self._timers[0][2].cancelled():
            heapq.heappop(self._timers)
        at = _NEVER
        if self._ready:
            at = self._frozen_until
        elif self._timers:
            at = max(self._clock.true(self._timers[0][0]), self._frozen_until)
        self.at = at
        return at

    def freeze(self, until: float) -> None:
        """Run nothing before this; the clocks may have changed, too."""
        self._frozen_until = max(self._frozen_until, until)
        self.at = None

    def run_one(self) -> None:
        """Run what is first: what is ready before timers that are due, as asyncio has it."""
        self.at = None
        if not self._ready:
            due = self._timers[0][0] + _EPS
            while self._timers and self._timers[0][0] <= due:
                self._ready.append(heapq.heappop(self._timers)[2])
        handle = self._ready.popleft()
        if not handle.cancelled():
            self.enter(handle._run)

    def enter(self, do: Callable[[], object]) -> None:
        """Run something as this process."""
        scheduler, process = self._scheduler, self._process
        before, scheduler.current = scheduler.current, process
        scheduler.run_as(self.loop)
        try:
            do()
        finally:
            scheduler.current = before
            if self._clock.spent:
                self.freeze(scheduler.time.now + self._clock.spent)
                self._clock.spent = 0.0
        if process.doomed and not self.dead:
            process.kill()

    def die(self) -> None:
        """Run nothing any more."""
        self.dead = True
        self._ready.clear()
        self._timers.clear()
        self._scheduler.lanes.remove(self)

    # What asyncio asks.

    def time(self) -> float:
        """Monotonic."""
        return self._clock.now()

    def get_debug(self) -> bool:
        """No."""
        return False

    def is_running(self) -> bool:
        """As long as the process lives."""
        return not self.dead

    def is_closed(self) -> bool:
        """When it does not any more."""
        return self.dead

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Something was raised that nobody caught."""
        error = context.get("exception")
        if not self.dead and not isinstance(error, KilledError):
            self._process.failed(error if isinstance(error, BaseException) else RuntimeError(context.get("message")))

    def call_soon(self, callback: Callable[..., Any], *args: Any, context: Context | None = None) -> asyncio.Handle:
        """Behind everything that is ready."""
        handle = asyncio.Handle(callback, args, self.loop, context)
        if not self.dead:
            self._ready.append(handle)
            self.at = None
        return handle

    call_soon_threadsafe = call_soon

    def call_later(
        self, delay: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """After so many seconds."""
        return self.call_at(self._clock.now() + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """At a time of the monotonic clock."""
        handle = asyncio.TimerHandle(when, callback, args, self.loop, context)
        if not self.dead:
            heapq.heappush(self._timers, (when, next(self._order), handle))
            self.at = None
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """It is passed over when its time has come."""

    def create_future(self) -> asyncio.Future[Any]:
        """A future of this loop."""
        return asyncio.Future(loop=self.loop)

    def create_task(
        self, coro: Coroutine[Any, Any, Any], *, name: str | None = None, context: Context | None = None
    ) -> asyncio.Task[Any]:
        """A task of this loop."""
        del context
        task = asyncio.Task(coro, loop=self.loop, name=name)
        self.tasks.append(task)
        return task

    def add_signal_handler(self, sig: int, callback: Callable[..., object], *args: Any) -> None:
        """Signals come to the process."""
        self._process.handlers[sig] = (callback, args)

    def remove_signal_handler(self, sig: int) -> bool:
        """It hears of them no more."""
        return self._process.handlers.pop(sig, None) is not None

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        """Have a thread do something."""
        future = self.create_future()

        def end(result: Any, error: BaseException | None) -> None:
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

        self.do_apart(executor.name, func, args, end)
        return future

    def do_apart(
        self,
        name: str,
        job: Callable[..., Any],
        arguments: tuple[Any, ...],
        end: Callable[[Any, BaseException | None], None],
    ) -> None:
        """Do something at one instant of the time that it takes, and tell when that is over."""
        until, after = self.apart(name)

        def do() -> None:
            result, error = None, None
            try:
                result = job(*arguments)
            except KilledError:
                return
            except Exception as failure:  # noqa: BLE001  it is raised where it is waited for
                error = failure
            self.call_later(after, end, result, error)

        self.call_later(until, do)
