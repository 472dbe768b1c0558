"""When which site: the states of sites and the timers between them. In: visits that end. Out: visits that may
begin.

A site is in one of these states: *ready* (in the heap of sites when it has pages), *busy* (a visit is under way),
*waiting* (a timer will make it ready), *parked* (its domain or address has no place free; it is woken when one is),
or *dormant*: nothing wakes it but the end of what keeps it. It is *held* while its robots.txt is fetched elsewhere, and
*set aside* when it kept failing (it gets a second chance when nothing else is left in the whole crawl). Both keep its
pages waiting and no errand: what others wait for may be what it waits for itself.

Where there are several workers an address is lent to one of them at a time; sites at an address that is not lent to
us are parked until it is.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from enum import IntEnum
from typing import Any, NamedTuple

from weft.frontier.politeness import NEVER, Politeness, Throttle, shortest_wait, wait_after
from weft.frontier.sites import Errand, Site
from weft.ordering.heaps import IN_HEAP, PENDING, TwoLevelHeap

_PATIENCE = 300.0  # seconds that a site is held for what others must bring
_KEPT = 60.0  # seconds that an address is kept which is not in use
_TURN = 5.0  # seconds that a visit may take to begin at an address that was just lent
_CONFIRMED_AFTER = 2.0  # seconds after which a server that has not answered is taken to have accepted the connection


class Visit:
    """One connection to one site."""

    __slots__ = (
        "address",
        "address_throttle",
        "domain_throttle",
        "errand",
        "gap",
        "number",
        "over",
        "pages",
        "pause",
        "rest",
        "scheme",
        "site",
        "took",
    )

    def __init__(self, number: int, site: Site, errand: Errand | None, gap: float) -> None:
        self.number = number
        self.site = site
        self.errand = errand
        self.gap = gap  # between openings at its domain and address
        self.scheme = ""  # of its first page: one connection has one scheme
        self.address = ""  # "" until the visit has entered
        self.pages = 0  # turns given
        self.took = 0.0  # seconds that its last download took
        self.pause = 0.0  # what the server, or its failure, asks for beside the wait
        self.rest: float | None = None  # seconds that the site rests behind it, once that is decided
        self.domain_throttle: Throttle | None = None
        self.address_throttle: Throttle | None = None
        self.over = False

    def __repr__(self) -> str:
        return f"Visit({self.number} to {self.site.name}, {self.pages} pages)"


class _What(IntEnum):
    SITE = 0  # a site's wait is over
    PAGE = 1  # a page is to be tried again
    WAKE = 2  # a throttle's gap is over
    CONFIRM = 3  # a server had time enough to accept
    FREE = 4  # a server has seen the end of a visit
    NOTHING = 5  # time has passed, and that is all


class _Timer(NamedTuple):
    at: float
    order: int
    what: _What
    site: int = -1
    page: int = -1
    throttle: Throttle | None = None
    visit: Visit | None = None


class Schedule:
    """The sites of one local frontier and their timers."""

    def __init__(
        self,
        heaps: TwoLevelHeap,
        politeness: Politeness,
        site_of: Callable[[int], Site],
        pages_of: Callable[[int], int],
    ) -> None:
        self._heaps = heaps
        counts: Any = heaps.arrays.counts
        self._counts: memoryview[int] = memoryview(counts)  # its elements are read at a third of what the array's cost
        self._politeness = politeness
        self._site = site_of
        self._pages = pages_of  # by site: how many are known
        self._domains: dict[str, Throttle] = {}
        self._addresses: dict[str, Throttle] = {}
        self._timers: list[_Timer] = []
        self._order = 0
        self._errands: deque[int] = deque()  # ready sites that have an errand
        self._aside: set[int] = set()
        self._dormant: set[int] = set()  # would be ready, but are held or set aside
        self._held: dict[int, float] = {}  # sites that wait for what others bring: until when; the first ends first
        self._cut_off = False  # nobody can be reached
        self.overdue: Callable[[Site], None] = lambda _site: None  # told of a site that waited in vain
        self._not_before = 0.0  # no visit begins before this
        self.alone = True  # addresses need not be lent to us
        self.delayed: dict[int, tuple[int, float]] = {}  # pages to be tried again: their site, when
        self.busy = 0
        self.waiting = 0
        self.visits = 0

    def __repr__(self) -> str:
        return f"Schedule({self.busy} busy, {self.ready} ready, {self.waiting} waiting, {len(self._aside)} set aside)"

    @property
    def ready(self) -> int:
        """Sites that may be visited now."""
        count: int = self._counts[IN_HEAP]
        return count

    @property
    def aside(self) -> int:
        """Sites that were set aside."""
        return len(self._aside)

    @property
    def stalled(self) -> bool:
        """Will nothing happen by itself?"""
        if self.busy or self.ready or self._errands or self.delayed or self._held or self._parked():
            return False
        return not any(timer.what is _What.SITE and self._has_work(timer.site) for timer in self._timers)

    def _has_work(self, number: int) -> bool:
        """Is there something to visit a site for? The end of a rest changes nothing where there is not."""
        return bool(self._heaps.arrays.length[number]) or bool(self._site(number).errands)

    @property
    def pending(self) -> int:
        """Pages that wait for their turn, those to be tried again included."""
        return self._counts[PENDING] + len(self.delayed)

    def next_event(self) -> float | None:
        """When something will change by itself."""
        at = self._timers[0].at if self._timers else None
        if self._held:
            until = next(iter(self._held.values()))
            return until if at is None else min(at, until)
        return at

    # A visit.

    def begin(self, now: float) -> Visit | None:
        """A visit that may begin now, to the best site that is ready, or None."""
        self._advance(now)
        if now < self._not_before:
            return None
        while True:
            number = self._errands.popleft() if self._errands else self._heaps.take_site()
            if number < 0:
                if self.busy or self._timers or not self._last_resort(now):
                    return None
                continue
            site = self._site(number)
            if site.next_visit > now and not site.visited:  # it asked for a pause in a run before
                self._rest(site, now)
                continue
            if (site.held or site.set_aside) and not site.errands:
                self._dormant.add(number)
                continue
            throttle = self._throttle(self._domains, site.domain, self._politeness.per_domain)
            if not throttle.free(now):
                self._park(site, throttle, now)
                continue
            return self._begun(site, throttle, site.errands.pop(0) if site.errands else None)

    def _begun(self, site: Site, throttle: Throttle, errand: Errand | None) -> Visit:
        """A visit to a site at whose domain there is a place."""
        self.busy += 1
        site.visited = True
        self.visits += 1
        visit = Visit(self.visits, site, errand, self.wait(site) / 4)
        visit.domain_throttle = throttle
        if errand is not None:
            visit.scheme = errand.url.partition(":")[0]
        throttle.begin(visit, visit.gap)
        return visit

    def enter(self, visit: Visit, address: str, now: float) -> bool:
        """The site's address is known: is there a place for it? If not the visit is over, and the site waits for
        one.
        """
        throttle = self._throttle(self._addresses, address, self._politeness.per_address, lent=self.alone)
        if not throttle.free(now):
            if visit.errand is not None:
                visit.site.errands.insert(0, visit.errand)
            visit.site.visited = visit.site.address != ""
            self._end(visit, now)
            self._park(visit.site, throttle, now)
            return False
        visit.address = address
        visit.address_throttle = throttle
        throttle.begin(visit, visit.gap)
        if visit.gap > 0:
            self._at(now + _CONFIRMED_AFTER, _What.CONFIRM, visit=visit)
        return True

    def answered(self, visit: Visit, now: float) -> None:
        """The server has taken the connection: the next one to its domain or address is a gap away."""
        for throttle in (visit.domain_throttle, visit.address_throttle):
            if throttle is not None:
                throttle.confirm(visit, now, visit.gap)
                self._wake_later(throttle, now)

    def decide(self, visit: Visit) -> float:
        """How long the site rests behind a visit: for its wait, or for a longer pause. It is decided once, and written
        down; what a margin adds to it is for us to know.
        """
        if visit.rest is None:
            visit.rest = max(self.wait(visit.site, visit.took) if visit.address else 0.0, visit.pause)
        return visit.rest

    def leave(self, visit: Visit, now: float) -> None:
        """The visit is over: the site rests."""
        if visit.over:
            return
        site, rest = visit.site, self.decide(visit)
        self._end(visit, now)
        if visit.address and rest:
            rest += self._politeness.margin
        site.next_visit = max(site.next_visit, now + rest)
        if (site.held or site.set_aside) and not site.errands:
            self._dormant.add(site.number)
        else:
            self._rest(site, now)

    def wait(self, site: Site, took: float | None = None) -> float:
        """The site's wait w as things stand, or after a download that took so long."""
        pages = self._pages(site.number)
        took = site.took if took is None else took
        return wait_after(self._politeness, took, site.crawl_delay, site.settings.wait, pages)

    # Sites out of the ordinary.

    def resume(self, site: Site, now: float) -> None:
        """Take a site up again whose state comes from an earlier run, as if it had been visited just now."""
        wait = self.wait(site)
        site.next_visit = min(site.next_visit, now + max(wait, self._politeness.retry_after_most))  # clocks jump
        # How much time has passed since the last run only the machine's clock knows, and that may have been set.
        if wait:
            site.next_visit = max(site.next_visit, now + wait + self._politeness.margin)
            throttles = [self._throttle(self._domains, site.domain, self._politeness.per_domain)]
            if site.address:
                limit = self._politeness.per_address
                throttles.append(self._throttle(self._addresses, site.address, limit, lent=self.alone))
            for throttle in throttles:
                throttle.opens_at = max(throttle.opens_at, now + wait / 4 + self._politeness.margin)
        if site.set_aside:
            self._aside.add(site.number)
            self._dormant.add(site.number)
            self._heaps.set_unready(site.number)
        elif site.next_visit > now:
            self._heaps.set_unready(site.number)
            self._rest(site, now)

    def hold_back(self, now: float) -> None:
        """Begin nothing for the shortest wait there is: the run before may have visited any site just now."""
        wait = shortest_wait(self._politeness)
        if wait:
            self._not_before = now + wait + self._politeness.margin
            self._at(self._not_before, _What.NOTHING)

    # Addresses that are lent.

    def wanted(self) -> list[tuple[str, bool]]:
        """Addresses at which sites would be visited, and which are not lent to us; do we insist?"""
        if self.alone:
            return []
        return [
            (name, throttle.insists)
            for name, throttle in self._addresses.items()
            if not throttle.lent and throttle.parked
        ]

    def parked_at(self, address: str) -> list[int]:
        """The sites that wait for a place at an address; it is insisted on unless all of them go elsewhere."""
        throttle = self._addresses.get(address)
        if throttle is None:
            return []
        throttle.insists = True
        return list(throttle.parked)

    def forget(self, number: int) -> None:
        """A site that waits for a place is not ours any more."""
        self._heaps.set_unready(number)
        self._dormant.discard(number)
        if number in self._errands:
            self._errands.remove(number)
        for throttles in (self._domains, self._addresses):
            for throttle in throttles.values():
                if number in throttle.parked:
                    throttle.parked.remove(number)

    def lend(self, lent: list[tuple[str, float]], recalled: list[str], now: float) -> None:
        """Addresses are ours from now on, none to be visited before its time; others are wanted back."""
        for address, not_before in lent:
            throttle = self._throttle(self._addresses, address, self._politeness.per_address, lent=True)
            throttle.lent = True
            throttle.recalled = throttle.insists = False
            wait = self._politeness.crawl_delay_most / 4
            throttle.opens_at = max(throttle.opens_at, min(not_before, now + wait))  # clocks may jump
            # Others may want it back at once. If it went back unused, it would go to and fro and nobody get on.
            throttle.kept_until = max(now, throttle.opens_at) + _TURN
            self._wake(throttle, now)
        for address in recalled:  # one may have been lent to us before a restart, and be forgotten here
            throttle = self._throttle(self._addresses, address, self._politeness.per_address)
            throttle.lent = throttle.recalled = True

    def release_addresses(self, now: float, wall_offset: float) -> list[tuple[str, float]]:
        """Give back addresses that others wait for or that we do not use; each with when it may be visited next."""
        if self.alone:
            return []
        given = []
        for name, throttle in list(self._addresses.items()):
            if not throttle.lent or throttle.open:
                continue
            recalled = throttle.recalled and now >= throttle.kept_until
            if recalled or (throttle.idle and throttle.opens_at + _KEPT <= now):
                given.append((name, max(now, throttle.opens_at) + wall_offset))
                throttle.lent = throttle.recalled = False
                if throttle.idle:
                    del self._addresses[name]
        return given

    # Sites that failed.

    def second_pass(self, now: float) -> None:
        """Nothing else is left: let in again what was set aside, each when its wait is over."""
        for number in sorted(self._aside):
            site = self._site(number)
            site.set_aside = False
            site.second_chance = True
            self._rouse(site, now)
        self._aside.clear()

    def set_aside(self, site: Site) -> None:
        """Leave a site alone until nothing else is left."""
        site.set_aside = True
        self._aside.add(site.number)

    def take_in(self, site: Site) -> None:
        """A site is not set aside any more; it is ready again once it is hastened."""
        site.set_aside = False
        self._aside.discard(site.number)
        self._at(site.next_visit, _What.SITE, site=site.number)
        self.waiting += 1

    def hasten(self, rested: dict[int, float], now: float) -> None:
        """Let sites rest no longer than until then, by their numbers; those that do not rest are left as they are."""
        resting = {timer.site for timer in self._timers if timer.what is _What.SITE and timer.site in rested}
        self._timers = [timer for timer in self._timers if timer.what is not _What.SITE or timer.site not in resting]
        heapq.heapify(self._timers)
        for number, at in rested.items():
            site = self._site(number)
            site.next_visit = min(site.next_visit, at)
            if number in resting:
                self.waiting -= 1
                self._rest(site, now)

    def begin_at(self, number: int, now: float) -> Visit | None:
        """A visit to this site, whether it has pages or not; None where it may not be visited now."""
        self._advance(now)
        if now < self._not_before or not self._heaps.arrays.ready[number]:
            return None
        site = self._site(number)
        throttle = self._throttle(self._domains, site.domain, self._politeness.per_domain)
        if not throttle.free(now):
            return None
        self._heaps.set_unready(number)
        return self._begun(site, throttle, None)

    def hold(self, site: Site, now: float) -> None:
        """A site waits for something that another site, or another worker, must bring."""
        if not site.held:
            site.held = True
            self._held[site.number] = now + _PATIENCE

    def wait_for_network(self) -> None:
        """Nobody can be reached: no site waits in vain for what others bring."""
        self._cut_off = True

    def network_is_back(self, after: float) -> None:
        """Somebody can be reached again, after so many seconds, which do not count."""
        self._cut_off = False
        self._held = {number: until + after for number, until in self._held.items()}

    def release(self, site: Site, now: float) -> None:
        """What a held site waited for has come, or will not."""
        if site.held:
            site.held = False
            del self._held[site.number]
            self._rouse(site, now)

    def send(self, site: Site, errand: Errand, now: float) -> None:
        """Give a site an errand: it is visited for it even when it has no pages."""
        site.errands.append(errand)
        if site.number in self._dormant:
            self._dormant.remove(site.number)
            self._rest(site, now)
        elif self._heaps.arrays.ready[site.number]:
            self._heaps.set_unready(site.number)
            self._errands.append(site.number)

    def delay(self, page: int, site: int, at: float) -> None:
        """Make a page pending again later."""
        self.delayed[page] = (site, at)
        self._at(at, _What.PAGE, site=site, page=page)

    def drop_delayed(self, site: int) -> list[int]:
        """Forget the pages of a site that were to be tried again; their numbers."""
        pages = [page for page, (owner, _) in self.delayed.items() if owner == site]
        for page in pages:
            del self.delayed[page]
        return pages

    def tidy(self, now: float) -> None:
        """Forget throttles that are not in use."""
        for throttles in (self._domains, self._addresses) if self.alone else (self._domains,):
            for name in [name for name, throttle in throttles.items() if throttle.idle and throttle.opens_at <= now]:
                del throttles[name]

    # Inside.

    def _at(
        self,
        at: float,
        what: _What,
        *,
        site: int = -1,
        page: int = -1,
        throttle: Throttle | None = None,
        visit: Visit | None = None,
    ) -> None:
        self._order += 1
        heapq.heappush(self._timers, _Timer(at, self._order, what, site, page, throttle, visit))

    def _advance(self, now: float) -> None:
        """Do what is due."""
        while self._held and not self._cut_off and next(iter(self._held.values())) <= now:
            site = self._site(next(iter(self._held)))
            self.overdue(site)
            self.release(site, now)
        timers = self._timers
        while timers and timers[0].at <= now:
            timer = heapq.heappop(timers)
            if timer.what is _What.SITE:
                self.waiting -= 1
                self._rest(self._site(timer.site), now)  # it may have got a longer pause since
            elif timer.what is _What.PAGE:
                if self.delayed.get(timer.page) == (timer.site, timer.at):
                    del self.delayed[timer.page]
                    self._heaps.push(timer.site, timer.page)
            elif timer.throttle is not None:
                timer.throttle.woken_at = NEVER
                self._wake(timer.throttle, now)
            elif timer.visit is not None and timer.what is _What.FREE:
                self._free(timer.visit, now)
            elif timer.visit is not None and not timer.visit.over:
                self.answered(timer.visit, now)

    def _rest(self, site: Site, now: float) -> None:
        """Make a site ready when its wait is over."""
        if site.next_visit > now:
            self.waiting += 1
            self._at(site.next_visit, _What.SITE, site=site.number)
        else:
            self._make_ready(site)

    def _make_ready(self, site: Site) -> None:
        if site.errands:
            self._errands.append(site.number)
        elif site.held or site.set_aside:
            self._dormant.add(site.number)
        else:
            self._heaps.set_ready(site.number)

    def _rouse(self, site: Site, now: float) -> None:
        """What kept a site is over. One that is busy, waits or is parked becomes ready by itself."""
        if site.number in self._dormant and not (site.held or site.set_aside):
            self._dormant.remove(site.number)
            self._rest(site, now)

    def _end(self, visit: Visit, now: float) -> None:
        """A visit is over; its places are free when the server has seen it, too."""
        visit.over = True
        self.busy -= 1
        if visit.address and visit.gap and self._politeness.margin:
            self._at(now + self._politeness.margin, _What.FREE, visit=visit)
        else:
            self._free(visit, now)

    def _free(self, visit: Visit, now: float) -> None:
        """Give back the places of a visit. One that never entered has opened nothing, and leaves no gap behind."""
        gap = visit.gap if visit.address else 0.0
        for throttle in (visit.domain_throttle, visit.address_throttle):
            if throttle is not None:
                throttle.end(visit, now, gap)
                self._wake(throttle, now)

    def _throttle(self, throttles: dict[str, Throttle], name: str, limit: int, *, lent: bool = True) -> Throttle:
        throttle = throttles.get(name)
        if throttle is None:
            throttle = throttles[name] = Throttle(limit, lent=lent)
        return throttle

    def _parked(self) -> bool:
        """Does a site wait for a place?"""
        return any(throttle.parked for group in (self._domains, self._addresses) for throttle in group.values())

    def _park(self, site: Site, throttle: Throttle, now: float) -> None:
        throttle.parked.append(site.number)
        self._wake_later(throttle, now)

    def _wake(self, throttle: Throttle, now: float) -> None:
        """Let parked sites try again: one where a gap is kept, else as many as there are places."""
        if throttle.parked and throttle.free(now):
            places = 1 if throttle.spaced else throttle.limit - throttle.open
            for _ in range(min(places, len(throttle.parked))):
                self._rest(self._site(throttle.parked.popleft()), now)
        self._wake_later(throttle, now)

    def _wake_later(self, throttle: Throttle, now: float) -> None:
        if throttle.parked and now < throttle.opens_at < throttle.woken_at:
            throttle.woken_at = throttle.opens_at
            self._at(throttle.opens_at, _What.WAKE, throttle=throttle)

    def _last_resort(self, now: float) -> bool:
        """Nothing is under way and nothing will happen by itself: wake what is parked."""
        stuck = [
            throttle
            for group in (self._domains, self._addresses)
            for throttle in group.values()
            if throttle.parked and throttle.free(now)
        ]
        for throttle in stuck:
            self._wake(throttle, now)
        return bool(stuck)
