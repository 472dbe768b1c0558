"""When a page's life began for users and when it ended (P2 3.1). In: `Views`. Out: days and times, one entry a page.

- The *activation day* is the first day with at least two views and 3 % of the page's best day: one stray view before a
  page was made known (a preview, a guessed address) begins no life. A page that had more than three views (and 1 % of
  all its views, unless the first of them came as the window began), or views on more than two days, before that day
  had an earlier life: then it is the first day with views at all. So an old page that is in the news for a day stays
  an old page.
- The *birth* is a time on the activation day: that of the first view, less the gap one expects before it. The earliest
  of c views in the rest of a day comes some (rest of the day) / c after the page did; users do not come evenly (they
  sleep), which makes it longer, by `GAPS`. Where the gap reaches behind the start of the window the page was there
  before: its birth is 0, the start. Where the log has no times it is `UNTIMED` of the activation day.
- Where the log has hours, the same is asked of the hours of the activation day: the *activation hour* is the first with
  at least two views and 3 % of the page's best hour, or the day's first one where more than three views came before or
  no hour has so many. The birth is a time in it or shortly before: hours are even enough for the plain gap.
- The *dormancy day* is the last day with views; the valid lifetime lies between the two.

Always: 0 <= activation <= birth < activation + 1, activation <= dormancy < the window's days; nothing depends on the
order of the pages.

>>> import pyarrow as pa
>>> from datetime import date
>>> from weft.temporal.views import Window
>>> views = Views(
...     Window(date(2026, 3, 2), 60), pa.array(["http://a.nl/1"]), pa.array(["a.nl"]), np.array([0], np.int32),
...     np.array([0, 4]), np.array([2, 9, 10, 11], np.int16), np.array([1, 70, 20, 5], np.int32),
...     np.array([3600, 43200, 0, 100], np.int32))
>>> lives = lives_of(views)
>>> lives.activation.tolist(), lives.dormancy.tolist(), lives.born.round(2).tolist()
([9], [11], [9.48])
>>> share_within(views, lives, 2.0).round(3).tolist()
[0.973]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.compiled import compiled
from weft.temporal.views import Labels, Views

LEAST_VIEWS = 2
LEAST_OF_PEAK = 0.03
STRAY_VIEWS = 3
STRAY_SHARE = 0.01
STRAY_DAYS = 2
GAPS = 3.0
LONGEST_GAP = 0.5  # of a day
HOURLY_GAPS = 1.0  # the same as `GAPS` where hours are known
UNTIMED = 0.3

_DAY = 86_400.0
_HOUR = 3_600.0

HourColumns = tuple[NDArray[np.int64], NDArray[np.int8], NDArray[np.int32]]
_NO_HOURS: HourColumns = (np.zeros(0, np.int64), np.zeros(0, np.int8), np.zeros(0, np.int32))


def hour_columns(views: Views) -> HourColumns:
    """The hours as compiled code takes them; empty where there are none."""
    return _NO_HOURS if views.hours is None else (views.hours.start, views.hours.hour, views.hours.count)


@dataclass(frozen=True, slots=True)
class Lives:
    """The life of each page as users saw it, in days from the start of the window."""

    activation: NDArray[np.int16]
    dormancy: NDArray[np.int16]
    born: NDArray[np.float64]
    hour: NDArray[np.int8]  # of the activation day, at which it began; -1: the log has no hours


Lived = Lives | Labels  # whatever says when lives began


def lives_of(views: Views) -> Lives:
    """Activation, dormancy and birth of each page."""
    pages = views.pages
    lives = Lives(np.empty(pages, np.int16), np.empty(pages, np.int16), np.empty(pages), np.empty(pages, np.int8))
    out = (lives.activation, lives.dormancy, lives.born, lives.hour)
    _live(views.start, views.day, views.count, views.first, hour_columns(views), out)
    return lives


@compiled
def _live(
    start: NDArray[np.int64],
    day: NDArray[np.int16],
    count: NDArray[np.int32],
    first: NDArray[np.int32],
    hours: HourColumns,
    out: tuple[NDArray[np.int16], NDArray[np.int16], NDArray[np.float64], NDArray[np.int8]],
) -> None:
    activation, dormancy, born, began = out
    for page in range(len(start) - 1):
        begin, end = start[page], start[page + 1]
        peak, total = 0, 0
        for at in range(begin, end):
            peak = max(peak, count[at])
            total += count[at]
        least = max(LEAST_VIEWS, LEAST_OF_PEAK * peak)
        at, before = begin, 0
        while at < end and count[at] < least:
            before += count[at]
            at += 1
        many = STRAY_VIEWS if day[begin] == 0 else max(STRAY_VIEWS, STRAY_SHARE * total)
        if at == end or before > many or at - begin > STRAY_DAYS:
            at = begin
        activation[page] = day[at]
        dormancy[page] = day[end - 1]
        time = first[at] / _DAY
        gap = GAPS * (1.0 - time) / count[at]
        hour = -1
        if len(hours[0]):
            hour, views = _active_hour(hours, begin, end, at)
            time = max(time, hour * _HOUR / _DAY)
            gap = HOURLY_GAPS * ((hour + 1) * _HOUR / _DAY - time) / views
        time = UNTIMED if first[at] < 0 else max(0.0, time - min(LONGEST_GAP, gap))
        born[page] = 0.0 if day[at] == 0 and first[at] < 0 else day[at] + time
        began[page] = hour


@compiled
def _active_hour(hours: HourColumns, begin: int, end: int, at: int) -> tuple[int, int]:
    """The hour at which a page's life began, on the day of a row, and its views."""
    start, hour, count = hours
    peak = 0
    for each in range(start[begin], start[end]):
        peak = max(peak, count[each])
    least = max(LEAST_VIEWS, LEAST_OF_PEAK * peak)
    each, before = start[at], 0
    while each < start[at + 1] and count[each] < least:
        before += count[each]
        each += 1
    if each == start[at + 1] or before > STRAY_VIEWS:
        each = start[at]
    return int(hour[each]), int(count[each])


def first_seen(views: Views) -> Lives:
    """The same as the paper has it: life begins with the day of the first view."""
    first = views.day[views.start[:-1]]
    nowhere = np.full(views.pages, -1, np.int8)
    return Lives(first, views.day[views.start[1:] - 1], first.astype(np.float64), nowhere)


def share_within(views: Views, lives: Lived, days: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """The share of a page's views, from its activation on, that came within so many days of its birth.

    Of the day, or the hour, in which that time ends, the part before it counts. Each page may have a number of days of
    its own.
    """
    early = views_within(views, lives, days)
    page = np.repeat(np.arange(views.pages), np.diff(views.start))
    total = np.maximum(views_since(views, lives), 1)
    return np.asarray(np.bincount(page, early, views.pages) / total)


def views_within(views: Views, lives: Lived, days: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """The same as views, for each page and day as they stand in `views.day`; none before the activation."""
    found = np.empty(len(views.day), np.float64)
    _within(views.start, views.day, views.count, hour_columns(views), lives.activation, lives.born + days, found)
    return found


@compiled
def _within(
    start: NDArray[np.int64],
    day: NDArray[np.int16],
    count: NDArray[np.int32],
    hours: HourColumns,
    activation: NDArray[np.int16],
    until: NDArray[np.float64],
    found: NDArray[np.float64],
) -> None:
    of_day, hour, views = hours
    for page in range(len(start) - 1):
        for at in range(start[page], start[page + 1]):
            left = until[page] - day[at]  # of this day
            if day[at] < activation[page] or left <= 0.0:
                found[at] = 0.0
            elif left >= 1.0 or not len(of_day):
                found[at] = count[at] * min(1.0, left)
            else:
                early = 0.0
                for each in range(of_day[at], of_day[at + 1]):
                    early += views[each] * min(1.0, max(0.0, 24.0 * left - hour[each]))
                found[at] = early


def views_since(views: Views, lives: Lived) -> NDArray[np.int64]:
    """Views of each page from its activation on."""
    if not views.pages:
        return np.zeros(0, np.int64)
    lived = views.day >= np.repeat(lives.activation, np.diff(views.start))
    return np.add.reduceat(np.where(lived, views.count, 0), views.start[:-1], dtype=np.int64)


def days_of_life(views: Views, lives: Lives, days: int) -> NDArray[np.int32]:
    """A row a page: its views on the activation day and on the days after it, `days` of them."""
    return laid_out(views, lives, views.count, days)


def laid_out(views: Views, lives: Lives, values: NDArray[Any], days: int) -> NDArray[Any]:
    """A row a page: what `values` has for its activation day and for the days after it, `days` of them."""
    found = np.zeros((views.pages, days), values.dtype)
    page = np.repeat(np.arange(views.pages), np.diff(views.start))
    at = views.day - lives.activation[page]
    lived = (at >= 0) & (at < days)
    found[page[lived], at[lived]] = values[lived]
    return found
