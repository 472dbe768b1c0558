"""What the loop is connected to, in one value: made by `weft.work` for a worker, and by tests for a virtual crawl."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from weft.clock import Clock
from weft.engine.asker import Asker
from weft.engine.drive import Ask
from weft.engine.gate import Gate
from weft.engine.hosting import Hosted
from weft.engine.hosting_apart import HostedApart
from weft.engine.marker import Marker
from weft.engine.outage import Outage
from weft.engine.progress import Progress
from weft.engine.stages import Stages
from weft.events import Bus
from weft.fetch.dns import Answer
from weft.fetch.transport import Connection, Request
from weft.frontier.local.frontier import LocalFrontier
from weft.frontier.local.visit import Visit
from weft.frontier.politeness import Politeness
from weft.model import Page
from weft.parse.apart import Apart
from weft.parse.page import Parser
from weft.store.store import Store


class Network(Protocol):
    """What the loop wants of the network: live, libcurl and c-ares; on a virtual clock, a script."""

    proxied: bool  # a proxy resolves names and opens connections for us
    lease: float  # behind this no request is sent, by `Clock.elapsed`: what we held may be another's

    def resolve(self, host: str) -> Ask[Answer]:
        """The addresses of a host."""
        ...

    def another(self, host: str, address: str, allowed: Callable[[str], bool]) -> Ask[bool]:
        """Nobody could connect to this address of a host: has it another one, for the next visit?"""
        ...

    def silent(self) -> Ask[str]:
        """What is wrong where no name server answers any more; "": nothing."""
        ...

    def denials_hold(self) -> Ask[bool]:
        """A name server says that a host does not exist: can that be believed?"""
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
        """Ask on a connection; None when a kept connection was dead before it was asked, or the lease is over."""
        ...

    def close(self, connection: Connection) -> None:
        """The visit is over."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Wires:
    """The parts that a loop uses. They are made elsewhere and owned by the worker; none is replaced during a run."""

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
    application: Hosted | HostedApart | None
    verify_tls: bool
    stages: Stages = field(default_factory=Stages)
    obey_noarchive: bool = False
    cloaking: float = 0.0  # share of the pages that are asked for as a browser would, too
    outage: Outage = field(default_factory=Outage)
