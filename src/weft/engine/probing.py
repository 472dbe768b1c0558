"""Probes: is anybody there? In: that failures are in doubt, or that nobody can be reached. Out: a visit now and then,
one at a time, until somebody answers.

Who answered before is asked for his robots.txt, under his site's politeness as on any visit; beside these, sites whose
turn it is are visited as usual, so that a crawl which never reached anybody gets on, too. While nobody answers, the
pauses between probes grow, and no two in a row go to the same site where there is another.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

from weft.engine.drive import Ask, Driver
from weft.engine.outage import PATIENCE
from weft.engine.outcome import LOST, cut_of, redirect_of, verdict
from weft.engine.wires import Wires
from weft.engine.writing import write_down
from weft.events import OutageBegan, OutageEnded
from weft.fetch.transport import Connection
from weft.frontier.local.undoing import Before
from weft.frontier.local.visit import Visit
from weft.model import NO_ID, NO_PAGE, Kind, Outcome, Reason, SiteNumber, Turn
from weft.urls import fingerprint

_MOST_BYTES = 65_536  # of a robots.txt that nobody reads
_REST = 600.0  # seconds that a site rests which was probed in vain, or until all others have been
_MOST_REMEMBERED = 16  # sites that answered in an earlier run
_SOON = 0.5  # seconds until somebody who may not be asked yet is looked at again

Visiting = Coroutine[Ask[Any], Any, Any]


class Way(NamedTuple):
    """Where a site is visited."""

    address: str
    reason: Reason | None  # why it is not
    unregistered: bool = False  # because there is no such name
    ours: str = ""  # what failed on our own side


class Probing:
    """Sends the probes of one loop, which owns it. At most one probe is under way at any time."""

    def __init__(
        self,
        wires: Wires,
        driver: Driver,
        visit: Callable[[Visit], Visiting],
        reach: Callable[[Visit], Coroutine[Ask[Any], Any, Way]],
    ) -> None:
        self._wires = wires
        self._driver = driver
        self._visit = visit  # as usual
        self._reach = reach  # finds the address of a site
        self._under_way: Visit | None = None
        self._entered = False  # it had a place at its address
        self._usual = False  # the next probe is a visit as usual
        self._ask_at: float | None = None  # somebody may be asked by then
        self._rested: dict[SiteNumber, float] = {}  # sites that were probed in vain: when they may be visited again
        wires.outage.on_begin = self._on_begin
        wires.outage.on_end = self._on_end
        wires.outage.remember(wires.frontier.sites.answered(_MOST_REMEMBERED))

    def __repr__(self) -> str:
        return f"Probing({self._under_way or 'nobody'}, {len(self._rested)} in vain)"

    def next_event(self) -> float | None:
        """When to look again, while there is an outage or a doubt."""
        outage = self._wires.outage
        if outage.cause:
            waits = self._under_way is not None or self._wires.frontier.pace.paused
            return None if waits else outage.probe_at
        times = [self._ask_at, None if outage.suspected else self._wires.frontier.next_event()]
        return min((at for at in times if at is not None), default=None)

    def rest(self, visit: Visit) -> float:
        """How long a site is left alone after a visit that does not count."""
        if visit is not self._under_way:
            return 0.0
        self._rested[visit.site.number] = self._wires.frontier.undoing.rested(visit.site)
        return _REST

    def no_place(self, visit: Visit) -> None:
        """A visit had no place at its address, or the address must be lent to us first: it shows nothing."""
        if visit is self._under_way:
            self._entered = False

    def look(self) -> None:
        """Begin a probe, if it is time for one; or decide where nobody is left to be asked."""
        outage, frontier, now = self._wires.outage, self._wires.frontier, self._wires.clock.now()
        if self._under_way is not None or frontier.pace.paused:
            return
        if outage.cause:
            if now >= outage.probe_at:
                self._try(now)
            return
        self._ask_at = None
        others = self._driver.active > outage.doubts  # who are being visited, and may answer
        if others and not outage.suspected:
            return
        for site in outage.to_ask():
            if (visit := frontier.probe(site)) is not None:
                self._begin(visit, self._ask(visit))
                return
            self._ask_at = now + _SOON  # it rests, or its address must be lent to us first
        if now >= outage.doubted_at + PATIENCE:
            self._ask_at = None
        if self._ask_at is None and not others:
            outage.decide(now)

    def _try(self, now: float) -> None:
        """Nobody can be reached: try somebody."""
        outage, frontier = self._wires.outage, self._wires.frontier
        self._wires.network.refresh()
        self._usual = not self._usual
        for usual in (self._usual, not self._usual):
            visit = frontier.visit() if usual else None
            if visit is not None:
                self._begin(visit, self._visit(visit))
                return
            for site in () if usual else outage.probes():
                if (visit := frontier.probe(site)) is not None:
                    self._begin(visit, self._ask(visit))
                    return
        self._let_in()
        outage.nobody_to_probe(now)

    def _begin(self, visit: Visit, visiting: Visiting) -> None:
        self._under_way = visit
        self._entered = True
        self._driver.run(self._probe(visit, visiting))

    async def _probe(self, visit: Visit, visiting: Visiting) -> None:
        try:
            await visiting
        finally:
            self._under_way = None
            outage, now = self._wires.outage, self._wires.clock.now()
            if outage.cause and self._entered:
                outage.probed(visit.site, now)
            elif outage.cause:  # an address that is lent to us goes back if it is not used
                outage.nobody_to_probe(now)

    async def _ask(self, visit: Visit) -> None:
        """Ask a site that answered before for its robots.txt, and see whether it does."""
        wires, site, now = self._wires, visit.site, self._wires.clock.now
        connection: Connection | None = None
        visit.scheme = "https" if site.tls else "http"
        url = f"{visit.scheme}://{site.name}/robots.txt"
        try:
            address, reason, _, ours = await self._reach(visit)
            if reason is None:
                if not wires.frontier.enter(visit, address):
                    self.no_place(visit)
                    return
                answered = (lambda: wires.frontier.answered(visit)) if visit.spaced else None
                connection = wires.network.connect(visit, address, answered)
                request = wires.asker.robots(site, url, most=_MOST_BYTES, now=wires.clock.wall())
                page = await wires.network.fetch(connection, request)
                if page is None:
                    return
                visit.took, ours = page.took, page.ours
                reason = page.reason if page.reason in LOST else None
                turn = Turn(NO_PAGE, fingerprint(url), url, 0, Kind.ROBOTS, NO_ID, 1)
                outcome = Outcome(turn, page, None, verdict(page), redirect_of(page), cut_of(page))
                write_down(wires, visit, outcome, closed_at=wires.clock.wall())
            if reason is None:
                wires.outage.reached(site, now())
            else:
                wires.outage.missed(
                    wires.frontier.undoing.before(site, None), reason, now(), address=address, ours=ours
                )
        finally:
            if connection is not None:
                wires.network.close(connection)
            wires.frontier.leave(visit)

    def _on_begin(self, cause: str, failures: list[Before]) -> None:
        wires = self._wires
        wires.frontier.undoing.undo(failures)
        wires.frontier.schedule.wait_for_network()
        wires.network.refresh()
        wires.bus.emit(OutageBegan(cause))

    def _on_end(self, seconds: float) -> None:
        self._let_in()
        self._wires.frontier.schedule.network_is_back(seconds)
        self._wires.network.refresh()
        self._wires.bus.emit(OutageEnded(seconds))

    def _let_in(self) -> None:
        rested, self._rested = self._rested, {}
        self._wires.frontier.undoing.hasten(rested)
