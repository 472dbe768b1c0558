r"""The time of a web that changes. In: a clock, how fast the web lives. Out: the web's time, and the Date header.

All server processes of a web are given the same one, so that they agree.

>>> from weft.clock import VirtualClock
>>> clock = VirtualClock()
>>> time = WebTime(clock, begin=60.0, speed_up=3600.0, epoch=1_772_409_600.0)
>>> clock.advance(1.0)
>>> time.read(), time.date(time.read())
(3660.0, b'Date: Mon, 02 Mar 2026 01:01:00 GMT\r\n')
"""

from __future__ import annotations

from email.utils import formatdate

from weft.clock import Clock, SpedUpClock


class WebTime:
    """Seconds from a world's start."""

    __slots__ = ("_epoch", "read")

    def __init__(self, clock: Clock, *, begin: float, speed_up: float, epoch: float) -> None:
        self._epoch = epoch
        self.read = SpedUpClock(clock, speed_up, now=begin).now

    def date(self, at: float) -> bytes:
        """The Date header of a time."""
        return f"Date: {formatdate(self._epoch + at, usegmt=True)}\r\n".encode()
