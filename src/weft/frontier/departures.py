"""Groups that go to other workers. In: an address that is lent to another, or what was given away before. Out: the
pages of their sites are links again, for whoever holds the group next.

Only what was never visited goes while a crawl runs; what was visited goes as a parcel, when its worker has stopped.
"""

from __future__ import annotations

from weft.frontier.discovery import Discovery
from weft.frontier.errands import as_notice
from weft.frontier.holdings import Holdings
from weft.frontier.local_pages import LocalPages
from weft.frontier.local_sites import LocalSites
from weft.frontier.schedule import Schedule


class Departures:
    """Gives groups of one local frontier away."""

    def __init__(
        self, *, holdings: Holdings, found: Discovery, schedule: Schedule, sites: LocalSites, pages: LocalPages
    ) -> None:
        self._holdings = holdings
        self._found = found
        self._schedule = schedule
        self._sites = sites
        self._pages = pages
        self.moved = 0  # groups, to whom an address of theirs was lent

    def keep(self, groups: set[str]) -> None:
        """Keep no other groups than these: the others were given away in commits that are lost."""
        for group in self._holdings.groups - groups:
            self._leave(group)

    def move_to(self, address: str) -> None:
        """An address is lent to another worker: give it the groups there that were never visited.

        What was visited stays, and the address goes to and fro: too much is known of it to be sent around.
        """
        for number in self._schedule.parked_at(address):
            group = self._sites.site(number).domain
            if group in self._holdings.groups and not self._visited(group):
                self._leave(group)
                self._holdings.moved.append((group, address))
                self.moved += 1

    def _visited(self, group: str) -> bool:
        members = self._found.members.get(group, [])
        return any(self._pages.begun[number] or self._sites.site(number).visited for number in members)

    def _leave(self, group: str) -> None:
        """Give up a group: the pages of its sites are links again."""
        for number in self._found.members.pop(group, []):
            self._pages.pass_over(number)
            for link in self._pages.unload(number):
                self._holdings.post(group, link)
            for errand in self._sites.site(number).errands:  # somebody waits for what it was to bring
                self._holdings.post(group, as_notice(errand))
            self._schedule.forget(number)
            self._sites.leave(number)
            self._found.drop(self._found.names[number])
        self._holdings.groups.discard(group)
