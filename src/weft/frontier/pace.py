"""How fast the crawl may be, and whose share is how much. In: a target with a time-table. Out: pages and bytes a
second.

>>> Speed.parse("200 pages/s").at(0.0), Speed.parse("200 pages/s; 00:00-24:00 50 pages/s 1000000 bytes/s").at(0.0)
((200.0, None), (50.0, 1000000.0))
>>> Speed.parse("3 MB/min").at(0.0)
(None, 50000.0)
"""

from __future__ import annotations

import re
import time

import msgspec

from weft.errors import UsageError
from weft.units import rates

_BURST = 0.25  # seconds' worth that may be fetched at once after a lull
# A worker that does not use its share keeps what it uses and a little more: what it needs beyond that it gets with the
# next exchange, and what is kept for it nobody else can use.
_ROOM, _LEAST = 1.02, 0.01
_HOURS = re.compile(r"(\d\d?):(\d\d)-(\d\d?):(\d\d)$")


class Hours(msgspec.Struct, frozen=True):
    """A target, in force all day or in some hours of it."""

    begin: int  # minutes after midnight
    end: int
    pages: float | None  # a second
    bytes: float | None

    def hold(self, minute: int) -> bool:
        """Is it in force? Hours may go over midnight."""
        if self.begin <= self.end:
            return self.begin <= minute < self.end
        return minute >= self.begin or minute < self.end


class Speed(msgspec.Struct, frozen=True):
    """The targets of a crawl; the last that is in force counts."""

    rules: tuple[Hours, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Speed:
        """Read targets, separated by semicolons: `[HH:MM-HH:MM] [N pages/s] [N bytes/s]`, or `none`.

        Other units may stand there: kB, MB, GiB … and s, min, h, d.
        """
        return cls(tuple(_hours(part.strip()) for part in text.split(";") if part.strip()))

    @classmethod
    def complaint(cls, text: str) -> str:
        """What is wrong with a text that should be targets; nothing: it is good."""
        try:
            cls.parse(text)
        except UsageError as error:
            return str(error)
        return ""

    def at(self, wall: float) -> tuple[float | None, float | None]:
        """Pages and bytes a second at a moment, by this machine's clock."""
        local = time.localtime(wall)
        minute = local.tm_hour * 60 + local.tm_min
        limits: tuple[float | None, float | None] = (None, None)
        for rule in self.rules:
            if rule.hold(minute):
                limits = (rule.pages, rule.bytes)
        return limits


def _hours(text: str) -> Hours:
    begin, end = 0, 24 * 60
    first, *rest = text.split(None, 1)
    hours = _HOURS.match(first)
    if hours is not None:
        numbers = list(map(int, hours.groups()))
        begin, end = numbers[0] * 60 + numbers[1], numbers[2] * 60 + numbers[3]
        if begin == end or max(begin, end) > 24 * 60 or max(numbers[1], numbers[3]) > 59:
            raise UsageError("not a valid time range", where=text, todo="write such as 22:00-06:00")
    target = text if hours is None else "".join(rest)
    if target == "none":
        return Hours(begin, end, None, None)
    try:
        found = rates(target)
    except ValueError as error:
        raise UsageError("not a valid speed", where=text, todo=str(error)) from None
    if not found:
        raise UsageError("not a valid speed", where=text, todo="write such as '08:00-18:00 200 pages/s'")
    return Hours(begin, end, found.get("pages"), found.get("bytes"))


def shares(limit: float, rates: dict[int, tuple[float, bool]]) -> dict[int, float]:
    """Divide a target among workers: who is not held back by its share keeps what it uses, the others share the rest.

    In: for each worker its rate, and whether it would be faster if it were let.

    >>> shares(100.0, {0: (10.0, False), 1: (50.0, True)})
    {0: 10.7, 1: 89.3}
    >>> shares(100.0, {0: (0.0, False), 1: (50.0, True)})
    {0: 0.5, 1: 99.5}
    """
    given: dict[int, float] = {}
    left = limit
    waiting = sorted(rates, key=lambda number: (rates[number][1], rates[number][0]))
    for place, number in enumerate(waiting):
        rate, hungry = rates[number]
        fair = left / (len(waiting) - place)
        given[number] = fair if hungry else min(fair, rate * _ROOM + fair * _LEAST)
        left -= given[number]
    if left > 0 and given:  # nobody is held back: what is over is for whoever comes to need it
        given = {number: share + left / len(given) for number, share in given.items()}
    return {number: given[number] for number in rates}


class Pace:
    """Keeps one worker to its share: what was fetched beyond it is waited for."""

    def __init__(self) -> None:
        self._limits: tuple[float | None, float | None] = (None, None)
        self._credit = [0.0, 0.0]  # pages and bytes that may be fetched at once; below nothing: a debt
        self._at = 0.0
        self.held = False  # it was asked for more than it allows, since last looked
        self.paused = False
        self.allowance: int | None = None  # pages that may be fetched in all; their parts do not count
        self.spent = 0  # pages fetched or being fetched

    def __repr__(self) -> str:
        return f"Pace({self._limits}{', paused' if self.paused else ''})"

    @property
    def exhausted(self) -> bool:
        """Have all pages been fetched that may be?"""
        return self.allowance is not None and self.spent >= self.allowance

    def set(self, limits: tuple[float | None, float | None], now: float) -> None:
        """Change the share."""
        self._accrue(now)
        for place, limit in enumerate(limits):
            if limit is None or self._limits[place] is None:
                self._credit[place] = 0.0
        self._limits = limits

    def open(self, now: float) -> bool:
        """May another page be fetched now?"""
        if self.paused:
            return False
        if self._limits == (None, None):
            return True
        self._accrue(now)
        pages, amount = self._limits
        free = (pages is None or self._credit[0] >= 1.0) and (amount is None or self._credit[1] > 0.0)
        self.held = self.held or not free
        return free

    def opens_at(self, now: float) -> float | None:
        """When another page may be fetched, if that is a matter of time."""
        if self.paused or self._limits == (None, None):
            return None
        pages, amount = self._limits
        waits = [0.0]
        if pages:
            waits.append((1.0 - self._credit[0]) / pages)
        if amount:
            waits.append(-self._credit[1] / amount)
        return now + max(waits)

    def spend(self, pages: int, amount: float = 0.0) -> None:
        """So much is fetched."""
        self.spent += pages
        self._credit[0] -= pages
        self._credit[1] -= amount

    def _accrue(self, now: float) -> None:
        passed = now - self._at
        self._at = now
        for place, limit in enumerate(self._limits):
            if limit is not None:
                most = max(1.0, limit * _BURST)
                self._credit[place] = min(most, self._credit[place] + limit * passed)
