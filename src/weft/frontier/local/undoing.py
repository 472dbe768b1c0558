"""Failures that can be undone. In: a site, and perhaps a page, before a failure is counted against them. Out: when the
failure turns out to be our own, both stand where they stood, in memory and in the next commit.

Only what can be undone may be done before it is certain whose failure it was: another try after a pause, a site that is
set aside. That a page is done for, or that a site is given up, waits until then.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from weft.clock import Clock
from weft.frontier.local.pages import Pages
from weft.frontier.local.schedule import Schedule
from weft.frontier.local.site import Site
from weft.frontier.local.sites import Sites
from weft.frontier.politeness import Politeness
from weft.model import PageNumber, SiteNumber, Turn


class Before(NamedTuple):
    """How a site and a page stood before they failed."""

    site: Site
    failures: int  # of the site
    aside: bool
    second_chance: bool
    page: PageNumber | None
    tries: int  # of the page, so far
    rested: float  # when the site may be visited again, had nothing failed


class Undoing:
    """Puts sites and pages of one local frontier back."""

    def __init__(self, *, clock: Clock, politeness: Politeness, sites: Sites, schedule: Schedule, pages: Pages) -> None:
        self._clock = clock
        self._politeness = politeness
        self._sites = sites
        self._schedule = schedule
        self._pages = pages

    def before(self, site: Site, turn: Turn | None) -> Before:
        """How a site and its page stand before a failure is counted against them."""
        page, tries = (None, 0) if turn is None else (turn.page, turn.attempt - 1)
        return Before(site, site.failures, site.set_aside, site.second_chance, page, tries, self.rested(site))

    def rested(self, site: Site) -> float:
        """When a site may be visited again that is left now, had nothing failed."""
        wait = self._schedule.wait(site)
        return self._clock.now() + (wait + self._politeness.margin if wait else 0.0)

    def undo(self, failures: Iterable[Before]) -> None:
        """Take failures back, whatever followed from them."""
        rested: dict[SiteNumber, float] = {}
        for before in reversed(list(failures)):  # the oldest has the last word
            site = before.site
            if site.number not in self._sites or self._sites[site.number] is not site:
                continue  # it went to another worker
            rested[site.number] = max(rested.get(site.number, 0.0), before.rested)
            site.failures = before.failures
            site.second_chance = before.second_chance
            if site.set_aside and not before.aside:
                self._schedule.take_in(site)
            self._sites.changed.add(site.number)
            if before.page is not None:
                self._put_back(site, before.page, before.tries)
        self.hasten(rested)

    def hasten(self, rested: dict[SiteNumber, float]) -> None:
        """Let sites rest no longer than until then, by their numbers."""
        now = self._clock.now()
        ours = {number: at for number, at in rested.items() if number in self._sites}
        self._schedule.hasten(ours, now)
        self._sites.changed.update(ours)

    def _put_back(self, site: Site, page: PageNumber, tries: int) -> None:
        """A page is as often tried as before, and pending if it had to wait for another try."""
        pages, due = self._pages, self._pages.due
        if not due.knows(page):
            return  # nothing was counted against it
        waited = due.wake(page)
        if tries:
            due.note(page, site.number, tries)
        else:
            due.forget(page)
        pages.note_tries(page, tries, self._clock.wall())
        if waited:
            pages.heaps.push(site.number, page)
