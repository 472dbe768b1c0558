"""Time in a simulated cluster. In: the one true time. Out: what the clocks of each machine say of it.

Every machine has a monotonic clock that begins when it is switched on and stands still while it sleeps, and a wall
clock that may be wrong and may be set. Processor time can be made to cost something: then a reading is a little later
than the one before it, and the process is busy so long.
"""

from __future__ import annotations


class Time:
    """The true time, in seconds."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __repr__(self) -> str:
        return f"Time({self.now})"


class MachineClock:
    """The clocks of one machine."""

    def __init__(self, time: Time, offset: float) -> None:
        self._time = time
        self._booted = time.now - 100.0
        self.offset = offset  # of the wall clock, in seconds
        self.most_offset = offset  # that it had since it was last asked to forget
        self.slept = 0.0  # seconds that the machine slept since it was switched on
        self.cost = 0.0  # seconds that each reading takes
        self.spent = 0.0  # by readings, in the step that runs

    def __repr__(self) -> str:
        return f"MachineClock({self.offset:+.1f} s)"

    def now(self) -> float:
        """Seconds on a clock that stands still while the machine sleeps."""
        self.spent += self.cost
        return self._time.now - self._booted - self.slept + self.spent

    def elapsed(self) -> float:
        """The same on a clock that does not."""
        return self._time.now - self._booted + self.spent

    def wall(self) -> float:
        """What the machine takes for the time of day."""
        return self._time.now + self.offset + self.spent

    def true(self, monotonic: float) -> float:
        """When the monotonic clock says this, if the machine does not sleep until then."""
        return monotonic + self._booted + self.slept

    def set_wall(self, by: float) -> None:
        """Somebody sets the wall clock."""
        self.offset += by
        self.most_offset = max(self.most_offset, self.offset)

    def boot(self) -> None:
        """The machine is switched on."""
        self._booted = self._time.now - 1.0
        self.slept = 0.0
