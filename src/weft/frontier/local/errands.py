"""Errands: robots.txt files that live elsewhere than they speak for. In: where a robots.txt redirects to. Out: a visit
there, by whoever holds that site; and what it brings goes back to the site that waits for it.

A site waits for an errand to another one, but not for ever: what is not brought in time counts as not to be had, as
does what a site would have to bring that was set aside. An errand to the very site that it is for (from http to https,
say) is the reason of its next visit. A file that several sites wait for is fetched once for all of them.

Between workers an errand is a notice that a robots.txt is wanted, and another one brings it.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.frontier.durable.memory import RobotsRecord, packed_robots, unpacked_robots
from weft.frontier.local.parts import Parts
from weft.frontier.local.site import Errand, Site
from weft.frontier.local.visit import Visit
from weft.frontier.shared.contract import RobotsBrought, RobotsWanted
from weft.urls import registered_domain, site_of


def as_notice(errand: Errand) -> RobotsWanted:
    """An errand as it goes to another worker."""
    return RobotsWanted(errand.url, errand.hops, errand.owner, errand.scheme)


class Errands:
    """The errands of one local frontier, for its own sites and for those of others."""

    def __init__(self, parts: Parts, *, failed: Callable[[Site], float]) -> None:
        self._clock = parts.clock
        self._holdings = parts.holdings
        self._schedule = parts.schedule
        self._sites = parts.sites
        self._ranking = parts.ranking
        self._robots = parts.robots
        self._failed = failed  # told of a site that cannot be visited; the pause it gets
        self._schedule.overdue = self._fail

    def __repr__(self) -> str:
        return f"Errands({self._schedule})"

    def send(self, errand: Errand) -> None:
        """Have a robots.txt fetched, under the politeness of the site where it lives and by whoever holds that."""
        now, name = self._clock.now(), site_of(errand.url)
        owner = self._sites.numbers.get(errand.owner)
        if owner is not None and name != errand.owner:
            self._schedule.hold(self._sites[owner], now)
            self._ranking.pass_over(owner)
        group = registered_domain(name)
        if not self._holdings.holds(group):
            self._holdings.post(group, as_notice(errand))
            return
        site = self._sites[self._sites.number(name)]
        if site.set_aside and name != errand.owner:
            self.deliver(errand, None)
        else:
            self._schedule.send(site, errand, now)

    def deliver(self, errand: Errand, record: RobotsRecord | None) -> None:
        """An errand is done: here is the robots.txt, or None when it could not be had. It may be for another worker."""
        site = self._sites.get(errand.owner)
        if site is None:
            brought = RobotsBrought(errand.owner, errand.scheme, None if record is None else packed_robots(record))
            self._holdings.post(registered_domain(errand.owner), brought)
            return
        if record is not None:
            site.failures = 0
            self._robots.learn(site, errand.scheme, record.body, record.fetched_at)
        elif site.held:  # else it waits no more, and has asked anew
            self._fail(site)
        self._schedule.release(site, self._clock.now())

    def give_up(self, visit: Visit) -> None:
        """A site could not be reached: nothing can be brought from there. That it failed is for the caller to count."""
        site, errand = visit.site, visit.errand
        lost = [*site.errands] if errand is None else [errand, *site.errands]
        site.errands = []
        for each in lost:
            if each.owner == site.name:
                self._schedule.release(site, self._clock.now())
            else:
                self.deliver(each, None)

    def owner(self, errand: Errand) -> Site | None:
        """The site that an errand is for, where it is one of ours."""
        return self._sites.get(errand.owner)

    def _fail(self, site: Site) -> None:
        """A site waited for a robots.txt that cannot be had: it rests as one that cannot be reached."""
        site.next_visit = max(site.next_visit, self._clock.now() + self._failed(site))

    def take(self, notice: RobotsWanted | RobotsBrought) -> None:
        """A robots.txt is asked for by another worker, or brought."""
        if isinstance(notice, RobotsWanted):
            self.send(Errand(notice.url, notice.hops, notice.owner, notice.scheme))
        elif notice.owner in self._sites.numbers:
            record = unpacked_robots(notice.record) if notice.record is not None else None
            url = f"{notice.scheme}://{notice.owner}/robots.txt"
            self.deliver(Errand(url, 0, notice.owner, notice.scheme), record)
