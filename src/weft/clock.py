"""Time as a parameter. In: nothing. Out: seconds, monotonic and wall.

Only this module reads the system's clocks. Waits are reckoned on the monotonic clock, which never jumps; what is
written down for others, or kept across a restart, is wall time. The monotonic clock stands still while the machine
sleeps; what others count on, a lease, is reckoned on one that does not.

>>> clock = VirtualClock()
>>> clock.advance(1.5)
>>> clock.now(), clock.wall()
(1.5, 1.5)
"""

from __future__ import annotations

import time
from functools import partial
from typing import Protocol


class Clock(Protocol):
    """Readings of the same instant."""

    def now(self) -> float:
        """Seconds on a clock that never jumps and never goes back."""
        ...

    def elapsed(self) -> float:
        """The same on a clock that also runs while the machine sleeps."""
        ...

    def wall(self) -> float:
        """Seconds since 1970 (UTC), as the machine believes."""
        ...


class SystemClock:
    """The machine's clocks."""

    now = staticmethod(time.monotonic)  # noqa: TID251
    elapsed = staticmethod(partial(time.clock_gettime, time.CLOCK_BOOTTIME))
    wall = staticmethod(time.time)  # noqa: TID251


class SpedUpClock:
    """Another clock's time from now on, so many times as fast: for webs that change and whoever crawls them.

    >>> slow = VirtualClock(100.0)
    >>> fast = SpedUpClock(slow, 3600, wall=1e9)
    >>> slow.advance(2)
    >>> fast.now(), fast.wall()
    (7200.0, 1000007200.0)
    """

    def __init__(self, clock: Clock, speed_up: float, *, now: float = 0.0, wall: float = 0.0) -> None:
        self._clock = clock
        self._speed_up = speed_up
        self._now, self._wall = now, wall
        self._began = clock.now(), clock.elapsed()

    def now(self) -> float:
        """What `now` was in the beginning, and what has passed since."""
        return self._now + (self._clock.now() - self._began[0]) * self._speed_up

    def elapsed(self) -> float:
        """The same on a clock that also runs while the machine sleeps."""
        return self._now + (self._clock.elapsed() - self._began[1]) * self._speed_up

    def wall(self) -> float:
        """What `wall` was in the beginning, and what has passed since on the clock that never jumps."""
        return self.now() - self._now + self._wall


class VirtualClock:
    """A clock that moves only when told to: for the simulator and for tests."""

    def __init__(self, start: float = 0.0) -> None:
        self._now = start

    def __repr__(self) -> str:
        return f"VirtualClock({self._now})"

    def now(self) -> float:
        """The virtual time."""
        return self._now

    def elapsed(self) -> float:
        """The same: a virtual machine never sleeps."""
        return self._now

    def wall(self) -> float:
        """The same: a virtual world begins in 1970."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.move_to(self._now + seconds)

    def move_to(self, instant: float) -> None:
        """Jump forwards to an instant."""
        if instant < self._now:
            raise ValueError(f"time would go back from {self._now} to {instant}")
        self._now = instant
