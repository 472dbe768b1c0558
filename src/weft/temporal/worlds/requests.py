"""Requests: the rows of a log behind the views. In: a world and a day. Out: user, time and URL of each request.

Every view is one user's, who may have come back on that day; some sites write a session's or a campaign's name into the
address. Who reads the log exactly (one view a user, page and day, after taking those names off) finds the world's
traffic again: the users of a page and day all differ, and nobody comes before the first view.
"""

from __future__ import annotations

from datetime import UTC, datetime, time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from weft.temporal.worlds.traffic import DAY, born_at, chance_of, second_of
from weft.temporal.worlds.world import World

_BACK, _ONCE_MORE = 0.3, 0.6  # share of views with more than one request; chance that the second is the last
_SPAM = (60, 800)  # requests of one user for one page on one day
_FAITHFUL = 1.3  # 1: all users are equally active
_SESSION, _CAMPAIGN = 0.25, 0.25  # share of the requests at sites that do so
SCHEMA = pa.schema([("user", pa.string()), ("ts", pa.timestamp("us")), ("url", pa.string())])

Numbers = NDArray[np.int64]


class Requests:
    """The log of a world, day by day."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._page = np.repeat(np.arange(len(world.pages), dtype=np.int32), np.diff(world.traffic.start))
        self._by_day = np.argsort(world.traffic.day, kind="stable")
        self._days = np.searchsorted(world.traffic.day[self._by_day], np.arange(world.recipe.last + 1))
        self._joint = pc.if_else(pc.match_substring(world.pages.url, "?"), "&", "?")
        midnight = datetime.combine(world.recipe.first, time(), tzinfo=UTC)
        self._midnight = int(midnight.timestamp())

    def of_day(self, day: int) -> Any:
        """All requests of a day as an Arrow table, in the order of time."""
        dice = self._world.recipe.dice("requests", day)
        entries = self._by_day[self._days[day] : self._days[day + 1]]
        page = self._page[entries].astype(np.int64)
        count = self._world.traffic.count[entries].astype(np.int64)
        entry = np.repeat(np.arange(len(entries)), count)
        place = np.arange(len(entry)) - np.repeat(np.cumsum(count) - count, count)
        user = _users(self._world.recipe.users, entry, place, count, dice)
        times = 1 + np.where(dice.random(len(entry)) < _BACK, dice.geometric(_ONCE_MORE, len(entry)), 0)
        spam = (self._world.pages.spam_day[page] == day)[entry] & (place == 0)
        user[spam] += 10 * self._world.recipe.users  # spammers are nobody else
        times[spam] = dice.integers(*_SPAM, int(spam.sum()))
        second = self._seconds(day, entries, entry, times, dice)
        row = np.repeat(np.arange(len(entry)), times)
        order = np.argsort(second, kind="stable")
        row, second = row[order], second[order]
        stamp = (self._midnight + day * DAY + second.astype(np.int64)) * 1_000_000
        names = pc.binary_join_element_wise("u", pc.cast(pa.array(user[row]), pa.string()), "")
        return pa.table([names, pa.array(stamp, pa.timestamp("us")), self._urls(page[entry[row]], dice)], schema=SCHEMA)

    def _seconds(
        self, day: int, entries: Numbers, entry: Numbers, times: Numbers, dice: np.random.Generator
    ) -> NDArray[np.int32]:
        """When each request came: one of a page's users at the first view's time, everything else behind it."""
        first = self._world.traffic.first[entries]
        born = born_at(self._world.pages.birth[self._page[entries]], day)
        request = np.repeat(entry, times)
        before = chance_of(first, born)[request]
        second = second_of(before + (1 - before) * dice.random(len(request)), born[request])
        second = np.maximum(second, first[request])  # a share rounds to the second before, at times
        requests = np.bincount(request, minlength=len(entries))
        begins = np.cumsum(requests) - requests
        second[begins + (dice.random(len(entries)) * requests).astype(np.int64)] = first
        return second

    def _urls(self, page: Numbers, dice: np.random.Generator) -> Any:
        """The spellings of addresses."""
        urls = self._world.pages.url.take(pa.array(page))
        chance = dice.random(len(page))
        at = np.flatnonzero(self._world.sites.sessions[self._world.pages.site[page]] & (chance < _SESSION + _CAMPAIGN))
        session = dice.integers(2**20, 2**31, len(at)).tolist()
        ends = [
            f"sid={each:x}" if sure else "utm_source=feed"
            for each, sure in zip(session, (chance[at] < _SESSION).tolist(), strict=True)
        ]
        joint = self._joint.take(pa.array(page[at]))
        spelt = pc.binary_join_element_wise(urls.take(pa.array(at)), joint, pa.array(ends, pa.string()), "")
        mask = np.zeros(len(page), dtype=bool)
        mask[at] = True
        return pc.replace_with_mask(urls, pa.array(mask), spelt)


def _users(users: int, entry: Numbers, place: Numbers, count: Numbers, dice: np.random.Generator) -> Numbers:
    """A user for each view, no one twice for one page and day, the first numbers more often than the last.

    Users are drawn in ascending order, one from each of as many equal parts of chance as there are views; who would
    come twice leaves the second time to the next.
    """
    share = (place + dice.random(len(entry))) / count[entry]
    user = (users * share**_FAITHFUL).astype(np.int64)
    step = 4 * users + int(count.max(initial=0))  # apart enough that one entry's users never reach into the next's
    free = np.maximum.accumulate(entry * step + user - place) + place
    return free - entry * step
