"""The watchdog: starts the workers of a crawl, restarts those that die or hang, and ends with them. In: how to start
a worker, and how far each is. Out: why the crawl ended.

It crawls nothing and holds nothing that a worker needs: when it is killed its workers die with it (the kernel sees
to that), and the next run goes on from what is on disk.
"""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from weft.clock import Clock
from weft.errors import WeftError
from weft.settings import setting

_LOOK = 0.1  # seconds between two looks


@dataclass(frozen=True, slots=True, kw_only=True)
class Watching:
    """How workers are watched."""

    hung_after: float = setting(60.0, "a worker that shows no sign of life for so many seconds is restarted")
    most_restarts: int = setting(8, "end the crawl when a worker dies so many times in a row without a commit")


@dataclass(slots=True)
class _Child:
    number: int
    process: subprocess.Popen[bytes]
    began: float
    life: float = 0.0  # its last sign, as the global frontier has it
    seen: float = 0.0  # when that changed, by our clock
    deaths: int = 0  # in a row without a sign of life
    restart_at: float | None = None
    done: bool = False
    signs: int = field(default=0)


class Watchdog:
    """Keeps workers alive until the crawl is over."""

    def __init__(
        self,
        workers: int,
        *,
        start: Callable[[int], subprocess.Popen[bytes]],
        signs: Callable[[], dict[int, float]],
        settings: Watching,
        clock: Clock,
        say: Callable[[str], None],
    ) -> None:
        self._start = start
        self._signs = signs  # by worker: when it was heard of last, on whatever clock
        self._settings = settings
        self._clock = clock
        self._say = say
        self._children = [_Child(number, start(number), clock.now()) for number in range(workers)]
        self._stopping = 0  # how often we were told to
        self.why = ""

    def __repr__(self) -> str:
        return f"Watchdog({len(self._children)} workers{', stopping' if self._stopping else ''})"

    def run(self, on_tick: Callable[[], None]) -> None:
        """Watch until every worker is done. `on_tick` is called a few times a second."""
        before = {number: signal.signal(number, self._on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            while not all(child.done for child in self._children):
                self._look()
                on_tick()
                time.sleep(_LOOK)
        finally:
            for child in self._children:
                if child.process.poll() is None:
                    child.process.kill()
                    child.process.wait()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_signal(self, number: int, _frame: object) -> None:
        """Tell the workers to stop: the first time they may finish their pages, the second time not."""
        self._stopping += 1
        self.why = "interrupted" if number == signal.SIGINT else "terminated"
        for child in self._children:
            if child.process.poll() is None:
                child.process.send_signal(signal.SIGTERM)

    def _look(self) -> None:
        now = self._clock.now()
        signs = self._signs()
        for child in self._children:
            if child.done:
                continue
            life = signs.get(child.number, 0.0)
            if life != child.life:
                child.life, child.seen = life, now
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
            elif now - max(child.seen, child.began) > self._settings.hung_after:
                self._say(f"worker {child.number} shows no sign of life for {self._settings.hung_after:.0f} s")
                child.process.kill()

    def _died(self, child: _Child, code: int, now: float) -> None:
        if code == 0 or (self._stopping and code not in (1, 2)):
            child.done = True
            return
        if code in (1, 2):  # it has said why, and another start would come to the same
            raise WeftError(f"worker {child.number} could not go on", todo="see its message above")
        child.deaths += 1
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        if child.deaths > self._settings.most_restarts:
            raise WeftError(
                f"worker {child.number} died {child.deaths} times in a row without a commit, last by {how}",
                where=f"worker {child.number}",
                todo="see log/faults.log; run the same command again to go on from the last commit",
            )
        pause = 0.0 if child.deaths < 2 else min(30.0, 2.0 ** (child.deaths - 2))
        self._say(f"worker {child.number} died by {how}; it is started again from its last commit")
        child.restart_at = now + pause
        if pause == 0.0:
            self._restart(child, now)

    def _restart(self, child: _Child, now: float) -> None:
        child.restart_at = None
        child.signs = 0
        child.process = self._start(child.number)
        child.began = now
