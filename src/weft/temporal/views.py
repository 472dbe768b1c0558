"""What the logs said, in columns: which page was viewed by how many users on which day.

A view is one user, one page, one calendar day; however often the user came back on that day (P2 4.1). The days of a
page stand behind each other in `day`, `count` and `first`, from `start[page]` to `start[page + 1]`; days without
views are not there. Where the log has times, `hours` parts each of these days: a view is of the hour in which its user
came for the first time on that day, so that the hours of a day add up to it.

>>> import numpy as np, pyarrow as pa
>>> from datetime import date
>>> views = Views(
...     Window(date(2026, 3, 2), 60), pa.array(["http://a.nl/1", "http://b.nl/"]), pa.array(["a.nl", "b.nl"]),
...     np.array([0, 1], np.int32), np.array([0, 2, 3]), np.array([0, 4, 7], np.int16), np.array([9, 2, 5], np.int32),
...     np.array([3600, 0, -1], np.int32))
>>> views.pages, views.totals().tolist(), views.by_day(0)[:6].tolist()
(2, [11, 5], [9, 0, 0, 0, 2, 0])
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Window:
    """The days that were observed."""

    first: date
    days: int

    def day(self, number: int) -> date:
        """The calendar day of a day's number."""
        return self.first + timedelta(number)


@dataclass(frozen=True, slots=True)
class Hours:
    """The hours of each page's days; hours without views are not there."""

    start: NDArray[np.int64]  # where the hours of a row of `Views.day` begin; one more entry than rows
    hour: NDArray[np.int8]  # of the day, ascending within a row
    count: NDArray[np.int32]  # views in that hour

    def clock(self) -> NDArray[np.float64]:
        """How busy users are in each hour of the day, 1 on average, by all views there are; no hour is empty."""
        seen = np.bincount(self.hour, self.count, 24) + 1.0
        return np.asarray(seen / seen.mean())


@dataclass(frozen=True, slots=True)
class Views:
    """Views of every page that passed the floor. Pages are ordered by URL, so that any order of logs gives the same."""

    window: Window
    urls: Any  # pyarrow array of strings: a page's canonical URL, or the id the log has instead
    sites: Any  # pyarrow array of strings: the names of the sites
    site: NDArray[np.int32]  # the site of a page, an index into `sites`
    start: NDArray[np.int64]  # where a page's days begin; one more entry than pages
    day: NDArray[np.int16]  # number of the day in the window, ascending within a page
    count: NDArray[np.int32]  # views on that day
    first: NDArray[np.int32]  # second of that day at which the first of them came; -1: the log does not say
    hours: Hours | None = None  # None: the log has days alone

    @property
    def unit(self) -> Literal["hour", "day"]:
        """How finely the log tells times."""
        return "day" if self.hours is None else "hour"

    @property
    def pages(self) -> int:
        """How many pages there are."""
        return len(self.start) - 1

    def totals(self) -> NDArray[np.int64]:
        """Views of each page in the whole window."""
        return np.add.reduceat(self.count, self.start[:-1], dtype=np.int64) if self.pages else np.zeros(0, np.int64)

    def by_day(self, page: int) -> NDArray[np.int64]:
        """One page's views, day by day."""
        days = slice(self.start[page], self.start[page + 1])
        found = np.zeros(self.window.days, np.int64)
        found[self.day[days]] = self.count[days]
        return found


@dataclass(frozen=True, slots=True)
class Labels:
    """What was found out about each page of some `Views`; one entry a page."""

    activation: NDArray[np.int16]  # day on which its life began for users
    dormancy: NDArray[np.int16]  # day after which nobody came any more; the valid lifetime lies between the two
    born: NDArray[np.float64]  # time of its birth in days from the start of the window
    share: NDArray[np.float64]  # observed share of its views within n days of its birth
    p: NDArray[np.float64]  # probability that more than q of its interest lies in its first n days
    label: NDArray[np.int8]  # TEMPORAL, UNTEMPORAL or UNDECIDED
    temporal: NDArray[np.bool_]  # the decision for pages that are to be decided, the undecided ones too
    hour: NDArray[np.int8]  # of the activation day, at which its life began; -1: the log has no hours


UNTEMPORAL, TEMPORAL, UNDECIDED = 0, 1, 2
LABEL_NAMES = ("untemporal", "temporal", "undecided")


@dataclass(frozen=True, slots=True)
class Curves:
    """Interest curves of the pages: f(x) = A / (sqrt(2 pi) sigma (x-b)) exp(-(ln(x-b)-mu)^2 / (2 sigma^2)), x > b.

    One entry a page; NaN where no curve was fitted.
    """

    A: NDArray[np.float64]
    b: NDArray[np.float64]
    mu: NDArray[np.float64]
    sigma: NDArray[np.float64]
