"""Errands: robots.txt files that live on another site than the one they speak for. In: where a robots.txt redirects to.
Out: a visit there, by whoever holds that site; and what it brings goes back to the site that waits for it.

Between workers an errand is a link of kind robots. Its depth is the number of hops and its note says for whom the file
is asked for; with a depth of -1 it is the answer, and the note is the file, or nothing when it could not be had.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from weft.clock import Clock
from weft.frontier.contract import Link
from weft.frontier.discovery import Discovery
from weft.frontier.holdings import Holdings
from weft.frontier.local_sites import LocalSites
from weft.frontier.robots import RobotsFiles
from weft.frontier.schedule import Schedule
from weft.frontier.sites import Errand, RobotsRecord, Site
from weft.model import Kind
from weft.urls import registered_domain, site_of

_ANSWER = -1  # the depth of a link that brings what was asked for


def as_link(errand: Errand) -> Link:
    """An errand as it goes to another worker."""
    note = msgspec.msgpack.encode((errand.owner, errand.scheme))
    return Link(errand.url, Kind.ROBOTS, errand.hops, 0, note=note)


class Errands:
    """The errands of one local frontier, for its own sites and for those of others."""

    def __init__(
        self,
        *,
        clock: Clock,
        holdings: Holdings,
        found: Discovery,
        schedule: Schedule,
        sites: LocalSites,
        robots: RobotsFiles,
        pass_over: Callable[[int], None],
        failed: Callable[[Site], float],
    ) -> None:
        self._clock = clock
        self._holdings = holdings
        self._found = found
        self._schedule = schedule
        self._sites = sites
        self._robots = robots
        self._pass_over = pass_over  # told the number of a site that waits from now on
        self._failed = failed  # told of a site that cannot be visited; the pause it gets

    def send(self, errand: Errand) -> None:
        """Have a robots.txt fetched from another site, under that site's politeness and by whoever holds it; the site
        that it speaks for is held meanwhile, but not for ever.
        """
        owner = self._found.numbers.get(errand.owner)
        if owner is not None:
            self._schedule.hold(self._sites.site(owner), self._clock.now())
            self._pass_over(owner)
        name = site_of(errand.url)
        group = registered_domain(name)
        if self._holdings.holds(group):
            self._schedule.send(self._sites.site(self._found.number(name)), errand)
        else:
            self._holdings.post(group, as_link(errand))

    def deliver(self, errand: Errand, record: RobotsRecord | None) -> None:
        """An errand is done: here is the robots.txt, or None when it could not be had. It may be for another worker."""
        owner = self._found.numbers.get(errand.owner)
        if owner is None:
            note = b"" if record is None else msgspec.msgpack.encode(record)
            url = f"{errand.scheme}://{errand.owner}/robots.txt"
            self._holdings.post(registered_domain(errand.owner), Link(url, Kind.ROBOTS, _ANSWER, 0, note=note))
            return
        site, now = self._sites.site(owner), self._clock.now()
        if record is None:
            site.next_visit = max(site.next_visit, now + self._failed(site))
        else:
            site.failures = 0
            self._robots.learn(site, errand.scheme, record)
        self._schedule.release(site, now)

    def take(self, link: Link) -> None:
        """A robots.txt is asked for by another worker, or brought."""
        if link.depth != _ANSWER:
            owner, scheme = msgspec.msgpack.decode(link.note, type=tuple[str, str])
            self.send(Errand(link.url, link.depth, owner, scheme))
        elif site_of(link.url) in self._found.numbers:
            record = msgspec.msgpack.decode(link.note, type=RobotsRecord) if link.note else None
            self.deliver(Errand(link.url, 0, site_of(link.url), link.url.partition(":")[0]), record)
