"""The loop: the way of a page, from its turn to its outcome. This is the place to start reading.

    frontier.visit ─▶ resolve ─▶ frontier.enter ─▶ robots.txt ─▶ ┌ frontier.turn ─▶ fetch ─▶ parse ─▶ settle ─▶ store ┐
          ▲                                                      └───────────────── up to k pages ◀──────────────────┤
          └──────────────────── the site rests for its wait ◀──────────────────────── frontier.leave ◀───────────────┘

A visit is one coroutine and one connection. Everything between two awaits happens at once, so a page's record, its
row, its links and its outcome are always in the same commit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from weft.engine.application import FetchedPage, Request
from weft.engine.drive import Ask, Driver
from weft.engine.exchange import UNREACHED, is_lost, keeps_open, nothing_came, pause_of, redirect_of, verdict
from weft.engine.following import follow_bit_by_bit, is_long, later
from weft.engine.marker import Marker
from weft.engine.probing import Probing, Way
from weft.engine.robots import ask_robots, note_unsent
from weft.engine.wires import Wires
from weft.fetch.headers import header_values
from weft.fetch.transport import Connection
from weft.frontier.discovery import Links
from weft.frontier.log import Entry
from weft.frontier.schedule import Visit
from weft.frontier.special import Special
from weft.model import FIRST_REQUISITE, Kind, Page, Parsed, Reason, Turn
from weft.parse.tags import LargePage
from weft.urls import fingerprint, literal_address, normal_form, origin_of

_LONGEST_PUMP = 0.01  # seconds in which visits begin one after the other before others have their turn
_APART = Parsed("", "", "", "", "", [], [], follow=False, reason=None)  # stands for what is not known yet


def _clear(marker: Marker, page: int, _done: None) -> None:
    marker.clear(page)


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
        self.lease = math.inf  # visits begin until then
        self._suspects = wires.frontier.found.wildcards.suspects  # domains that may have any name
        self._probing = Probing(wires, self._driver, self._visit, self._reach)
        if wires.application is not None:
            wires.frontier.on_refused = self._refused

    def __repr__(self) -> str:
        return f"Loop({self._driver.active} visits under way{', stopping' if self.stopping else ''})"

    @property
    def active(self) -> int:
        """Visits under way."""
        return self._driver.active

    @property
    def idle(self) -> bool:
        """Is nothing under way, and nothing held up? Who cannot reach anybody has not done what is left to do: neither
        does the crawl end, nor do sites that were set aside get their last chance.
        """
        return self.active == 0 and (not self._wires.outage.lasts or self._wires.frontier.exhausted)

    def pump(self) -> None:
        """Begin every visit that may begin now; where that takes long, some now and others soon."""
        self._again = True
        if self._pumping or self._soon:
            return
        self._pumping = True
        until = self._wires.clock.now() + _LONGEST_PUMP
        while self._again and not self._soon:
            self._again = False
            while not self._soon and (visit := self._next()) is not None:
                self._driver.run(self._visit(visit))
                if self._wires.clock.now() > until:
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
        return not self.stopping and self._wires.clock.now() <= self.lease

    def _next(self) -> Visit | None:
        wires, outage = self._wires, self._wires.outage
        if self.stopping or wires.clock.now() > self.lease or (not outage.calm and (outage.cause or outage.suspected)):
            return None
        return wires.frontier.visit()

    def stop(self) -> None:
        """Begin no more visits; those under way may finish their page."""
        self.stopping = True
        self._wires.outage.let_go()

    async def _suspect(self, domain: str) -> None:
        """A domain has many sites: ask whether its name servers know any name."""
        wild = await self._wires.network.is_wildcard(domain)
        self._wires.frontier.found.wildcards.answered(domain, wild=wild)

    def drop(self) -> None:
        """End the visits under way; their pages stay pending."""
        self.stopping = True
        self._driver.close()

    async def _visit(self, visit: Visit) -> None:  # noqa: C901
        """One connection to one site: robots.txt where it is due, then up to k pages."""
        frontier, network, site = self._wires.frontier, self._wires.network, visit.site
        turn = frontier.turn(visit) if visit.errand is None else None
        connection: Connection | None = None
        took = pause = 0.0
        try:
            if turn is None and visit.errand is None:
                return
            if turn is not None and frontier.specials.of and not await self._promised(visit, turn):
                return
            address, reason, ours = await self._reach(visit)
            if reason is not None:
                pause = await self._not_entered(visit, turn, address, reason, ours)
                return
            if not frontier.enter(visit, address):
                self._probing.no_place(visit)
                if turn is not None:
                    frontier.give_back(visit, turn)
                return
            connection = network.connect(visit, address, (lambda: frontier.answered(visit)) if visit.gap else None)
            if visit.errand is not None or frontier.robots_due(site, visit.scheme):
                if turn is not None:
                    frontier.give_back(visit, turn)
                go_on, pause = await ask_robots(self._wires, visit, connection)
                turn = frontier.turn(visit) if go_on else None
            while turn is not None:
                special = frontier.specials.get(turn.page) if frontier.specials.of else None
                if special is not None and not self._may_send(turn, special):
                    frontier.give_back(visit, turn)
                    break
                request = self._wires.asker.page(
                    site, turn, special, last=visit.pages >= frontier.per_visit(site), now=self._wires.clock.wall()
                )
                page = await network.fetch(connection, request)
                if page is None or (is_lost(page) and not await self._wires.counts(visit, turn, page)):
                    frontier.give_back(visit, turn)
                    pause = self._probing.rest(visit)
                    break
                took = page.took
                parsed = self._read(turn, page)
                if parsed is _APART:
                    parsed = await self._read_apart(turn, page)
                if turn.kind == Kind.REDIRECT and turn.depth == 0 and parsed is not None:
                    frontier.arrive(site, turn.url)  # a seed's; before its links are looked at
                followed = None
                if parsed is not None and is_long(self._wires, parsed):
                    followed = await follow_bit_by_bit(self._wires, visit, turn, parsed)
                turn, pause = self._settle(visit, connection, turn, page, parsed, followed)
        finally:
            if connection is not None:
                network.close(connection)
            frontier.leave(visit, took=took, pause=pause)

    async def _promised(self, visit: Visit, turn: Turn) -> bool:
        """Have it on disk that what must be sent once is about to be, before anything is opened; False where the crawl
        stops meanwhile. It is sent as the first request of a connection: on one that was kept open, a server that
        closes it may have got it or not.
        """
        frontier = self._wires.frontier
        special = frontier.specials.get(turn.page)
        if special is None or not special.once or frontier.robots_due(visit.site, visit.scheme):
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
            return Way("", answer.reason, answer.ours)
        refusals = [gate.refusal(address) for address in answer.addresses]
        if None in refusals:
            return Way(answer.addresses[refusals.index(None)], None)
        if refusals[0] is not Reason.ADDRESS:
            return Way(answer.addresses[0], refusals[0])
        network.mistrust(host)  # names change, and name servers lie: it is asked for anew
        return Way(answer.addresses[0], Reason.DNS_SPECIAL)

    async def _not_entered(self, visit: Visit, turn: Turn | None, address: str, reason: Reason, ours: str) -> float:
        """A site has no address, or none that may be visited: the pause that it gets."""
        frontier = self._wires.frontier
        if reason in UNREACHED:
            owner = None if visit.errand is None else frontier.owner(visit.errand)
            site = owner or visit.site
            stands = await self._wires.outage.stands(
                frontier.before(site, turn),
                reason,
                self._wires.clock.now(),
                address=address,
                ours=ours,
                final=frontier.gives_up(site, turn, reason, of_site=True),
            )
            if not stands:
                if turn is not None:
                    frontier.give_back(visit, turn)
                if visit.errand is not None:
                    visit.site.errands.insert(0, visit.errand)
                return self._probing.rest(visit)
        return self._unreached(visit, turn, None, reason)

    def _settle(
        self,
        visit: Visit,
        connection: Connection,
        turn: Turn,
        page: Page,
        parsed: Parsed | None,
        followed: tuple[Links, Links] | None,
    ) -> tuple[Turn | None, float]:
        """Follow a page's links, write it down, settle its turn; the visit's next turn, and a pause if one is asked
        for.
        """
        wires, frontier, site = self._wires, self._wires.frontier, visit.site
        now = wires.clock.wall()
        reason = verdict(page)
        if reason in UNREACHED:
            return None, self._unreached(visit, turn, page, reason)
        if not is_lost(page):
            wires.outage.reached(site, wires.clock.now())
        site.failures = 0
        if page.tls:
            site.tls = page.tls
        if "set-cookie" in page.headers:
            site.jar.store(header_values(page.head, "set-cookie"), now)
        redirect = redirect_of(page)
        special = frontier.specials.get(turn.page) if frontier.specials.of else None
        if parsed is not None and parsed.reason is not None:
            reason = parsed.reason
            if reason is Reason.HOSTILE:
                frontier.strike(site)
        if redirect is not None and turn.attempt == 1 and fingerprint(redirect) == turn.id and site.jar.cookies:
            frontier.once_more(visit, turn)  # it redirects to itself to see whether its cookie comes back
            final = False
        else:
            final = not frontier.will_retry(turn, reason)
            frontier.settle(visit, turn, reason)
        links = self._follow(visit, turn, page, parsed, redirect, special, followed) if final else 0
        pause = pause_of(page, wires.politeness, now)
        frontier.pace.spend(0, len(page.body))
        ends = pause > 0 or self.stopping or not keeps_open(page) or wires.gate.forbids(visit.address)
        following = None if ends else frontier.turn(visit)
        closed_at = None
        if following is None:
            wires.network.close(connection)
            closed_at = wires.clock.wall()
        wires.record(
            visit,
            turn,
            page,
            parsed,
            reason=reason,
            final=final,
            closed_at=closed_at,
            redirect=redirect,
            links=links,
            pause=pause,
        )
        if turn.id in wires.marker.suspects:
            frontier.after_commit(partial(_clear, wires.marker, turn.id))
        if frontier.may_begin:  # the page led to a site that was idle
            self.pump()
        return following, pause

    def _read(self, turn: Turn, page: Page) -> Parsed | None:
        """What is in a page: None where nothing is to be read, `_APART` where a process of its own must do it.

        A fault of ours on one page is that page's reason, and no more.
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
            await Ask(self._wires.frontier.after_commit)
        reading: Ask[Parsed] = Ask(partial(self._wires.apart.parse, page, turn.kind))
        return await reading

    def _follow(
        self,
        visit: Visit,
        turn: Turn,
        page: Page,
        parsed: Parsed | None,
        redirect: str | None,
        special: Special | None,
        followed: tuple[Links, Links] | None,
    ) -> int:
        """Offer what a page leads to, unless that is done; the number of its links."""
        wires, frontier = self._wires, self._wires.frontier
        if redirect is not None:
            kept = turn.kind >= FIRST_REQUISITE or turn.kind == Kind.MAP
            kind = turn.kind if kept else Kind.REDIRECT
            steps = turn.steps + 1 if kept or turn.kind == Kind.REDIRECT else 1
            if wires.application is not None:
                wires.application.redirected(turn.url, redirect)
            target = fingerprint(redirect)
            if special is not None and special.body is not None:
                target = self._follow_post(turn, page, redirect, special, steps)
            else:
                frontier.follow_redirect(turn, redirect, kind, steps)
            wires.store.note_links(turn.id, [target], [Kind.REDIRECT])
            frontier.redirected(turn, redirect)
            return 1
        application = wires.application
        if application is not None and turn.kind < FIRST_REQUISITE:
            if parsed is None:
                wanted = application.failed(turn.url, str(verdict(page)))
            else:
                wanted = application.visited(FetchedPage(turn, page, parsed, wires.parser))
            self._request(turn.url, turn.depth, turn.id, wanted)
        if parsed is None:
            return 0
        if parsed.left_out:
            frontier.refused[Reason.PAGE_LINKS] += parsed.left_out
        obeyed = parsed.follow or frontier.obeys(visit.site)
        found, left = followed or frontier.found.follow(
            visit.site, turn, parsed, offered=application is None, obeyed=obeyed
        )
        wires.store.note_links(turn.id, found.targets, found.kinds, labels=found.labels)
        wires.store.note_links(turn.id, left.targets, left.kinds, nofollow=True, labels=left.labels)
        frontier.visited(turn, found)
        return len(found.targets) + len(left.targets)

    def _follow_post(self, turn: Turn, page: Page, redirect: str, special: Special, steps: int) -> int:
        """Follow the redirect of a POST as browsers do; the id of where it leads.

        307 and 308 ask for the same again elsewhere, which is done where nobody else would get it; the others ask for
        a GET, also of a page that was fetched before: the POST may have changed what is there.
        """
        frontier = self._wires.frontier
        if page.status in (307, 308):
            if origin_of(redirect) == origin_of(turn.url):
                frontier.request(redirect, special, turn.depth, turn.id, kind=Kind.REDIRECT, steps=steps)
            return special.id(redirect)
        if not frontier.knows(redirect):
            frontier.offer(redirect, Kind.REDIRECT, turn.depth, turn.id, steps=steps)
            return fingerprint(redirect)
        again = Special({}, None, repeat=True, after=turn.id)
        frontier.request(redirect, again, turn.depth, turn.id, kind=Kind.REDIRECT, steps=steps)
        return again.id(redirect)

    def _request(self, base: str, depth: int, via: int, requests: list[Request | str]) -> None:
        """Offer what an application asks for; it is told at once what a rule refuses, and may ask for another."""
        application, frontier = self._wires.application, self._wires.frontier
        while requests and application is not None:
            request = requests.pop(0)
            text, priority = (request, 0.0) if isinstance(request, str) else (request.url, request.priority)
            special = None if isinstance(request, str) else request.special
            url = normal_form(text, base)
            reason: Reason | None = Reason.NOT_A_URL
            if type(url) is str:
                if special is None:
                    reason = frontier.offer(url, Kind.REQUEST, depth + 1, via, priority)
                else:
                    reason = frontier.request(url, special, depth + 1, via, priority)
            if reason is not None:
                requests += application.failed(text, reason.value)

    def _refused(self, entry: Entry, reason: Reason) -> None:
        """A page whose turn had come is not fetched, by a rule: the application hears of it."""
        if self._wires.application is not None and entry.kind < FIRST_REQUISITE:
            wanted = self._wires.application.failed(entry.url, reason.value)
            self._request(entry.url, entry.depth, fingerprint(entry.url), wanted)

    def give_up_unknown(self) -> None:
        """What an earlier run sent, and must not send twice, has failed where its outcome was lost: say so."""
        wires, frontier = self._wires, self._wires.frontier
        reason = Reason.OUTCOME_UNKNOWN
        unknown, frontier.unknown = frontier.unknown, []
        for turn in unknown:
            visit = Visit(0, frontier.give_up(turn), None, 0.0)
            page = nothing_came(turn, reason, wires.clock.wall())
            if wires.application is not None:
                self._request(turn.url, turn.depth, turn.id, wires.application.failed(turn.url, reason.value))
            wires.record(visit, turn, page, reason=reason, final=True)

    def _unreached(self, visit: Visit, turn: Turn | None, page: Page | None, reason: Reason) -> float:
        """The site was not reached, or may not be: write it down; the pause that the site gets."""
        wires, frontier, site = self._wires, self._wires.frontier, visit.site
        frontier.give_up_errands(visit)
        own = visit.errand is not None and visit.errand.owner == site.name
        if visit.errand is not None:
            note_unsent(wires, visit, visit.errand.url, reason)
        if turn is not None:
            page = page or nothing_came(turn, reason, wires.clock.wall())
            if reason is Reason.TLS and page.tls and site.tls == "" and not wires.verify_tls:
                # Its certificate is looked at once. What is wrong with it is noted, and the next visit takes it as
                # it is.
                site.tls = page.tls
                frontier.once_more(visit, turn)
                wires.record(visit, turn, page, reason=reason, final=False, closed_at=wires.clock.wall())
                return 0.0
            final = not frontier.will_retry(turn, reason)
            frontier.settle(visit, turn, reason)
            if final and wires.application is not None and turn.kind < FIRST_REQUISITE:
                self._request(turn.url, turn.depth, turn.id, wires.application.failed(turn.url, reason.value))
            wires.record(visit, turn, page, reason=reason, final=final, closed_at=wires.clock.wall())
        return frontier.failed(site) if own or reason in UNREACHED else 0.0
