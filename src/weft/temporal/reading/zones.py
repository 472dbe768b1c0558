"""Calendar days. In: a time zone. Out: which day it is there.

A zone's clocks are ahead of UTC by a time that changes now and then; between two changes, a day is a plain division of
whole numbers.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from weft.temporal.reading.times import SECOND

_EPOCH = date(1970, 1, 1)


def day_number(day: date) -> int:
    """Days since 1970."""
    return (day - _EPOCH).days


def day_of(number: int) -> date:
    """The day so many days after the first of 1970."""
    return _EPOCH + timedelta(number)


def local(zone: str, earliest: int, latest: int) -> str:
    """An SQL expression that turns the column `us` between these times into what the zone's clocks show.

    >>> local("UTC", 1772409600000000, 1777593600000000)
    'us + 0'
    >>> local("Europe/Amsterdam", 1772409600000000, 1777593600000000)
    'us + CASE WHEN us < 1774746000000000 THEN 3600000000 ELSE 7200000000 END'
    """
    changes = _changes(ZoneInfo(zone), earliest // SECOND, latest // SECOND + 1)
    *early, (last, _) = changes
    if not early:
        return f"us + {last * SECOND}"
    cases = " ".join(f"WHEN us < {until * SECOND} THEN {ahead * SECOND}" for ahead, until in early)
    return f"us + CASE {cases} ELSE {last * SECOND} END"


def _changes(zone: ZoneInfo, earliest: int, latest: int) -> list[tuple[int, int]]:
    """How many seconds clocks are ahead of UTC, and until when, in the order of time."""
    found = []
    step = int(timedelta(days=7).total_seconds())  # no zone changes its clocks twice a week
    now, ahead = earliest, _ahead(zone, earliest)
    while now < latest:
        then = min(now + step, latest)
        if (later := _ahead(zone, then)) != ahead:
            found.append((ahead, _change_between(zone, now, then)))
            ahead = later
        now = then
    return [*found, (ahead, latest)]


def _change_between(zone: ZoneInfo, before: int, after: int) -> int:
    """The first second with the later of two offsets."""
    early = _ahead(zone, before)
    while after - before > 1:
        middle = (before + after) // 2
        before, after = (middle, after) if _ahead(zone, middle) == early else (before, middle)
    return after


def _ahead(zone: ZoneInfo, second: int) -> int:
    offset = datetime.fromtimestamp(second, UTC).astimezone(zone).utcoffset()
    assert offset is not None
    return int(offset.total_seconds())
