"""The pages of a local frontier, many at a time. In: the records of its log, parcels, sites that leave. Out: every page
stands where it stood before; and, for the next commit, what came of the pages that had their turn.

One page is known in several places: its key to URL-seen, its text to the log, its rank to the heap of its site,
its pause to the schedule. Pages that are found one by one come in by `Discovery`; here are the ways that take many.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from weft.clock import Clock
from weft.compiled import reserve
from weft.frontier.discovery import Discovery
from weft.frontier.log import Commit, FrontierLog, Replayed
from weft.frontier.parcels import DONE, PENDING, Content, pages_of
from weft.frontier.past import GONE, Past
from weft.frontier.ranking import Ranking
from weft.frontier.schedule import Schedule
from weft.frontier.seen import Seen, restore
from weft.frontier.shared.contract import Found
from weft.model import FIRST_REQUISITE
from weft.ordering.heaps import TwoLevelHeap, push_all

_AT_ONCE = 1 << 20  # pages put back in one go


class LocalPages:
    """The pages of one local frontier."""

    def __init__(
        self,
        *,
        clock: Clock,
        seen: Seen,
        heaps: TwoLevelHeap,
        log: FrontierLog,
        ranking: Ranking | None,
        found: Discovery,
        schedule: Schedule,
    ) -> None:
        self._clock = clock
        self._seen = seen
        self._heaps = heaps
        self._log = log
        self._ranking = ranking
        self._found = found
        self._schedule = schedule
        self._scored = heaps.arrays.score.size > 1
        self.attempts: dict[int, int] = {}  # by page: tries so far, of those that will be or were tried again
        self.begun = reserve(heaps.arrays.length.size, np.bool_)  # by site: a page of it was settled or refused
        # Since the last commit.
        self.settled = array("I")
        self._refused: dict[str, array[int]] = {}  # by reason
        self.replaced = array("I")
        self.delayed: list[tuple[int, int, float]] = []  # to be tried again: page, tries so far, wall time

    def __repr__(self) -> str:
        return f"LocalPages({self._log.pages}, {len(self.attempts)} tried before)"

    def pass_over(self, site: int) -> None:
        """A site cannot be reached for now: no batch of an ordering waits for its pages."""
        if self._ranking is not None:
            self._ranking.pass_over(site)

    def pack(self, commit: Commit) -> None:
        """Write down what changed since the last commit."""
        commit.settled = self.settled.tobytes()
        commit.refused = {reason: pages.tobytes() for reason, pages in self._refused.items()}
        commit.replaced = self.replaced.tobytes()
        commit.delayed = self.delayed
        self.settled = array("I")
        self._refused = {}
        self.replaced = array("I")
        self.delayed = []

    def refuse(self, pages: Iterable[int], reason: str) -> None:
        """Pages whose turn had come are not fetched, for a reason."""
        self._refused.setdefault(reason, array("I")).extend(pages)

    def replace(self, key: int) -> bool:
        """Forget the page of a URL that is done, so that it can be found anew; False where it is yet to be fetched."""
        page = self._seen.find(key)
        if page < 0:
            return True
        entry = self._log.entry(page)
        if page in self.attempts or page in self._heaps.pages_of(entry.site):
            return False
        self._seen.arrays.key[page] = 0
        self._seen.arrays.found[entry.site] -= entry.kind < FIRST_REQUISITE
        self.replaced.append(page)
        return True

    # From the log.

    def replay(self, replayed: Replayed) -> None:
        """Put the pages of a record back into URL-seen, with their scores."""
        commit, rows, keys, _places = replayed
        first = int(self._seen.arrays.counts[0])
        restore(self._seen.arrays, keys.copy())
        np.add.at(self._seen.arrays.found, rows["site"][rows["kind"] < FIRST_REQUISITE], 1)
        if commit.scores:
            self._heaps.arrays.score[first : first + len(rows)] = np.frombuffer(commit.scores)
        if self._ranking is not None:
            self._ranking.restore(commit)

    def restore(self, past: Past, set_back: float) -> NDArray[np.bool_]:
        """Make pages pending again that were, now or when their pause is over; the clock was set back by so much.

        By page: is it yet to be fetched?
        """
        site_of = past.sites()
        pending = site_of != GONE
        self._seen.arrays.key[np.flatnonzero(~pending)] = 0
        replaced = past.replaced()
        self._seen.arrays.key[replaced] = 0
        pending[replaced] = False
        for numbers in (past.settled(), past.refused()):
            pending[numbers] = False
            self.begun[site_of[numbers]] = True
        waiting: NDArray[np.bool_] = pending.copy()
        now = self._clock.now()
        offset = self._clock.wall() + set_back - now
        for page, (attempt, wall) in past.retries.items():
            if pending[page]:
                self.begun[site_of[page]] = True
                pending[page] = False
                self.attempts[page] = attempt
                self._schedule.delay(page, int(site_of[page]), max(now, wall - offset))
        for start in range(0, len(pending), _AT_ONCE):  # a slice at a time: tens of millions need no second array
            pages = np.flatnonzero(pending[start : start + _AT_ONCE]).astype(np.int32) + np.int32(start)
            push_all(self._heaps.arrays, site_of[pages], pages)
        return waiting

    # To and from other workers.

    def load(self, content: Content, numbers: NDArray[np.int32], *, anew: bool) -> None:
        """Give the pages of a parcel numbers, in their order, and put each where it stood.

        `numbers` are those of its sites. Unless all of these are new (`anew`), some of the pages may be known.
        """
        urls, site, via, depth, kind, state, scores, steps = pages_of(content)
        if not urls:
            return
        keys = self._seen.keyed.array_of(urls)
        places = list(range(len(urls)))  # in the parcel, of the pages that are not known
        if not anew:
            places = [place for place in places if self._seen.find(int(keys[place])) < 0]
        site_of = numbers[site]
        columns = (
            keys.tolist(),
            urls,
            via.tolist(),
            site_of.tolist(),
            depth.tolist(),
            kind.tolist(),
            steps.tolist(),
        )
        rows = list(zip(*columns, strict=True))
        append = self._log.append
        for place in places:
            append(*rows[place])
        chosen = np.array(places, np.int64)
        first = int(self._seen.arrays.counts[0])
        page_of = np.full(len(urls), -1, np.int64)
        page_of[chosen] = np.arange(first, first + len(places))
        restore(self._seen.arrays, keys[chosen])
        np.add.at(self._seen.arrays.found, site_of[chosen][kind[chosen] < FIRST_REQUISITE], 1)
        if self._scored:
            scores = scores[chosen] if len(scores) else np.zeros(len(places))
            self._heaps.arrays.score[first : first + len(places)] = scores
            self._found.new_scores += scores.tolist()
            if self._ranking is not None:
                self._ranking.loaded()
        self._load_states(content, state, page_of, site_of)

    def _load_states(
        self, content: Content, state: NDArray[np.uint8], page_of: NDArray[np.int64], site_of: NDArray[np.int32]
    ) -> None:
        ours = page_of >= 0
        self.settled.frombytes(page_of[ours & (state == DONE)].astype(np.uint32).tobytes())
        for reason, places in content.refused.items():
            pages = page_of[np.frombuffer(places, np.uint32)]
            self.refuse(pages[pages >= 0].tolist(), reason)
        self.begun[site_of[ours & (state != PENDING)]] = True
        now = self._clock.now()
        offset = self._clock.wall() - now
        for place, attempt, wall in content.retries:
            page = int(page_of[place])
            if page >= 0:
                self.attempts[page] = attempt
                self._schedule.delay(page, int(site_of[place]), max(now, wall - offset))
                self.delayed.append((page, attempt, wall))
        pending = ours & (state == PENDING)
        push_all(self._heaps.arrays, site_of[pending], page_of[pending].astype(np.int32))

    def unload(self, site: int) -> list[Found]:
        """Forget the pages of a site that was never visited: they are links again, the best one first."""
        links = []
        for page in self._heaps.drain(site):
            url, via, _, depth, kind, steps = self._log.entry(page)
            score = float(self._heaps.arrays.score[page]) if self._scored else 0.0
            known = score if via or math.isfinite(score) else None  # a seed that no batch holds yet is scored as one
            links.append(Found(url, kind, depth, via, known, steps=steps))
            self._seen.arrays.key[page] = 0
        return links
