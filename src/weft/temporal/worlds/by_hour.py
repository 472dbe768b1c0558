"""Lives of hours. In: a seed. Out: a log of requests with times, and the truth about its pages.

The worlds of a recipe have days: within one, views follow the hours of users and not the page's own curve. Here the
interest in a page is a log-normal curve from its birth on, of a median from an hour to some weeks, and a request comes
in an hour by the integral of the curve over it times how busy users are then. So what share of the interest lies within
any number of hours is known exactly. A user comes once for a page and day, and some of them again on that day.

Always: the same seed gives the same log.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from weft.temporal.fitting import normal
from weft.temporal.worlds.traffic import CLOCK_HOURS

FIRST = date(2026, 3, 2)
_DAYS_BEFORE_END = 12  # no page is born later: whether its interest is over could not be seen
_MEDIANS = (1.0, 30 * 24.0)  # hours
_SIGMAS = (0.4, 1.1)
_VIEWS = (5.3, 0.7)  # mean and deviation of the logarithm
_AGAIN = 0.1  # of the views
_HOUR, _SECOND = 3600, 1_000_000

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class HourlyWorld:
    """A log, and what is true of its pages."""

    log: Any  # Arrow table: user, ts, url
    urls: list[str]
    birth: Reals  # in days from the start
    mu: Reals  # of the logarithm of the age at a view, in days
    sigma: Reals

    def phi(self, days: float) -> Reals:
        """The exact share of each page's interest within so many days of its birth."""
        return normal((np.log(days) - self.mu) / self.sigma)


def hourly_world(seed: int, pages: int = 2000, days: int = 30, sites: int = 20) -> HourlyWorld:
    """Draw pages, and the requests for them."""
    dice = np.random.default_rng(seed)
    hours = days * 24
    busy = np.asarray(CLOCK_HOURS, np.float64) / np.mean(CLOCK_HOURS)
    birth = np.sort(dice.random(pages) * (days - 1 - _DAYS_BEFORE_END)) + 1.0
    birth = np.floor(birth) + dice.choice(24, pages, p=busy / busy.sum()) / 24 + dice.random(pages) / 24
    median = np.exp(dice.uniform(np.log(_MEDIANS[0]), np.log(_MEDIANS[1]), pages)) / 24
    mu, sigma = np.log(median), dice.uniform(*_SIGMAS, pages)
    size = np.exp(dice.normal(*_VIEWS, pages))
    ages = np.maximum(np.arange(hours + 1)[None, :] / 24 - birth[:, None], 1e-12)
    edges = normal(((np.log(ages) - mu[:, None]) / sigma[:, None]).ravel()).reshape(ages.shape)
    expected = size[:, None] * np.diff(edges, axis=1) * np.tile(busy, days)[None, :]
    page, hour = np.nonzero(count := dice.poisson(expected))
    many = count[page, hour]
    page, hour = np.repeat(page, many), np.repeat(hour, many)
    # Nobody comes before the page is there, in the hour of its birth.
    begin = np.maximum(birth[page] * 24 - hour, 0.0)
    second = ((hour + begin + (1 - begin) * dice.random(len(page))) * _HOUR).astype(np.int64)
    again = np.flatnonzero(dice.random(len(page)) < _AGAIN)
    end = (second[again] // 86_400 + 1) * 86_400
    later = second[again] + (dice.random(len(again)) * (end - second[again])).astype(np.int64)
    user = np.concatenate([np.arange(len(page)), again])
    second, page = np.concatenate([second, later]), np.concatenate([page, page[again]])
    order = np.argsort(second, kind="stable")
    midnight = int(datetime.combine(FIRST, time(), tzinfo=UTC).timestamp())
    urls = [f"http://www.hourly{at % sites:02d}.example/{at:05d}.html" for at in range(pages)]
    log = pa.table(
        {
            "user": pa.array([f"u{each}" for each in user[order].tolist()]),
            "ts": pa.array((midnight + second[order]) * _SECOND, pa.timestamp("us")),
            "url": pa.array(urls).take(pa.array(page[order])),
        }
    )
    return HourlyWorld(log, urls, birth, mu, sigma)
