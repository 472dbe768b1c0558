"""A world: a web over time. In: a graph of all pages that ever are, and when what happens. Out: how it is at any time.

Times are seconds from the world's start; what was there at the start was born before it. Nothing steps through time:
every question is answered from tables, by a binary search at most, and for arrays as for single pages.

A *real* edit changes what a page says, a *cosmetic* one a clock or a counter on it. A hub (a home page or a section
front) is written anew when a page is born that it lists: each such birth is a real edit of the hub, and the pages that
it lists are the newest of those that were alive at that moment.

Invariant: a page's versions never go down; two times with the same version show the same page.

>>> from weft.graph import Recipe
>>> from weft.graph.changing import Changes, make_world
>>> world = make_world(Recipe(sites=5, pages=200), Changes(days=10, news=0.4), seed=1)
>>> born = int(np.flatnonzero(world.birth > 0)[0])
>>> bool(world.alive(born, world.birth[born] - 1)), bool(world.alive(born, world.birth[born]))
(False, True)
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, fields
from datetime import UTC, datetime, time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.compiled import compiled
from weft.graph.changing.recipe import Changes
from weft.graph.model import Graph

DAY = 86_400.0
HOUR = 3_600.0
TRUE, NONE, RESTLESS, STALE = range(4)
"""What a site's ETag and Last-Modified are worth: true; there are none; always new; the same after an edit."""
MISSING, GONE, AWAY = range(3)
"""What is answered for a dead page: 404, 410, or a redirect to the front that listed it."""

_AS_THEY_ARE = np.empty(0, dtype=np.int32)
_AS_THEY_ARE.setflags(write=False)  # as those of worlds: compiled code knows the difference

Reals = NDArray[np.float64]
Pages = Any
"""A page or an array of pages; times likewise, and what is asked of them is answered for each."""


@dataclass(frozen=True, slots=True, eq=False)
class Publishing:
    """How each site publishes: one entry a site."""

    news: NDArray[np.bool_]
    births_a_day: Reals
    """On average, without events and weekends."""
    hours: NDArray[np.float64]
    """24 factors a site, 1 on average: births in that hour of the day."""
    event_begins: Reals
    """When an event begins for it; infinite: never."""
    feed_lag_s: Reals
    """How late its feed is; NaN: it has none."""
    feed_lie_s: Reals
    """By how much the dates in its feed are too late; 0: they are true."""
    sitemap_lag_s: Reals
    sitemap_lie_s: Reals
    validators: NDArray[np.uint8]
    """TRUE, NONE, RESTLESS or STALE."""


class Version(NamedTuple):
    """How often pages have been edited by a time."""

    real: NDArray[np.int64]
    cosmetic: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class World:
    """A web over time; the arrays have one entry a page, and are read-only."""

    changes: Changes
    seed: int
    graph: Graph
    """All pages that ever are. A hub's links are those that it always has; `links_at` adds what it lists."""
    publishing: Publishing
    birth: Reals
    death: Reals
    """Infinite: it never dies."""
    edits_a_day: Reals
    """The rate of its real edits; those of temporal pages and the listings of hubs are not in it."""
    edit_offsets: NDArray[np.int64]
    edit_times: Reals
    """Real edits of page p are edit_times[edit_offsets[p]:edit_offsets[p + 1]], in order."""
    cosmetic_s: Reals
    """Time between two cosmetic edits; infinite: there are none."""
    temporal: NDArray[np.bool_]
    ending: NDArray[np.uint8]
    """What it is answered with when it is dead: MISSING, GONE or AWAY."""
    front: NDArray[np.int32]
    """The hub that lists it; of a hub itself."""
    listing: NDArray[np.int32]
    """All listed pages by their site, in the order of birth; with `listing_offsets`, one more than sites."""
    listing_offsets: NDArray[np.int64]
    front_listing: NDArray[np.int32]
    """The same by their front; `front_offsets` has one more entry than pages."""
    front_offsets: NDArray[np.int64]

    def __post_init__(self) -> None:
        for known in fields(self):
            value = getattr(self, known.name)
            if isinstance(value, np.ndarray):
                frozen = value.view()
                frozen.setflags(write=False)
                object.__setattr__(self, known.name, frozen)

    def __repr__(self) -> str:
        born = int((self.birth > 0).sum())
        return f"World({self.graph!r}, days={self.changes.days:g}, born={born}, edits={len(self.edit_times)})"

    @property
    def end(self) -> float:
        """Seconds after which nothing happens any more."""
        return self.changes.days * DAY

    @property
    def epoch(self) -> float:
        """The world's start in seconds since 1970."""
        return datetime.combine(self.changes.first, time(), tzinfo=UTC).timestamp()

    @property
    def hubs(self) -> NDArray[np.int64]:
        """The pages that list new ones: home pages, and section fronts."""
        return np.flatnonzero(self.front == np.arange(self.graph.pages))

    def alive(self, page: Pages, at: Any) -> NDArray[np.bool_]:
        """Whether a page is there."""
        return np.asarray((self.birth[page] <= at) & (at < self.death[page]))

    def version_of(self, page: Pages, at: Any) -> Version:
        """How many real and cosmetic edits a page has had, the one of this moment included; of a dead one: in its life.

        A hub also counts what it lists.
        """
        pages, times = np.broadcast_arrays(page, np.asarray(at, dtype=np.float64))
        shape, pages = pages.shape, np.ascontiguousarray(pages, dtype=np.int64).ravel()
        times = np.minimum(times.ravel(), self.death[pages])
        real = self.own_edits(pages, times)
        self._add_births(pages, times, real)
        since = np.maximum(times - self.birth[pages], 0.0)
        cosmetic = np.floor(since / self.cosmetic_s[pages]).astype(np.int64)
        return Version(real.reshape(shape), cosmetic.reshape(shape))

    def edits_of(self, page: int, begin: float, end: float) -> Reals:
        """When a page was really edited after `begin` and up to `end`; of a hub also when what it lists changed."""
        own = self.edit_times[self.edit_offsets[page] : self.edit_offsets[page + 1]]
        if self.front[page] == page:
            own = np.sort(np.concatenate([own, self.birth[self._listing_of(page)]]))
        return np.asarray(own[np.searchsorted(own, begin, "right") : np.searchsorted(own, end, "right")])

    def modified(self, page: Pages, at: Any) -> Reals:
        """When pages were last really edited, a birth if never; of a hub: its own edits, and what it lists."""
        pages, times = np.broadcast_arrays(page, np.asarray(at, dtype=np.float64))
        shape, pages = pages.shape, np.ascontiguousarray(pages, dtype=np.int64).ravel()
        times = np.array(times).ravel()
        own = self.own_edits(pages, times)
        found = self.birth[pages].copy()
        edited = own > 0
        found[edited] = self.edit_times[self.edit_offsets[pages[edited]] + own[edited] - 1]
        for place in np.flatnonzero(self.front[pages] == pages).tolist():
            listed = self.listed_by(int(pages[place]), float(times[place]))
            if len(listed):
                found[place] = max(found[place], self.birth[listed[-1]])
        return found.reshape(shape)

    def own_edits(self, pages: NDArray[np.int64], times: Reals) -> NDArray[np.int64]:
        """How many real edits pages have had by their times, without what hubs list."""
        counted = np.zeros(len(pages), dtype=np.int64)
        _search(self.edit_times, _AS_THEY_ARE, self.edit_offsets[pages], self.edit_offsets[pages + 1], times, counted)
        return counted

    def newest(self, hub: int, at: float, count: int = 0) -> NDArray[np.int32]:
        """The pages that a hub lists at a time, the newest first."""
        return self._latest(self.listed_by(hub, at), count or self.changes.listed)

    def links_at(self, page: int, at: float) -> NDArray[np.int32]:
        """Where a page that is there links to at a time, dead pages included: a hub also to what it lists."""
        links = self.graph.links_of(page)
        if self.front[page] != page:
            return links
        listed = self.newest(page, at)
        return np.concatenate([links, listed[~np.isin(listed, links)]])

    def births_a_day(self, site: int, at: float) -> float:
        """The rate at which a site publishes at a time, temporal pages and others; hour, weekend and event count."""
        publishing = self.publishing
        day = int(at // DAY)
        rate = float(publishing.births_a_day[site])
        if publishing.news[site] and (self.changes.first.weekday() + day) % 7 >= 5:
            rate *= self.changes.weekend
        begins = float(publishing.event_begins[site])
        if begins <= day * DAY < begins + self.changes.event_days * DAY:
            rate += self.changes.event_births
        return rate * float(publishing.hours[site, int(at % DAY // HOUR)])

    def _listing_of(self, hub: int) -> NDArray[np.int32]:
        """All pages that a hub ever lists, in the order of birth."""
        site = bisect_right(self.graph.first_page, hub) - 1
        if hub == self.graph.first_page[site]:
            return self.listing[self.listing_offsets[site] : self.listing_offsets[site + 1]]
        return self.front_listing[self.front_offsets[hub] : self.front_offsets[hub + 1]]

    def _add_births(self, pages: NDArray[np.int64], times: Reals, counted: NDArray[np.int64]) -> None:
        """Add how many pages that each hub lists are born by its time."""
        hubs = np.flatnonzero(self.front[pages] == pages)
        if not len(hubs):
            return
        hub, until = pages[hubs], times[hubs]
        site = self.graph.site_of(hub)
        home = hub == self.graph.first_page[site]
        found = np.zeros(len(hub), dtype=np.int64)
        for here, offsets, key, order in (
            (home, self.listing_offsets, site, self.listing),
            (~home, self.front_offsets, hub, self.front_listing),
        ):
            some = np.zeros(int(here.sum()), dtype=np.int64)
            _search(self.birth, order, offsets[key[here]], offsets[key[here] + 1], until[here], some)
            found[here] = some
        counted[hubs] += found

    def listed_by(self, hub: int, at: float) -> NDArray[np.int32]:
        """The pages that a hub has listed up to a time, in the order of birth."""
        listed = self._listing_of(hub)
        return listed[: bisect_right(listed, at, key=self.birth.__getitem__)]

    def _latest(self, born: NDArray[np.int32], count: int) -> NDArray[np.int32]:
        """The last of these that were alive when the very last was born, that one first."""
        if not len(born):
            return born
        written = self.birth[born[-1]]
        many = count
        while True:
            last = born[-many:]
            there = last[self.death[last] > written]
            if len(there) >= count or many >= len(born):
                return np.asarray(there[::-1][:count])
            many *= 4


@compiled
def _search(
    values: Reals,
    order: NDArray[np.int32],
    first: NDArray[np.int64],
    end: NDArray[np.int64],
    at: Reals,
    counted: NDArray[np.int64],
) -> None:
    """Count in each stretch of ascending values, which stand in this order, those up to a time; add it."""
    for i in range(len(first)):
        low, high = first[i], end[i]
        while low < high:
            middle = (low + high) // 2
            if values[order[middle] if len(order) else middle] <= at[i]:
                low = middle + 1
            else:
                high = middle
        counted[i] += low - first[i]
