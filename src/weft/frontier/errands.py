"""Errands: robots.txt files that live elsewhere than they speak for. In: where a robots.txt redirects to. Out: a visit
there, by whoever holds that site; and what it brings goes back to the site that waits for it.

A site waits for an errand to another one, but not for ever: what is not brought in time counts as not to be had, as
does what a site would have to bring that was set aside. An errand to the very site that it is for (from http to https,
say) is the reason of its next visit. A file that several sites wait for is fetched once for all of them.

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
from weft.frontier.sites import Errand, RobotsRecord, Site, packed_robots, unpacked_robots
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
        schedule.overdue = self._fail

    def __repr__(self) -> str:
        return f"Errands({self._schedule})"

    def send(self, errand: Errand) -> None:
        """Have a robots.txt fetched, under the politeness of the site where it lives and by whoever holds that."""
        now, name = self._clock.now(), site_of(errand.url)
        owner = self._found.numbers.get(errand.owner)
        if owner is not None and name != errand.owner:
            self._schedule.hold(self._sites.site(owner), now)
            self._pass_over(owner)
        group = registered_domain(name)
        if not self._holdings.holds(group):
            self._holdings.post(group, as_link(errand))
            return
        site = self._sites.site(self._found.number(name))
        if site.set_aside and name != errand.owner:
            self.deliver(errand, None)
        else:
            self._schedule.send(site, errand, now)

    def deliver(self, errand: Errand, record: RobotsRecord | None) -> None:
        """An errand is done: here is the robots.txt, or None when it could not be had. It may be for another worker."""
        owner = self._found.numbers.get(errand.owner)
        if owner is None:
            note = b"" if record is None else packed_robots(record)
            url = f"{errand.scheme}://{errand.owner}/robots.txt"
            self._holdings.post(registered_domain(errand.owner), Link(url, Kind.ROBOTS, _ANSWER, 0, note=note))
            return
        site = self._sites.site(owner)
        if record is not None:
            site.failures = 0
            self._robots.learn(site, errand.scheme, record)
        elif site.held:  # else it waits no more, and has asked anew
            self._fail(site)
        self._schedule.release(site, self._clock.now())

    def give_up(self, site: Site, errand: Errand | None) -> None:
        """A site could not be reached: nothing can be brought from there. That it failed is for the caller to count."""
        lost = [*site.errands] if errand is None else [errand, *site.errands]
        site.errands = []
        for each in lost:
            if each.owner == site.name:
                self._schedule.release(site, self._clock.now())
            else:
                self.deliver(each, None)

    def _fail(self, site: Site) -> None:
        """A site waited for a robots.txt that cannot be had: it rests as one that cannot be reached."""
        site.next_visit = max(site.next_visit, self._clock.now() + self._failed(site))

    def take(self, link: Link) -> None:
        """A robots.txt is asked for by another worker, or brought."""
        if link.depth != _ANSWER:
            owner, scheme = msgspec.msgpack.decode(link.note, type=tuple[str, str])
            self.send(Errand(link.url, link.depth, owner, scheme))
        elif site_of(link.url) in self._found.numbers:
            record = unpacked_robots(link.note) if link.note else None
            self.deliver(Errand(link.url, 0, site_of(link.url), link.url.partition(":")[0]), record)
