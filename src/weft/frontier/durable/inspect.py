"""What the frontier knows of one URL, read from its log beside a running crawl or after it. In: a URL. Out: where it
stands.

It is looked for by its text: no other URL is taken for it, and the crawl's secret is not needed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from weft.frontier.durable.log import Entry, FrontierLog
from weft.frontier.durable.memory import RobotsRecord, SiteMemory, decoded, unpacked_robots
from weft.frontier.durable.on_shelf import on_shelf
from weft.frontier.durable.parcels import DONE, Content, pages_of
from weft.frontier.durable.past import GONE, PENDING, REPLACED, Past, Scores
from weft.frontier.special import Special
from weft.model import FIRST_REQUISITE, SiteNumber, UrlId
from weft.urls import registered_domain, site_of

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
    shelved: bool = False  # its group is on the shelf


class Speed(NamedTuple):
    """How fast a worker was recently."""

    pages: int  # that were done
    seconds: float


class Ledger:
    """A frontier's log, read once. `by_size`: the ordering takes sites by how many pages they have waiting."""

    def __init__(self, path: Path, *, by_size: bool = False, key_of: Callable[[str], int] | None = None) -> None:
        """With `key_of`, the keys of groups, one on the shelf is found at once; without it all of it is read."""
        self._by_size = by_size
        self._key_of = key_of
        self._on_shelf: dict[str, Content | None] = {}  # by group, as far as it was asked for
        self._log = FrontierLog(path, read_only=True)
        self._past = Past(self._log)
        scores = Scores(self._log.base)
        for replayed in self._log.replay():
            self._past.take(replayed)
            scores.take(replayed.commit)
        self.scope = self._past.scope
        self._walls = self._past.walls  # by record: when it was made, pages that were done since the last
        self._first = self._past.first  # arrays by page begin with it
        self._sites = self._past.sites(leaving=True)
        self._leaving = {number for group in self._past.leaving for number in group.sites}  # on the way to the shelf
        self._states = self._past.page_states()
        self._whole = ~self._past.parts()  # by page: it is not a part of another
        self._score = scores.all()
        self._gone = (self._sites == GONE) | (self._states != PENDING)

    @property
    def pages(self) -> int:
        """Pages known so far, those on the shelf not counted."""
        return self._log.pages - self._first

    @property
    def names(self) -> list[str]:
        """The sites that are known."""
        return [name for number, name in enumerate(self._past.names) if name and number not in self._past.left]

    def knows(self, site: str) -> bool:
        """Is a site known?"""
        return bool(self._numbers(site)) or self._shelved_site(site) is not None

    def site_pages(self, site: str) -> int:
        """Pages known of a site, their parts not counted."""
        content, place = self._shelved(site), self._shelved_site(site)
        if content is not None and place is not None:
            found = pages_of(content)
            return int(np.count_nonzero((found.site == place) & (found.kind < FIRST_REQUISITE)))
        ours = np.isin(self._sites, self._numbers(site)) & self._whole & (self._states != REPLACED)
        return int(np.count_nonzero(ours))

    def domain_sites(self, domain: str) -> int:
        """Sites known of a domain, beside those of its own name."""
        content = self._shelved(domain)
        names = self.names if content is None else [*self.names, *(site.name for site in content.sites)]
        below = (name for name in names if name.endswith(domain) or ":" in name)
        return sum(1 for name in below if registered_domain(name) == domain and name.removeprefix("www.") != domain)

    def doorways(self, domain: str) -> int:
        """Sites known of a domain that look as others of it."""
        names = [name for name in self.names if registered_domain(name) == domain]
        memories = (self.memory(name) for name in names)
        return sum(1 for memory in memories if memory is not None and memory.doorway)

    def robots(self, site: str, scheme: str) -> RobotsRecord | None:
        """The robots.txt that was had of a site."""
        numbers, content, place = self._numbers(site), self._shelved(site), self._shelved_site(site)
        data = self._past.robots_of(numbers[-1]).get(scheme) if numbers else None
        if content is not None and place is not None:
            data = content.sites[place].robots.get(scheme)
        return None if data is None else unpacked_robots(data)

    def memory(self, site: str) -> SiteMemory | None:
        """What is remembered of a site."""
        numbers, content, place = self._numbers(site), self._shelved(site), self._shelved_site(site)
        if content is not None and place is not None:
            return decoded(content.sites[place].memory) if content.sites[place].memory else None
        return self._memory(numbers[-1]) if numbers else None

    def standing(self, url: str) -> Standing | None:
        """Where the page of a URL stands, or None when it is not known."""
        pages = [page for page in self._log.pages_of(url) if self._is_plain(page)]
        if not pages:
            return self._standing_on_shelf(url)
        page = pages[0]
        entry = self._log.entry(page)
        tries, due = self._past.retries.get(page, (0, None))
        reason = self._past.reason(page)
        waits = due is not None and due > self._walls[-1][0]
        state: State = "pending"
        if reason:
            state = "refused"
        elif self._gone[page - self._first]:
            state = "done"
        elif due is not None and tries:
            state = "retry"
        shelved = entry.site in self._leaving
        turns = not shelved and (state == "pending" or (state == "retry" and not waits))
        return Standing(
            entry=entry,
            state=state,
            reason=reason,
            tries=tries,
            due=due,
            order=self._order(page) if turns else None,
            site_pages=int(np.count_nonzero((self._sites == entry.site) & self._whole)),
            memory=self._memory(entry.site),
            shelved=shelved,
        )

    def _standing_on_shelf(self, url: str) -> Standing | None:
        """Where a page stands whose group was put away; when its turn comes is not known."""
        content = self._shelved(site_of(url))
        if content is None:
            return None
        pages, special = pages_of(content), {place for place, _ in content.requests}
        place = next((at for at, each in enumerate(pages.urls) if each == url and at not in special), -1)
        if place < 0:
            return None
        entry = Entry(
            url,
            UrlId(int(pages.via[place])),
            SiteNumber(GONE),
            int(pages.depth[place]),
            int(pages.kind[place]),
            int(pages.steps[place]),
        )
        reasons = (why for why, places in content.refused.items() if place in np.frombuffer(places, np.uint32).tolist())
        reason = next(reasons, "")
        tries, due = next(((tries, due) for at, tries, due in content.retries if at == place), (0, None))
        waits: State = "retry" if due is not None and tries else "pending"
        state: State = "refused" if reason else "done" if pages.state[place] == DONE else waits
        name = site_of(url)
        return Standing(entry, state, reason, tries, due, None, self.site_pages(name), self.memory(name), shelved=True)

    def _shelved(self, site: str) -> Content | None:
        """What is on the shelf of the group of a site; None where that is not there."""
        group = registered_domain(site)
        if group not in self._on_shelf:
            keys = None if self._key_of is None else [self._key_of(group)]
            found = (content for name, content in on_shelf(self._past, self._log, keys) if name == group)
            self._on_shelf[group] = next(found, None)
        return self._on_shelf[group]

    def _shelved_site(self, site: str) -> int | None:
        """Which of the sites of its group on the shelf one is."""
        content = self._shelved(site)
        places = (place for place, each in enumerate(content.sites) if each.name == site) if content else iter(())
        return next(places, None)

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
        first, page = self._first, page - self._first
        waiting[[other - first for other, (_, due) in self._past.retries.items() if due > now and other >= first]] = (
            False
        )
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
        place = page - self._first
        if self._sites[place] == GONE or self._states[place] == REPLACED:
            return False
        request = self._past.requests.get(page)
        special = None if request is None else msgspec.msgpack.decode(request, type=Special)
        return special is None or special.name(self._log.entry(page).url) == self._log.entry(page).url.encode()

    def close(self) -> None:
        """Give the file back."""
        self._log.close()
