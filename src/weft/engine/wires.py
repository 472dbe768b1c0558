"""What the loop is connected to, and how an exchange is written down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from weft.clock import Clock
from weft.engine.drive import Ask
from weft.engine.exchange import Asker, cut_of, discreet
from weft.engine.gate import Gate
from weft.engine.hosting import Hosted
from weft.engine.marker import Marker
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


class Network(Protocol):
    """What the loop wants of the network: live, libcurl and c-ares; on a virtual clock, a script."""

    proxied: bool  # a proxy resolves names and opens connections for us

    def resolve(self, host: str) -> Ask[Answer]:
        """The addresses of a host."""
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
            cut=cut,
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
