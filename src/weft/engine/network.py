"""The network as the loop sees it, live: names by c-ares, pages by libcurl."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from functools import partial

from weft.clock import Clock
from weft.engine.drive import Ask
from weft.fetch.dns import Answer, Resolver
from weft.fetch.options import Fetching
from weft.fetch.transport import Connection, Request, Transport
from weft.frontier.local.visit import Visit
from weft.model import Page
from weft.urls import host_of


class LiveNetwork:
    """The network of a running worker, as the loop asks it: names by c-ares, pages by libcurl.

    The worker owns it. A visit has one connection, and a connection one visit at a time.
    """

    def __init__(
        self, transport: Transport, resolver: Resolver, settings: Fetching, chance: random.Random, clock: Clock
    ) -> None:
        self._transport = transport
        self._elapsed = clock.elapsed
        self.lease = math.inf
        self._resolver = resolver
        self._chance = chance  # for absurd names
        self._verify = settings.verify_tls
        self.proxied = bool(settings.proxy)

    def resolve(self, host: str) -> Ask[Answer]:
        """The addresses of a host."""
        return Ask(partial(self._resolver.resolve, host))

    def another(self, host: str, address: str, allowed: Callable[[str], bool]) -> Ask[bool]:
        """Nobody could connect to this address of a host: has it another one, for the next visit?"""
        return Ask(partial(self._resolver.another, host, address, allowed))

    def silent(self) -> Ask[str]:
        """What is wrong where no name server answers any more; "": nothing."""
        return Ask(self._resolver.silent)

    def denials_hold(self) -> Ask[bool]:
        """Can it be believed that a host does not exist?"""
        return Ask(self._resolver.denials_hold)

    def mistrust(self, host: str) -> None:
        """The answer for a host cannot be true: ask anew next time."""
        self._resolver.mistrust(host)

    def refresh(self) -> None:
        """Ask anew for all hosts that could not be resolved."""
        self._resolver.forget_failures()

    def is_wildcard(self, domain: str) -> Ask[bool]:
        """Do the name servers of a domain know a name that nobody can have given? With a proxy nobody here can say."""
        if self.proxied:
            return Ask(lambda done: done(False))
        return Ask(partial(self._resolver.is_wildcard, domain, self._chance))

    def connect(self, visit: Visit, address: str, answered: Callable[[], None] | None) -> Connection:
        """A connection for a visit. A site's certificate is verified once, or each time where that was asked for."""
        site = visit.site
        port = int(site.name[len(host_of(site.name)) + 1 :] or (443 if visit.scheme == "https" else 80))
        verify = visit.scheme == "https" and (self._verify or site.tls == "")
        connection = Connection(site.host, port, "" if self.proxied else address, verify=verify, answered=answered)
        connection.tls = "" if verify else site.tls if visit.scheme == "https" else ""
        return connection

    def fetch(self, connection: Connection, request: Request) -> Ask[Page | None]:
        """Ask on a connection; not behind the lease, whatever this process has waited for since it looked."""
        if self._elapsed() > self.lease:
            return Ask(lambda done: done(None))
        return Ask(partial(self._transport.fetch, connection, request))

    def close(self, connection: Connection) -> None:
        """The visit is over."""
        self._transport.close(connection)
