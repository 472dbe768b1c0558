"""Names to addresses. In: a host name. Out: its addresses or the reason why there are none, from a cache where it
still holds.

Answers are kept as long as they say (within bounds), negative ones too; a name is asked for once at a time, whoever
waits for it. Questions go to the system's servers (and its hosts file) or to the servers given, by c-ares.
"""

from __future__ import annotations

import asyncio
import functools
import random
import socket
from collections.abc import Callable
from typing import Any

import aiodns
import msgspec
import pycares

from weft.clock import Clock
from weft.errors import UsageError
from weft.fetch.options import Naming
from weft.model import Reason


class Answer(msgspec.Struct, frozen=True, gc=False):
    """The addresses of a name, or why there are none."""

    addresses: tuple[str, ...]
    reason: Reason | None
    until: float  # monotonic time when it must be asked anew


_NOT_FOUND = (
    (pycares.errno.ARES_ENOTFOUND,),
    (pycares.errno.ARES_ENODATA,),
    (pycares.errno.ARES_EBADNAME,),
)

_TIMED_OUT = (pycares.errno.ARES_ETIMEOUT,)

# c-ares keeps answers of its own, without a limit, some 1.3 KB each: they are thrown away after so many questions.
_FLUSHED = 10_000

Done = Callable[[Answer], None]


class Resolver:
    """A cache in front of the name servers."""

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Clock, settings: Naming, *, keep: int = 200_000) -> None:
        self._loop = loop
        self._clock = clock
        self._stopped = False
        self._settings = settings
        self._keep = keep
        self._cache: dict[str, Answer] = {}
        self._waiting: dict[str, list[Done]] = {}
        self._patience = settings.dns_timeout * settings.dns_tries
        self._since: dict[str, float] = {}  # when a name was first asked for, of those that wait
        self.questions = 0
        # No `lookups`, `domains` or `resolvconf_path` here: pycares 5.2 gives c-ares a text that is freed before it is
        # read, and at times no name can be resolved afterwards.
        self._ares = aiodns.DNSResolver(
            loop=loop, timeout=settings.dns_timeout, tries=settings.dns_tries, flags=pycares.ARES_FLAG_NOSEARCH
        )
        if settings.dns:
            try:
                self._ares.nameservers = list(settings.dns)
            except (pycares.AresError, UnicodeError, ValueError) as error:
                raise UsageError(
                    f"cannot use the name servers {', '.join(settings.dns)}: {error}",
                    todo="give them as --dns ADDRESS or --dns ADDRESS:PORT",
                ) from error

    def known(self, host: str) -> Answer | None:
        """The answer for a name, if it is there and still holds."""
        answer = self._cache.get(host)
        if answer is not None and answer.until > self._clock.now():
            return answer
        return None

    def resolve(self, host: str, done: Done) -> None:
        """Call `done` with the answer for a name: at once when it is known, later otherwise."""
        answer = self.known(host)
        if answer is not None:
            done(answer)
        elif host in self._waiting:
            self._waiting[host].append(done)
        else:
            self._waiting[host] = [done]
            self._since[host] = self._loop.time()
            self._ask(host, socket.AF_INET)

    def is_wildcard(self, domain: str, chance: random.Random, done: Callable[[bool], None]) -> None:
        """Does the domain answer for names that nobody can have registered (P3 4.1)?"""
        absurd = "".join(chance.choices("bcdfghjklmnpqrstvwxz", k=20))
        self.resolve(f"{absurd}.{domain}", lambda answer: done(bool(answer.addresses)))

    async def stop(self) -> None:
        """Give the sockets back."""
        self._stopped = True
        await self._ares.close()

    def _ask(self, host: str, family: socket.AddressFamily) -> None:
        self.questions += 1
        if self.questions % _FLUSHED == 0:
            self._ares._channel.reinit()  # noqa: SLF001  no public way leads to it
        try:
            future = self._ares.getaddrinfo(host, family=family, type=socket.SOCK_STREAM)
        except (UnicodeError, ValueError):  # no name at all
            self._settle(host, Answer((), Reason.DNS_NOT_FOUND, self._clock.now() + self._settings.dns_negative))
            return
        future.add_done_callback(functools.partial(self._on_answer, host, family))

    def _on_answer(self, host: str, family: socket.AddressFamily, future: asyncio.Future[Any]) -> None:
        if self._stopped:  # nobody waits any more
            return
        settings, now = self._settings, self._clock.now()
        error = asyncio.CancelledError() if future.cancelled() else future.exception()
        if error is None:
            nodes = [node for node in future.result().nodes if node.family == family]
            if nodes:
                seconds = min(max(min(node.ttl for node in nodes), settings.dns_shortest), settings.dns_longest)
                self._settle(host, Answer(tuple(node.addr[0].decode() for node in nodes), None, now + seconds))
                return
        elif error.args[:1] == _TIMED_OUT and self._loop.time() - self._since[host] < self._patience:
            # c-ares shortens its timeouts to a few times what the server took of late, and gives up within two seconds
            # on one that was fast and has a short fit of slowness.
            self._ask(host, family)
            return
        missing = error is None or error.args[:1] in _NOT_FOUND
        if missing and family == socket.AF_INET:
            self._ask(host, socket.AF_INET6)
            return
        reason = Reason.DNS_NOT_FOUND if missing else Reason.DNS_FAILED
        # A server that does not answer now may do so soon: its silence is kept for a shorter time.
        self._settle(host, Answer((), reason, now + (settings.dns_negative if missing else settings.dns_negative / 10)))

    def _settle(self, host: str, answer: Answer) -> None:
        self._cache.pop(host, None)
        if len(self._cache) >= self._keep:
            del self._cache[next(iter(self._cache))]
        self._cache[host] = answer
        del self._since[host]
        for done in self._waiting.pop(host):
            done(answer)
