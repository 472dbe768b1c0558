"""The loop: the way of a page, from its turn to its outcome. This is the place to start reading.

    frontier.visit ─▶ resolve ─▶ frontier.enter ─▶ robots.txt ─▶ ┌ turn ─▶ fetch ─▶ parse ─▶ judge ─▶ conclude ┐
          ▲                                                      └────────────── up to k pages ◀──────────────┤
          └──────────────────── the site rests for its wait ◀───────────────────── frontier.leave ◀───────────┘

A visit is one coroutine and one connection. What came of a page is judged by a pure function (`outcome`), and all that
follows from it is done in one place (`conclusion`): links, application, record, row, frontier, event. Everything
between two awaits happens at once, so these are always in the same commit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from weft.engine.checking import check, is_due, note_shown
from weft.engine.conclusion import NOTHING, Conclusion, Further
from weft.engine.doubt import counts
from weft.engine.drive import Ask, Driver, later
from weft.engine.following import follow_bit_by_bit, is_long
from weft.engine.hosting import Told, Wish
from weft.engine.hosting_apart import HostedApart
from weft.engine.outcome import UNREACHED, is_lost, nothing_came, redirect_of, verdict
from weft.engine.probing import Probing, Way
from weft.engine.robots import ask_robots, note_unsent
from weft.engine.staging import run_stages
from weft.engine.wires import Wires
from weft.fetch.transport import Connection, Request
from weft.frontier.local.discovery import Links
from weft.frontier.local.names import asked_for
from weft.frontier.local.site import Site
from weft.frontier.local.visit import Visit
from weft.frontier.special import Special
from weft.model import FIRST_REQUISITE, Kind, Outcome, Page, Parsed, Reason, Turn, UrlId
from weft.parse.tags import LargePage
from weft.urls import literal_address, special_range

_LONGEST_PUMP = 0.01  # seconds in which visits begin one after the other before others have their turn
_FEW = 4  # visits that begin before anybody looks at the time: mostly it is one, where another has ended
_APART = Parsed("", "", "", "", "", [], [], follow=False, reason=None)  # stands for what is not known yet


class Loop:
    """Visits sites as the frontier allows, until it is told to stop."""

    def __init__(
        self, wires: Wires, on_failure: Callable[[BaseException], None], on_pumped: Callable[[], None]
    ) -> None:
        self._wires = wires
        self._on_pumped = on_pumped  # called when every visit that may begin has begun
        self._driver = Driver(on_failure, self.pump)
        self._pumping = False
        self._again = False
        self._soon = False  # the pump goes on when others had their turn
        self.stopping = False
        self.stalled = False  # what is fetched cannot be put away for now: no visit begins
        self.unwritten = False  # and a commit waits for that
        self._suspects = wires.frontier.discovery.wildcards.suspects  # domains that may have any name
        self._tops: set[str] = set()  # top-level domains that were asked for an absurd name
        self._names = wires.frontier.names
        if wires.network.proxied:  # the proxy resolves names
            self._names.on = False
        self._conclusion = Conclusion(wires)
        self._apart = wires.application if isinstance(wires.application, HostedApart) else None
        self._looks_further = self._apart is not None or bool(wires.stages)  # before a page is concluded
        if self._apart is not None:
            self._apart.on_wanted = self._wanted
        self._probing = Probing(wires, self._driver, self._visit, self._reach)

    def __repr__(self) -> str:
        return f"Loop({self._driver.active} visits under way{', stopping' if self.stopping else ''})"

    @property
    def lease(self) -> float:
        """Until then visits begin, and requests are sent."""
        return self._wires.network.lease

    @lease.setter
    def lease(self, until: float) -> None:
        self._wires.network.lease = until

    @property
    def active(self) -> int:
        """Visits under way."""
        return self._driver.active

    @property
    def idle(self) -> bool:
        """Is nothing under way, and nothing held up? Who cannot reach anybody has not done what is left to do: neither
        does the crawl end, nor do sites that were set aside get their last chance.
        """
        if self._apart is not None and self._apart.busy:  # it may ask for something
            return False
        if self.unwritten:
            return False
        return self.active == 0 and (not self._wires.outage.lasts or self._wires.frontier.pace.exhausted)

    def pump(self) -> None:
        """Begin every visit that may begin now; where that takes long, some now and others soon."""
        self._again = True
        if self._pumping or self._soon:
            return
        self._pumping = True
        begun, until = 0, math.inf
        while self._again and not self._soon:
            self._again = False
            while not self._soon and (visit := self._next()) is not None:
                self._driver.run(self._visit(visit))
                begun += 1
                if begun == _FEW:
                    until = self._wires.clock.now() + _LONGEST_PUMP
                elif begun > _FEW and self._wires.clock.now() > until:
                    self._soon = True
                    later(self._pump_on)
            if not self._wires.outage.calm and self._wires.outage.lasts and self._may_begin():
                self._probing.look()
        while self._suspects:
            self._driver.run(self._suspect(self._suspects.pop()))
        self._pumping = False
        self._on_pumped()

    def _pump_on(self, _nothing: None) -> None:
        self._soon = False
        self.pump()

    def next_event(self) -> float | None:
        """When something will change by itself."""
        return self._probing.next_event() if self._wires.outage.lasts else self._wires.frontier.next_event()

    def _may_begin(self) -> bool:
        may = not self.stopping and not self.stalled
        return may and self._wires.clock.elapsed() <= self._wires.network.lease

    def _next(self) -> Visit | None:
        wires, outage = self._wires, self._wires.outage
        if wires.frontier.full or not self._may_begin() or (not outage.calm and (outage.cause or outage.suspected)):
            return None
        while (visit := wires.frontier.visit(asks=True)) is None and self._names.unasked:
            self._driver.run(self._ask_name(self._names.unasked.popleft()))
        return visit

    def stop(self) -> None:
        """Begin no more visits; those under way may finish their page."""
        self.stopping = True
        self._wires.outage.let_go()

    def begin(self) -> None:
        """What comes before the first visit: the application begins, and what an earlier run sent, and must not send
        twice, is concluded.
        """
        frontier = self._wires.frontier
        self._conclusion.begin(frontier.commits.application, frontier.commits.untold)
        self._conclusion.give_up_unknown()

    async def _suspect(self, name: str) -> None:
        """A domain has many sites: ask whether its name servers know any name below one of them, or below itself."""
        wild = await self._wires.network.is_wildcard(name)
        self._wires.frontier.discovery.wildcards.answered(name, wild=wild)

    async def _ask_name(self, site: Site) -> None:
        """A site was never visited: ask for its name, beside the visits. What is no clear denial, its visit sees to."""
        wires, frontier = self._wires, self._wires.frontier
        try:
            answer = await wires.network.resolve(site.host)
            if answer.unregistered and await self._holds() and site.number in self._names.asking:
                self._deny(Visit(0, site, None, 0.0))
        finally:
            frontier.named(site)

    async def _denied(self, visit: Visit, turn: Turn) -> bool:
        """A visit found no name: is that the end of its site, of which nobody asked for anything by name?"""
        frontier = self._wires.frontier
        asked = asked_for(turn.kind, turn.depth) or visit.errand is not None
        if asked or not frontier.names.may_deny(visit.site) or not await self._holds():
            return False
        frontier.give_back(visit, turn)
        self._deny(visit)
        return True

    async def _holds(self) -> bool:
        """Does a denial count? Not while nobody may be reached, nor where the name servers deny everything."""
        return not self._wires.outage.lasts and await self._wires.network.denials_hold()

    def _deny(self, visit: Visit) -> None:
        """There is no such name: a row says so, and the site is dead."""
        note_unsent(self._wires, visit, f"http://{visit.site.name}/robots.txt", Reason.DNS_NOT_FOUND)
        self._wires.frontier.deny(visit.site)

    def drop(self) -> None:
        """End the visits under way; their pages stay pending."""
        self.stopping = True
        self._driver.close()

    async def _visit(self, visit: Visit) -> None:
        """One connection to one site: robots.txt where it is due, then up to k pages."""
        frontier, network = self._wires.frontier, self._wires.network
        turn: Turn | None = None
        connection: Connection | None = None
        try:
            if visit.errand is None and (turn := frontier.turn(visit)) is None:
                return
            if turn is not None and frontier.specials.of and not await self._promised(visit, turn):
                return
            if not await self._enter(visit, turn):
                return
            answered = (lambda: frontier.answered(visit)) if visit.spaced else None
            connection = network.connect(visit, visit.address, answered)
            if visit.errand is not None or frontier.robots.due(visit.site, visit.scheme):
                if turn is not None:
                    frontier.give_back(visit, turn)
                turn = frontier.turn(visit) if await ask_robots(self._wires, visit, connection) else None
            while turn is not None:
                if is_due(self._wires, visit, turn):
                    turn = await check(self._wires, visit, connection, turn)
                    continue
                request = self._request(visit, turn)
                page = None if request is None else await network.fetch(connection, request)
                if page is None or (is_lost(page) and not await counts(self._wires, visit, turn, page)):
                    frontier.give_back(visit, turn)
                    visit.pause = self._probing.rest(visit)
                    break
                parsed, followed = self._read(turn, page), None
                if parsed is _APART:
                    parsed = await self._read_apart(turn, page)
                if parsed is not None and (turn.depth == 0 or is_long(self._wires, parsed)):
                    followed = await self._follow_first(visit, turn, parsed)
                outcome = self._conclusion.judge(visit, turn, page, parsed)
                further = await self._look_further(outcome) if self._looks_further and parsed is not None else NOTHING
                stopping = self.stopping or self.stalled
                turn = self._conclusion.conclude(visit, connection, outcome, followed, further, stopping=stopping)
                note_shown(self._wires, visit.site, outcome)
                if frontier.may_begin and outcome.reason not in UNREACHED:  # the page led to a site that was idle
                    self.pump()
        finally:
            if connection is not None:
                network.close(connection)
            frontier.leave(visit)

    async def _enter(self, visit: Visit, turn: Turn | None) -> bool:
        """Find the site's address, and a place there; False where the visit ends before it began."""
        frontier = self._wires.frontier
        way = await self._reach(visit)
        address = way.address
        if way.reason is not None:
            if not (way.unregistered and turn is not None and await self._denied(visit, turn)):
                await self._not_entered(visit, turn, address, way.reason, way.ours)
            return False
        if frontier.enter(visit, address):
            return True
        self._probing.no_place(visit)
        if turn is not None:
            frontier.give_back(visit, turn)
        return False

    def _request(self, visit: Visit, turn: Turn) -> Request | None:
        """What to ask for a page; None where it may not be asked for on this connection."""
        wires, frontier, site = self._wires, self._wires.frontier, visit.site
        special = frontier.specials.get(turn.page) if frontier.specials.of else None
        if special is not None and not self._may_send(turn, special):
            return None
        last = visit.pages >= frontier.per_visit(site)
        return wires.asker.page(site, turn, special, last=last, now=wires.clock.wall())

    async def _follow_first(self, visit: Visit, turn: Turn, parsed: Parsed) -> tuple[Links, Links] | None:
        """What comes before a page is concluded: a seed's redirect lets in where it leads, and many links take time."""
        if turn.kind == Kind.REDIRECT and turn.depth == 0:
            frontier = self._wires.frontier
            if frontier.admit(turn.url):  # no further: what it stands for is in the scope from now on
                frontier.robots.offer_sitemaps(visit.site)
        return await follow_bit_by_bit(self._wires, visit, turn, parsed) if is_long(self._wires, parsed) else None

    async def _promised(self, visit: Visit, turn: Turn) -> bool:
        """Have it on disk that what must be sent once is about to be, before anything is opened; False where the crawl
        stops meanwhile. It is sent as the first request of a connection: on one that was kept open, a server that
        closes it may have got it or not.
        """
        frontier = self._wires.frontier
        special = frontier.specials.get(turn.page)
        if special is None or not special.once or frontier.robots.due(visit.site, visit.scheme):
            return True
        await Ask(partial(frontier.specials.intend, turn.page))
        if self.stopping:
            frontier.give_back(visit, turn)
        return not self.stopping

    def _may_send(self, turn: Turn, special: Special) -> bool:
        """May a special request be sent on this connection? What must be sent once, only where that was promised."""
        specials = self._wires.frontier.specials
        if special.once:
            if not specials.intended(turn.page):
                return False
            specials.sending(turn.page)
        return True

    async def _reach(self, visit: Visit) -> Way:
        """The address to visit a site at, or why it is not visited."""
        network, gate, host = self._wires.network, self._wires.gate, visit.site.host
        literal = literal_address(host)
        if literal is not None:
            return Way(literal, gate.refusal(literal))
        if network.proxied:
            return Way(host, None)  # the proxy resolves it, and stands for where it leads
        answer = await network.resolve(host)
        if answer.reason is not None:
            return Way("", answer.reason, answer.unregistered, answer.ours)
        way = Way(*gate.choose(answer.addresses))
        if gate.asks and way.reason is None and (top := host.rpartition(".")[2]) not in self._tops:
            self._tops.add(top)
            if special_range(way.address) is None and await self._has_any_name(top):
                way = Way(*gate.choose(answer.addresses))
        if way.reason is Reason.DNS_SPECIAL:
            network.mistrust(host)  # names change, and name servers lie: it is asked for anew
        return way

    async def _has_any_name(self, top: str) -> bool:
        """Ask whether a top-level domain has any name, and where those lead that nobody has (P3 5.4)."""
        wires = self._wires
        if not await wires.network.is_wildcard(top):
            return False
        absurd = await wires.network.resolve(f"w{wires.frontier.pages.seen.keyed.of(top):016x}.{top}")
        wires.gate.note_nobody(absurd.addresses)
        return True

    async def _not_entered(self, visit: Visit, turn: Turn | None, address: str, reason: Reason, ours: str) -> None:
        """A site has no address, or none that may be visited."""
        wires, frontier = self._wires, self._wires.frontier
        if reason in UNREACHED:
            owner = None if visit.errand is None else frontier.errands.owner(visit.errand)
            site = owner or visit.site
            stands = await wires.outage.stands(
                frontier.undoing.before(site, turn),
                reason,
                wires.clock.now(),
                address=address,
                ours=ours,
                final=frontier.gives_up(site, turn, reason, of_site=True),
            )
            if not stands:
                if turn is not None:
                    frontier.give_back(visit, turn)
                if visit.errand is not None:
                    visit.site.errands.insert(0, visit.errand)
                visit.pause = self._probing.rest(visit)
                return
        outcome = None
        if turn is not None:
            outcome = self._conclusion.judge(visit, turn, nothing_came(turn, reason, wires.clock.wall()), None)
        self._conclusion.not_reached(visit, outcome, reason)

    def _wanted(self, base: str, depth: int, via: UrlId, wanted: list[Wish]) -> None:
        """An application that has a process to itself asks for something by itself: it may be had now."""
        self._conclusion.request(base, depth, via, wanted)
        if self._wires.frontier.may_begin:
            self.pump()

    async def _look_further(self, outcome: Outcome) -> Further:
        """What stages find out about a page that was read, and what an application says of it that has a process to
        itself.
        """
        wires, turn, page, parsed = self._wires, outcome.turn, outcome.page, outcome.parsed
        assert parsed is not None
        staged = await run_stages(wires, turn, page, parsed) if wires.stages and parsed.reason is None else None
        if self._apart is None or turn.kind >= FIRST_REQUISITE:
            return Further(staged, None)
        values = {} if staged is None else staged.values
        special = wires.frontier.specials.get(turn.page)
        asking: Ask[Told] = Ask(partial(self._apart.show, turn, page, parsed, special, values))
        return Further(staged, await asking)

    def _read(self, turn: Turn, page: Page) -> Parsed | None:
        """What is in a page: None where nothing is to be read, `_APART` where a process of its own must do it.

        An internal error on one page is that page's reason, and no more.
        """
        if verdict(page) is not None or redirect_of(page) is not None:
            return None
        wires = self._wires
        if turn.id in wires.marker.suspects:  # it was being read when a process died
            return _APART
        began = wires.clock.now()
        wires.marker.set(turn.id)
        try:
            return wires.parser.parse(page, turn.kind)
        except LargePage:
            return _APART
        except Exception as error:  # noqa: BLE001  no content ends a crawl
            wires.bus.report(error, page.url)
            return Parsed("", "", "", "", page.url, [], [], follow=False, reason=Reason.INTERNAL)
        finally:
            wires.marker.set(0)
            wires.progress.counts.parsing += wires.clock.now() - began

    async def _read_apart(self, turn: Turn, page: Page) -> Parsed:
        """The same by a process of its own. A suspect is read when everything before it is on disk."""
        if turn.id in self._wires.marker.suspects:
            await Ask(self._wires.frontier.commits.after)
        reading: Ask[Parsed] = Ask(partial(self._wires.apart.parse, page, turn.kind))
        return await reading
