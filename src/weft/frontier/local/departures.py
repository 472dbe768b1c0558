"""Groups that go to other workers. In: an address that is lent to another, or what was given away before. Out: the
pages of their sites are links again, for whoever holds the group next.

Only what was never visited goes while a crawl runs; what was visited goes as a parcel, when its worker has stopped.
"""

from __future__ import annotations

import math

from weft.frontier.local.errands import as_notice
from weft.frontier.local.holdings import Holdings
from weft.frontier.local.pages import Pages
from weft.frontier.local.ranking import Ranking
from weft.frontier.local.schedule import Schedule
from weft.frontier.local.sites import Sites
from weft.frontier.local.specials import Specials
from weft.frontier.local.unranked import Unranked
from weft.frontier.shared.contract import Found
from weft.model import SiteNumber


class Departures:
    """Gives groups of one local frontier away."""

    def __init__(
        self,
        *,
        holdings: Holdings,
        schedule: Schedule,
        sites: Sites,
        pages: Pages,
        ranking: Ranking | Unranked,
        specials: Specials,
    ) -> None:
        self._holdings = holdings
        self._schedule = schedule
        self._sites = sites
        self._pages = pages
        self._ranking = ranking
        self._specials = specials
        self.moved = 0  # groups, to whom an address of theirs was lent

    def keep(self, groups: set[str]) -> None:
        """Keep no other groups than these: the others were given away in commits that are lost."""
        for group in self._holdings.groups - groups:
            self._leave(group)

    def move_to(self, address: str) -> None:
        """An address is lent to another worker: give it the groups there that were never visited.

        What was visited stays, and the address goes back and forth: too much is known of it to be sent around.
        """
        for number in self._schedule.throttles.parked_at(address):
            group = self._sites[number].domain
            if group in self._holdings.groups and not self._visited(group):
                self._leave(group)
                self._holdings.moved.append((group, address))
                self.moved += 1

    def _visited(self, group: str) -> bool:
        members = self._sites.members.get(group, [])
        return any(self._sites.begun[number] or self._sites[number].visited for number in members)

    def _leave(self, group: str) -> None:
        """Give up a group: the pages of its sites are links again."""
        for number in self._sites.members.pop(group, []):
            self._ranking.pass_over(number)
            for link in self._unload(number):
                self._holdings.post(group, link)
            for errand in self._sites[number].errands:  # somebody waits for what it was to bring
                self._holdings.post(group, as_notice(errand))
            self._schedule.forget(number)
            self._sites.leave(number)
        self._holdings.groups.discard(group)

    def _unload(self, site: SiteNumber) -> list[Found]:
        """Forget the pages of a site that was never visited: they are links again, the best one first."""
        links, pages = [], self._pages
        for page in pages.drain(site):
            url, via, _, depth, kind, steps = pages.log.entry(page)
            score = float(pages.heaps.arrays.score[page]) if pages.scored else 0.0
            known = score if via or math.isfinite(score) else None  # a seed that no batch holds yet is scored as one
            links.append(Found(url, kind, depth, via, known, steps=steps, special=self._specials.encoded(page)))
            self._specials.over(page)
            pages.seen.arrays.key[page] = 0
        return links
