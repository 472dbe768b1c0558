"""What the loop is connected to, and how an exchange is written down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from weft.clock import Clock
from weft.engine.drive import Ask
from weft.engine.exchange import UNREACHED, Asker, cut_of, discreet
from weft.engine.gate import Gate
from weft.engine.hosting import Hosted
from weft.engine.marker import Marker
from weft.engine.outage import SILENCE, Outage
from weft.engine.progress import Progress
from weft.events import Bus, Fetched
from weft.fetch.dns import Answer
from weft.fetch.transport import Connection, Request
from weft.frontier.local import LocalFrontier
from weft.frontier.politeness import Politeness
from weft.frontier.schedule import Visit
from weft.model import Page, Parsed, Reason, Turn
from weft.parse.apart import Apart
from weft.parse.page import Parser
from weft.store.store import Store
from weft.urls import literal_address

# No connection was established.
_NOBODY_THERE = frozenset((Reason.CONNECT_REFUSED, Reason.CONNECT_TIMEOUT, Reason.CONNECT_FAILED))


class Network(Protocol):
    """What the loop wants of the network: live, libcurl and c-ares; on a virtual clock, a script."""

    proxied: bool  # a proxy resolves names and opens connections for us

    def resolve(self, host: str) -> Ask[Answer]:
        """The addresses of a host."""
        ...

    def another(self, host: str, address: str, allowed: Callable[[str], bool]) -> Ask[bool]:
        """Nobody could connect to this address of a host: has it another one, for the next visit?"""
        ...

    def silent(self) -> Ask[str]:
        """What is wrong where no name server answers any more; "": nothing."""
        ...

    def mistrust(self, host: str) -> None:
        """The answer for a host cannot be true: ask anew next time."""
        ...

    def refresh(self) -> None:
        """Ask anew for all hosts that could not be resolved."""
        ...

    def is_wildcard(self, domain: str) -> Ask[bool]:
        """Do the name servers of a domain know a name that nobody can have given?"""
        ...

    def connect(self, visit: Visit, address: str, answered: Callable[[], None] | None) -> Connection:
        """A connection for a visit; nothing is sent before the first fetch."""
        ...

    def fetch(self, connection: Connection, request: Request) -> Ask[Page | None]:
        """Ask on a connection; None when a kept connection was dead before it was asked."""
        ...

    def close(self, connection: Connection) -> None:
        """The visit is over."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Wires:
    """What the loop is connected to."""

    clock: Clock
    network: Network
    frontier: LocalFrontier
    parser: Parser
    apart: Apart  # reads pages that may do harm here
    marker: Marker
    store: Store
    asker: Asker
    gate: Gate
    bus: Bus
    progress: Progress
    politeness: Politeness
    application: Hosted | None
    verify_tls: bool
    outage: Outage = field(default_factory=Outage)

    async def counts(self, visit: Visit, turn: Turn, page: Page) -> bool:
        """Does it count that nothing came of a request, or not all? It may be our own failure, or the name has another
        address that is tried next; then it is as if nothing had been asked.
        """
        site, reason = visit.site, page.reason
        if reason is Reason.TLS and page.tls and site.tls == "" and not self.verify_tls:
            return True  # its certificate is looked at once
        specials = self.frontier.specials
        if specials.of and not page.ours and not specials.may_retry(turn.page, reason or Reason.TIMEOUT):
            return True  # it may have been sent, and must not be twice
        ours = page.ours or await self._ours(visit, reason)
        if not ours and not self.outage.cause and await self._another(visit, reason):
            self.record(visit, turn, page, reason=reason, final=False, closed_at=self.clock.wall())
            return False
        about = None if turn.page < 0 else turn
        of_site = reason in UNREACHED or about is None
        if visit.errand is not None:
            site = self.frontier.owner(visit.errand) or site
        final = reason is None or self.frontier.gives_up(site, about, reason, of_site=of_site)
        return await self.outage.stands(
            self.frontier.before(site, about),
            reason or Reason.TIMEOUT,
            self.clock.now(),
            address=visit.address,
            ours=ours,
            final=final,
        )

    async def _ours(self, visit: Visit, reason: Reason | None) -> str:
        """What is wrong on our own side, where nobody said a word? Who answered for the name would still be there."""
        named = not self.network.proxied and literal_address(visit.site.host) is None
        return await self.network.silent() if named and reason in SILENCE and not self.outage.cause else ""

    async def _another(self, visit: Visit, reason: Reason | None) -> bool:
        """Was nobody at this address of a name, and has it another one?"""
        host = visit.site.host
        if reason not in _NOBODY_THERE or self.network.proxied or literal_address(host) is not None:
            return False
        return await self.network.another(host, visit.address, lambda other: self.gate.refusal(other) is None)

    def record(  # noqa: PLR0913
        self,
        visit: Visit,
        turn: Turn,
        page: Page,
        parsed: Parsed | None = None,
        *,
        reason: Reason | None,
        final: bool,
        closed_at: float | None = None,
        redirect: str | None = None,
        links: int = 0,
        pause: float = 0.0,
    ) -> None:
        """Write an exchange down: in the volume when it is final and there is an answer, as a row in any case."""
        began = self.clock.now()
        stored = None
        cut = cut_of(page)
        rest = None if closed_at is None else self.frontier.rest_after(visit, page.took, pause)
        if final and page.status and reason is not Reason.TYPE:
            stored = self.store.archive(turn, discreet(page) if self.asker.guarded else page, cut=cut)
        self.store.note_page(
            turn,
            visit.site.name,
            visit.number,
            page,
            parsed,
            stored,
            reason=reason,
            final=final,
            cut=cut or ("unspecified" if parsed is not None and not parsed.whole else ""),
            closed_at=closed_at,
            wait=rest,
            redirect=redirect,
            links=links,
        )
        self.bus.emit(
            Fetched(
                turn,
                visit.site.name,
                visit.number,
                page,
                parsed,
                reason,
                final,
                "" if stored is None else stored.digest,
                stored is not None and stored.duplicate_of != 0,
                rest,
            )
        )
        self.progress.counts.storing += self.clock.now() - began
