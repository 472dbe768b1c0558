"""The transport over real sockets: a raw server on loopback plays each part and notes what it sees."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import gzip
import os
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
import trustme
import uvloop
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from tests.live import live
from tests.patience import PATIENCE

from weft.clock import SystemClock
from weft.fetch.options import Fetching
from weft.fetch.transport import Connection, Request, Transport
from weft.model import Page, Reason
from weft.parse.media import is_html

AGENT = "weft/0 (+test)"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
HELLO = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello"


@dataclass
class Peer:
    """One connection as the server sees it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    received: bytes = b""
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def request(self) -> bytes:
        """The next request's bytes; empty when the client has gone."""
        try:
            head = await self.reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            self.ended.set()
            return b""
        self.received += head
        self.asked.set()
        return head

    async def send(self, data: bytes) -> None:
        """Send what a server would."""
        self.writer.write(data)
        with contextlib.suppress(ConnectionError):
            await self.writer.drain()

    def reset(self) -> None:
        """Break the connection off with a RST."""
        linger = (1).to_bytes(4, "little") + (0).to_bytes(4, "little")
        self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.writer.transport.abort()


Script = Callable[[Peer], Awaitable[None]]


@dataclass
class Server:
    """Accepts, plays its script on each connection, and counts."""

    port: int = 0
    peers: list[Peer] = field(default_factory=list)
    arrived: asyncio.Queue[Peer] = field(default_factory=asyncio.Queue)
    open: int = 0
    most_open: int = 0


@contextlib.asynccontextmanager
async def serving(script: Script, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    """A server on a port of its own."""
    server = Server()
    playing: set[asyncio.Task[Any]] = set()

    async def on_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        playing.add(cast("asyncio.Task[Any]", asyncio.current_task()))
        peer = Peer(reader, writer)
        server.peers.append(peer)
        server.arrived.put_nowait(peer)
        server.open += 1
        server.most_open = max(server.most_open, server.open)
        with contextlib.suppress(asyncio.CancelledError, ConnectionError, ssl.SSLError):
            try:
                await script(peer)
            finally:
                server.open -= 1
                writer.close()
                await writer.wait_closed()

    listener = await asyncio.start_server(on_connection, host, 0, ssl=tls, limit=1 << 20)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()
        for task in playing:
            task.cancel()
        await asyncio.gather(*playing, return_exceptions=True)


def answering(*answers: bytes) -> Script:
    """A script: these answers in turn, one a request, then the last one for ever; it closes when the client does."""

    async def play(peer: Peer) -> None:
        number = 0
        while await peer.request():
            await peer.send(answers[min(number, len(answers) - 1)])
            number += 1

    return play


def once(answer: bytes) -> Script:
    """A script: one request, this answer, end of connection."""

    async def play(peer: Peer) -> None:
        if await peer.request():
            await peer.send(answer)

    return play


def stalling(answer: bytes) -> Script:
    """A script: one request, this much of an answer, and no more until the client gives up."""

    async def play(peer: Peer) -> None:
        await peer.request()
        await peer.send(answer)
        await peer.request()

    return play


def resetting(answer: bytes) -> Script:
    """A script: one request, this much of an answer, then a RST once it has been read."""

    async def play(peer: Peer) -> None:
        await peer.request()
        await peer.send(answer)
        await asyncio.sleep(0.05)  # a RST overtakes what the other side has not read yet
        peer.reset()

    return play


@dataclass
class Client:
    """A transport with the few steps that tests take."""

    transport: Transport

    def connect(self, port: int, address: str = "127.0.0.1", *, verify: bool = False) -> Connection:
        """A connection, not opened yet."""
        return Connection("site.test", port, address, verify=verify, answered=None)

    def start(self, connection: Connection, url: str, **changes: Any) -> asyncio.Future[Page | None]:
        """Ask; the answer comes as a future."""
        host, slash, path = url.partition("//")[2].partition("/")
        request = Request(
            url=url,
            target=slash + path,
            headers=[f"Host: {host}", f"User-Agent: {AGENT}", "Accept: */*", *changes.get("headers", ())],
            max_bytes=changes.get("max_bytes", 1_000_000),
            accepts=changes.get("accepts"),
            last=changes.get("last", False),
            sniffs=changes.get("sniffs"),
            limits=changes.get("limits", {}),
        )
        future: asyncio.Future[Page | None] = asyncio.get_running_loop().create_future()
        self.transport.fetch(connection, request, future.set_result)
        return future

    async def ask(self, connection: Connection, path: str = "/", **changes: Any) -> Page | None:
        """Ask and wait for what comes."""
        scheme = changes.pop("scheme", "http")
        return await self.start(connection, f"{scheme}://{connection.host}:{connection.port}{path}", **changes)

    async def page(self, connection: Connection, path: str = "/", **changes: Any) -> Page:
        """Ask and wait for a page."""
        page = await self.ask(connection, path, **changes)
        assert page is not None
        return page

    def close(self, connection: Connection) -> None:
        """End the visit."""
        self.transport.close(connection)


@contextlib.asynccontextmanager
async def client(**settings: Any) -> AsyncIterator[Client]:
    """A transport that is stopped at the end."""
    made = Transport(asyncio.get_running_loop(), SystemClock(), Fetching(**settings))
    try:
        yield Client(made)
    finally:
        made.stop()


async def fetch_once(script: Script, *, settings: dict[str, Any] | None = None, **changes: Any) -> Page:
    """One page from one script."""
    async with serving(script) as server, client(**(settings or {})) as weft:
        connection = weft.connect(server.port)
        page = await weft.page(connection, **changes)
        weft.close(connection)
        return page


def descriptors() -> int:
    """Open files and sockets of this process."""
    return len(list(Path("/proc/self/fd").iterdir()))


# --- what is sent ---


@live
async def test_request__is_recorded_byte_for_byte_as_the_server_receives_it() -> None:
    """Whatever the path, the query and the headers, `Page.request` is what came out of the server's socket."""
    paths = [
        "/",
        "/?",
        "/p?",
        "/a//b;c=1?d=e;f",
        "/caf%C3%A9?q=%E9&x=%20+&empty=",
        "/a|b[c]^d`?|[]^`{}\\'",
        "/~u/$,!*()+=&:@",
        "/%zz%?%",
        "/?a=b?c=/../x",
        "/" + "x" * 3000,
    ]
    async with serving(answering(HELLO)) as server, client() as weft:
        connection = weft.connect(server.port)
        asked = [await weft.page(connection, path) for path in paths]
        asked.append(await weft.page(connection, "/c", headers=["Cookie: a=b; c=d", "X-Two:  spaces", "Referer: x"]))
        asked.append(await weft.page(connection, "/last", headers=["Connection: close"], last=True))
        assert len(server.peers) == 1
        assert b"".join(page.request for page in asked) == server.peers[0].received


@live
async def test_request__header_values_may_hold_any_letter() -> None:
    """A contact or a header of a site's settings that is not ASCII is sent as UTF-8 and recorded so."""
    async with serving(answering(HELLO)) as server, client() as weft:
        page = await weft.page(weft.connect(server.port), headers=["From: Žofie ☃"])
        assert server.peers[0].received == page.request
        assert "From: Žofie ☃\r\n".encode() in page.request


@live
async def test_request__goes_to_the_address_given_and_not_to_the_name() -> None:
    """The host is whatever the URL says; the connection goes where the resolver said, also over IPv6."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("there is no IPv6 on this machine's loopback")
    async with serving(answering(HELLO), host="::1") as server, client() as weft:
        named = await weft.page(weft.connect(server.port, "::1"))
        literal = await weft.page(Connection("[::1]", server.port, "::1", verify=False, answered=None))
        assert named.request == server.peers[0].received
        assert literal.request == server.peers[1].received
        assert f"Host: [::1]:{server.port}\r\n".encode() in literal.request
        assert named.address == literal.address == "::1"


# --- what comes back ---


ANSWERS: dict[str, tuple[bytes, bytes, bytes]] = {
    # what is served; the header that must be kept; the content
    "content-length": (HELLO, HELLO[:-5], b"hello"),
    "lf-only": (
        b"HTTP/1.1 200 OK\nContent-Length: 5\nX-A: b\n\nhello",
        b"HTTP/1.1 200 OK\nContent-Length: 5\nX-A: b\n\n",
        b"hello",
    ),
    "http-1.0": (b"HTTP/1.0 200 OK\r\nX-A: b\r\n\r\nhello", b"HTTP/1.0 200 OK\r\nX-A: b\r\n\r\n", b"hello"),
    "until-the-end": (b"HTTP/1.1 200 OK\r\n\r\nhello", b"HTTP/1.1 200 OK\r\n\r\n", b"hello"),
    "no-reason-phrase": (
        b"HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200\r\nContent-Length: 5\r\n\r\n",
        b"hello",
    ),
    "chunked": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"hello",
    ),
    "chunk-extensions": (
        b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a="b"\r\nhel\r\n002 ;c\r\nlo\r\n0;d\r\n\r\n',
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"hello",
    ),
    "trailers": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-T: 1\r\nX-U: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"hello",
    ),
    "1xx-first": (
        b"HTTP/1.1 103 Early Hints\r\nLink: </s>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + HELLO,
        HELLO[:-5],
        b"hello",
    ),
    "status-line-as-header": (
        b"HTTP/1.1 200 OK\r\nHTTP/1.1 500 No: x\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nHTTP/1.1 500 No: x\r\nContent-Length: 5\r\n\r\n",
        b"hello",
    ),
    "latin-1": (
        b"HTTP/1.1 200 Tr\xe8s bien\r\nX-\xe9: \xff\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 Tr\xe8s bien\r\nX-\xe9: \xff\r\nContent-Length: 5\r\n\r\n",
        b"hello",
    ),
    "more-than-declared": (HELLO + b"more", HELLO[:-5], b"hello"),
    "empty": (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b""),
}


@pytest.mark.parametrize("name", ANSWERS)
@live
async def test_answer__header_and_content_are_kept_as_they_came(name: str) -> None:
    """The header is the final one's bytes, without 1xx and trailers; the content lacks nothing but its chunking."""
    served, head, body = ANSWERS[name]
    page = await fetch_once(once(served))
    assert (page.status, page.reason, page.truncated) == (200, None, "")
    assert (page.head, page.body) == (head, body)


@live
async def test_answer__folded_header_lines_arrive_as_one() -> None:
    """A header continued on the next line, as HTTP once allowed, has one value."""
    page = await fetch_once(once(b"HTTP/1.1 200 OK\r\nX-A: one\r\n  two\r\nContent-Length: 5\r\n\r\nhello"))
    assert page.headers["x-a"] == "one two"
    assert page.body == b"hello"


@live
async def test_answer__content_coding_is_left_as_sent() -> None:
    """What is stored is what the server sent: a gzip content is still gzip."""
    packed = gzip.compress(b"hello " * 1000)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
    assert (await fetch_once(once(head + packed))).body == packed


@pytest.mark.parametrize("status", [204, 301, 304, 401, 404, 407, 500, 599])
@live
async def test_answer__every_status_is_an_answer(status: int) -> None:
    """Redirects are not followed, passwords are not asked for, an error is a page: the transport judges nothing."""
    answer = b"HTTP/1.1 %d X\r\nLocation: /x\r\nWWW-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n" % status
    async with serving(answering(answer)) as server, client() as weft:
        page = await weft.page(weft.connect(server.port))
        assert (page.status, page.reason) == (status, None)
        assert len(server.peers) == 1
        assert server.peers[0].received == page.request


@live
async def test_answer__times_are_those_of_the_clock() -> None:
    """A page knows when its connection was opened, when it was asked for and how long it took."""
    clock = SystemClock()
    async with serving(answering(HELLO)) as server, client() as weft:
        connection = weft.connect(server.port)
        before = clock.wall()
        first = await weft.page(connection)
        second = await weft.page(connection)
        assert before <= first.connected_at == first.fetched_at <= second.fetched_at <= clock.wall()
        assert second.connected_at == first.connected_at
        assert 0 < first.took < PATIENCE


# --- what cannot be used ---


FAILURES: dict[str, tuple[Script, Reason, int, bytes]] = {
    # script; reason; status; content that is kept
    "nothing": (once(b""), Reason.NO_ANSWER, 0, b""),
    "nothing-but-1xx": (once(b"HTTP/1.1 103 Early Hints\r\nLink: </s>\r\n\r\n"), Reason.NO_ANSWER, 0, b""),
    "reset-at-once": (resetting(b""), Reason.NO_ANSWER, 0, b""),
    "garbage": (once(b"garbage\r\nmore\r\n\r\n"), Reason.BAD_ANSWER, 0, b""),
    "http-0.9": (once(b"<html>hello</html>"), Reason.BAD_ANSWER, 0, b""),
    "icy": (once(b"ICY 200 OK\r\n\r\nabc"), Reason.BAD_ANSWER, 0, b""),
    "http-2-status-line": (once(b"HTTP/2 200 OK\r\nContent-Length: 5\r\n\r\nhello"), Reason.BAD_ANSWER, 0, b""),
    "nul-in-header": (once(b"HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\nhello"), Reason.BAD_ANSWER, 200, b""),
    "two-lengths": (
        once(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"),
        Reason.BAD_ANSWER,
        200,
        b"",
    ),
    "header-without-colon": (once(b"HTTP/1.1 200 OK\r\nnocolon\r\n\r\nhello"), Reason.BAD_ANSWER, 200, b""),
    "no-chunk": (once(CHUNKED + b"zz\r\nhello"), Reason.BAD_ANSWER, 200, b""),
    "second-chunk-bad": (once(CHUNKED + b"5\r\nhelloXX\r\n0\r\n\r\n"), Reason.BAD_ANSWER, 200, b"hello"),
    "chunks-break-off": (once(CHUNKED + b"5\r\nhello\r\n"), Reason.RESET, 200, b"hello"),
    "short": (once(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello"), Reason.RESET, 200, b"hello"),
    "reset-in-content": (resetting(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello"), Reason.RESET, 200, b"hello"),
    "reset-in-chunks": (resetting(CHUNKED + b"5\r\nhello\r\n"), Reason.RESET, 200, b"hello"),
    "reset-in-header": (resetting(b"HTTP/1.1 200 OK\r\nConten"), Reason.RESET, 200, b""),
    "header-breaks-off": (once(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Cu"), Reason.RESET, 200, b""),
    "header-ends-early": (once(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"), Reason.RESET, 200, b""),
    "one-huge-header": (once(b"HTTP/1.1 200 OK\r\nX: " + b"a" * 200_000 + b"\r\n\r\n"), Reason.HEADERS, 200, b""),
    "many-headers": (once(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 6000 + b"\r\n"), Reason.HEADERS, 200, b""),
    "header-over-our-limit": (
        once(b"HTTP/1.1 200 OK\r\n" + (b"X: " + b"a" * 900 + b"\r\n") * 100 + b"Content-Length: 5\r\n\r\nhello"),
        Reason.HEADERS,
        200,
        b"hello",
    ),
    "header-over-every-limit": (
        once(b"HTTP/1.1 200 OK\r\n" + (b"X: " + b"a" * 900 + b"\r\n") * 400 + b"\r\n"),
        Reason.HEADERS,
        200,
        b"",
    ),
    "no-header-in-time": (stalling(b""), Reason.TIMEOUT, 0, b""),
    "no-end-of-header-in-time": (stalling(b"HTTP/1.1 200 OK\r\nX: y\r\n"), Reason.TIMEOUT, 200, b""),
}


@pytest.mark.parametrize("name", FAILURES)
@live
async def test_failure__has_its_own_reason_and_ends_the_connection(name: str) -> None:
    """What a server can do wrong has a reason from the list; what came of the content is kept."""
    script, reason, status, body = FAILURES[name]
    page = await fetch_once(script, settings={"timeout": 0.4})
    assert (page.reason, page.status, page.body, page.truncated) == (reason, status, body, "")
    assert page.closed


@live
async def test_failure__no_server_is_a_refused_connection() -> None:
    """A port on which nobody listens."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    async with client() as weft:
        page = await weft.page(weft.connect(port))
    assert (page.reason, page.status, page.closed) == (Reason.CONNECT_REFUSED, 0, True)
    assert page.address == "127.0.0.1"


@pytest.mark.parametrize("setting", ["connect_timeout", "timeout"])
@live
async def test_failure__a_connection_that_is_not_taken_is_a_connect_timeout(setting: str) -> None:
    """A server whose queue is full lets the connection hang: that is not an answer that came too late."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, contextlib.ExitStack() as queue:
        for _ in range(4):
            waiting = queue.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        async with client(**{setting: 0.3}) as weft:
            page = await weft.page(weft.connect(full.getsockname()[1]))
    assert page.reason is Reason.CONNECT_TIMEOUT


@live
async def test_failure__a_kept_connection_that_stalls_is_a_timeout() -> None:
    """The second answer of a connection can come too late as well as the first."""

    async def play(peer: Peer) -> None:
        await peer.request()
        await peer.send(HELLO)
        await stalling(b"")(peer)

    async with serving(play) as server, client(timeout=0.3) as weft:
        connection = weft.connect(server.port)
        assert (await weft.page(connection)).reason is None
        assert (await weft.page(connection)).reason is Reason.TIMEOUT


# --- limits ---


@pytest.mark.parametrize("chunked", [False, True], ids=["declared", "chunked"])
@pytest.mark.parametrize(("size", "most"), [(300_000, 100_001), (300_000, 299_999), (20, 1)])
@live
async def test_limit__size_cuts_exactly(size: int, most: int, *, chunked: bool) -> None:
    """Of a content over the limit exactly that many bytes are kept, marked as cut, and the connection ends."""
    body = bytes(number % 251 for number in range(size))
    if chunked:
        pieces = [body[start : start + 7001] for start in range(0, size, 7001)]
        served = CHUNKED + b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
    else:
        served = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + body
    page = await fetch_once(once(served), max_bytes=most)
    assert (page.truncated, page.reason, page.closed) == ("length", None, True)
    assert page.body == body[:most]


@live
async def test_limit__a_content_of_exactly_the_limit_is_whole() -> None:
    """The limit is what may come, not what is too much."""
    page = await fetch_once(answering(HELLO), max_bytes=5)
    assert (page.truncated, page.body, page.closed) == ("", b"hello", False)


@live
async def test_limit__time_keeps_what_came() -> None:
    """A content that does not end in time is kept as far as it came, marked as cut."""
    page = await fetch_once(stalling(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello"), settings={"timeout": 0.3})
    assert (page.truncated, page.reason, page.body, page.closed) == ("time", None, b"hello", True)
    assert page.took >= 0.3


@live
async def test_type__an_unwanted_content_is_not_read() -> None:
    """When the declared type is not collected the server is left at once, before the content has come."""
    asked = []

    def accepts(declared: str) -> bool:
        asked.append(declared)
        return False

    async def endless(peer: Peer) -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 200 OK\r\nContent-Type: Image/PNG; x=y\r\n\r\n")
        while not peer.reader.at_eof():
            await peer.send(b"x" * 1000)
            await asyncio.sleep(0)
        peer.ended.set()

    async with serving(endless) as server, client() as weft:
        page = await weft.page(weft.connect(server.port), accepts=accepts)
        await server.peers[0].ended.wait()
    assert (page.reason, page.status, page.body, page.closed) == (Reason.TYPE, 200, b"", True)
    assert page.headers["content-type"] == "Image/PNG; x=y"
    assert asked == ["image/png"]


@live
async def test_type__is_not_believed_where_the_first_bytes_say_otherwise() -> None:
    """A page that is called an image is read, where somebody looks."""
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 6\r\n\r\n<html>"
    page = await fetch_once(once(answer), accepts=lambda _declared: False, sniffs=is_html)
    assert (page.reason, page.body) == (None, b"<html>")
    answer = answer.replace(b"<html>", b"\x89PNG\r\n")
    page = await fetch_once(once(answer), accepts=lambda _declared: False, sniffs=is_html)
    assert (page.reason, page.body) == (Reason.TYPE, b"")


@pytest.mark.parametrize(("declared", "size"), [(b"application/pdf", 5), (b"image/png", 3), (b"text/html", 4)])
@live
async def test_size__may_have_a_limit_for_its_type(declared: bytes, size: int) -> None:
    """By the declared type, by the first half of it, or the one that all others have."""
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nContent-Length: 8\r\n\r\nabcdefgh" % declared
    page = await fetch_once(once(answer), max_bytes=4, limits={"application/pdf": 5, "image/*": 3})
    assert (page.truncated, len(page.body)) == ("length", size)


@pytest.mark.parametrize("status", [301, 404, 503])
@live
async def test_type__does_not_matter_for_errors_and_redirects(status: int) -> None:
    """A server that is out of service must be tried again, whatever media type it says so in."""
    answer = b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}" % status
    page = await fetch_once(once(answer), accepts=lambda _declared: False)
    assert (page.reason, page.status, page.body) == (None, status, b"{}")


@pytest.mark.parametrize(
    ("line", "declared"),
    [
        (b"", ""),
        (b"Content-Type: text/html, text/html\r\n", "text/html"),
        (b"content-type:TEXT/HTML;charset=x\r\n", "text/html"),
    ],
)
@live
async def test_type__is_asked_for_as_declared(line: bytes, declared: str) -> None:
    """The type is handed over in lower case without parameters; a missing one is an empty text."""
    asked: list[str] = []

    def accepts(found: str) -> bool:
        asked.append(found)
        return True

    answer = b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n" + line + b"Content-Length: 5\r\n\r\nhello"
    page = await fetch_once(once(answer), accepts=accepts)
    assert page.body == b"hello"
    assert asked == [declared]


# --- one connection a visit ---


@live
async def test_visit__asks_many_pages_on_one_connection() -> None:
    """Keep-alive is used, and the answers do not mix."""
    answers = [b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n%d" % number for number in range(9)]
    async with serving(answering(*answers)) as server, client() as weft:
        connection = weft.connect(server.port)
        pages = [await weft.page(connection, f"/{number}") for number in range(9)]
        assert [page.body for page in pages] == [b"%d" % number for number in range(9)]
        assert not any(page.closed for page in pages)
        assert len(server.peers) == 1


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\n\r\nhello",
    ],
    ids=["said", "http-1.0", "end-of-content"],
)
@live
async def test_visit__ends_where_the_server_ends_it(answer: bytes) -> None:
    """After such an answer the page says that the connection is gone, and nothing more is asked."""
    async with serving(once(answer)) as server, client() as weft:
        connection = weft.connect(server.port)
        assert (await weft.page(connection)).closed
        assert await weft.ask(connection) is None
        assert len(server.peers) == 1


async def _closes(peer: Peer) -> None:
    await peer.request()
    await peer.send(HELLO)
    peer.writer.close()
    peer.ended.set()


async def _closes_on_request(peer: Peer) -> None:
    await _answers_one(peer)
    peer.writer.close()


async def _resets_on_request(peer: Peer) -> None:
    await _answers_one(peer)
    peer.reset()


async def _begins_to_answer(peer: Peer) -> None:
    await _answers_one(peer)
    await peer.send(b"HTTP/1.1 2")


async def _answers_one(peer: Peer) -> None:
    await peer.request()
    await peer.send(HELLO)
    peer.ended.set()
    await peer.request()


@pytest.mark.parametrize("script", [_closes, _closes_on_request, _resets_on_request, _begins_to_answer])
@live
async def test_visit__a_dead_kept_connection_is_not_replaced(script: Script) -> None:
    """Where the server drops a kept connection silently the page counts as not asked, and no second one is opened."""
    async with serving(script) as server, client() as weft:
        connection = weft.connect(server.port)
        assert not (await weft.page(connection)).closed
        await server.peers[0].ended.wait()
        assert await weft.ask(connection, "/2") is None
        assert connection.closed
        weft.close(connection)
        await asyncio.sleep(0.05)
        assert len(server.peers) == 1


@live
async def test_visit__after_its_end_nothing_is_asked() -> None:
    """A connection that was closed stays closed."""
    async with serving(answering(HELLO)) as server, client() as weft:
        connection = weft.connect(server.port)
        await weft.page(connection)
        weft.close(connection)
        assert await weft.ask(connection) is None
        weft.close(connection)
        assert len(server.peers) == 1


@live
async def test_visit__the_last_page_closes_the_connection() -> None:
    """A page asked for as the last one leaves no connection behind, even if the server would go on."""
    async with serving(answering(HELLO)) as server, client() as weft:
        page = await weft.page(weft.connect(server.port), last=True)
        await server.peers[0].ended.wait()
        assert page.closed
        assert weft.transport._sockets == set()


@pytest.mark.parametrize("pages", [1, 3])
@live
async def test_close__ends_the_connection_at_once_for_both_sides(pages: int) -> None:
    """The server sees the end, our descriptor is given back, and no two connections are ever open at once."""
    async with serving(answering(HELLO)) as server, client() as weft:
        before = descriptors()
        for number in range(20):
            connection = weft.connect(server.port)
            asked = [await weft.page(connection) for _ in range(pages)]
            weft.close(connection)
            await server.peers[number].ended.wait()
            assert server.peers[number].received == b"".join(page.request for page in asked)
            assert server.most_open == 1
        await asyncio.sleep(0.05)
        assert len(server.peers) == 20
        assert weft.transport._sockets == set()
        assert descriptors() <= before + 1


@live
async def test_close__drops_a_page_under_way() -> None:
    """A visit that is ended early hears no more of its page, and the server sees the end."""
    async with serving(stalling(b"HTTP/1.1 200 OK\r\n")) as server, client() as weft:
        connection = weft.connect(server.port)
        future = weft.start(connection, f"http://site.test:{server.port}/")
        peer = await server.arrived.get()
        await peer.asked.wait()
        weft.close(connection)
        await peer.ended.wait()
        assert not future.done()


@live
async def test_close__before_anything_was_asked_does_nothing() -> None:
    """A visit may end before it began."""
    async with client() as weft:
        connection = weft.connect(9)
        weft.close(connection)
        assert connection.closed


@live
async def test_descriptors__hundreds_of_short_visits_need_few() -> None:
    """A dead connection is given back at once, not whenever libcurl tidies up."""
    async with serving(answering(HELLO)) as server, client() as weft:
        before = descriptors()
        most = 0
        for number in range(300):
            connection = Connection(f"site{number}.test", server.port, "127.0.0.1", verify=False, answered=None)
            await weft.page(connection)
            weft.close(connection)
            most = max(most, descriptors())
        assert most - before < 20


def test_descriptors__stop_leaves_none() -> None:
    """Kept, dying, stalled and never answered connections are all gone when the transport is stopped."""

    async def visit_all() -> None:
        async with serving(answering(HELLO)) as server, serving(stalling(b"HTTP/1.1 200 OK\r\n")) as slow:
            transport = Transport(asyncio.get_running_loop(), SystemClock(), Fetching())
            weft = Client(transport)
            kept = [weft.connect(server.port) for _ in range(5)]
            for connection in kept:
                await weft.page(connection)
            weft.close(kept[0])
            for _ in range(5):
                weft.start(weft.connect(slow.port), f"http://site.test:{slow.port}/")
            for _ in range(5):
                await (await slow.arrived.get()).asked.wait()
            weft.start(weft.connect(slow.port), f"http://site.test:{slow.port}/")  # not even begun
            transport.stop()
            for peer in server.peers:
                await peer.ended.wait()

    uvloop.run(visit_all())
    before = descriptors()
    uvloop.run(visit_all())
    assert descriptors() == before


# --- callbacks ---


@live
async def test_answered__is_told_once_at_the_first_byte() -> None:
    """The first byte of the first answer, even of a 1xx one, shows that the server took the connection."""
    told: list[int] = []
    first = asyncio.Event()

    def answered() -> None:
        told.append(1)
        first.set()

    async def play(peer: Peer) -> None:
        await peer.request()
        assert told == []
        await peer.send(b"HTTP/1.1 103 Early Hints\r\n\r\n")
        await first.wait()
        await peer.send(HELLO)
        await answering(HELLO)(peer)

    async with serving(play) as server, client() as weft:
        connection = Connection("site.test", server.port, "127.0.0.1", verify=False, answered=answered)
        assert (await weft.page(connection)).status == 200
        assert (await weft.page(connection)).status == 200
        assert told == [1]


@live
async def test_answered__is_not_told_without_an_answer() -> None:
    """A server that says nothing has shown nothing."""
    told: list[int] = []
    async with serving(once(b"")) as server, client() as weft:
        connection = Connection("site.test", server.port, "127.0.0.1", verify=False, answered=lambda: told.append(1))
        assert (await weft.page(connection)).reason is Reason.NO_ANSWER
    assert told == []


@live
async def test_done__may_ask_for_the_next_page_at_once() -> None:
    """The next request goes out from within the callback of the last one, as the loop does it."""
    bodies = []
    over = asyncio.get_running_loop().create_future()
    async with serving(answering(HELLO)) as server, client() as weft:
        connection = weft.connect(server.port)
        url = f"http://site.test:{server.port}/"
        request = Request(url, "/", [f"Host: site.test:{server.port}"], 100, None, last=False)

        def on_page(page: Page | None) -> None:
            assert page is not None
            bodies.append(page.body)
            if len(bodies) < 50:
                weft.transport.fetch(connection, request, on_page)
            else:
                over.set_result(None)

        weft.transport.fetch(connection, request, on_page)
        await over
        assert bodies == [b"hello"] * 50
        assert len(server.peers) == 1


@live
async def test_done__a_fault_in_one_page_does_not_lose_the_others() -> None:
    """When handling one page raises, every other page still arrives, and the fault is reported to the event loop."""
    loop = asyncio.get_running_loop()
    faults: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _loop, context: faults.append(context))

    def fail(_page: Page | None) -> None:
        raise ZeroDivisionError

    async with serving(answering(HELLO)) as server, client() as weft:
        url = f"http://site.test:{server.port}/"
        request = Request(url, "/", ["Host: site.test"], 100, None, last=False)
        futures = []
        for _ in range(10):
            weft.transport.fetch(weft.connect(server.port), request, fail)
            futures.append(weft.start(weft.connect(server.port), url))
        pages = await asyncio.gather(*futures)
    assert [page and page.body for page in pages] == [b"hello"] * 10
    assert len(faults) == 10


@live
async def test_done__a_fault_while_an_answer_comes_is_our_own_failure(capfd: pytest.CaptureFixture[str]) -> None:
    """A question about the media type that raises ends that page with the reason that says whose fault it is."""

    def accepts(_declared: str) -> bool:
        raise ZeroDivisionError

    page = await fetch_once(once(HELLO), accepts=accepts)
    assert (page.reason, page.body, page.closed) == (Reason.INTERNAL, b"", True)
    assert "ZeroDivisionError" in capfd.readouterr().err


@live
async def test_fetch__what_libcurl_refuses_leaves_the_transport_usable() -> None:
    """A request that cannot be made raises, and neither that visit's end nor the next visit suffers."""
    async with serving(answering(HELLO)) as server, client() as weft:
        connection = weft.connect(server.port)
        with pytest.raises(UnicodeEncodeError):
            weft.start(connection, "http://sité.test/")
        weft.close(connection)
        assert (await weft.page(weft.connect(server.port))).body == b"hello"


@live
async def test_many__connections_run_side_by_side() -> None:
    """Ninety visits at once to one server each get their own answer."""

    async def echo(peer: Peer) -> None:
        while request := await peer.request():
            body = request.split()[1]
            await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

    async with serving(echo) as server, client() as weft:
        connections = [weft.connect(server.port) for _ in range(90)]
        for turn in range(3):
            pages = await asyncio.gather(*(weft.page(c, f"/{turn}/{n}") for n, c in enumerate(connections)))
            assert [page.body.decode() for page in pages] == [f"/{turn}/{number}" for number in range(90)]
        assert len(server.peers) == 90


# --- TLS ---


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    """The authority that the client trusts."""
    return trustme.CA()


def tls_context(certificate: trustme.LeafCert) -> ssl.SSLContext:
    """A server's side of TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    return context


def certificates(authority: trustme.CA, folder: Path) -> dict[str, ssl.SSLContext]:
    """Servers with certificates of each quality, by the verdict they deserve."""
    day = dt.timedelta(days=1)
    past, future = (dt.datetime(year, 1, 1, tzinfo=dt.UTC) for year in (2001, 2090))
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "site.test")])
    key = ec.generate_private_key(ec.SECP256R1())
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, past, future)
    alone = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName("site.test")]), critical=False)
    written = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "self.pem").write_bytes(written + alone.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM))
    self_signed = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    self_signed.load_cert_chain(folder / "self.pem")
    return {
        "ok": tls_context(authority.issue_cert("site.test")),
        "expired": tls_context(authority.issue_cert("site.test", not_before=past - day, not_after=past)),
        "not-yet-valid": tls_context(authority.issue_cert("site.test", not_before=future, not_after=future + day)),
        "wrong-name": tls_context(authority.issue_cert("other.test")),
        "untrusted": tls_context(trustme.CA().issue_cert("site.test")),
        "self-signed": self_signed,
    }


@pytest.mark.parametrize("verdict", ["ok", "expired", "not-yet-valid", "wrong-name", "untrusted", "self-signed"])
@live
async def test_tls__a_certificate_gets_its_verdict(verdict: str, authority: trustme.CA, tmp_path: Path) -> None:
    """With verification on, a doubtful certificate is refused and the page says what is wrong with it."""
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    tls = certificates(authority, tmp_path)[verdict]
    async with serving(answering(HELLO), tls=tls) as server, client(ca_file=str(tmp_path / "ca.pem")) as weft:
        page = await weft.page(weft.connect(server.port, verify=True), scheme="https")
        assert page.tls == verdict
        if verdict == "ok":
            assert (page.reason, page.body) == (None, b"hello")
            assert server.peers[0].received == page.request
        else:
            assert (page.reason, page.status) == (Reason.TLS, 0)
            assert all(peer.received == b"" for peer in server.peers)
        accepted = weft.connect(server.port)
        accepted.tls = verdict  # as the site remembers it
        page = await weft.page(accepted, scheme="https")
        assert (page.reason, page.body, page.tls) == (None, b"hello", verdict)


@live
async def test_tls__is_kept_alive_and_closed_like_any_connection(authority: trustme.CA, tmp_path: Path) -> None:
    """Several pages share one handshake; the server sees the end of the visit; no descriptor stays."""
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    tls = tls_context(authority.issue_cert("site.test"))
    async with serving(answering(HELLO), tls=tls) as server, client(ca_file=str(tmp_path / "ca.pem")) as weft:
        connection = weft.connect(server.port, verify=True)
        pages = [await weft.page(connection, scheme="https") for _ in range(3)]
        assert [(page.body, page.tls) for page in pages] == [(b"hello", "ok")] * 3
        weft.close(connection)
        await server.peers[0].ended.wait()
        await asyncio.sleep(0.05)
        assert [peer.received for peer in server.peers] == [b"".join(page.request for page in pages)]
        assert weft.transport._sockets == set()


@live
async def test_tls__a_server_that_just_hangs_up_has_said_everything(authority: trustme.CA) -> None:
    """Many servers end TLS without a word; where the end is the end of the content, the content is whole."""

    async def hang_up(peer: Peer) -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 200 OK\r\n\r\nhello")
        peer.writer.transport.abort()

    async with serving(hang_up, tls=tls_context(authority.issue_cert("site.test"))) as server, client() as weft:
        page = await weft.page(weft.connect(server.port), scheme="https")
    assert (page.reason, page.truncated, page.body, page.closed) == (None, "", b"hello", True)


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Ty"], ids=["nothing", "half a header"])
@live
async def test_tls__a_server_that_hangs_up_before_its_header_is_whole_has_said_nothing(
    answer: bytes, authority: trustme.CA
) -> None:
    """It is asked again, as it would be without TLS; nothing is there that could be whole."""

    async def hang_up(peer: Peer) -> None:
        await peer.request()
        await peer.send(answer)
        peer.writer.transport.abort()

    async with serving(hang_up, tls=tls_context(authority.issue_cert("site.test"))) as server, client() as weft:
        page = await weft.page(weft.connect(server.port), scheme="https")
    assert page.reason is (Reason.RESET if answer else Reason.NO_ANSWER)
    assert page.reason.retry


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@live
async def test_tls__a_server_that_wants_a_certificate_of_ours_fails_the_handshake(
    version: ssl.TLSVersion, authority: trustme.CA
) -> None:
    """Also where it says so after the handshake, as TLS 1.3 has it: it is no server that does not answer."""
    context = tls_context(authority.issue_cert("site.test"))
    context.maximum_version = version
    context.verify_mode = ssl.CERT_REQUIRED
    authority.configure_trust(context)

    def serve() -> None:  # a loop's own TLS hangs up without the alert that others send
        connection, _ = listening.accept()
        with context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False) as tls:
            with contextlib.suppress(ssl.SSLError):
                tls.do_handshake()
            with socket.socket(fileno=os.dup(tls.fileno())) as plain:
                while plain.recv(65_536):  # closed with something unread, it would be reset, and the alert with it
                    pass

    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = threading.Thread(target=serve)
        serving.start()
        async with client() as weft:
            page = await weft.page(weft.connect(listening.getsockname()[1]), scheme="https")
        serving.join()
    assert page.reason is Reason.TLS


@live
async def test_tls__a_content_that_breaks_off_is_still_broken(authority: trustme.CA) -> None:
    """Where a length was declared, hanging up before it is reached is a broken connection."""

    async def hang_up(peer: Peer) -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello")
        peer.writer.transport.abort()

    async with serving(hang_up, tls=tls_context(authority.issue_cert("site.test"))) as server, client() as weft:
        page = await weft.page(weft.connect(server.port), scheme="https")
    assert (page.reason, page.body) == (Reason.RESET, b"hello")


@live
async def test_tls__a_server_that_does_not_speak_it_fails_the_handshake() -> None:
    """A plain answer to a TLS greeting."""

    async def plain(peer: Peer) -> None:
        await peer.reader.read(100)
        await peer.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with serving(plain) as server, client() as weft:
        page = await weft.page(weft.connect(server.port), scheme="https")
    assert (page.reason, page.status) == (Reason.TLS, 0)


# --- proxy ---


def proxied(host: str, port: int = 80, *, verify: bool = False) -> Connection:
    """A connection whose address is the proxy's business."""
    return Connection(host, port, "", verify=verify, answered=None)


@live
async def test_proxy__sites_do_not_share_a_connection_to_it() -> None:
    """Plain requests go through the proxy one connection each: the end of one visit cannot hurt another."""
    async with serving(answering(HELLO)) as proxy, client(proxy=f"http://127.0.0.1:{proxy.port}") as weft:
        pages = [await weft.page(proxied(f"site{number}.test")) for number in range(4)]
        assert [(page.status, page.body, page.closed) for page in pages] == [(200, b"hello", True)] * 4
        assert len(proxy.peers) == 4
        assert proxy.peers[1].received.startswith(b"GET http://site1.test/ HTTP/1.1\r\nHost: site1.test:80\r\n")
        assert pages[1].request.startswith(b"GET / HTTP/1.1\r\nHost: site1.test:80\r\n")
        assert pages[1].address == ""


@live
async def test_proxy__a_name_with_several_addresses_is_tried_at_each() -> None:
    """A proxy on localhost that listens on one of its two addresses only is reached."""
    async with serving(answering(HELLO)) as proxy, client(proxy=f"http://localhost:{proxy.port}") as weft:
        page = await weft.page(proxied("site.test"))
        assert page.body == b"hello"
        assert weft.transport._sockets == set()


def tunnelling(port: int) -> Script:
    """A script: a proxy that leads every CONNECT to one port."""

    async def play(peer: Peer) -> None:
        await peer.request()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        await peer.send(b"HTTP/1.1 200 Connection established\r\nX-Proxy: yes\r\n\r\n")

        async def copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            with contextlib.suppress(ConnectionError):
                while data := await source.read(65_536):
                    sink.write(data)
            sink.close()

        await asyncio.gather(copy(peer.reader, writer), copy(reader, peer.writer))

    return play


@live
async def test_proxy__tls_goes_through_a_tunnel(authority: trustme.CA, tmp_path: Path) -> None:
    """The certificate is the origin's, the pages of a visit share a tunnel, the proxy's words are not the page's."""
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    tls = tls_context(authority.issue_cert("site.test"))
    told: list[int] = []
    async with serving(answering(HELLO), tls=tls) as origin, serving(tunnelling(origin.port)) as proxy:
        settings = {"proxy": f"http://127.0.0.1:{proxy.port}", "ca_file": str(tmp_path / "ca.pem")}
        async with client(**settings) as weft:
            connection = proxied("site.test", 443, verify=True)
            connection.answered = lambda: told.append(len(origin.peers[0].received))
            first, second = [await weft.page(connection, path, scheme="https") for path in ("/1", "/2")]
            assert (first.tls, first.head, first.body) == ("ok", HELLO[:-5], b"hello")
            assert first.request + second.request == origin.peers[0].received
            assert (len(proxy.peers), len(origin.peers)) == (1, 1)
            assert proxy.peers[0].received.startswith(b"CONNECT site.test:443 HTTP/1.1\r\n")
            assert b"curl" not in proxy.peers[0].received.lower()
            assert told == [len(first.request)]
            weft.close(connection)
            await origin.peers[0].ended.wait()
            await asyncio.sleep(0.05)
            assert [peer.received for peer in origin.peers] == [first.request + second.request]


@pytest.mark.parametrize("status", [b"403 Forbidden", b"407 Proxy Authentication Required", b"502 Bad Gateway"])
@live
async def test_proxy__a_refused_tunnel_is_the_proxys_failure(status: bytes) -> None:
    """What a proxy answers to CONNECT is no page of the site's."""
    answer = b"HTTP/1.1 " + status + b"\r\nProxy-Authenticate: Basic\r\nContent-Length: 2\r\n\r\nno"
    async with serving(once(answer)) as proxy, client(proxy=f"http://127.0.0.1:{proxy.port}") as weft:
        page = await weft.page(proxied("site.test", 443), scheme="https")
    assert (page.reason, page.status, page.head, page.body) == (Reason.PROXY, 0, b"", b"")


@pytest.mark.parametrize("name", ["http_proxy", "https_proxy", "all_proxy", "ALL_PROXY"])
@live
async def test_proxy__of_the_environment_is_not_used(
    name: str, authority: trustme.CA, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crawl does what its settings say: nobody's shell sends its traffic elsewhere."""
    tls = tls_context(authority.issue_cert("site.test"))
    async with serving(answering(HELLO)) as plain, serving(answering(HELLO), tls=tls) as safe, client() as weft:
        monkeypatch.setenv(name, "http://127.0.0.1:9")
        for server, scheme in ((plain, "http"), (safe, "https")):
            page = await weft.page(weft.connect(server.port), scheme=scheme)
            assert (page.status, page.reason) == (200, None)


@live
async def test_proxy__of_the_settings_is_used_whatever_the_environment_excepts(monkeypatch: pytest.MonkeyPatch) -> None:
    """no_proxy is for other programs."""
    monkeypatch.setenv("no_proxy", "*")
    async with serving(answering(HELLO)) as proxy, client(proxy=f"http://127.0.0.1:{proxy.port}") as weft:
        page = await weft.page(proxied("site.test"))
        assert (page.status, len(proxy.peers)) == (200, 1)


@live
async def test_proxy__that_is_not_there_is_its_own_failure() -> None:
    """A proxy nobody listens at, or whose name does not exist, says nothing about the site."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    for proxy in (f"http://127.0.0.1:{port}", f"socks5h://127.0.0.1:{port}", "http://no-proxy.invalid:80"):
        async with client(proxy=proxy) as weft:
            for scheme in ("http", "https"):
                page = await weft.page(proxied("site.test"), scheme=scheme)
                assert (page.reason, page.status) == (Reason.PROXY, 0)


@live
async def test_proxy__an_origin_that_dies_behind_the_tunnel_gives_no_page() -> None:
    """The proxy's "200 Connection established" is not taken for the origin's answer."""

    async def tunnel_to_nowhere(peer: Peer) -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await peer.reader.read(100)

    async with serving(tunnel_to_nowhere) as proxy, client(proxy=f"http://127.0.0.1:{proxy.port}") as weft:
        page = await weft.page(proxied("site.test", 443), scheme="https")
    assert (page.reason, page.status, page.head) == (Reason.TLS, 0, b"")
