"""When which site: the states of sites and the timers between them. In: visits that end. Out: visits that may
begin.

A site is in one of these states: *ready* (in the heap of sites when it has pages), *busy* (a visit is under way),
*waiting* (a timer will make it ready), *parked* (its domain, address or network has no place free; it is woken when
one is), or *dormant*: nothing wakes it but the end of what keeps it. It is *held* while its robots.txt is fetched
elsewhere, and *set aside* when it kept failing (it gets a second chance when nothing else is left in the whole crawl).
Both keep its pages waiting and no errand: what others wait for may be what it waits for itself.

Where there are several workers an address, or its network, is lent to one of them at a time; sites at one that is not
lent to us are parked until it is.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from weft.frontier.local.names import Names
from weft.frontier.local.pages import Pages
from weft.frontier.local.site import Errand, Site
from weft.frontier.local.sites import Resting, Sites
from weft.frontier.local.throttles import Throttles
from weft.frontier.local.timers import NO_SITE, Timer, What
from weft.frontier.local.visit import Visit
from weft.frontier.politeness import NEVER, Politeness, Throttle, quiet_time, wait_after
from weft.model import SiteNumber
from weft.ordering.heaps import IN_HEAP, PENDING
from weft.urls import network_of

_PATIENCE = 300.0  # seconds that a site is held for what others must bring
_CONFIRMED_AFTER = 2.0  # seconds after which a server that has not answered is taken to have accepted the connection


class Schedule:
    """The sites of one local frontier and their timers."""

    def __init__(self, *, pages: Pages, sites: Sites, politeness: Politeness, names: Names) -> None:
        self._heaps = pages.heaps
        counts: Any = pages.heaps.arrays.counts
        self._counts: memoryview[int] = memoryview(counts)  # its elements are read at a third of what the array's cost
        self._politeness = politeness
        self._sites = sites
        self._names = names
        self._site = sites.__getitem__
        found: Any = pages.seen.arrays.found
        self._found: memoryview[int] = memoryview(found)  # by site: how many pages are known
        self._due = pages.due
        self.throttles = Throttles(politeness)
        self._timers: list[Timer] = []
        self._order = 0
        self._errands: deque[SiteNumber] = deque()  # ready sites that have an errand
        self._aside: set[SiteNumber] = set()
        self._dormant: set[SiteNumber] = set()  # would be ready, but are held or set aside
        self._held: dict[SiteNumber, float] = {}  # wait for what others bring: until when; the first ends first
        self._cut_off = False  # nobody can be reached
        self.overdue: Callable[[Site], None] = lambda _site: None  # told of a site that waited in vain
        self._not_before = 0.0  # no visit begins before this
        self.busy = 0
        self.under_way: set[SiteNumber] = set()  # sites that are being visited
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
    def done(self) -> bool:
        """Is there nothing left to do?"""
        return self.busy == 0 and self.pending == 0

    @property
    def stalled(self) -> bool:
        """Will nothing happen by itself?"""
        return not self._due.waiting and self.rests(NEVER)

    def rests(self, until: float) -> bool:
        """Is there nothing to fetch, but pages that are due at a time and sites that must be left alone until then, or
        longer?
        """
        if self.busy or self.ready or self._errands or self._held or self._parked() or self._names.asking:
            return False
        return not any(
            timer.what is What.SITE and timer.at < until and self._has_work(timer.site) for timer in self._timers
        )

    def _has_work(self, number: SiteNumber) -> bool:
        """Is there something to visit a site for? The end of a rest changes nothing where there is not."""
        return bool(self._heaps.arrays.length[number]) or bool(self._site(number).errands)

    @property
    def pending(self) -> int:
        """Pages that wait for their turn, those to be tried again included."""
        return self._counts[PENDING] + self._due.waiting

    def next_event(self) -> float | None:
        """When something will change by itself."""
        at = min(self._timers[0].at if self._timers else NEVER, self._due.next_at)
        if self._held:
            at = min(at, next(iter(self._held.values())))
        return None if at == NEVER else at

    # A visit.

    def begin(self, now: float, *, asks: bool = False) -> Visit | None:
        """A visit that may begin now, to the best site that is ready, or None; None too where the name of a site is to
        be asked for first, by whoever `asks`.
        """
        self._advance(now)
        if now < self._not_before:
            return None
        while True:
            number = self._errands.popleft() if self._errands else self._heaps.take_site()
            if number < 0:
                if self.busy or self._timers or self._due.waiting or not self._last_resort(now):
                    return None
                continue
            site = self._site(number)
            if not site.visited:
                if site.next_visit > now:  # it asked for a pause in a run before
                    self._rest(site, now)
                    continue
                if asks and self._names.put_off(site):
                    return None
            if (site.held or site.set_aside) and not site.errands:
                self._dormant.add(number)
                continue
            throttle = self.throttles.of_domain(site.domain)
            if not throttle.free(now):
                self._park(site, throttle, now)
                continue
            return self._begun(site, throttle, site.errands.pop(0) if site.errands else None)

    def _begun(self, site: Site, throttle: Throttle, errand: Errand | None) -> Visit:
        """A visit to a site at whose domain there is a place."""
        self.busy += 1
        self.under_way.add(site.number)
        site.visited = True
        self.visits += 1
        visit = Visit(self.visits, site, errand, self.wait(site) / 4)
        visit.domain_throttle = throttle
        if errand is not None:
            visit.scheme = errand.url.partition(":")[0]
        throttle.begin(visit, visit.gap)
        return visit

    def named(self, site: Site, now: float) -> None:
        """The name of a site was asked for: it may be visited, if it has pages."""
        self._rest(site, now)

    def enter(self, visit: Visit, address: str, now: float) -> bool:
        """The site's address is known: is there a place for it? If not the visit is over, and the site waits for
        one.
        """
        throttle = self.throttles.of_address(address)
        network = throttle.within
        if not throttle.free(now) or (network is not None and not network.free(now)):
            if visit.errand is not None:
                visit.site.errands.insert(0, visit.errand)
            visit.site.visited = visit.site.address != ""
            self._end(visit, now)
            if network is None:
                self._park(visit.site, throttle, now)
            else:
                self._turn_away(visit.site, address, throttle, network, now)
            return False
        visit.address = address
        visit.address_throttle = throttle
        visit.spaced = visit.gap > 0
        throttle.begin(visit, visit.gap)
        if network is not None:
            visit.network_throttle = network
            visit.spaced = visit.spaced or self._politeness.network_gap > 0
            network.begin(visit, self._politeness.network_gap)
            visit.site.network = ""
        if visit.spaced:
            self._at(now + _CONFIRMED_AFTER, What.CONFIRM, visit=visit)
        return True

    def _turn_away(self, site: Site, address: str, throttle: Throttle, network: Throttle, now: float) -> None:
        """There is no place for a site in its network, or none at its address: it waits there. The place that it did
        not use at the other is for the next who waits.
        """
        full, free = (throttle, network) if network.free(now) else (network, throttle)
        self._park(site, full, now)
        self._wake(free, now)
        waits_at = network_of(address) if full is network else ""
        if site.network != waits_at:  # for who asks why it is not visited
            site.network = waits_at
            self._sites.changed.add(site.number)

    def answered(self, visit: Visit, now: float) -> None:
        """The server has taken the connection: the next one to its domain, address or network is a gap away."""
        for throttle in (visit.domain_throttle, visit.address_throttle):
            if throttle is not None:
                throttle.confirm(visit, now, visit.gap)
                self._wake_later(throttle, now)
        if visit.network_throttle is not None:
            visit.network_throttle.confirm(visit, now, self._politeness.network_gap)
            self._wake_later(visit.network_throttle, now)

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
        took = site.took if took is None else took
        return wait_after(self._politeness, took, site.crawl_delay, site.settings.wait, self._found[site.number])

    # Sites out of the ordinary.

    def resume(self, site: Site, now: float) -> None:
        """Take a site up again whose state comes from an earlier run, as if it had been visited just now."""
        wait = self.wait(site)
        site.next_visit = min(site.next_visit, now + max(wait, self._politeness.retry_after_most))  # clocks jump
        # How much time has passed since the last run only the machine's clock knows, and that may have been set.
        if wait:
            site.next_visit = max(site.next_visit, now + wait + self._politeness.margin)
            self.throttles.not_opened_before(site.domain, site.address, now + wait / 4 + self._politeness.margin)
        if self._politeness.network_gap:
            until = now + self._politeness.network_gap + self._politeness.margin
            self.throttles.network_not_opened_before(site.address, until)
        self.take_back(site, now)

    def resume_all(
        self,
        resting: Iterable[Resting],
        *,
        now: float,
        terms: Callable[[int], tuple[float | None, float | None]] | None,
        domain_of: Callable[[int], str],
    ) -> tuple[list[SiteNumber], list[float]]:
        """The same for many sites that are not made yet: their numbers, and until when each is left alone.

        `terms` says the crawl-delay of a site and the wait that is set for it, where any site has such. No visit begins
        meanwhile (`hold_back`), so that only gaps count which are longer.
        """
        self.hold_back(now)
        politeness, margin, held = self._politeness, self._politeness.margin, self._not_before
        ready, timers, small = self._heaps.arrays.ready, self._timers, self._politeness.wait_small is not None
        numbers: list[SiteNumber] = []
        untils: list[float] = []
        crawl_delay: float | None = None
        fixed: float | None = None
        for number, until, took, address, aside in resting:
            if terms is not None:
                crawl_delay, fixed = terms(number)
            wait = wait_after(politeness, took, crawl_delay, fixed, int(self._found[number]) if small else 0)
            until = min(until, now + max(wait, politeness.retry_after_most))  # noqa: PLW2901  clocks jump
            if wait:
                until = max(until, now + wait + margin)  # noqa: PLW2901
                if now + wait / 4 + margin > held:
                    self.throttles.not_opened_before(domain_of(number), address, now + wait / 4 + margin)
            numbers.append(number)
            untils.append(until)
            if aside:
                self._aside.add(number)
                self._dormant.add(number)
                ready[number] = False
            elif until > now:
                ready[number] = False
                self.waiting += 1
                self._order += 1
                timers.append(Timer(until, self._order, What.SITE, number))
        heapq.heapify(timers)
        return numbers, untils

    def hold_back(self, now: float) -> None:
        """Begin nothing for the shortest wait there is: the run before may have visited any site just now, in any
        network. Nor may anybody whom an address is given to meanwhile.
        """
        wait = quiet_time(self._politeness)
        if wait:
            self._not_before = self.throttles.held_until = now + wait + self._politeness.margin
            self._at(self._not_before, What.NOTHING)

    def forget(self, number: SiteNumber) -> None:
        """A site that waits for a place is not ours any more."""
        self._heaps.set_unready(number)
        self._dormant.discard(number)
        self._names.forget(number)
        if number in self._errands:
            self._errands.remove(number)
        self.throttles.forget(number)

    def kept(self) -> set[SiteNumber]:
        """Sites that must stay where they are: somebody visits them, asks for their names, or waits for what they bring
        or are brought.
        """
        return {*self.under_way, *self._errands, *self._held, *self._names.asking}

    def put_away(self, gone: set[SiteNumber]) -> None:
        """Sites are here no more, nor what they waited for."""
        timers = [timer for timer in self._timers if timer.what is not What.SITE or timer.site not in gone]
        self.waiting -= len(self._timers) - len(timers)
        self._timers = timers
        heapq.heapify(self._timers)
        self._dormant -= gone
        self._aside -= gone
        self.throttles.put_away(gone)

    def take_back(self, site: Site, now: float) -> None:
        """A site is here again, and rests as long as it was to."""
        if site.set_aside:
            self._aside.add(site.number)
            self._dormant.add(site.number)
            self._heaps.set_unready(site.number)
        elif site.next_visit > now:
            self._heaps.set_unready(site.number)
            self._rest(site, now)

    def lend(self, lent: list[tuple[str, float]], recalled: list[str], now: float) -> None:
        """Addresses are ours from now on, none to be visited before its time; others are wanted back."""
        for address, not_before in lent:
            self._wake(self.throttles.lend(address, not_before, now), now)
        for address in recalled:
            self.throttles.recall(address)

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
        self._at(site.next_visit, What.SITE, site=site.number)
        self.waiting += 1

    def hasten(self, rested: dict[SiteNumber, float], now: float) -> None:
        """Let sites rest no longer than until then, by their numbers; those that do not rest are left as they are."""
        resting = {timer.site for timer in self._timers if timer.what is What.SITE and timer.site in rested}
        self._timers = [timer for timer in self._timers if timer.what is not What.SITE or timer.site not in resting]
        heapq.heapify(self._timers)
        for number, at in rested.items():
            site = self._site(number)
            site.next_visit = min(site.next_visit, at)
            if number in resting:
                self.waiting -= 1
                self._rest(site, now)

    def begin_at(self, number: SiteNumber, now: float) -> Visit | None:
        """A visit to this site, whether it has pages or not; None where it may not be visited now."""
        self._advance(now)
        if now < self._not_before or not self._heaps.arrays.ready[number]:
            return None
        site = self._site(number)
        throttle = self.throttles.of_domain(site.domain)
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

    # Inside.

    def _at(
        self,
        at: float,
        what: What,
        *,
        site: SiteNumber = NO_SITE,
        throttle: Throttle | None = None,
        visit: Visit | None = None,
    ) -> None:
        self._order += 1
        heapq.heappush(self._timers, Timer(at, self._order, what, site, throttle, visit))

    def _advance(self, now: float) -> None:
        """Do what is due."""
        while self._held and not self._cut_off and next(iter(self._held.values())) <= now:
            site = self._site(next(iter(self._held)))
            self.overdue(site)
            self.release(site, now)
        if self._due.waiting:
            self._due.wake_all(now)
        timers = self._timers
        while timers and timers[0].at <= now:
            timer = heapq.heappop(timers)
            if timer.what is What.SITE:
                self.waiting -= 1
                self._rest(self._site(timer.site), now)  # it may have got a longer pause since
            elif timer.throttle is not None:
                timer.throttle.woken_at = NEVER
                self._wake(timer.throttle, now)
            elif timer.visit is not None and timer.what is What.FREE:
                self._free(timer.visit, now)
            elif timer.visit is not None and not timer.visit.over:
                self.answered(timer.visit, now)

    def _rest(self, site: Site, now: float) -> None:
        """Make a site ready when its wait is over."""
        if site.next_visit > now:
            self.waiting += 1
            self._at(site.next_visit, What.SITE, site=site.number)
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
        self.under_way.discard(visit.site.number)
        if visit.spaced and self._politeness.margin:
            self._at(now + self._politeness.margin, What.FREE, visit=visit)
        else:
            self._free(visit, now)

    def _free(self, visit: Visit, now: float) -> None:
        """Give back the places of a visit. One that never entered has opened nothing, and leaves no gap behind."""
        gap = visit.gap if visit.address else 0.0
        for throttle in (visit.domain_throttle, visit.address_throttle):
            if throttle is not None:
                throttle.end(visit, now, gap)
                self._wake(throttle, now)
        if visit.network_throttle is not None:
            visit.network_throttle.end(visit, now, self._politeness.network_gap)
            self._wake(visit.network_throttle, now)

    def _parked(self) -> bool:
        """Does a site wait for a place?"""
        return any(throttle.parked for throttle in self.throttles)

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
            self._at(throttle.opens_at, What.WAKE, throttle=throttle)

    def _last_resort(self, now: float) -> bool:
        """Nothing is under way and nothing will happen by itself: wake what is parked."""
        stuck = [throttle for throttle in self.throttles if throttle.parked and throttle.free(now)]
        for throttle in stuck:
            self._wake(throttle, now)
        return bool(stuck)
