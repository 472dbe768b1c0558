"""A value that is expensive to find out, kept for a while. In: how to find it out. Out: the value, seldom anew.

Whoever asks while it is young gets the one that is there. It is found out again at the earliest after fifty times the
time that the last time took: so no question, however often it is asked, takes more than about 2 % of a processor.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from weft.clock import Clock

T = TypeVar("T")
SHARE = 50.0  # times as long as finding it out took, a value is kept


class Kept(Generic[T]):
    """One value; any thread may ask for it.

    >>> from weft.clock import VirtualClock
    >>> clock, asked = VirtualClock(), []
    >>> kept = Kept(lambda: asked.append(1) or len(asked), clock, least=2.0)
    >>> kept.get(), kept.get(), clock.advance(2.0), kept.get()
    (1, 1, None, 2)
    """

    def __init__(self, find: Callable[[], T], clock: Clock, *, least: float, most: float = float("inf")) -> None:
        self._find = find
        self._clock = clock
        self._least, self._most = least, most  # seconds that it is kept
        self._until = float("-inf")
        self._finding = threading.Lock()
        self._value: T | None = None
        self._there = False

    def __repr__(self) -> str:
        return f"Kept({self._value!r})"

    @property
    def period(self) -> float:
        """Seconds from now until it is worth asking again."""
        return max(self._least / 10, self._until - self._clock.now())

    def get(self) -> T:
        """The value. Only the first who asks waits for it; later it is found out by one, and the others get the old."""
        if self._there and self._clock.now() < self._until:
            return self._known()
        if not self._finding.acquire(blocking=not self._there):
            return self._known()
        try:
            began = self._clock.now()
            if not self._there or began >= self._until:
                self._value = self._find()
                self._there = True
                ended = self._clock.now()
                self._until = ended + min(self._most, max(self._least, SHARE * (ended - began)))
            return self._known()
        finally:
            self._finding.release()

    def _known(self) -> T:
        value: T = self._value  # type: ignore[assignment]
        return value
