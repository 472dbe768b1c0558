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

import numpy as np
from numpy.typing import NDArray

from weft.compiled import compiled
from weft.temporal.views import Views

LEAST_VIEWS = 2
LEAST_OF_PEAK = 0.03
STRAY_VIEWS = 3
STRAY_SHARE = 0.01
STRAY_DAYS = 2
GAPS = 3.0
LONGEST_GAP = 0.5  # of a day
UNTIMED = 0.3

_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Lives:
    """The life of each page as users saw it, in days from the start of the window."""

    activation: NDArray[np.int16]
    dormancy: NDArray[np.int16]
    born: NDArray[np.float64]


def lives_of(views: Views) -> Lives:
    """Activation, dormancy and birth of each page."""
    lives = Lives(np.empty(views.pages, np.int16), np.empty(views.pages, np.int16), np.empty(views.pages, np.float64))
    _live(views.start, views.day, views.count, views.first, lives.activation, lives.dormancy, lives.born)
    return lives


@compiled
def _live(
    start: NDArray[np.int64],
    day: NDArray[np.int16],
    count: NDArray[np.int32],
    first: NDArray[np.int32],
    activation: NDArray[np.int16],
    dormancy: NDArray[np.int16],
    born: NDArray[np.float64],
) -> None:
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
        gap = min(LONGEST_GAP, GAPS * (1.0 - time) / count[at])
        time = UNTIMED if first[at] < 0 else max(0.0, time - gap)
        born[page] = 0.0 if day[at] == 0 and first[at] < 0 else day[at] + time


def first_seen(views: Views) -> Lives:
    """The same as the paper has it: life begins with the day of the first view."""
    first = views.day[views.start[:-1]]
    return Lives(first, views.day[views.start[1:] - 1], first.astype(np.float64))


def share_within(views: Views, lives: Lives, days: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """The share of a page's views, from its activation on, that came within so many days of its birth.

    Of the day in which that time ends, the part before it counts. Each page may have a number of days of its own.
    """
    shares = np.empty(views.pages, np.float64)
    until = lives.born + days
    _share(views.start, views.day, views.count, lives.activation, until, shares)
    return shares


@compiled
def _share(
    start: NDArray[np.int64],
    day: NDArray[np.int16],
    count: NDArray[np.int32],
    activation: NDArray[np.int16],
    until: NDArray[np.float64],
    shares: NDArray[np.float64],
) -> None:
    for page in range(len(start) - 1):
        early, total = 0.0, 0
        for at in range(start[page], start[page + 1]):
            if day[at] >= activation[page]:
                total += count[at]
                early += count[at] * min(1.0, max(0.0, until[page] - day[at]))
        shares[page] = early / total


def views_since(views: Views, lives: Lives) -> NDArray[np.int64]:
    """Views of each page from its activation on."""
    if not views.pages:
        return np.zeros(0, np.int64)
    lived = views.day >= np.repeat(lives.activation, np.diff(views.start))
    return np.add.reduceat(np.where(lived, views.count, 0), views.start[:-1], dtype=np.int64)


def days_of_life(views: Views, lives: Lives, days: int) -> NDArray[np.int32]:
    """A row a page: its views on the activation day and on the days after it, `days` of them."""
    found = np.zeros((views.pages, days), np.int32)
    page = np.repeat(np.arange(views.pages), np.diff(views.start))
    at = views.day - lives.activation[page]
    lived = (at >= 0) & (at < days)
    found[page[lived], at[lived]] = views.count[lived]
    return found
