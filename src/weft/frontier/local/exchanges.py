"""What a local frontier says to the global one, and does as that says. In: orders. Out: reports.

Groups to crawl, what other workers found, addresses to visit, and what the operator wants: all of it comes as orders,
and is part of the next commit. What is to be told goes with the commits (`correspondence`).
"""

from __future__ import annotations

from collections.abc import Iterator

from weft.frontier.blacklist import Blacklist
from weft.frontier.durable.log import Entry
from weft.frontier.local.arrivals import Arrivals
from weft.frontier.local.correspondence import Correspondence
from weft.frontier.local.departures import Departures
from weft.frontier.local.errands import Errands
from weft.frontier.local.parts import Parts
from weft.frontier.local.shelving import Shelving
from weft.frontier.shared.contract import (
    ALL_AT_ONCE,
    SEEDS_FIRST,
    Begun,
    Found,
    Gain,
    Message,
    Notice,
    Orders,
    Report,
    RobotsBrought,
)
from weft.frontier.special import ORDINARY, decode
from weft.model import Kind, SiteNumber
from weft.urls import registered_domain, site_of

_NOTICES_IN_A_BIT = 64  # of other workers, that are taken in at once
_LONG_REST = 900.0  # seconds: a site that must be left alone for longer keeps no phase from its end
_NOT_HERE = SiteNumber(-1)


class Exchanges:
    """Talks to the global frontier for one local frontier, which owns it. Nobody is waited for: the worker does."""

    def __init__(self, parts: Parts, errands: Errands) -> None:
        self._parts = parts
        self._errands = errands
        self._clock = parts.clock
        self.mail = Correspondence()
        self._second_pass = 0
        self._phase = ALL_AT_ONCE
        self._arrivals = Arrivals(
            clock=parts.clock,
            longest=parts.terms.retries.longest,
            schedule=parts.schedule,
            sites=parts.sites,
            pages=parts.pages,
            ranking=parts.ranking,
            specials=parts.specials,
            robots=parts.robots,
        )
        self._departures = Departures(
            holdings=parts.holdings,
            schedule=parts.schedule,
            sites=parts.sites,
            pages=parts.pages,
            ranking=parts.ranking,
            specials=parts.specials,
        )
        bound = parts.terms.bound
        self.shelving = None if bound is None else Shelving(parts, bound, self._arrivals, self._take_notice)

    def __repr__(self) -> str:
        return f"Exchanges({self.mail})"

    def begin(self, begun: Begun | None) -> Correspondence:
        """A run begins, alone or as one of several; who writes the letters from now on."""
        parts = self._parts
        parts.holdings.alone = parts.schedule.throttles.alone = begun is None or begun.alone
        self.mail = Correspondence(begun)
        self._second_pass = 0 if begun is None else begun.second_pass
        return self.mail

    @property
    def moved(self) -> int:
        """Groups that went to another worker while the crawl ran."""
        return self._departures.moved

    def keep(self, groups: set[str]) -> None:
        """Keep no other groups than these: the others were given away in commits that are lost."""
        self._departures.keep(groups)

    # How things stand.

    @property
    def wants(self) -> int:
        """How many groups to check out, so that enough sites are ready and no more."""
        parts, schedule = self._parts, self._parts.schedule
        if parts.holdings.alone:
            return 1 << 30
        enough = 2 * parts.terms.politeness.connections
        held = schedule.busy + schedule.ready + schedule.waiting
        if self.shelving is not None and self.shelving.work:
            return 0
        return enough - held if held < enough // 2 else 0

    @property
    def idle(self) -> bool:
        """Can nothing happen by itself: no page may be fetched, now or later?"""
        parts, schedule = self._parts, self._parts.schedule
        if self.shelving is not None and self.shelving.work and not parts.pace.exhausted:
            return False
        return schedule.busy == 0 and (parts.pace.exhausted or schedule.stalled) and not parts.holdings.unsent

    @property
    def resting(self) -> bool:
        """While seeds come first: is there nothing to fetch but what waits for a time of its own?"""
        parts = self._parts
        if self._phase != SEEDS_FIRST or parts.pace.exhausted or parts.pace.paused:
            return False
        if (self.shelving is not None and self.shelving.work) or parts.holdings.unsent:
            return False
        return parts.schedule.rests(self._clock.now() + _LONG_REST)

    @property
    def starved(self) -> bool:
        """Is there something to fetch, and no leave to?"""
        left = not self._parts.schedule.stalled or (self.shelving is not None and self.shelving.work)
        return self._parts.pace.exhausted and left

    @property
    def pending(self) -> int:
        """Pages that wait for their turn, those on the shelf included."""
        return self._parts.schedule.pending + (0 if self.shelving is None else self.shelving.pending)

    @property
    def known(self) -> int:
        """Pages that are known, those on the shelf included."""
        return len(self._parts.pages) if self.shelving is None else self.shelving.known

    @property
    def aside(self) -> int:
        """Sites that were set aside; of a group on the shelf they count as one."""
        return self._parts.schedule.aside + (0 if self.shelving is None else self.shelving.aside)

    def report(self, worker: int, *, wants: int) -> Report:
        """How things stand here."""
        pace, schedule = self._parts.pace, self._parts.schedule
        hungry, pace.held = pace.held, False
        now = self._clock.now()
        return self.mail.report(
            worker,
            wants=0 if pace.exhausted else wants,
            idle=self.idle and not self.mail.unwritten,
            starved=self.starved,
            resting=self.resting and not self.mail.unwritten,
            aside=self.aside,
            hungry=hungry,
            pending=self.pending,
            wanted=schedule.throttles.wanted(),
            released=schedule.throttles.release(now, -now),
        )

    # What the global frontier says.

    def obey(self, orders: Orders) -> None:
        """Do as the global frontier says."""
        for _ in self.obeying(orders):
            pass

    def obeying(self, orders: Orders) -> Iterator[None]:
        """The same bit by bit: others may have their turn in between, but nothing may be packed before the end. Until
        then no message counts as taken in, so that it is given again if the worker dies.
        """
        parts, schedule, now = self._parts, self._parts.schedule, self._clock.now()
        for url in orders.scope:
            parts.scope.admit(url)
        if orders.rules_at != self.mail.rules:
            parts.scope.blacklist = Blacklist(orders.rules)
        parts.pace.set(orders.speed, now)
        parts.pace.paused = orders.paused
        for message in orders.messages:
            yield from self._take(message)
        for address in orders.taken_already:
            self._departures.move_to(address)
        schedule.lend([(address, now + wait) for address, wait in orders.lent], orders.recalled, now)
        self._phase = orders.phase
        if orders.second_pass > self._second_pass:
            self._second_pass = orders.second_pass
            schedule.second_pass(now)
            if self.shelving is not None:
                self.shelving.second_pass()
        self.mail.read(orders)

    def _take(self, message: Message) -> Iterator[None]:
        holdings, parcels = self._parts.holdings, {parcel.group: parcel for parcel in message.parcels}
        for group in message.groups:
            if holdings.check_out(group) and group in parcels:  # else it came before, and more is known by now
                self._arrivals.load(parcels[group])  # before anybody can lead to one of its sites
            yield
        for number, notice in enumerate(message.notices):
            if number % _NOTICES_IN_A_BIT == 0:
                yield
            self._take_notice(notice)

    def _take_notice(self, notice: Notice) -> None:
        """What another worker tells of a group; one that went on meanwhile has it sent after."""
        parts = self._parts
        name = notice.owner if isinstance(notice, RobotsBrought) else site_of(notice.url)
        group = registered_domain(name)
        if name not in parts.sites.numbers and not parts.holdings.holds(group):
            parts.holdings.post(group, notice)
        elif isinstance(notice, Found):
            self._take_found(notice)
        elif isinstance(notice, Gain):
            parts.ranking.catch_up()
            page = parts.pages.seen.page_of(notice.url)
            if page >= 0:
                parts.ranking.gain(page, notice.amount)
        else:
            self._errands.take(notice)

    def _take_found(self, found: Found) -> None:
        if found.special or found.kind == Kind.REQUEST:
            self._take_request(found)
        elif not found.again or self._take_back(found):
            self._take_link(found)

    def _take_back(self, found: Found) -> bool:
        """Forget that a page is done that is to be fetched again; False where it is to stay as it is."""
        pages, redirects = self._parts.pages, self._parts.redirects
        key = pages.seen.keyed.of(found.url)
        return redirects.take_back(key) if found.kind == Kind.REDIRECT else pages.replace(key)

    def _take_request(self, found: Found) -> None:
        """What the application of another worker asks for; if a rule refuses it, the one here is told."""
        parts = self._parts
        special = decode(found.special) if found.special else ORDINARY
        reason = parts.discovery.request(
            found.url,
            special,
            found.depth,
            found.via,
            found.score or 0.0,
            kind=found.kind,
            steps=found.steps,
            again=found.again,
        )
        if reason is not None:
            entry = Entry(found.url, found.via, _NOT_HERE, found.depth, found.kind, found.steps)
            parts.discovery.tell(entry, reason, special)

    def _take_link(self, found: Found) -> None:
        """A link from another worker, to a page that is new, or known and worth more by it; or a seed."""
        ranking, discovery = self._parts.ranking, self._parts.discovery
        if not ranking.scores or (found.score is None and not found.gain):
            score = 0.0 if ranking.scores else found.score or 0.0
            discovery.offer(found.url, found.kind, found.depth, found.via, score, steps=found.steps)
            return
        ranking.catch_up()
        page = self._parts.pages.seen.page_of(found.url)
        if page < 0:
            discovery.offer(found.url, found.kind, found.depth, found.via, steps=found.steps)
            ranking.arrived(found.score, found.gain)
        else:
            ranking.gain(page, found.gain)
