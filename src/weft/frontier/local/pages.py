"""The table of pages. In: keys, URLs, numbers, and what came of a page's turn. Out: what is known of a page, and what
changed of all of them for the next commit.

A page is *pending* (it stands in the heap of its site), *busy* (somebody has its turn), *due* at a time, *done*, or
*refused* for a reason. Its key is known to URL-seen, its text to the log, its rank to the heap, its time to `Due`: this
is where these are one page. How pages come in many at a time is in `restoring` and `arrivals`.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from weft.clock import Clock
from weft.frontier.durable.log import FrontierLog
from weft.frontier.durable.records import Commit
from weft.frontier.local.due import Due
from weft.frontier.local.seen import Seen
from weft.model import FIRST_REQUISITE, PageNumber, SiteNumber
from weft.ordering.heaps import TwoLevelHeap


class Pages:
    """All that is known of the pages of one local frontier, which owns it.

    A page's number is its place in the order of discovery, and a key that is known has one number.
    """

    def __init__(self, *, clock: Clock, seen: Seen, heaps: TwoLevelHeap, log: FrontierLog) -> None:
        self._clock = clock
        self.seen = seen
        self.heaps = heaps
        self.log = log
        self.scored = heaps.arrays.score.size > 1
        self.due = Due(max(64, heaps.arrays.length.size), heaps)  # pages that were tried, and will be again
        # Since the last commit.
        self._settled = array("I")
        self._refused: dict[str, array[int]] = {}  # by reason
        self._replaced = array("I")
        self._delayed: list[tuple[int, int, float]] = []  # to be tried again: page, tries so far, wall time
        self.new_scores: list[float] = []  # of new pages, where the ordering scores

    def __repr__(self) -> str:
        return f"Pages({self.log.pages}, {self.due.known} tried before)"

    def __len__(self) -> int:
        return self.log.pages

    def url_of(self, page: PageNumber) -> str:
        """The URL of a page."""
        return self.log.entry(page).url

    def knows(self, url: str) -> bool:
        """Was a URL found before?"""
        return self.seen.page_of(url) >= 0

    def numbers_of(self, urls: list[str]) -> NDArray[np.int64]:
        """The pages of URLs, -1 for one that is not known here."""
        return self.seen.pages_of(urls)

    # What came of a turn.

    def settle(self, pages: Iterable[int]) -> None:
        """Pages are done."""
        self._settled.extend(pages)

    def refuse(self, pages: Iterable[int], reason: str) -> None:
        """Pages whose turn had come are not fetched, for a reason."""
        self._refused.setdefault(reason, array("I")).extend(pages)

    def try_later(self, page: PageNumber, site: SiteNumber, pause: float, tries: int) -> None:
        """A page was tried so often, and is due again after a pause."""
        at = self._clock.now() + pause
        self.due.put(page, site, at, tries)
        self.note_tries(page, tries, at - self._clock.now() + self._clock.wall())

    def note_tries(self, page: PageNumber, tries: int, wall: float) -> None:
        """The next commit has how often a page was tried, and from which wall time on it may be tried again."""
        self._delayed.append((page, tries, wall))

    def tries(self, page: PageNumber) -> int:
        """How often a page was tried so far."""
        return max(self.due.tries(page), 0) if self.due.known else 0

    def replace(self, key: int) -> bool:
        """Forget the page of a URL that is done, so that it can be found anew; False where it is yet to be fetched."""
        page = self.seen.find(key)
        if page < 0:
            return True
        entry = self.log.entry(page)
        if self.due.knows(page) or page in self.heaps.pages_of(entry.site):
            return False
        self._forget(page, entry.site, entry.kind)
        return True

    def forget(self, site: SiteNumber) -> list[PageNumber]:
        """Forget all pages of a site that wait, so that they can be found anew; which these were."""
        pages = self.drain(site)
        for page in pages:
            self._forget(page, site, self.log.entry(page).kind)
        return pages

    def _forget(self, page: PageNumber, site: SiteNumber, kind: int) -> None:
        self.seen.arrays.key[page] = 0
        self.seen.arrays.found[site] -= kind < FIRST_REQUISITE
        self._replaced.append(page)

    def drain(self, site: SiteNumber) -> list[PageNumber]:
        """All pages of a site that wait, the best one first; they do so no more."""
        delayed = self.due.of_site(site)
        for page in delayed:
            self.due.forget(page)
        return self.heaps.drain(site) + delayed

    def pack(self, commit: Commit) -> None:
        """Write down what changed since the last commit."""
        commit.settled, self._settled = self._settled.tobytes(), array("I")
        commit.refused = {reason: pages.tobytes() for reason, pages in self._refused.items()}
        commit.replaced, self._replaced = self._replaced.tobytes(), array("I")
        commit.delayed, self._delayed = self._delayed, []
        commit.scores, self.new_scores = array("d", self.new_scores).tobytes(), []
        self._refused = {}
