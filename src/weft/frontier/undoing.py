"""Failures that can be undone. In: a site, and perhaps a page, before a failure is counted against them. Out: when the
failure turns out to be our own, both stand where they stood, in memory and in the next commit.

Only what can be undone may be done before it is certain whose failure it was: another try after a pause, a site that is
set aside. That a page is done for, or that a site is given up, waits until then.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from weft.clock import Clock
from weft.frontier.local_pages import LocalPages
from weft.frontier.local_sites import LocalSites
from weft.frontier.schedule import Schedule
from weft.frontier.sites import Site
from weft.ordering.heaps import TwoLevelHeap


class Before(NamedTuple):
    """How a site and a page stood before they failed."""

    site: Site
    failures: int  # of the site
    aside: bool
    second_chance: bool
    page: int  # -1: none
    tries: int  # of the page, so far
    rested: float  # when the site may be visited again, had nothing failed


class Undoing:
    """Puts sites and pages of one local frontier back."""

    def __init__(
        self, *, clock: Clock, sites: LocalSites, schedule: Schedule, pages: LocalPages, heaps: TwoLevelHeap
    ) -> None:
        self._clock = clock
        self._sites = sites
        self._schedule = schedule
        self._pages = pages
        self._heaps = heaps

    def undo(self, failures: Iterable[Before]) -> None:
        """Take failures back, whatever followed from them."""
        rested: dict[int, float] = {}
        for before in reversed(list(failures)):  # the oldest has the last word
            site = before.site
            if site.number not in self._sites or self._sites.site(site.number) is not site:
                continue  # it went to another worker
            rested[site.number] = max(rested.get(site.number, 0.0), before.rested)
            site.failures = before.failures
            site.second_chance = before.second_chance
            if site.set_aside and not before.aside:
                self._schedule.take_in(site)
            self._sites.changed.add(site.number)
            if before.page >= 0:
                self._put_back(site, before.page, before.tries)
        self.hasten(rested)

    def hasten(self, rested: dict[int, float]) -> None:
        """Let sites rest no longer than until then, by their numbers."""
        now = self._clock.now()
        ours = {number: at for number, at in rested.items() if number in self._sites}
        self._schedule.hasten(ours, now)
        self._sites.changed.update(ours)

    def _put_back(self, site: Site, page: int, tries: int) -> None:
        """A page is as often tried as before, and pending if it had to wait for another try."""
        pages = self._pages
        if page not in pages.attempts:
            return  # nothing was counted against it
        if tries:
            pages.attempts[page] = tries
        else:
            del pages.attempts[page]
        pages.delayed.append((page, tries, self._clock.wall()))
        if self._schedule.delayed.pop(page, None) is not None:
            self._heaps.push(site.number, page)
