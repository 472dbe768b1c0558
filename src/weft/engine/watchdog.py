"""The watchdog: starts the workers of a crawl, restarts those that die or hang, and ends with them. In: how to start
a worker, and how far each is. Out: why the crawl ended, what workers said, and every restart with its cause.

A worker that gives no sign hangs, unless it was ready to run and others had the processors: that is told, and waited
for.

Their number may change while it runs. Who is taken away finishes, and what it held goes to the others, which go on.
When some are added all finish and start again, so that the load is shared among all of them.

It crawls nothing and holds nothing that a worker needs: when it is killed its workers die with it (the kernel sees
to that), and the next run goes on from what is on disk.
"""

from __future__ import annotations

import math
import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from weft.clock import Clock
from weft.engine.messages import Ear, Messages
from weft.engine.stopping import Stopping, is_main_thread
from weft.errors import WeftError
from weft.frontier.shared.contract import FrontierAwayError, Restart
from weft.settings import setting

_LOOK = 0.1  # seconds between two looks
_SHOW = 4  # looks between two of the display, and of whoever else looks at the whole
_SIGNS = 1.0  # seconds between two looks at the signs of life: nobody is missed for so short a time
_LONGEST_PAUSE = 30.0  # seconds before a worker that died is started again
_ASK = 1.0  # seconds between two looks at how many workers are wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Watching:
    """How workers are watched."""

    hung_after: float = setting(
        60.0, "a worker that shows no sign of life for so many seconds is restarted", at_least=1, unit="seconds"
    )
    node_lost_after: float = setting(
        3600.0,
        "of a crawl on several machines: a node that is silent for so many seconds counts as lost, and others go on "
        "with its sites from what it last sent of them",
        at_least=1,
        unit="seconds",
    )
    parcel_every: float = setting(
        300.0,
        "of a crawl in a database: seconds between two times that a worker sends what it knows of its sites; if its "
        "node is lost, what it fetched since is fetched again",
        above=0,
        unit="seconds",
    )
    most_restarts: int = setting(
        8,
        "leave a worker out when it dies more often than this in a row without a commit: its sites go to the others; "
        "where it is the only one the crawl ends",
        at_least=0,
    )


# A worker that fetches keeps a core busy: some more than cores do no harm, many take memory and time from each other.
MANY_PER_CORE, MOST_PER_CORE = 4, 16


def most_workers() -> int:
    """How many workers this machine may have."""
    return len(os.sched_getaffinity(0)) * MOST_PER_CORE


@dataclass(slots=True)
class _Child:
    number: int
    process: subprocess.Popen[bytes]
    began: float
    ear: Ear
    life: float = 0.0  # its last sign, on whatever clock
    seen: float = 0.0  # when that changed, by our clock
    deaths: int = 0  # in a row without a sign of life
    restart_at: float | None = None
    done: bool = False
    waited: float = 0.0  # how long it had been kept waiting for a processor by then
    starved: bool = False  # it was told that others have the processors
    hung: bool = False  # it was killed for that
    leaving: bool = False  # it is not started again
    left_out: str = ""  # it kept dying: how
    signs: int = field(default=0)


class Crew(Protocol):
    """How many workers there are to be, and what must be done when that changes."""

    def wanted(self) -> int:
        """How many workers the crawl is to have."""
        ...

    def fewer(self, workers: int) -> None:
        """Tell those above to leave; the others go on."""
        ...

    def left(self, workers: int) -> None:
        """They are gone: what they held goes to the others."""
        ...

    def leave_out(self, worker: int, why: str) -> None:
        """One that kept dying is gone: what it held goes to the others, which go on."""
        ...

    def more(self, workers: int) -> None:
        """None runs: share everything out anew, among so many."""
        ...


class Watchdog:
    """Keeps workers alive until the crawl is over."""

    def __init__(  # noqa: PLR0913
        self,
        workers: int,
        *,
        start: Callable[[int], subprocess.Popen[bytes]],
        signs: Callable[[], dict[int, float]],
        settings: Watching,
        clock: Clock,
        messages: Messages,
        on_restart: Callable[[Restart], None] = lambda _restart: None,
        is_over: Callable[[], bool] = lambda: True,
        crew: Crew | None = None,
        doing: Callable[[int], str] = lambda _number: "",
        waited: Callable[[int], float] = lambda _pid: 0.0,
        first: int = 0,
    ) -> None:
        self._start = start
        self._waited = waited  # by process: seconds that others had the processors while it was ready to run
        self._doing = doing  # by worker: the call of user code that it is in the middle of, if any
        self._signs = signs  # by worker: when it was heard of last, on whatever clock
        self._settings = settings
        self._clock = clock
        self._say = messages.say
        self._hear = messages.pass_on  # every line that a worker writes to its standard error
        self._on_restart = on_restart
        self._is_over = is_over  # has the crawl come to its end, so that a worker may end well?
        self._first = first  # the number of the first worker
        self._children = [self._child(first + place) for place in range(workers)]
        self._crew = crew
        self._change: int | None = None  # so many workers there are to be, when those that leave have left
        self._asked = clock.now()  # when it was last looked how many are wanted
        self._stopping = 0  # how often we were told to
        self._looks = 0
        self._heard = -math.inf  # when the signs of life were last looked at
        self.why = ""

    def __repr__(self) -> str:
        return f"Watchdog({len(self._children)} workers{', stopping' if self._stopping else ''})"

    def _child(self, number: int) -> _Child:
        process = self._start(number)
        return _Child(number, process, self._clock.now(), Ear(process.stderr, self._hear))

    def run(self, on_tick: Callable[[], None], stopping: Stopping | None = None) -> None:
        """Watch until every worker is done. `on_tick` is called a few times a second; `stopping` is a way to end it
        from another thread.
        """
        signals = (signal.SIGINT, signal.SIGTERM) if is_main_thread() else ()
        before = {number: signal.signal(number, self._on_signal) for number in signals}
        try:
            with (stopping or Stopping()).heard_by(self._stop):
                while not self._ended():
                    self._look()
                    if self._looks % _SHOW == 0:
                        on_tick()
                    self._looks += 1
                    time.sleep(_LOOK)
        finally:
            for child in self._children:
                if child.process.poll() is None:
                    child.process.kill()
                    child.process.wait()
                child.ear.close()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _ended(self) -> bool:
        changes = self._change is not None and not self._stopping
        return not changes and all(child.done for child in self._children)

    # Another number of workers.

    def _look_at_crew(self, crew: Crew, now: float) -> None:
        """Begin a change that is wanted, or end one for which nobody is waited any more."""
        if self._stopping:
            return
        try:
            if self._change is not None:
                if all(child.done for child in self._children if child.leaving):
                    self._end_change(crew, self._change)
            elif now - self._asked >= _ASK:
                self._asked = now
                wanted = crew.wanted()
                if wanted not in (0, len(self._children)):
                    self._begin_change(crew, wanted)
        except FrontierAwayError as error:
            self._say(f"{error.what}; the number of workers changes when it is back")

    def _begin_change(self, crew: Crew, wanted: int) -> None:
        fewer = wanted < len(self._children)
        if fewer:
            crew.fewer(wanted)
            for child in self._children[:wanted]:
                if child.left_out:
                    crew.leave_out(child.number, child.left_out)
        self._say(f"{wanted} workers are wanted, there are {len(self._children)}")
        self._change = wanted
        for child in self._children[wanted:] if fewer else self._children:
            child.leaving = True
            if child.restart_at is not None:  # it does not run
                child.done = True
            elif not fewer and child.process.poll() is None:
                child.process.send_signal(signal.SIGTERM)

    def _end_change(self, crew: Crew, wanted: int) -> None:
        if self._is_over():  # meanwhile: nobody is needed any more
            self._change = None
        elif wanted < len(self._children):
            crew.left(wanted)
            self._children, self._change = self._children[:wanted], None
        else:
            crew.more(wanted)
            self._children, self._change = [self._child(self._first + place) for place in range(wanted)], None

    def _on_signal(self, number: int, _frame: object) -> None:
        self._stop("interrupted" if number == signal.SIGINT else "terminated")

    def _stop(self, why: str) -> None:
        """Tell the workers to stop: the first time they may finish their pages, the second time not."""
        self._stopping += 1
        self.why = why
        for child in self._children:
            if child.process.poll() is None:
                child.process.send_signal(signal.SIGTERM)

    def _look(self) -> None:
        now = self._clock.now()
        if self._crew is not None:
            self._look_at_crew(self._crew, now)
        # Whether one that died had shown a sign says how often it died in a row.
        gone = any(child.process.poll() is not None for child in self._children)
        signs = None
        if gone or now - self._heard >= _SIGNS:
            signs, self._heard = self._signs(), now
        for child in self._children:
            if child.done:
                continue
            child.ear.listen()
            life = child.life if signs is None else signs.get(child.number, 0.0)
            if life != child.life:
                child.life, child.seen, child.starved = life, now, False
                child.waited = self._waited(child.process.pid)
                child.signs += 1
                if child.signs > 1:  # the first is only its name
                    child.deaths = 0
            if child.restart_at is not None:
                child.done = self._stopping > 0
                if not child.done and now >= child.restart_at:
                    self._restart(child, now)
                continue
            code = child.process.poll()
            if code is not None:
                self._died(child, code, now)
            elif (silent := now - max(child.seen, child.began)) > self._settings.hung_after:
                self._silent(child, silent)

    def _silent(self, child: _Child, silent: float) -> None:
        """A worker shows no sign of life: it hangs, or does not come to run."""
        if silent - (self._waited(child.process.pid) - child.waited) <= self._settings.hung_after:
            if not child.starved:
                child.starved = True
                self._say(f"worker {child.number} does not come to run: other programs have the processors")
            return
        if not child.hung:
            said = f"worker {child.number} shows no sign of life for {self._settings.hung_after:.0f} s"
            self._say(said + self._in_the_middle_of(child.number))
        child.hung = True
        child.process.kill()

    def _died(self, child: _Child, code: int, now: float) -> None:
        child.ear.close()
        ended_well = code == 0 and self._is_over()
        if ended_well or ((self._stopping or child.leaving) and code not in (1, 2)):
            child.done = True
            return
        if code in (1, 2) and not self._doing(
            child.number
        ):  # it has said why, and another start would come to the same
            raise WeftError(
                f"worker {child.number} could not go on",
                where=child.ear.last,
                todo="see its message above, and log/messages.log",
            )
        child.deaths += 1
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        cause = f"no sign of life for {self._settings.hung_after:.0f} s" if child.hung else child.ear.last
        cause = (cause + self._in_the_middle_of(child.number)).removeprefix("; ")
        restart = Restart(child.number, self._clock.wall(), how, cause)
        cause = f" ({restart.cause})" if restart.cause else ""
        if child.deaths > self._settings.most_restarts:
            if self._leave_out(
                child, now, f"it died {child.deaths} times in a row without a commit, last by {how}{cause}"
            ):
                return
            raise WeftError(
                f"worker {child.number} died {child.deaths} times in a row without a commit, last by {how}{cause}",
                where=f"worker {child.number}",
                todo="see log/messages.log; run the same command again to go on from the last commit",
            )
        pause = 0.0 if child.deaths < 2 else min(_LONGEST_PAUSE, 2.0 ** (child.deaths - 2))
        self._say(f"worker {child.number} died by {how}{cause}; it is started again from its last commit")
        self._on_restart(restart)
        child.restart_at = now + pause
        if pause == 0.0:
            self._restart(child, now)

    def _leave_out(self, child: _Child, now: float, why: str) -> bool:
        """Go on without a worker, if there is another one: what it held goes to the others."""
        others = [each for each in self._children if each is not child and not each.left_out and not each.leaving]
        if self._crew is None or not others or self._change is not None:
            return False
        try:
            self._crew.leave_out(child.number, why)
        except FrontierAwayError as error:  # it is started once more, and then this is asked again
            self._say(f"{error.what}; worker {child.number} is left out when it is back")
            child.restart_at = now + _LONGEST_PAUSE
            return True
        self._say(f"worker {child.number} is left out of this run: {why}")
        child.left_out, child.leaving, child.done = why, True, True
        return True

    def _in_the_middle_of(self, number: int) -> str:
        """Which call of user code a worker did not come back from, if it was one."""
        call = self._doing(number)
        return f"; it was in the application: {call}" if call else ""

    def _restart(self, child: _Child, now: float) -> None:
        child.restart_at = None
        child.signs = 0
        child.hung = child.starved = False
        child.waited = 0.0
        child.process = self._start(child.number)
        child.ear = Ear(child.process.stderr, self._hear)
        child.began = now
