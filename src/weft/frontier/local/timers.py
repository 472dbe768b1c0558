"""Timers of a schedule: what will come to pass by itself, and when. In: times. Out: values that are ordered by them."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from weft.frontier.local.visit import Visit
from weft.frontier.politeness import Throttle
from weft.model import SiteNumber

NO_SITE = SiteNumber(-1)


class What(IntEnum):
    """What comes to pass."""

    SITE = 0  # a site's wait is over
    WAKE = 2  # a throttle's gap is over
    CONFIRM = 3  # a server had time enough to accept
    FREE = 4  # a server has seen the end of a visit
    NOTHING = 5  # time has passed, and that is all


class Timer(NamedTuple):
    """One of them; of two at the same time the one that was set first comes first."""

    at: float
    order: int
    what: What
    site: SiteNumber = NO_SITE
    throttle: Throttle | None = None
    visit: Visit | None = None
