"""Groups that come from other workers. In: a parcel. Out: its sites and pages are ours, each where it stood; all of it
is part of the next commit.

The worker that made the parcel may have died in the middle of a visit. Whatever it may have visited until then rests as
if it had been, and what nobody wrote down is waited for.
"""

from __future__ import annotations

import numpy as np

from weft.clock import Clock
from weft.frontier.discovery import Discovery
from weft.frontier.local_pages import LocalPages
from weft.frontier.local_sites import LocalSites
from weft.frontier.parcels import Content, unpacked
from weft.frontier.politeness import Politeness, shortest_wait
from weft.frontier.robots import RobotsFiles
from weft.frontier.schedule import Schedule
from weft.frontier.shared.contract import Parcel
from weft.frontier.sites import Site


class Arrivals:
    """Takes up, for one local frontier, what others left."""

    def __init__(
        self,
        *,
        clock: Clock,
        politeness: Politeness,
        found: Discovery,
        schedule: Schedule,
        sites: LocalSites,
        pages: LocalPages,
        robots: RobotsFiles,
    ) -> None:
        self._clock = clock
        self._politeness = politeness
        self._found = found
        self._schedule = schedule
        self._sites = sites
        self._pages = pages
        self._robots = robots

    def load(self, parcel: Parcel) -> None:
        """Take up a group where another worker left it."""
        content = unpacked(parcel.content)
        known = {site.name for site in content.sites if site.name in self._found.numbers}  # for an errand, at most
        numbers = np.array([self._found.number(site.name) for site in content.sites], np.int32)
        self._pages.load(content, numbers, anew=not known)
        now, wall = self._clock.now(), self._clock.wall()
        for number, sent in zip(numbers.tolist(), content.sites, strict=True):
            site = self._sites.site(number)
            self._robots.load(site, sent.robots)
            if sent.name not in known:
                self._remember(site, sent.memory, content, now, wall)
        shortest = shortest_wait(self._politeness) + self._politeness.margin
        if not content.clean and wall < content.made_at + shortest:  # there may be sites that nobody wrote down
            self._schedule.hold_back(now)

    def _remember(self, site: Site, memory: bytes, content: Content, now: float, wall: float) -> None:
        """Take up what is remembered of a site; one may have been visited last when its worker died."""
        clean = content.clean or wall >= content.made_at + self._politeness.crawl_delay_most
        if memory:
            site.remember(memory, wall - now)
        if memory or not clean:
            self._schedule.resume(site, now)
            self._sites.changed.add(site.number)
