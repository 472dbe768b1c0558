"""Names to addresses. In: a host name. Out: its addresses or the reason why there are none, from a cache where it
still holds.

Answers are kept as long as they say (within bounds), negative ones too; a name is asked for once at a time, whoever
waits for it. Questions go to the system's servers (and its hosts file) or to the servers given, by c-ares.

A name may have many addresses, and some of them dead: whoever could not connect to one says so, and the others stand
before it from then on. IPv6 is asked for where a name has no IPv4 address, or none that lives.

That a name does not exist is believed where names that existed still do (`denials`).

No answer is no proof that a name is broken. Where nothing was heard from the name servers since it was asked for, they
are asked for the root, which they all know: if that is not answered either, it is our failure and not the name's.
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
from weft.fetch.denials import Denials
from weft.fetch.options import Naming
from weft.model import Reason


class Answer(msgspec.Struct, frozen=True, gc=False):
    """The addresses of a name, or why there are none."""

    addresses: tuple[str, ...]
    reason: Reason | None
    until: float  # monotonic time when it must be asked anew
    ours: str = ""  # what failed on our own side, where that is why there are none
    both: bool = False  # IPv6 was asked for as well
    unregistered: bool = False  # there is neither such a name nor one below it (NXDOMAIN, RFC 8020)


_NO_SUCH_NAME = (pycares.errno.ARES_ENOTFOUND,)
_NOT_FOUND = (
    _NO_SUCH_NAME,
    (pycares.errno.ARES_ENODATA,),
    (pycares.errno.ARES_EBADNAME,),
)

_TIMED_OUT = (pycares.errno.ARES_ETIMEOUT,)

_UNHEARD = (  # nothing came from any name server
    _TIMED_OUT,
    (pycares.errno.ARES_ECONNREFUSED,),
    (pycares.errno.ARES_EFILE,),
    (pycares.errno.ARES_ENOMEM,),
)

_SILENT = "no name server answers"
_FRESH = 2.0  # seconds after which a name server that answered is asked again whether it is there
_FORGETS = 0.25  # seconds that c-ares has to forget what it knows: it does so in a thread of its own

# c-ares keeps answers of its own, without a limit, some 1.3 KB each: they are thrown away after so many questions.
_FLUSHED = 10_000

Done = Callable[[Answer], None]


def absurd_name(domain: str, chance: random.Random) -> str:
    """A name below a domain that nobody can have: who has an address for it has one for any name (P3 4.1)."""
    return f"{''.join(chance.choices('bcdfghjklmnpqrstvwxz', k=20))}.{domain}"


class Resolver:
    """A cache in front of the name servers."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        clock: Clock,
        settings: Naming,
        *,
        keep: int = 200_000,
        on_answer: Callable[[float], None] = lambda _seconds: None,
    ) -> None:
        self._loop = loop
        self._clock = clock
        self._stopped = False
        self._settings = settings
        self._keep = keep
        self._took = on_answer  # told how long a name took that had to be asked for
        self._cache: dict[str, Answer] = {}
        self._waiting: dict[str, list[Done]] = {}
        self._patience = settings.dns_timeout * settings.dns_tries
        self._since: dict[str, float] = {}  # when a name was first asked for, of those that wait
        self._heard_at = -1.0  # when a name server last answered, whatever it said
        self._suspected: list[Callable[[bool], None]] = []  # told whether the name servers are there
        self._dead: dict[str, set[str]] = {}  # by name: addresses that nobody could connect to
        self._flushed_at = -1.0
        self._denials = Denials(self._exists, now=loop.time, later=loop.call_later)
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

    def another(self, host: str, address: str, allowed: Callable[[str], bool], done: Callable[[bool], None]) -> None:
        """Nobody could connect to this address of a name: has it another one, which the next to ask will be given?

        When all of them have failed they are as good as each other again.
        """
        answer = self._cache.get(host)
        if answer is None or not answer.addresses:
            done(False)
            return
        if len(self._dead) >= self._keep:
            del self._dead[next(iter(self._dead))]
        dead = self._dead.setdefault(host, set())
        dead.add(address)
        if any(other not in dead and allowed(other) for other in answer.addresses):
            self._cache[host] = self._sorted(host, answer)
            done(True)
        elif answer.both:
            del self._dead[host]
            done(False)
        else:
            self._ask_both(host, lambda: self.another(host, address, allowed, done))

    def silent(self, done: Callable[[str], None]) -> None:
        """Call `done` with what is wrong where the name servers, that answered before, do not any more; "": nothing."""
        if self._heard_at < 0 or self._loop.time() - self._heard_at < _FRESH:
            done("")
        else:
            self._suspect(lambda there: done("" if there else _SILENT))

    def denials_hold(self, done: Callable[[bool], None]) -> None:
        """A name was denied: call `done` with whether that can be believed."""
        self._denials.true(done)

    def _exists(self, host: str, done: Callable[[bool], None]) -> None:
        """Is there an address for a name that had one? It is asked for past our cache, and that of c-ares."""

        def on_answer(future: asyncio.Future[Any]) -> None:
            if not self._stopped:
                failed = future.cancelled() or future.exception() is not None
                done(not failed and bool(future.result().nodes))

        def ask() -> None:
            if not self._stopped:
                self.questions += 1
                asked = self._ares.getaddrinfo(host, family=socket.AF_UNSPEC, type=socket.SOCK_STREAM)
                asked.add_done_callback(on_answer)

        self._flushed_at = -1.0  # whoever looks at denials does so seldom enough
        self._flush()
        self._loop.call_later(_FORGETS, ask)

    def mistrust(self, host: str) -> None:
        """The answer for a name cannot be true: it is asked for anew next time."""
        self._cache.pop(host, None)
        self._flush()

    def forget_failures(self) -> None:
        """Ask anew for every name that could not be resolved."""
        for host in [host for host, answer in self._cache.items() if not answer.addresses]:
            del self._cache[host]
        self._flush()

    def is_wildcard(self, domain: str, chance: random.Random, done: Callable[[bool], None]) -> None:
        """Does the domain answer for names that nobody can have registered (P3 4.1)?"""
        self.resolve(absurd_name(domain, chance), lambda answer: done(bool(answer.addresses)))

    async def stop(self) -> None:
        """Give the sockets back."""
        self._stopped = True
        await self._ares.close()

    def _ask(self, host: str, family: socket.AddressFamily) -> None:
        self.questions += 1
        if self.questions % _FLUSHED == 0:
            self._flush()
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
        unheard = error is not None and error.args[:1] in _UNHEARD
        if error is not None and not unheard:
            self._heard_at = self._loop.time()
        if error is None:
            nodes = [node for node in future.result().nodes if node.family == family]
            if any(node.ttl for node in nodes):  # else it comes from the hosts file
                self._heard_at = self._loop.time()
                self._denials.exists(host)
            if nodes:
                seconds = min(max(min(node.ttl for node in nodes), settings.dns_shortest), settings.dns_longest)
                addresses = tuple(node.addr[0].decode() for node in nodes)
                both = family == socket.AF_INET6
                self._settle(host, self._sorted(host, Answer(addresses, None, now + seconds, both=both)))
                return
        elif error.args[:1] == _TIMED_OUT and self._loop.time() - self._since[host] < self._patience:
            # c-ares shortens its timeouts to a few times what the server took recently, and gives up within two seconds
            # on one that was fast and has a short fit of slowness.
            self._ask(host, family)
            return
        missing = error is None or error.args[:1] in _NOT_FOUND
        if missing and family == socket.AF_INET:
            self._ask(host, socket.AF_INET6)
            return
        if unheard and self._heard_at < self._since[host]:
            self._suspect(functools.partial(self._on_suspicion, host))
            return
        reason = Reason.DNS_NOT_FOUND if missing else Reason.DNS_FAILED
        # A server that does not answer now may do so soon: its silence is kept for a shorter time.
        until = now + (settings.dns_negative if missing else settings.dns_negative / 10)
        unregistered = error is not None and error.args[:1] == _NO_SUCH_NAME
        self._settle(host, Answer((), reason, until, unregistered=unregistered))

    def _ask_both(self, host: str, then: Callable[[], None]) -> None:
        """Add the IPv6 addresses of a name to those that are known; what is wrong with them is no matter."""

        def on_answer(future: asyncio.Future[Any]) -> None:
            if self._stopped:
                return
            answer = self._cache.get(host)
            if answer is not None:
                failed = future.cancelled() or future.exception() is not None
                nodes = [] if failed else [node for node in future.result().nodes if node.family == socket.AF_INET6]
                addresses = answer.addresses + tuple(node.addr[0].decode() for node in nodes)
                self._cache[host] = msgspec.structs.replace(answer, addresses=addresses, both=True)
            then()

        self.questions += 1
        self._ares.getaddrinfo(host, family=socket.AF_INET6, type=socket.SOCK_STREAM).add_done_callback(on_answer)

    def _sorted(self, host: str, answer: Answer) -> Answer:
        """An answer with the addresses last that nobody could connect to."""
        dead = self._dead.get(host)
        if not dead:
            return answer
        return msgspec.structs.replace(answer, addresses=tuple(sorted(answer.addresses, key=dead.__contains__)))

    def _suspect(self, done: Callable[[bool], None]) -> None:
        """Find out whether the name servers are there at all: do they answer for the root, whatever they say?"""
        self._suspected.append(done)
        if len(self._suspected) == 1:
            self._ares.query_dns(".", "NS").add_done_callback(self._on_root)

    def _on_root(self, future: asyncio.Future[Any]) -> None:
        if self._stopped:
            return
        error = asyncio.CancelledError() if future.cancelled() else future.exception()
        there = error is None or error.args[:1] not in _UNHEARD
        if there:
            self._heard_at = self._loop.time()
        suspected, self._suspected = self._suspected, []
        for done in suspected:
            done(there)

    def _on_suspicion(self, host: str, there: bool) -> None:
        """It is known now whose failure it is that a name could not be resolved; ours is not kept."""
        now = self._clock.now()
        if there:
            self._settle(host, Answer((), Reason.DNS_FAILED, now + self._settings.dns_negative / 10))
        else:
            self._settle(host, Answer((), Reason.DNS_FAILED, now, _SILENT))

    def _flush(self) -> None:
        """Have c-ares forget what it knows; once a second is enough."""
        now = self._loop.time()
        if now - self._flushed_at >= 1.0:
            self._flushed_at = now
            self._ares._channel.reinit()  # noqa: SLF001  no public way leads to it

    def _settle(self, host: str, answer: Answer) -> None:
        self._cache.pop(host, None)
        if len(self._cache) >= self._keep:
            del self._cache[next(iter(self._cache))]
        self._cache[host] = answer
        self._took(self._loop.time() - self._since.pop(host))
        for done in self._waiting.pop(host):
            done(answer)
