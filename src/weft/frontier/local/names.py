"""Names that do not exist (P3 3.4). In: sites that were never visited, and what name servers said of them. Out: sites
whose names must be asked for before a visit; sites that links lead to in vain.

The name of a new site is asked for when its turn comes, before it has a visit: so many at once, and by whoever runs
the loop, since the frontier never waits. A name that was denied keeps its site *dead*: the pages that waited there are
forgotten, and links to it are refused (`dns-not-found`) until it is time to ask again. The next link does that then.
What somebody asked for by name (a seed, where it redirects to, a request) has its tries as ever.
"""

from __future__ import annotations

from collections import deque

from weft.clock import Clock
from weft.frontier.local.pages import Pages
from weft.frontier.local.site import Site
from weft.frontier.local.sites import Sites
from weft.frontier.politeness import NEVER
from weft.model import Kind, SiteNumber, is_named
from weft.urls import literal_address

_AHEAD = 50  # names that are asked for at once, beside those of visits
_WIDELY_KNOWN = 1000  # pages that wait at a site which was never visited


def asked_for(kind: int, depth: int) -> bool:
    """Did somebody ask for a page by its name?"""
    return is_named(kind, depth) or kind == Kind.REQUEST


class Names:
    """Which sites of one local frontier may have no name. A site that is dead has no page that waits."""

    def __init__(self, *, clock: Clock, sites: Sites, pages: Pages, recheck: float) -> None:
        self._clock = clock
        self._sites = sites
        self._pages = pages
        self._recheck = recheck
        self.on = recheck > 0  # whoever runs the loop may know that names cannot be asked for
        self.unasked: deque[Site] = deque()  # to be asked for now
        self.asking: set[SiteNumber] = set()  # these, and those that are being asked for
        self._again_at = NEVER  # when links are to be looked at anew
        self.asked = 0  # names, so far
        self.denied = 0  # of these

    def __repr__(self) -> str:
        return f"Names({len(self.asking)} being asked for, {len(self._sites.dead)} dead)"

    # Before a visit.

    def put_off(self, site: Site) -> bool:
        """Must the name of a site be asked for before it is visited? Then it is, and the visit waits. Where too many
        are asked for already the visit asks by itself.
        """
        if len(self.asking) >= _AHEAD or not self.may_deny(site):
            return False
        site.named = True
        self.asked += 1
        self.asking.add(site.number)
        self.unasked.append(site)
        return True

    def may_deny(self, site: Site) -> bool:
        """May a site be dead: was it never reached, and has it a name that nobody asked for? What very many links lead
        to is there, or was.
        """
        if not self.on or site.named or site.address or site.errands or literal_address(site.host) is not None:
            return False
        pages = self._pages.heaps.pages_of(site.number)
        if len(pages) > _WIDELY_KNOWN:
            return False
        entries = map(self._pages.log.entry, pages.tolist())
        return not any(asked_for(entry.kind, entry.depth) for entry in entries)

    def answered(self, site: Site) -> bool:
        """The name of a site was asked for: is the site still here?"""
        if site.number not in self.asking:
            return False
        self.forget(site.number)
        return True

    def forget(self, number: SiteNumber) -> None:
        """A site is not here any more, or need not be asked for."""
        self.asking.discard(number)

    # Behind an answer.

    def deny(self, site: Site) -> None:
        """There is no such name."""
        self.denied += 1
        wall = self._clock.wall()
        self._sites.mark_dead(site, wall)
        self._again_at = min(self._again_at, wall + self._recheck / 2)

    def is_time(self) -> bool:
        """Must links be looked at anew that were followed before the site that they lead to was dead? Twice in the time
        after which a name is asked for again.
        """
        wall = self._clock.wall()
        if wall < self._again_at:
            return False
        self._again_at = wall + self._recheck / 2 if self._sites.dead else NEVER
        return True

    def leads_nowhere(self, number: SiteNumber, kind: int, depth: int) -> bool:
        """Is a link to a dead site refused? When it is time to ask again, or somebody asks for it, it is not: then the
        site is one as any other.
        """
        at = self._sites.dead.get(number)
        if at is None:
            return False
        if not asked_for(kind, depth) and is_dead(at, self._clock.wall(), self._recheck):
            return True
        self._sites.revive(number)
        return False


def is_dead(denied_at: float, now: float, recheck: float) -> bool:
    """Does it still count that a name was denied, at such a time of day? A clock that was set back proves nothing.

    >>> is_dead(100.0, 150.0, 60.0), is_dead(100.0, 160.0, 60.0), is_dead(0.0, 10.0, 60.0), is_dead(100.0, 99.0, 60.0)
    (True, False, False, True)
    """
    return denied_at > 0 and now < denied_at + recheck
