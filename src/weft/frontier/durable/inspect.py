"""What the frontier knows of one URL, read from its log beside a running crawl or after it. In: a URL. Out: where it
stands.

It is looked for by its text: no other URL is taken for it, and the crawl's secret is not needed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from weft.frontier.durable.log import Entry, FrontierLog
from weft.frontier.durable.memory import RobotsRecord, SiteMemory, unpacked_robots
from weft.frontier.durable.past import GONE, PENDING, REPLACED, Past, Scores
from weft.frontier.special import Special
from weft.urls import registered_domain

State = Literal["done", "refused", "retry", "pending"]

_LATELY = 600.0  # seconds of a crawl that say how fast it is


class Order(NamedTuple):
    """Where a pending page stands in the order in which pages are taken."""

    score: float | None  # None where the ordering does not score: then those come first that were found first
    on_site: int  # pending pages of its site that come before it
    in_all: int  # pending pages of all sites of its worker that come before it


class Standing(NamedTuple):
    """Where a page stands in the frontier."""

    entry: Entry
    state: State
    reason: str  # why it was refused, if so
    tries: int
    due: float | None  # wall time before which it is not tried again
    order: Order | None  # of a page that may be taken, whenever its site may be visited
    site_pages: int  # pages known of its site, their parts not counted
    memory: SiteMemory | None  # of its site


class Speed(NamedTuple):
    """How fast a worker was recently."""

    pages: int  # that were done
    seconds: float


class Ledger:
    """A frontier's log, read once. `by_size`: the ordering takes sites by how many pages they have waiting."""

    def __init__(self, path: Path, *, by_size: bool = False) -> None:
        self._by_size = by_size
        self._log = FrontierLog(path, read_only=True)
        self._past = Past(self._log)
        scores = Scores(self._log.base)
        for replayed in self._log.replay():
            self._past.take(replayed)
            scores.take(replayed.commit)
        self.scope = self._past.scope
        self._walls = self._past.walls  # by record: when it was made, pages that were done since the last
        self._sites = self._past.sites()
        self._states = self._past.page_states()
        self._whole = ~self._past.parts()  # by page: it is not a part of another
        self._score = scores.all()
        self._gone = (self._sites == GONE) | (self._states != PENDING)

    @property
    def pages(self) -> int:
        """Pages known so far."""
        return self._log.pages

    @property
    def names(self) -> list[str]:
        """The sites that are known."""
        return [name for number, name in enumerate(self._past.names) if number not in self._past.left]

    def knows(self, site: str) -> bool:
        """Is a site known?"""
        return bool(self._numbers(site))

    def site_pages(self, site: str) -> int:
        """Pages known of a site, their parts not counted."""
        ours = np.isin(self._sites, self._numbers(site)) & self._whole & (self._states != REPLACED)
        return int(np.count_nonzero(ours))

    def domain_sites(self, domain: str) -> int:
        """Sites known of a domain, beside those of its own name."""
        below = (name for name in self.names if name.endswith(domain) or ":" in name)
        return sum(1 for name in below if registered_domain(name) == domain and name.removeprefix("www.") != domain)

    def robots(self, site: str, scheme: str) -> RobotsRecord | None:
        """The robots.txt that was had of a site."""
        numbers = self._numbers(site)
        data = self._past.robots_of(numbers[-1]).get(scheme) if numbers else None
        return None if data is None else unpacked_robots(data)

    def memory(self, site: str) -> SiteMemory | None:
        """What is remembered of a site."""
        numbers = self._numbers(site)
        return self._memory(numbers[-1]) if numbers else None

    def standing(self, url: str) -> Standing | None:
        """Where the page of a URL stands, or None when it is not known."""
        pages = [page for page in self._log.pages_of(url) if self._is_plain(page)]
        if not pages:
            return None
        page = pages[0]
        entry = self._log.entry(page)
        tries, due = self._past.retries.get(page, (0, None))
        reason = self._past.reason(page)
        waits = due is not None and due > self._walls[-1][0]
        state: State = "pending"
        if reason:
            state = "refused"
        elif self._gone[page]:
            state = "done"
        elif due is not None and tries:
            state = "retry"
        return Standing(
            entry=entry,
            state=state,
            reason=reason,
            tries=tries,
            due=due,
            order=self._order(page) if state == "pending" or (state == "retry" and not waits) else None,
            site_pages=int(np.count_nonzero((self._sites == entry.site) & self._whole)),
            memory=self._memory(entry.site),
        )

    def speed(self) -> Speed:
        """How fast the worker was, by its last records."""
        walls = [wall for wall, _ in self._walls]
        since = next((at for at, wall in enumerate(walls) if wall >= walls[-1] - _LATELY), 0)
        done = sum(pages for _, pages in self._walls[since + 1 :])
        return Speed(done, walls[-1] - walls[since] if walls else 0.0)

    def _order(self, page: int) -> Order:
        """Where a page stands: better scores first, then what was found first; sites by their best page or by size."""
        waiting = ~self._gone
        now = self._walls[-1][0]
        waiting[[other for other, (_, due) in self._past.retries.items() if due > now]] = False
        before = np.zeros_like(waiting)
        before[:page] = True
        score: float | None = None
        if len(self._score):
            score = float(self._score[page])
            before = (self._score > score) | ((self._score == score) & before)
        before &= waiting
        site = self._sites[page]
        on_site = int(np.count_nonzero(before & (self._sites == site)))
        if not self._by_size:
            return Order(score, on_site, int(np.count_nonzero(before)))
        sizes = np.bincount(self._sites[waiting])
        return Order(score, on_site, on_site + int(np.maximum(sizes - sizes[site], 0).sum()))

    def _numbers(self, site: str) -> list[int]:
        """The numbers of a site: none, or one, unless it went and came again."""
        names, left = self._past.names, self._past.left
        return [number for number, name in enumerate(names) if name == site and number not in left]

    def _memory(self, number: int) -> SiteMemory | None:
        memory = self._past.states.get(number)
        return None if memory is None else msgspec.msgpack.decode(memory, type=SiteMemory)

    def _is_plain(self, page: int) -> bool:
        """Is a page of this worker asked for by its URL alone? A POST, or what one led to, is another page."""
        if self._sites[page] == GONE or self._states[page] == REPLACED:
            return False
        request = self._past.requests.get(page)
        special = None if request is None else msgspec.msgpack.decode(request, type=Special)
        return special is None or special.name(self._log.entry(page).url) == self._log.entry(page).url.encode()

    def close(self) -> None:
        """Give the file back."""
        self._log.close()
