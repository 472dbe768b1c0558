"""What logs call a time. In: text or numbers. Out: microseconds since 1970 (UTC).

Understood are ISO 8601 (`2026-03-02T10:05:03+01:00`, `2026-03-02 10:05`, `2026-03-02`), the time of access logs
(`02/Mar/2026:10:05:03 +0000`), Unix time in seconds (with a fraction, too), milliseconds, microseconds and nanoseconds,
and `YYYYMMDD`, `YYYYMMDDhh` and `YYYYMMDDhhmmss`. A number is told by its size: what could be `YYYYMMDDhh` would, as
Unix time, lie after 2033. What does not say its zone is UTC; what lies before 1990 is no time of a page view.

>>> [int(time) for time in of_texts(["2026-03-02T01:00:00+01:00", "1772409600", "1772409600000", "2026030200", "soon"])]
[1772409600000000, 1772409600000000, 1772409600000000, 1772409600000000, -1]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from weft.compiled import compiled

Bytes = NDArray[np.uint8]

BAD = -1
SECOND = 1_000_000
DAY = 86_400 * SECOND
EARLIEST = 631_152_000 * SECOND  # 1990
_MONTHS = np.frombuffer(b"JanFebMarAprMayJunJulAugSepOctNovDec", np.uint8)
_ZERO, _NINE = 48, 57


def of_texts(texts: Sequence[str]) -> NDArray[np.int64]:
    """The times of texts, `BAD` where there is none."""
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
    return _of_texts(np.frombuffer(b"".join(encoded), np.uint8), ends)


@compiled
def _of_texts(text: Bytes, ends: NDArray[np.int64]) -> NDArray[np.int64]:
    found = np.empty(len(ends), np.int64)
    start = 0
    for number in range(len(ends)):
        found[number] = time_at(text, start, ends[number])
        start = ends[number]
    return found


@compiled
def of_numbers(numbers: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.int64]:
    """The times of numbers, `BAD` where there is none."""
    found = np.empty(len(numbers), np.int64)
    for place in range(len(numbers)):
        number = numbers[place]
        if not 0 <= number < 2.0**63:
            found[place] = BAD
        else:
            whole = int(number)
            found[place] = _of_number(whole, round((number - whole) * 1e6))
    return found


@compiled
def time_at(text: Bytes, start: int, end: int) -> int:
    """The time that stands in a part of a text, or `BAD`."""
    length = end - start
    if length >= 10 and text[start + 4] == 45 and text[start + 7] == 45:
        return _iso(text, start, end)
    if length >= 20 and text[start + 2] == 47 and text[start + 6] == 47:
        return _of_access_log(text, start, end)
    whole, place = _digits(text, start, end, 19)
    if place == start:
        return BAD
    micros, scale = 0, SECOND
    if place < end and text[place] == 46:
        place += 1
        while place < end and _ZERO <= text[place] <= _NINE:
            scale //= 10
            micros += (int(text[place]) - _ZERO) * scale
            place += 1
    return _of_number(whole, micros) if place == end else BAD


@compiled
def _of_number(whole: int, micros: int) -> int:
    """Unix time in whatever unit, or the digits of a date."""
    if 19_900_101 <= whole <= 20_991_231:
        return _moment(whole // 10_000, whole // 100 % 100, whole % 100, 0)
    if 1_990_010_100 <= whole <= 2_099_123_123 and whole % 100 < 24:
        return _moment(whole // 1_000_000, whole // 10_000 % 100, whole // 100 % 100, whole % 100 * 3600)
    if 19_900_101_000_000 <= whole <= 20_991_231_235_959:
        clock = whole % 1_000_000
        hour, minute, second = clock // 10_000, clock // 100 % 100, clock % 100
        if hour > 23 or minute > 59 or second > 59:
            return BAD
        day = whole // 1_000_000
        return _moment(day // 10_000, day // 100 % 100, day % 100, hour * 3600 + minute * 60 + second)
    if whole < 100_000_000_000:
        found = whole * SECOND + micros
    elif whole < 100_000_000_000_000:
        found = whole * 1000
    elif whole < 100_000_000_000_000_000:
        found = whole
    else:
        found = whole // 1000
    return found if found >= EARLIEST else BAD


@compiled
def _iso(text: Bytes, start: int, end: int) -> int:
    """A date, perhaps with a time, perhaps with a zone."""
    year, month, day = _pair(text, start) * 100 + _pair(text, start + 2), _pair(text, start + 5), _pair(text, start + 8)
    place = start + 10
    if place == end:
        return _moment(year, month, day, 0)
    if end - place < 6 or text[place] not in (32, 84) or text[place + 3] != 58:
        return BAD
    hour, minute, second, micros = _pair(text, place + 1), _pair(text, place + 4), 0, 0
    place += 6
    if end - place >= 3 and text[place] == 58:
        second = _pair(text, place + 1)
        place += 3
        scale = SECOND
        if place < end and text[place] in (44, 46):
            place += 1
            while place < end and _ZERO <= text[place] <= _NINE:
                scale //= 10
                micros += (int(text[place]) - _ZERO) * scale
                place += 1
    if place < end and text[place] == 32:
        place += 1
    zone = _zone_at(text, place, end)
    if not (0 <= hour < 24 and 0 <= minute < 60 and 0 <= second < 61) or zone == BAD:
        return BAD
    moment = _moment(year, month, day, hour * 3600 + minute * 60 + second - (zone - DAY))
    return moment + micros if moment != BAD else BAD


@compiled
def _of_access_log(text: Bytes, start: int, end: int) -> int:
    """`02/Mar/2026:10:05:03 +0000`."""
    month = 0
    for number in range(12):
        if (
            text[start + 3] == _MONTHS[3 * number]
            and text[start + 4] == _MONTHS[3 * number + 1]
            and text[start + 5] == _MONTHS[3 * number + 2]
        ):
            month = number + 1
    year = _pair(text, start + 7) * 100 + _pair(text, start + 9)
    hour, minute, second = _pair(text, start + 12), _pair(text, start + 15), _pair(text, start + 18)
    zone = _zone_at(text, start + 21 if end - start > 21 else end, end)
    if not (0 <= hour < 24 and 0 <= minute < 60 and 0 <= second < 61) or zone == BAD:
        return BAD
    return _moment(year, month, _pair(text, start), hour * 3600 + minute * 60 + second - (zone - DAY))


@compiled
def _zone_at(text: Bytes, place: int, end: int) -> int:
    """Seconds that clocks are ahead of UTC plus `DAY`, so that it is never `BAD` unless it is bad."""
    left = end - place
    if left == 0 or (left == 1 and text[place] == 90):
        return DAY
    if left == 3 and text[place] == 85 and text[place + 1] == 84 and text[place + 2] == 67:
        return DAY
    if text[place] not in (43, 45) or left not in (3, 5, 6) or (left == 6 and text[place + 3] != 58):
        return BAD
    hours = _pair(text, place + 1)
    minutes = 0 if left == 3 else _pair(text, end - 2)
    if not (0 <= hours < 24 and 0 <= minutes < 60):
        return BAD
    ahead = hours * 3600 + minutes * 60
    return DAY + (ahead if text[place] == 43 else -ahead)


@compiled
def _pair(text: Bytes, place: int) -> int:
    """Two digits, or something so far below zero that no sum with it is a number."""
    high, low = int(text[place]) - _ZERO, int(text[place + 1]) - _ZERO
    return high * 10 + low if 0 <= high <= 9 and 0 <= low <= 9 else -1_000_000


@compiled
def _digits(text: Bytes, place: int, end: int, most: int) -> tuple[int, int]:
    """A whole number and where it ends; nowhere if it is too long."""
    begin = place
    value = 0
    while place < end and _ZERO <= text[place] <= _NINE:
        if place - begin == most:
            return 0, begin
        value = value * 10 + int(text[place]) - _ZERO
        place += 1
    return value, place


@compiled
def _moment(year: int, month: int, day: int, seconds: int) -> int:
    """Microseconds since 1970 of a second of a day, or `BAD` where there is no such day."""
    if not (1990 <= year <= 2999 and 1 <= month <= 12 and 1 <= day <= 31):
        return BAD
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if (month == 2 and day > 28 + leap) or (month in (4, 6, 9, 11) and day == 31):
        return BAD
    # Years that begin in March have their leap day at the end.
    y = year - (month <= 2)
    era_day = 365 * y + y // 4 - y // 100 + y // 400 + (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return ((era_day - 719_468) * 86_400 + seconds) * SECOND
