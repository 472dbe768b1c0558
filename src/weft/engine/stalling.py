"""Stalls: times when no visit begins because what was fetched cannot be put away. In: what does not take it, and when
it does again. Out: why the worker stalls, for who begins visits and for people.

A full disk, and volumes that gather because their store is away, are no reason to end a crawl: nothing is lost while it
waits. Pages under way come to their end and stay in memory. Whoever stalls looks again every few seconds, and goes on
by itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from weft.clock import Clock
from weft.engine.progress import Counts
from weft.errors import WeftError

AGAIN = 2.0  # seconds until it is tried again

COMMIT, SEAL, LOG, GATHER = "commit", "seal", "log", "gather"
"""What may not be possible: the commit, sealing files, the crawl log, keeping more sealed volumes here."""


class Stalls:
    """Why a worker begins no visits, if it does not; its worker owns it."""

    def __init__(
        self,
        clock: Clock,
        counts: Counts,
        say: Callable[[str], None],
        *,
        can_wait: Callable[[WeftError], bool],
        changed: Callable[[bool], None],
    ) -> None:
        self._clock = clock
        self._counts = counts
        self._say = say
        self.can_wait = can_wait  # may the same be possible later?
        self._changed = changed  # called when something is wrong, or not any more; with whether nothing is
        self._reasons: dict[str, str] = {}
        self._since = 0.0

    def __repr__(self) -> str:
        return f"Stalls({', '.join(self._reasons) or 'none'})"

    def __bool__(self) -> bool:
        return bool(self._reasons)

    def __contains__(self, what: str) -> bool:
        return what in self._reasons

    @property
    def why(self) -> str:
        """What is wrong; "" where nothing is."""
        return next(iter(self._reasons.values()), "")

    @property
    def seconds(self) -> float:
        """For how long."""
        return self._clock.now() - self._since if self._reasons else 0.0

    def note(self, what: str, why: str) -> None:
        """Something is not possible, or is again where there is no why. It is said once."""
        if bool(why) == (what in self._reasons):
            return
        if not why:
            self._end(what)
            return
        if not self._reasons:
            self._since = self._clock.now()
            self._counts.stalls += 1
        self._reasons[what] = why
        self._say(f"the crawl pauses here: {why}; it goes on by itself when that is over, and nothing is lost")
        self._changed(False)

    def note_error(self, what: str, error: WeftError) -> None:
        """Something is not possible for now: what to do about it is to wait, or to make room."""
        self.note(what, f"{error.what} ({error.where})")

    def _end(self, what: str) -> None:
        seconds = self.seconds
        del self._reasons[what]
        if not self._reasons:
            self._counts.stalled_seconds += seconds
            self._say(f"the crawl goes on after {seconds:.0f} s")
        self._changed(not self._reasons)

    def attempt(self, what: str, do: Callable[[], None]) -> bool:
        """Do something, or note that it is not possible for now; was it done?"""
        try:
            do()
        except WeftError as error:
            if not self.can_wait(error):
                raise
            self.note_error(what, error)
            return False
        self.note(what, "")
        return True

    def insist(self, what: str, do: Callable[[], None], beat: Callable[[], None]) -> None:
        """Do one of the last things of a run, as soon as it is possible: nothing else is left to do meanwhile."""
        while not self.attempt(what, do):
            beat()
            time.sleep(AGAIN)
