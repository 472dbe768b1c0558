"""The table of sites. In: names. Out: numbers, sites, and what changed of them for the next commit.

Most sites that are known were never visited. These are a number and a name, and no object is kept for them: a `Site` is
made when its number is first asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from weft.compiled import reserve
from weft.errors import WeftError
from weft.frontier.durable.memory import ASK_AGAIN, decoded
from weft.frontier.durable.records import Commit
from weft.frontier.local.alike import Alike
from weft.frontier.local.holdings import Holdings
from weft.frontier.local.seen import Seen
from weft.frontier.local.site import Site
from weft.frontier.scope import Scope
from weft.frontier.shared.contract import BEING_CRAWLED, CRAWLED, SET_ASIDE
from weft.frontier.traps import family_of
from weft.model import SiteNumber
from weft.ordering.heaps import TwoLevelHeap, add_sites, note_copies
from weft.urls import registered_domain

_RECENT = 100  # pages of a site over which copies are counted, about
_MOST_FAMILIES = 200  # of a site, of which it is remembered how they came to nothing
_ANSWERED = 64  # sites that were reached in the run before, of which some are remembered


class Sites:
    """All that is known of the sites of one local frontier, which owns it.

    A name that is here has one number; a number is given once and never stands for another name.
    """

    def __init__(self, *, scope: Scope, heaps: TwoLevelHeap, seen: Seen, holdings: Holdings) -> None:
        self._scope = scope
        self._heaps = heaps
        self._seen = seen
        self._holdings = holdings
        self.room = heaps.arrays.length.size  # numbers that can be given
        self.names: list[str] = []  # by number
        self.numbers: dict[str, SiteNumber] = {}
        self.grouped = False  # are the sites of groups kept, though there are no other workers?
        self.members: dict[str, list[SiteNumber]] = {}  # by group: its sites, where there are others or a shelf
        self._domains: Counter[str] = Counter()  # sites of registered domains, beside their own names
        self.here = reserve(self.room, np.bool_)  # by number: it stands for its site
        self.begun = reserve(self.room, np.bool_)  # by number: a page of it was settled or refused
        self._made: dict[int, Site] = {}
        self.on_made: Callable[[Site], None] = lambda _site: None  # told of each
        # Of a run before, sites that are not made yet: what is remembered of them, and when each may be visited.
        self._memories: dict[int, bytes] = {}
        self._next_visit = np.empty(0)
        self._out_of_reach: set[int] = set()
        self.dead: dict[SiteNumber, float] = {}  # by number: wall time when there was no such name
        # Whether a link of a kind and depth to one of these is refused.
        self.leads_nowhere: Callable[[SiteNumber, int, int], bool] = lambda _number, _kind, _depth: True
        self._answered: list[SiteNumber] = []
        self.doorways: list[str] = []  # of the run before: the domain of each site that is one
        self.asked: dict[str, float] = {}  # pauses that are not in the log: by name, until which wall time
        self.wall_offset = 0.0
        self._alike = Alike()
        self._near: Counter[int] = Counter()  # by number: near-duplicates, where copies do not count in a site's size
        self._listed = reserve(self.room, np.uint8)  # by number: the list that it was last reported to be in
        # Since the last commit.
        self.changed: set[SiteNumber] = set()  # what is remembered of these
        self._new: list[str] = []
        self._left: list[int] = []  # to another worker

    def __repr__(self) -> str:
        return f"Sites({len(self.numbers)}, {len(self._made)} of them made)"

    def __len__(self) -> int:
        return len(self.numbers)

    def __contains__(self, number: int) -> bool:
        """Is the site of a number made?"""
        return number in self._made

    @property
    def made(self) -> int:
        """Sites that an object is kept for."""
        return len(self._made)

    # Names and numbers.

    def number(self, name: str) -> SiteNumber:
        """The number of a site, new or known."""
        number = self.numbers.get(name)
        if number is None:
            if len(self.names) >= self.room:  # before anything is written anywhere
                raise WeftError(f"there is no room for more than {self.room} sites", todo="run more workers")
            self._count(name, 1)
            number = self.numbers[name] = SiteNumber(len(self.names))
            self.names.append(name)
            self._new.append(name)
            self.here[number] = True
            if self.grouped or not self._holdings.alone:
                self.members.setdefault(registered_domain(name), []).append(number)
            self._seen.arrays.most[number] = self._scope.most_pages(name)
            self._heaps.add_site(number)
            self._heaps.set_ready(number)
        return number

    def of_domain(self, domain: str) -> int:
        """How many sites of a registered domain are here, beside the one with its own name."""
        return self._domains[domain]

    def _count(self, name: str, sites: int) -> None:
        """Count the sites of a domain. Most domains have one or two, for which no memory is spent."""
        domain = registered_domain(name)
        if name.removeprefix("www.") != domain:
            self._domains[domain] += sites
            if not self._domains[domain]:
                del self._domains[domain]

    # Sites.

    def __getitem__(self, number: SiteNumber) -> Site:
        """The site of a number."""
        site = self._made.get(number)
        if site is None:
            name = self.names[number]
            site = self._made[number] = Site(number, name, self._scope.overrides.of(name))
            memory = self._memories.pop(number, None)
            if memory is not None:
                site.remember(memory, 0.0, 0.0)
                site.next_visit = float(self._next_visit[number])
                self._out_of_reach.discard(number)
            self.on_made(site)
            if self.asked:
                self._pause(site)
        return site

    def get(self, name: str) -> Site | None:
        """The site with a name, if it is here."""
        number = self.numbers.get(name)
        return None if number is None else self[number]

    def _pause(self, site: Site) -> None:
        """Leave a site alone as long as it asked for in a run that came to no commit any more."""
        until = self.asked.pop(site.name, None)
        if until is not None:
            site.next_visit = max(site.next_visit, until - self.wall_offset)
            self.changed.add(site.number)

    def out_of_reach(self) -> list[int]:
        """Sites that rest because they failed, or wait for what others bring: that may take hours."""
        made = [number for number, site in self._made.items() if site.failures or site.set_aside or site.held]
        return [*made, *self._out_of_reach]

    def answered(self, most: int) -> list[Site]:
        """Some sites of different domains that were reached."""
        found: dict[str, Site] = {}
        for site in [*map(self.__getitem__, self._answered), *self._made.values()]:
            if site.fetched and not site.failures:
                found[site.domain] = site
                if len(found) == most:
                    break
        return list(found.values())

    def mark_dead(self, site: Site, wall: float) -> None:
        """There is no such name, as of this time of day."""
        site.denied_at = self.dead[site.number] = wall
        self.changed.add(site.number)

    def revive(self, number: SiteNumber) -> None:
        """A site that was dead is one as any other, of which nothing is known."""
        del self.dead[number]
        site = self[number]
        site.denied_at = ASK_AGAIN
        site.named = site.visited = False
        self.changed.add(number)

    def strike(self, site: Site) -> None:
        """A page of a site could not be read without harm; after a few of them the site is left alone."""
        site.strikes += 1
        self.changed.add(site.number)

    def note_content(self, site: Site, url: str, *, copy: bool, thin: bool, simhash: int | None = None) -> None:
        """A page of a site was stored, or is the copy of one that was; where all are, the site is left alone. A thin
        one leads nowhere, and says next to nothing. Where copies do not count in a site's size, pages whose texts are
        like those of others there do not either.
        """
        if copy:
            site.copies += 1
        if copy or site.share:
            site.share += ((1.0 if copy else 0.0) - site.share) / min(_RECENT, site.fetched + 1)
            self.changed.add(site.number)
        if self._heaps.but_copies:
            if simhash is not None and self._alike.repeats(site.number, simhash) and not copy:
                self._near[site.number] += 1
            if copies := site.copies + self._near[site.number]:
                note_copies(self._heaps.arrays, site.number, site.fetched, copies)
        if copy or thin or site.families:
            self.note_worth(site, url, barren=copy or thin)

    def note_worth(self, site: Site, url: str, *, barren: bool) -> None:
        """A URL of a site came to something new, or to nothing: where all that differ from it in numbers alone do, the
        others of these are left alone.
        """
        family, families = family_of(url), site.families
        if barren and (family in families or len(families) < _MOST_FAMILIES):
            families[family] = families.get(family, 0) + 1
        elif not barren and family in families:
            del families[family]
        else:
            return
        self.changed.add(site.number)

    def leave(self, number: SiteNumber) -> None:
        """A site goes to another worker: its number stands for it no more."""
        name = self.names[number]
        if self.numbers.pop(name, None) is not None:
            self._count(name, -1)
        self.here[number] = False
        self._made.pop(number, None)
        self._memories.pop(number, None)
        self._out_of_reach.discard(number)
        self.dead.pop(number, None)
        self.changed.discard(number)  # it may have been looked at, in vain, since the last commit
        self._left.append(number)

    def put_away(self, number: SiteNumber) -> None:
        """A site goes to the shelf, when all that changed of it is in a commit: its number stands for it no more."""
        name = self.names[number]
        if self.numbers.get(name) == number:
            del self.numbers[name]
            self._count(name, -1)
        self.names[number] = ""
        self.here[number] = False
        self._made.pop(number, None)
        self._memories.pop(number, None)
        self._out_of_reach.discard(number)
        self.dead.pop(number, None)
        if number in self._answered:
            self._answered.remove(number)
        self._seen.arrays.found[number] = 0

    # Commit and recover.

    def changed_lists(self) -> dict[str, int]:
        """The lists that sites are in by now, of those that changed lists."""
        changed, pending = {}, self._heaps.arrays.length
        for number in self.changed:
            site = self._made[number]
            where = SET_ASIDE if site.set_aside else BEING_CRAWLED if pending[number] else CRAWLED
            if self._listed[number] != where:
                self._listed[number] = where
                changed[site.name] = where
        return changed

    def pack(self, commit: Commit, now: float, wall: float) -> None:
        """Write down what changed since the last commit."""
        commit.sites, self._new = self._new, []
        commit.states = [(number, self._made[number].memory(now, wall)) for number in self.changed]
        jars = ((number, self._made[number].new_cookies()) for number in self.changed)
        commit.jars = [(number, jar) for number, jar in jars if jar is not None]
        commit.left = self._left
        self.changed = set()
        self._left = []

    def restore_names(self, names: list[str], domains: list[str], left: set[int]) -> None:
        """Give sites the numbers again that they had; some went to another worker since, and may have come again."""
        if len(names) > self.room:
            raise WeftError(f"there is no room for more than {self.room} sites", todo="run more workers")
        self.names = names
        self.numbers = dict(zip(names, map(SiteNumber, range(len(names))), strict=True))
        self.here[: len(names)] = True
        self.here[list(left)] = False
        for number in left:
            if self.numbers.get(names[number]) == number:
                del self.numbers[names[number]]
        for number, (name, domain) in enumerate(zip(names, domains, strict=True)):
            if number in left:
                continue
            if name.removeprefix("www.") != domain:
                self._domains[domain] += 1
            if self.grouped or not self._holdings.alone:
                self.members.setdefault(domain, []).append(SiteNumber(number))
        most = self._seen.arrays.most
        most[: len(names)] = self._scope.selection.max_site_pages
        if self._scope.overrides.sites:
            most[: len(names)] = [self._scope.most_pages(name) for name in names]
        add_sites(self._heaps.arrays, len(names))

    def restore(self, states: dict[int, bytes], now: float, wall: float) -> Iterator[Resting]:
        """Put back what was remembered of sites, as it is now by the monotonic clock and by the wall clock: each of
        them, and whether and when it may be visited. What the schedule makes of that comes back by `rest`.
        """
        self._memories = states
        self._next_visit = np.zeros(len(self.names))
        for number, data in states.items():
            memory = decoded(data)
            if memory.failures or memory.set_aside:
                self._out_of_reach.add(number)
            elif memory.fetched and len(self._answered) < _ANSWERED:
                self._answered.append(SiteNumber(number))
            if self._heaps.but_copies and memory.copies:
                note_copies(self._heaps.arrays, number, memory.fetched, memory.copies)
            if memory.doorway:
                self.doorways.append(registered_domain(self.names[number]))
            if memory.denied_at > 0:
                self.dead[SiteNumber(number)] = memory.denied_at
            next_visit = now + memory.left(wall)
            if self.asked and (until := self.asked.get(self.names[number])) is not None:
                next_visit = max(next_visit, until - self.wall_offset)
            yield Resting(SiteNumber(number), next_visit, memory.took, memory.address, memory.set_aside)

    def rests(self, number: SiteNumber) -> tuple[float, bool]:
        """Until when a site is left alone, and whether it was set aside; none is made for it."""
        site = self._made.get(number)
        if site is not None:
            return site.next_visit, site.set_aside
        if number in self._memories:
            return float(self._next_visit[number]), decoded(self._memories[number]).set_aside
        return 0.0, False

    def rest(self, numbers: list[SiteNumber], untils: list[float]) -> None:
        """Sites that are not made yet may be visited from then on."""
        self._next_visit[numbers] = untils


class Resting(NamedTuple):
    """A site of a run before."""

    number: SiteNumber
    next_visit: float  # monotonic
    took: float  # its last download
    address: str  # of its last visit
    set_aside: bool
