"""The local frontier: one worker's sites and pages. In: links and outcomes. Out: visits and turns, when they are
allowed.

It decides and never waits: `visit` says which site may be visited now, `next_event` when to ask again. Time comes
from the clock it is given, so the same code runs live and on a virtual clock. When which site is `Schedule`'s
business, links become pages in `Discovery`, and what must outlive the process is in the log.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from weft.clock import Clock
from weft.frontier.discovery import Discovery
from weft.frontier.log import Commit, FrontierLog
from weft.frontier.politeness import Politeness
from weft.frontier.schedule import Schedule, Visit
from weft.frontier.scope import Scope, Selection
from weft.frontier.seen import Seen, restore
from weft.frontier.sites import Errand, Overrides, RobotsRecord, Site
from weft.model import FIRST_REQUISITE, Kind, Reason, Turn
from weft.ordering import Ordering
from weft.ordering.heaps import TwoLevelHeap, push_all
from weft.settings import setting
from weft.urls import UrlRules, normal_form, target_of

_MOST_REFUSALS = 500  # by robots.txt in one go, so that a long queue of forbidden pages does not stop the loop


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """What is tried again."""

    retry_pauses: tuple[float, ...] = setting(
        (60.0, 600.0), "seconds before the second, third … try of a page or site that failed; none: no retries"
    )


class LocalFrontier:
    """One worker's frontier."""

    def __init__(  # noqa: PLR0913
        self,
        *,
        path: Path,
        clock: Clock,
        ordering: Ordering,
        politeness: Politeness,
        selection: Selection,
        retries: Retries,
        overrides: Overrides,
        rules: UrlRules,
        agent: str,
        note: Callable[[int, str], None] = lambda _id, _url: None,
        capacity: int = 1 << 27,
    ) -> None:
        self._clock = clock
        self._politeness = politeness
        self._selection = selection
        self._pauses = retries.retry_pauses
        self._overrides = overrides
        self._rules = rules
        self._agent = agent
        self._sites: dict[int, Site] = {}
        self._heaps = TwoLevelHeap(
            pages=capacity, sites=capacity >> 3, scored=ordering.scored, by_size=ordering.by_size
        )
        self._seen = Seen(capacity, capacity >> 3, self._heaps)
        self._log = FrontierLog(path)
        self.scope = Scope(selection)
        self.found = Discovery(
            seen=self._seen,
            heaps=self._heaps,
            log=self._log,
            scope=self.scope,
            selection=selection,
            rules=rules,
            overrides=overrides,
            note=note,
        )
        self.schedule = Schedule(
            self._heaps, politeness, self.site, lambda number: int(self._seen.arrays.found[number])
        )
        self._attempts: dict[int, int] = {}  # by page: tries so far, of those that will be or were tried again
        self.refused: Counter[Reason] = Counter()
        self.quota: int | None = None  # pages that may still be fetched; their parts do not count
        # Since the last commit.
        self._settled = array("I")
        self._dropped = array("I")
        self._delayed: list[tuple[int, int, float]] = []
        self._robots: list[tuple[int, str, bytes]] = []
        self._admitted: list[str] = []
        self._changed: set[int] = set()

    def __repr__(self) -> str:
        return f"LocalFrontier({self.schedule.pending} pending of {self._log.pages}, {self.schedule})"

    @property
    def known(self) -> int:
        """Pages found so far."""
        return self._log.pages

    @property
    def done(self) -> bool:
        """Is there nothing left to do?"""
        return self.schedule.busy == 0 and self.schedule.pending == 0

    def site(self, number: int) -> Site:
        """The site of a number."""
        site = self._sites.get(number)
        if site is None:
            name = self.found.names[number]
            site = self._sites[number] = Site(number, name, self._overrides.of(name))
        return site

    def url_of(self, fingerprint: int) -> str | None:
        """The URL with this fingerprint, if it is known here."""
        page = self._seen.find(fingerprint)
        return None if page < 0 else self._log.entry(page).url

    # What to crawl.

    def add_seed(self, text: str) -> Reason | None:
        """Take a seed in, and what it stands for into the scope; the reason if it is refused."""
        url = normal_form(text, None, self._rules)
        if type(url) is not str:
            return Reason.NOT_A_URL
        self.admit(url)
        return self.offer(url, Kind.SEED, 0, -1)

    def offer(self, url: str, kind: int, depth: int, via: int, score: float = 0.0) -> Reason | None:
        """Offer one URL in normal form, found on page `via`; the reason if it is refused."""
        return self.found.offer_url(url, kind, depth, via, score)

    def admit(self, url: str) -> None:
        """Let the place of a seed, or the place where it was redirected to, into the scope."""
        self._admitted += self.scope.admit(url)

    # Visits.

    def visit(self) -> Visit | None:
        """A visit that may begin now, or None."""
        if self.schedule.busy >= self._politeness.connections or self.quota == 0:
            return None
        return self.schedule.begin(self._clock.now())

    @property
    def may_begin(self) -> bool:
        """Is it worth asking for a visit?"""
        return self.schedule.busy < self._politeness.connections and self.schedule.ready > 0

    def enter(self, visit: Visit, address: str) -> bool:
        """The site's address is known: may the connection be opened? If not, the visit is over before it began."""
        return self.schedule.enter(visit, address, self._clock.now())

    def answered(self, visit: Visit) -> None:
        """The server has shown that it took the connection."""
        self.schedule.answered(visit, self._clock.now())

    def leave(self, visit: Visit, *, took: float, pause: float = 0.0) -> None:
        """The visit is over. `took` is its last download's time; `pause` is what the server, or its failure, asks
        for.
        """
        site = visit.site
        if visit.address:
            site.took = took
        self.schedule.leave(visit, self._clock.now(), pause=pause)
        self._changed.add(site.number)
        if self._heaps.arrays.length[site.number] == 0:
            self.found.forget(site)

    # Turns.

    def turn(self, visit: Visit) -> Turn | None:
        """The site's best page that robots.txt allows, or None when the visit has nothing more to do."""
        site = visit.site
        if (visit.pages and visit.pages >= self.per_visit(site)) or self.quota == 0:
            return None
        for _ in range(_MOST_REFUSALS):
            page = self._heaps.pop(site.number)
            if page < 0:
                return None
            entry = self._log.entry(page)
            scheme = "https" if entry.url[4] == "s" else "http"
            if visit.scheme == "":
                visit.scheme = scheme
            elif scheme != visit.scheme:
                self._heaps.push(site.number, page)
                return None
            if not self.allowed(site, entry.url):
                self.refuse(page, Reason.ROBOTS)
                continue
            visit.pages += 1
            self._spend(entry.kind)
            attempt = self._attempts.get(page, 0) + 1 if self._attempts else 1
            prints = self._seen.fingerprints
            via = prints[entry.via] if entry.via >= 0 else 0
            return Turn(page, prints[page], entry.url, entry.depth, entry.kind, via, attempt)
        return None

    def give_back(self, visit: Visit, turn: Turn) -> None:
        """The turn was not used: its page stands where it stood."""
        visit.pages -= 1
        self._spend(turn.kind, -1)
        self._heaps.push(visit.site.number, turn.page)

    def will_retry(self, turn: Turn, reason: Reason | None) -> bool:
        """Is a page that came to this to be tried again?"""
        return reason is not None and reason.retry and turn.attempt <= len(self._pauses)

    def settle(self, visit: Visit, turn: Turn, reason: Reason | None) -> None:
        """The turn is over: its page is done, or comes back after a pause."""
        page = turn.page
        if self.will_retry(turn, reason):
            self._spend(turn.kind, -1)
            now = self._clock.now()
            due = now + self._pauses[turn.attempt - 1]
            self._attempts[page] = turn.attempt
            self.schedule.delay(page, visit.site.number, due)
            self._delayed.append((page, turn.attempt, due - now + self._clock.wall()))
        else:
            self._attempts.pop(page, None)
            self._settled.append(page)
            visit.site.fetched += 1

    def once_more(self, visit: Visit, turn: Turn) -> None:
        """Try a page again on the site's next visit: its server wanted a cookie back, or its certificate was looked
        at.
        """
        self._spend(turn.kind, -1)
        self._attempts[turn.page] = turn.attempt
        self._heaps.push(visit.site.number, turn.page)

    def _spend(self, kind: int, pages: int = 1) -> None:
        if self.quota is not None and kind < FIRST_REQUISITE:
            self.quota -= pages

    def refuse(self, page: int, reason: Reason) -> None:
        """A page whose turn had come is not fetched, by a rule."""
        self.refused[reason] += 1
        self._dropped.append(page)

    # Robots.

    def per_visit(self, site: Site) -> int:
        """K for a site: one page a visit where a crawl-delay is asked for."""
        if site.crawl_delay is not None:
            return 1
        return self._politeness.per_visit if site.settings.per_visit is None else site.settings.per_visit

    def obeys(self, site: Site) -> bool:
        """Is the site's robots.txt obeyed?"""
        return (site.settings.robots or self._selection.robots) == "obey"

    def robots_due(self, site: Site, scheme: str) -> bool:
        """Must robots.txt be asked for before anything else?"""
        if not self.obeys(site):
            return False
        had = site.robots_at.get(scheme)
        return had is None or self._clock.wall() - had >= self._politeness.robots_age

    def allowed(self, site: Site, url: str) -> bool:
        """Does the site's robots.txt, as far as it is known, allow this URL?"""
        robots = site.robots.get("https" if url[4] == "s" else "http")
        return robots is None or robots.allows(target_of(url)) or not self.obeys(site)

    def learn_robots(self, site: Site, scheme: str, *, allowed: bool, body: bytes | None) -> tuple[str, ...]:
        """Take in a robots.txt; the sitemaps it names."""
        record = RobotsRecord(self._clock.wall(), allowed, body)
        self._robots.append((site.number, scheme, msgspec.msgpack.encode(record)))
        return self._take_robots(site, scheme, record)

    def send(self, errand: Errand, name: str) -> None:
        """Have a robots.txt fetched from another site, under that site's politeness; its own site is held
        meanwhile.
        """
        self.site(errand.site).held = True
        self.schedule.send(self.site(self.found.number(name)), errand)

    def return_errand(self, errand: Errand) -> Site:
        """The errand is done: the site that waited for it may be visited again."""
        site = self.site(errand.site)
        self.schedule.release(site, self._clock.now())
        return site

    # Failures of a whole site.

    def failed(self, site: Site) -> float:
        """The site could not be reached: the pause it gets. When the pauses are used up it is set aside, then given
        up.
        """
        site.failures += 1
        self._changed.add(site.number)
        if site.second_chance:
            self._give_up(site)
        elif site.failures <= len(self._pauses):
            return self._pauses[site.failures - 1]
        else:
            self.schedule.set_aside(site)
        return 0.0

    def _give_up(self, site: Site) -> None:
        """A site that failed again is left: all its pages are refused."""
        while (page := self._heaps.pop(site.number)) >= 0:
            self.refuse(page, Reason.SITE_FAILED)
        for page in self.schedule.drop_delayed(site.number):
            self.refuse(page, Reason.SITE_FAILED)

    # Commit and recover.

    def commit(self, *, lengths: dict[str, int], counts: bytes, clean: bool = False) -> None:
        """Write down what changed since the last commit."""
        offset = self._clock.wall() - self._clock.now()
        self._log.commit(
            Commit(
                sites=self.found.new_names,
                settled=self._settled.tobytes(),
                refused=self._dropped.tobytes(),
                delayed=self._delayed,
                states=[(number, self._sites[number].memory(offset)) for number in self._changed],
                robots=self._robots,
                scores=array("d", self.found.new_scores).tobytes(),
                scope=self._admitted,
                lengths=lengths,
                counts=counts,
                clean=clean,
            )
        )
        self.found.new_names = []
        self.found.new_scores = []
        self._settled = array("I")
        self._dropped = array("I")
        self._delayed = []
        self._robots = []
        self._admitted = []
        self._changed = set()
        self.schedule.tidy(self._clock.now())

    def recover(self) -> Commit | None:
        """Read the log back and stand where it ends; its last record, or None when there is none."""
        last: Commit | None = None
        sites: list[NDArray[np.int32]] = []
        gone: list[NDArray[np.uint32]] = []
        delayed: dict[int, tuple[int, float]] = {}
        states: dict[int, bytes] = {}
        robots: dict[tuple[int, str], bytes] = {}
        for commit, rows, prints in self._log.replay():
            last = commit
            for name in commit.sites:
                self.found.number(name)
            first = int(self._seen.arrays.counts[0])
            restore(self._seen.arrays, prints.copy())
            sites.append(rows["site"].copy())
            counted = rows["site"][rows["kind"] < FIRST_REQUISITE]
            np.add.at(self._seen.arrays.found, counted, 1)
            if commit.scores:
                self._heaps.arrays.score[first : first + len(rows)] = np.frombuffer(commit.scores)
            gone += [np.frombuffer(data, dtype=np.uint32) for data in (commit.settled, commit.refused)]
            delayed.update({page: (attempt, wall) for page, attempt, wall in commit.delayed})
            states.update(commit.states)
            robots.update({(number, scheme): record for number, scheme, record in commit.robots})
            for url in commit.scope:
                self.scope.admit(url)
        if last is None:
            return None
        self.found.new_names = []
        self._restore_pages(np.concatenate(sites), np.concatenate(gone), delayed)
        self._restore_sites(states, robots)
        return last

    def close(self) -> None:
        """Give the log's file back."""
        self._log.close()

    def _restore_pages(
        self, site_of: NDArray[np.int32], gone: NDArray[np.uint32], delayed: dict[int, tuple[int, float]]
    ) -> None:
        pending = np.ones(len(site_of), dtype=np.bool_)
        pending[gone] = False
        now = self._clock.now()
        offset = self._clock.wall() - now
        for page, (attempt, wall) in delayed.items():
            if pending[page]:
                pending[page] = False
                self._attempts[page] = attempt
                self.schedule.delay(page, int(site_of[page]), max(now, wall - offset))
        pages = np.flatnonzero(pending).astype(np.int32)
        push_all(self._heaps.arrays, site_of[pages], pages)

    def _restore_sites(self, states: dict[int, bytes], robots: dict[tuple[int, str], bytes]) -> None:
        now = self._clock.now()
        offset = self._clock.wall() - now
        for (number, scheme), data in robots.items():
            record = msgspec.msgpack.decode(data, type=RobotsRecord)
            self._take_robots(self.site(number), scheme, record)
        for number, data in states.items():
            site = self.site(number)
            site.remember(data, offset)
            self.schedule.resume(site, now)

    def _take_robots(self, site: Site, scheme: str, record: RobotsRecord) -> tuple[str, ...]:
        robots = site.learn_robots(scheme, record, self._agent)
        delays = [known.crawl_delay for known in site.robots.values() if known.crawl_delay]
        site.crawl_delay = max(delays) if delays and self.obeys(site) else None
        return robots.sitemaps
