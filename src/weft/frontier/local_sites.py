"""The sites of a local frontier. In: numbers. Out: sites, each made when it is first asked for; and, for the next
commit, what changed of them.

Most sites that are known were never visited. These are a number and a name, and no object is kept for them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from weft.compiled import reserve
from weft.frontier.log import Commit
from weft.frontier.shared.contract import BEING_CRAWLED, CRAWLED, SET_ASIDE
from weft.frontier.sites import Overrides, Site


class LocalSites:
    """The sites of one local frontier, by their numbers."""

    def __init__(self, names: Sequence[str], overrides: Overrides, capacity: int) -> None:
        self._names = names  # by number; there are more as time goes by
        self._overrides = overrides
        self._made: dict[int, Site] = {}
        self.asked: dict[str, float] = {}  # pauses that are not in the log: by name, until which wall time
        self.wall_offset = 0.0
        self._listed = reserve(capacity, np.uint8)  # by site: the list that it was last reported to be in
        # Since the last commit.
        self.changed: set[int] = set()  # what is remembered of these
        self._left: list[int] = []  # to another worker

    def __repr__(self) -> str:
        return f"LocalSites({len(self._made)} of {len(self._names)})"

    def __len__(self) -> int:
        return len(self._made)

    def __contains__(self, number: int) -> bool:
        return number in self._made

    def site(self, number: int) -> Site:
        """The site of a number."""
        site = self._made.get(number)
        if site is None:
            name = self._names[number]
            site = self._made[number] = Site(number, name, self._overrides.of(name))
            if self.asked:
                self.pause(site)
        return site

    def pause(self, site: Site) -> None:
        """Leave a site alone as long as it asked for in a run that came to no commit any more."""
        until = self.asked.pop(site.name, None)
        if until is not None:
            site.next_visit = max(site.next_visit, until - self.wall_offset)
            self.changed.add(site.number)

    def out_of_reach(self) -> list[int]:
        """Sites that rest because they failed, or wait for what others bring: that may take hours."""
        return [number for number, site in self._made.items() if site.failures or site.set_aside or site.held]

    def answered(self, most: int) -> list[Site]:
        """Some sites of different domains that were reached."""
        found: dict[str, Site] = {}
        for site in self._made.values():
            if site.fetched and not site.failures:
                found[site.domain] = site
                if len(found) == most:
                    break
        return list(found.values())

    def leave(self, number: int) -> None:
        """A site goes to another worker."""
        self._made.pop(number, None)
        self.changed.discard(number)  # it may have been looked at, in vain, since the last commit
        self._left.append(number)

    def changed_lists(self, pending: NDArray[np.int32]) -> dict[str, int]:
        """The lists that sites are in by now, of those that changed lists; `pending` has the pages waiting, by site."""
        changed = {}
        for number in self.changed:
            site = self._made[number]
            where = SET_ASIDE if site.set_aside else BEING_CRAWLED if pending[number] else CRAWLED
            if self._listed[number] != where:
                self._listed[number] = where
                changed[site.name] = where
        return changed

    def pack(self, commit: Commit, wall_offset: float) -> None:
        """Write down what changed since the last commit."""
        commit.states = [(number, self._made[number].memory(wall_offset)) for number in self.changed]
        jars = ((number, self._made[number].new_cookies()) for number in self.changed)
        commit.jars = [(number, jar) for number, jar in jars if jar is not None]
        commit.left = self._left
        self.changed = set()
        self._left = []

    def restore(self, states: dict[int, bytes], wall_offset: float) -> list[Site]:
        """Put back what was remembered of sites: these."""
        sites = []
        for number, data in states.items():
            site = self.site(number)
            site.remember(data, wall_offset)
            sites.append(site)
        return sites
