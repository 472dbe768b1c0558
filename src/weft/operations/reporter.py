"""Reports on a schedule (P3: the reporter). In: who gets them, how often, and a clock. Out: each gets one every so many
seconds, and one when the run ends.

A report that cannot be delivered is told once and tried again, later and later; it never ends a crawl. The next one
says what changed since the last that got there. When that was is kept in the crawl's directory, so that a crawl that
is stopped and goes on neither forgets a report nor sends one too many.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import msgspec

from weft.clock import Clock
from weft.disk import replace_file
from weft.errors import WeftError
from weft.operations.delivery import Target
from weft.operations.report import Remembered, compose, remembered
from weft.operations.status import Snapshot
from weft.units import span

FILE = "reports.json"  # in log/
_FIRST_RETRY, _LONGEST_RETRY = 60.0, 3600.0  # seconds


class _Duty:
    """What is owed to one target."""

    def __init__(self, target: Target, last: Remembered | None, due: float | None) -> None:
        self.target = target
        # The address itself may be a secret.
        self.key = hashlib.sha256(target.address.encode()).hexdigest()[:16]
        self.last = last
        self.due = due  # by the monotonic clock; None: when the run ends
        self.failures = 0  # in a row


class Reporter:
    """Sends the reports of one run; whoever owns it calls `step` now and then, and `end` once."""

    def __init__(
        self,
        targets: list[Target],
        every: float,
        *,
        look: Callable[[], Snapshot],
        clock: Clock,
        say: Callable[[str], None],
        folder: Path,
    ) -> None:
        self._every = every
        self._look = look
        self._clock = clock
        self._say = say
        self._path = folder / FILE
        known = self._read()
        self._duties = []
        for target in targets:
            duty = _Duty(target, None, None)
            duty.last = known.get(duty.key)
            duty.due = self._first(duty.last) if every else None
            self._duties.append(duty)

    def __repr__(self) -> str:
        return f"Reporter({len(self._duties)} targets, every {self._every} s)"

    def _first(self, last: Remembered | None) -> float:
        """When the first report of this run is due: so long after the last one, whichever run that was in."""
        passed = 0.0 if last is None else max(0.0, self._clock.wall() - last.time)
        return self._clock.now() + max(0.0, self._every - passed)

    def step(self) -> None:
        """Send what is due."""
        for duty in self._duties:
            if duty.due is not None and self._clock.now() >= duty.due:
                self._send(duty)

    def end(self, why: str) -> None:
        """The run has ended: everybody hears of it, as far as that works at once."""
        for duty in self._duties:
            self._send(duty, ended=why)

    def _send(self, duty: _Duty, *, ended: str = "") -> None:
        now = self._clock.now()
        try:
            snapshot = self._look()
            duty.target.deliver(compose(snapshot.status, duty.last, ended=ended))
        except Exception as error:  # noqa: BLE001  whatever it is, the crawl goes on
            self._failed(duty, error, now, ended=bool(ended))
            return
        if duty.failures:
            self._say(f"reports to {duty.target.name} get there again")
        duty.failures = 0
        duty.last = remembered(snapshot.status)
        duty.due = now + self._every if self._every else None
        self._keep()

    def _failed(self, duty: _Duty, error: Exception, now: float, *, ended: bool) -> None:
        said = str(error) if isinstance(error, WeftError) else f"{type(error).__name__}: {error}"
        pause = min(_FIRST_RETRY * 2.0**duty.failures, _LONGEST_RETRY)
        duty.due = now + pause
        if ended:
            self._say(f"the last report to {duty.target.name} was not sent: {said}")
        elif duty.failures == 0:
            self._say(f"a report to {duty.target.name} was not sent, and is tried again in {span(pause)}: {said}")
        duty.failures += 1

    # What the last reports said, for the next run.

    def _read(self) -> dict[str, Remembered]:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=dict[str, Remembered])
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.DecodeError) as error:
            self._say(f"what was last reported cannot be read, and reports begin anew ({self._path}): {error}")
            return {}

    def _keep(self) -> None:
        known = {duty.key: duty.last for duty in self._duties if duty.last is not None}
        try:
            replace_file(self._path, msgspec.json.encode(known))
        except OSError as error:
            self._say(f"what was reported cannot be kept ({self._path}): {error.strerror}")
