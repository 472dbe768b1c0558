"""Groups that come from other workers. In: a parcel. Out: its sites and pages are ours, each where it stood; all of it
is part of the next commit.

The worker that made the parcel may have died in the middle of a visit. Whatever it may have visited until then rests as
if it had been, and what nobody wrote down is waited for.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from weft.clock import Clock
from weft.frontier.durable.parcels import DONE, Content, pages_of, unpacked
from weft.frontier.durable.past import PENDING
from weft.frontier.local.pages import Pages
from weft.frontier.local.ranking import Ranking
from weft.frontier.local.robots import RobotsFiles
from weft.frontier.local.schedule import Schedule
from weft.frontier.local.seen import restore
from weft.frontier.local.site import Site
from weft.frontier.local.sites import Sites
from weft.frontier.local.specials import Specials
from weft.frontier.local.unranked import Unranked
from weft.frontier.shared.contract import Parcel
from weft.frontier.special import decode
from weft.model import FIRST_REQUISITE, PageNumber, SiteNumber
from weft.ordering.heaps import push_all


class Arrivals:
    """Takes up, for one local frontier, what others left."""

    def __init__(
        self,
        *,
        clock: Clock,
        longest: Callable[[int], float],
        schedule: Schedule,
        sites: Sites,
        pages: Pages,
        ranking: Ranking | Unranked,
        specials: Specials,
        robots: RobotsFiles,
    ) -> None:
        self._clock = clock
        self._longest = longest  # pause of a page that was tried so often
        self._waited: set[float] = set()  # hand-overs of workers that died, by their times: nothing began for a wait
        self._schedule = schedule
        self._sites = sites
        self._pages = pages
        self._ranking = ranking
        self._specials = specials
        self._robots = robots

    def load(self, parcel: Parcel) -> None:
        """Take up a group where another worker left it."""
        self.take(unpacked(parcel.content))

    def take(self, content: Content, *, from_shelf: bool = False, second_chance: bool = False) -> None:
        """Take up a group where another worker left it, or from the shelf, where we left it ourselves; with a
        `second_chance` for its sites that were set aside.
        """
        known = {site.name for site in content.sites if site.name in self._sites.numbers}  # for an errand, at most
        numbers = [self._sites.number(site.name) for site in content.sites]
        self._load_pages(content, np.array(numbers, np.int32), anew=not known)
        now, wall = self._clock.now(), self._clock.wall()
        for number, sent in zip(numbers, content.sites, strict=True):
            site = self._sites[number]
            self._robots.load(site, sent.robots)
            if sent.name not in known:
                self._remember(site, sent.memory, content, now, wall, from_shelf=from_shelf, second=second_chance)
        # There may be sites that nobody wrote down. How long ago that was only another machine's clock knows.
        if not content.clean and content.made_at not in self._waited:
            self._waited.add(content.made_at)
            self._schedule.hold_back(now)

    def _remember(
        self, site: Site, memory: bytes, content: Content, now: float, wall: float, *, from_shelf: bool, second: bool
    ) -> None:
        """Take up what is remembered of a site; one may have been visited last when its worker died."""
        if memory:
            site.remember(memory, now, wall)
            if site.denied_at > 0:
                self._sites.mark_dead(site, site.denied_at)
        if second and site.set_aside:
            site.set_aside, site.second_chance = False, True
        if memory and from_shelf:
            self._schedule.take_back(site, now)
            self._sites.changed.add(site.number)
        elif memory or not content.clean:
            self._schedule.resume(site, now)
            self._sites.changed.add(site.number)

    def _load_pages(self, content: Content, numbers: NDArray[np.int32], *, anew: bool) -> None:
        """Give the pages of a parcel numbers, in their order, and put each where it stood.

        `numbers` are those of its sites. Unless all of these are new (`anew`), some of the pages may be known.
        """
        urls, site, via, depth, kind, state, scores, steps = pages_of(content)
        if not urls:
            return
        pages, seen = self._pages, self._pages.seen
        keys = seen.keyed.array_of(urls)
        special = {place: decode(data) for place, data in content.requests}
        for place, asked in special.items():
            keys[place] = seen.keyed.of_bytes(asked.name(urls[place]))
        places = list(range(len(urls)))  # in the parcel, of the pages that are not known
        if not anew:
            places = [place for place in places if seen.find(int(keys[place])) < 0]
        site_of = numbers[site]
        columns = (keys.tolist(), urls, via.tolist(), site_of.tolist(), depth.tolist(), kind.tolist(), steps.tolist())
        rows = list(zip(*columns, strict=True))
        for place in places:
            pages.log.append(*rows[place])
        chosen = np.array(places, np.int64)
        first = int(seen.arrays.counts[0])
        page_of = np.full(len(urls), -1, np.int64)
        page_of[chosen] = np.arange(first, first + len(places))
        restore(seen.arrays, keys[chosen])
        if pages.heaps.arrays.owner.size > 1:
            pages.heaps.arrays.owner[first : first + len(places)] = site_of[chosen]
        np.add.at(seen.arrays.found, site_of[chosen][kind[chosen] < FIRST_REQUISITE], 1)
        if pages.scored:
            scores = scores[chosen] if len(scores) else np.zeros(len(places))
            pages.heaps.arrays.score[first : first + len(places)] = scores
            pages.new_scores += scores.tolist()
            self._ranking.loaded()
        for place, asked in special.items():
            if page_of[place] >= 0:
                self._specials.add(PageNumber(int(page_of[place])), asked)
        self._load_states(content, state, page_of, site_of)

    def _load_states(
        self, content: Content, state: NDArray[np.uint8], page_of: NDArray[np.int64], site_of: NDArray[np.int32]
    ) -> None:
        pages, ours = self._pages, page_of >= 0
        pages.settle(page_of[ours & (state == DONE)].tolist())
        for reason, places in content.refused.items():
            refused = page_of[np.frombuffer(places, np.uint32)]
            pages.refuse(refused[refused >= 0].tolist(), reason)
        self._sites.begun[site_of[ours & (state != PENDING)]] = True
        now = self._clock.now()
        offset = self._clock.wall() - now
        for place, tries, wall in content.retries:
            page = PageNumber(int(page_of[place]))
            if page >= 0:
                at = min(max(now, wall - offset), now + self._longest(tries))  # another machine's clock
                pages.due.put(page, SiteNumber(int(site_of[place])), at, tries)
                pages.note_tries(page, tries, at + offset)
        pending = ours & (state == PENDING)
        push_all(pages.heaps.arrays, site_of[pending], page_of[pending].astype(np.int32))
