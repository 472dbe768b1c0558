"""The resolver against a name server on a local port, which notes what it is asked."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import struct
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from tests.live import live

from weft.clock import VirtualClock
from weft.errors import UsageError
from weft.fetch.dns import Answer, Resolver
from weft.fetch.options import Naming
from weft.model import Reason

NOERROR, SERVFAIL, NXDOMAIN, REFUSED = 0, 2, 3, 5
A, AAAA = 1, 28


@dataclass
class Zone(asyncio.DatagramProtocol):
    """A name server: by name and type, the addresses with their TTL, or an answer's code; None is silence."""

    names: dict[tuple[str, int], list[tuple[str, int]] | int | None]
    asked: list[tuple[str, int]] = field(default_factory=list)
    deaf: int = 0  # questions that it will not hear
    transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is there."""
        self.transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str | Any, int]) -> None:
        """Answer a question."""
        labels, at = [], 12
        while data[at]:
            labels.append(data[at + 1 : at + 1 + data[at]].decode())
            at += 1 + data[at]
        (kind,) = struct.unpack_from(">H", data, at + 1)
        name = ".".join(labels).lower()
        self.asked.append((name, kind))
        found = self.names.get((name, kind), NXDOMAIN)
        if found is None:
            return
        if self.deaf:
            self.deaf -= 1
            return
        code, addresses = (found, []) if isinstance(found, int) else (NOERROR, found)
        answer = struct.pack(">2s5H", data[:2], 0x8180 | code, 1, len(addresses), 0, 0) + data[12 : at + 5]
        for address, ttl in addresses:
            packed = socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)
            answer += b"\xc0\x0c" + struct.pack(">HHIH", A if len(packed) == 4 else AAAA, 1, ttl, len(packed)) + packed
        assert self.transport is not None
        self.transport.sendto(answer, addr)


@dataclass
class Bench:
    """A resolver with its server and its clock."""

    zone: Zone
    clock: VirtualClock
    resolver: Resolver

    async def ask(self, host: str) -> Answer:
        """Ask and wait."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.resolver.resolve(host, future.set_result)
        return await future


@contextlib.asynccontextmanager
async def bench(
    names: dict[tuple[str, int], list[tuple[str, int]] | int | None], *, keep: int = 100, **settings: Any
) -> AsyncIterator[Bench]:
    """A resolver that asks a server which knows these names."""
    loop = asyncio.get_running_loop()
    zone = Zone(names)
    transport, _ = await loop.create_datagram_endpoint(lambda: zone, local_addr=("127.0.0.1", 0))
    port = transport.get_extra_info("sockname")[1]
    clock = VirtualClock(1000.0)
    settings.setdefault("dns_timeout", 3.0)
    naming = Naming(dns=(f"127.0.0.1:{port}",), dns_tries=1, **settings)
    resolver = Resolver(loop, clock, naming, keep=keep)
    try:
        yield Bench(zone, clock, resolver)
    finally:
        await resolver.stop()
        transport.close()


@live
async def test_answer__holds_as_long_as_it_says() -> None:
    """A second asker is served from the cache until the shortest TTL of the answer has passed, and not longer."""
    async with bench({("a.test", A): [("192.0.2.1", 300), ("192.0.2.2", 120)]}) as dns:
        answer = await dns.ask("a.test")
        assert set(answer.addresses) == {"192.0.2.1", "192.0.2.2"}
        assert (answer.reason, answer.until) == (None, 1120.0)
        dns.clock.advance(119.0)
        assert dns.resolver.known("a.test") == answer
        assert await dns.ask("a.test") == answer
        assert dns.resolver.questions == 1
        dns.clock.advance(1.0)
        assert dns.resolver.known("a.test") is None
        await dns.ask("a.test")
        assert dns.resolver.questions == 2


@pytest.mark.parametrize(("ttl", "kept"), [(0, 60.0), (100, 100.0), (10_000_000, 86_400.0)])
@live
async def test_answer__holds_within_bounds(ttl: int, kept: float) -> None:
    """A server that says 0 is not asked for every page, one that says for ever is asked again tomorrow."""
    async with bench({("a.test", A): [("192.0.2.1", ttl)]}) as dns:
        assert (await dns.ask("a.test")).until == 1000.0 + kept


@live
async def test_answer__ipv6_where_there_is_no_ipv4() -> None:
    """The old address family first, the new one where a name has no other, in two questions."""
    names = {
        ("six.test", A): NOERROR,
        ("six.test", AAAA): [("2001:db8::1", 300)],
        ("both.test", A): [("192.0.2.1", 300)],
    }
    async with bench(names) as dns:  # type: ignore[arg-type]
        assert (await dns.ask("six.test")).addresses == ("2001:db8::1",)
        assert dns.zone.asked == [("six.test", A), ("six.test", AAAA)]
        assert (await dns.ask("both.test")).addresses == ("192.0.2.1",)
        assert dns.zone.asked[2:] == [("both.test", A)]


@live
async def test_negative__answers_are_kept_too() -> None:
    """A name that does not exist, or has no address, is not asked for again at once."""
    async with bench({("empty.test", A): NOERROR, ("empty.test", AAAA): NOERROR}, dns_negative=300.0) as dns:
        for host in ("missing.test", "empty.test"):
            answer = await dns.ask(host)
            assert answer == Answer((), Reason.DNS_NOT_FOUND, 1300.0, unregistered=host == "missing.test")
            questions = dns.resolver.questions
            assert await dns.ask(host) == answer
            assert dns.resolver.questions == questions
        dns.clock.advance(300.0)
        before = dns.resolver.questions
        await dns.ask("missing.test")
        assert dns.resolver.questions == before + 2


@live
async def test_failure__a_fast_server_may_be_slow_for_a_moment() -> None:
    """A server that was fast and then keeps silent for a second is asked again, as long as the timeout allows."""
    names = {(f"{number}.test", A): [("192.0.2.1", 300)] for number in range(20)}
    async with bench(names) as dns:  # type: ignore[arg-type]
        for number in range(20):
            await dns.ask(f"{number}.test")
        dns.zone.deaf = 3  # c-ares waits for 0.25 s by now
        dns.zone.names["late.test", A] = [("192.0.2.2", 300)]
        assert (await dns.ask("late.test")).addresses == ("192.0.2.2",)
        assert dns.zone.deaf == 0


@pytest.mark.parametrize("fault", [SERVFAIL, REFUSED, None], ids=["servfail", "refused", "silent"])
@live
async def test_failure__is_not_the_same_as_no_name(fault: int | None) -> None:
    """A server that fails, refuses or keeps silent gives another reason, kept for a shorter time."""
    async with bench({("a.test", A): fault}, dns_negative=300.0, dns_timeout=0.3) as dns:
        assert await dns.ask("a.test") == Answer((), Reason.DNS_FAILED, 1030.0)
        assert all(kind == A for name, kind in dns.zone.asked if name)  # the root's name is empty


@live
async def test_question__is_asked_once_for_all_who_wait() -> None:
    """A hundred askers at once, one question, and each gets the answer once."""
    async with bench({("a.test", A): [("192.0.2.1", 300)]}) as dns:
        answers = await asyncio.gather(*(dns.ask("a.test") for _ in range(100)))
        assert {answer.addresses for answer in answers} == {("192.0.2.1",)}
        assert dns.resolver.questions == len(dns.zone.asked) == 1


@live
async def test_question__a_known_answer_comes_at_once() -> None:
    """No turn of the event loop lies between the question and an answer that is there."""
    async with bench({("a.test", A): [("192.0.2.1", 300)]}) as dns:
        await dns.ask("a.test")
        answers: list[Answer] = []
        dns.resolver.resolve("a.test", answers.append)
        assert answers[0].addresses == ("192.0.2.1",)


@pytest.mark.parametrize(
    "host",
    [
        *[
            "under_score.test",
            "UPPER.test",
            "xn--bcher-kva.test",
            "xn--.test",
            "-dash-.test",
            "trailing.test.",
            "single",
        ],
        *["", ".", "..", "a..b", " ", "a b.test", "a" * 64 + ".test", "x." * 130 + "test", "a" * 300, "*.test", "a\0b"],
        *["é.test", "\ud800.test", "\udce9.test", "1.2.3", "[::1]", "a.onion"],
    ],
)
@live
async def test_host__any_text_gets_an_answer(host: str) -> None:
    """Whatever a link said, there is an answer with an address or a reason, and nobody waits for ever."""
    known = ("under_score.test", "upper.test", "xn--bcher-kva.test", "-dash-.test", "trailing.test", "single")
    async with bench({(name, A): [("192.0.2.1", 300)] for name in known}) as dns:
        answer = await dns.ask(host)
        if host.lower().rstrip(".") in known:
            assert answer.addresses == ("192.0.2.1",)
        else:
            assert answer.addresses == ()
            assert answer.reason in (Reason.DNS_NOT_FOUND, Reason.DNS_FAILED)
        assert await dns.ask(host) == answer


@live
async def test_cache__is_bounded() -> None:
    """It holds so many names and no more; the oldest make room, and a name that is asked anew is young again."""
    names = {(f"n{number}.test", A): [("192.0.2.1", 300)] for number in range(30)}
    async with bench(names, keep=10) as dns:  # type: ignore[arg-type]
        for number in range(30):
            await dns.ask(f"n{number}.test")
            assert len(dns.resolver._cache) <= 10
        assert [dns.resolver.known(f"n{number}.test") is not None for number in (19, 20, 29)] == [False, True, True]
        dns.clock.advance(301.0)
        await dns.ask("n20.test")
        assert len(dns.resolver._cache) == 10
        await dns.ask("n0.test")
        assert dns.resolver.known("n20.test") is not None


@live
async def test_cache__of_the_library_does_not_grow_beside_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """What c-ares remembers is thrown away now and then; questions under way are answered all the same."""
    monkeypatch.setattr("weft.fetch.dns._FLUSHED", 3)
    async with bench({(f"n{number}.test", A): [("192.0.2.1", 300)] for number in range(9)}) as dns:
        answers = await asyncio.gather(*(dns.ask(f"n{number}.test") for number in range(9)))
        assert all(answer.addresses for answer in answers)
        assert len(dns.zone.asked) == 9
        for _ in range(100):  # it is done by a thread of the library's
            dns.clock.advance(301.0)
            assert (await dns.ask("n0.test")).addresses
            if len(dns.zone.asked) > 9:
                break
            await asyncio.sleep(0.01)
        assert dns.zone.asked[9:] == [("n0.test", A)]


@live
async def test_wildcard__is_a_domain_that_answers_for_anything() -> None:
    """A name that nobody can have registered is asked for; it says which domains are wildcards."""
    loop = asyncio.get_running_loop()
    async with bench({}) as dns:
        name = "".join(random.Random(7).choices("bcdfghjklmnpqrstvwxz", k=20))
        dns.zone.names[f"{name}.wild.test", A] = [("192.0.2.1", 300)]
        for domain, expected in (("wild.test", True), ("tame.test", False)):
            future: asyncio.Future[bool] = loop.create_future()
            dns.resolver.is_wildcard(domain, random.Random(7), future.set_result)
            assert await future is expected


@live
async def test_servers__that_cannot_be_used_are_refused() -> None:
    """A wrong server address is a wrong setting, said so before anything is crawled."""
    for server in ("nonsense", "192.0.2.1:99999", "192.0.2.1:x", "localhost:53"):
        with pytest.raises(UsageError) as caught:
            Resolver(asyncio.get_running_loop(), VirtualClock(), Naming(dns=(server,)))
        assert server in caught.value.what
        assert "--dns ADDRESS" in caught.value.todo


@live
async def test_stop__gives_the_sockets_back() -> None:
    """Also with a question under way, whose asker hears no more."""
    async with bench({("a.test", A): None}) as dns:
        answers: list[Answer] = []
        dns.resolver.resolve("a.test", answers.append)
        await asyncio.sleep(0)
        await dns.resolver.stop()
        assert answers == []


@live
async def test_denial__is_believed_where_known_names_are_still_known() -> None:
    """Past the cache, and past that of c-ares: who denies everything from some moment on is found out."""
    async with bench({("a.test", A): [("192.0.2.1", 300)]}) as dns:

        async def hold() -> bool:
            future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
            dns.resolver.denials_hold(future.set_result)
            return await future

        assert (await dns.ask("gone.test")).unregistered
        assert not await hold(), "nothing was ever found"
        assert (await dns.ask("a.test")).addresses
        assert await hold()
        dns.zone.names.clear()
        assert (await dns.ask("a.test")).addresses, "from the cache"
        assert not await hold()
