"""The HTTP of the testbed's servers, with a transport that is none."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from weft.clock import VirtualClock
from weft.graph import Graph
from weft.testbed.http import LONGEST_HEAD, Connection, Manners, Shared
from weft.testbed.log import Entry, RequestLog, Stopwatch, read_log
from weft.testbed.options import PLAIN
from weft.testbed.web import Web


class FakeTransport:
    """Takes what is written; keeps it from the kernel when told to."""

    def __init__(self, address: str = "127.1.0.1") -> None:
        self.address = address
        self.sent = b""
        self.waiting = 0
        self.stuck = False
        self.closed = False
        self.aborted = False

    def get_extra_info(self, name: str) -> Any:
        """Local address."""
        return (self.address, 80) if name == "sockname" else None

    def set_write_buffer_limits(self, high: int) -> None:
        """Only zero will do."""
        assert high == 0

    def write(self, data: bytes) -> None:
        """Send, or hold back."""
        assert not self.closed
        self.sent += data
        self.waiting = len(data) if self.stuck else 0

    def get_write_buffer_size(self) -> int:
        """What is held back."""
        return self.waiting

    def is_closing(self) -> bool:
        """Whether it ends."""
        return self.closed

    def close(self) -> None:
        """End."""
        self.closed = True

    def abort(self) -> None:
        """End at once."""
        self.closed = self.aborted = True


class Line:
    """A connection to a web, by hand."""

    def __init__(self, web: Web, path: Path, address: str = "127.1.0.1", **manners: Any) -> None:
        self.clock = VirtualClock(1_000.0)
        self.path = path / "log.tsv"
        self.log = RequestLog(self.path)
        self.shared = Shared(web, self.log, Stopwatch(self.clock), Manners(**manners))
        self.transport = FakeTransport(address)
        self.connection = Connection(self.shared, secure=False)
        self.connection.connection_made(cast("asyncio.BaseTransport", self.transport))
        self.site = int(np.argmax(np.diff(web.graph.first_page)))
        self.pages = web.graph.pages_of(self.site)
        self.host = web.authority(self.site, secure=False)

    def send(self, text: bytes) -> bytes:
        """Let bytes arrive; what is answered at once."""
        self.transport.sent = b""
        self.connection.data_received(text)
        return self.transport.sent

    def get(self, path: bytes = b"/", version: bytes = b"HTTP/1.1", more: bytes = b"", method: bytes = b"GET") -> bytes:
        """Ask for a path."""
        return self.send(
            b"%b %b %b\r\nHost: %b\r\nUser-Agent: robot\r\n%b\r\n" % (method, path, version, self.host, more)
        )

    def entries(self) -> list[Entry]:
        """The log so far."""
        self.log.flush()
        return read_log(self.path)


@pytest.fixture
def line(plain: Web, tmp_path: Path) -> Line:
    """A connection to the plain web."""
    return Line(plain, tmp_path)


def test_http__a_page_is_answered_whole(line: Line, plain: Web) -> None:
    """Status, length and the page's bytes; the connection stays open."""
    head, _, body = line.get().partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"Content-Length: %d" % len(body) in head
    assert body == plain.body(line.pages[0])
    assert not line.transport.closed
    assert b"200 OK" in line.get()


def test_http__requests_in_pieces_and_in_a_row_are_understood(line: Line, plain: Web) -> None:
    """A request may come byte by byte, and several at once are answered in order."""
    text = b"GET / HTTP/1.1\r\nHost: %b\r\n\r\n" % line.host
    assert b"".join(line.send(bytes([byte])) for byte in text).count(b"200 OK") == 1
    first, second, third = line.pages[:3]
    row = [b"GET %b HTTP/1.1\r\nhost:%b\r\n\r\n" % (plain.path(page), line.host) for page in (first, second, third)]
    answers = line.send(b"".join(row))
    assert answers.count(b"HTTP/1.1 200 OK") == 3
    assert answers.index(plain.body(first)) < answers.index(plain.body(second)) < answers.index(plain.body(third))
    paths = [plain.path(page).decode() for page in (first, first, second, third)]
    assert [entry.path for entry in line.entries()] == paths


def test_http__head_has_the_header_only(line: Line, plain: Web) -> None:
    """HEAD tells the length and sends nothing."""
    answer = line.get(method=b"HEAD")
    assert answer.endswith(b"\r\n\r\n")
    assert b"Content-Length: %d\r\n" % len(plain.body(line.pages[0])) in answer


def test_http__old_clients_and_close_end_the_connection(plain: Web, tmp_path: Path) -> None:
    """HTTP/1.0 closes unless asked not to, HTTP/1.1 stays unless asked to close."""
    cases = [(b"HTTP/1.0", b"", True), (b"HTTP/1.0", b"Connection: Keep-Alive\r\n", False)]
    cases += [(b"HTTP/1.1", b"Connection: close\r\n", True), (b"HTTP/1.1", b"", False)]
    for version, field, closes in cases:
        line = Line(plain, tmp_path)
        answer = line.get(version=version, more=field)
        assert line.transport.closed == closes
        assert (b"Connection: close\r\n" in answer) == closes


def test_http__a_connection_may_have_its_fill(plain: Web, tmp_path: Path) -> None:
    """After the allowed number of requests the server closes, and says before how many are left."""
    line = Line(plain, tmp_path, requests=2, announce=True, keep_alive_s=5.0)
    assert b"Keep-Alive: timeout=5, max=1\r\n" in line.get()
    assert b"Connection: close\r\n" in line.get()
    assert line.transport.closed


def test_http__who_asks_without_end_is_cut_off(line: Line) -> None:
    """Requests that pile up behind an answer nobody reads are not kept for ever."""
    line.transport.stuck = True
    line.get()
    for _ in range(200):
        line.send(b"GET / HTTP/1.1\r\nX: " + b"y" * 8_000 + b"\r\n\r\n")
    assert line.transport.aborted


def test_http__idle_connections_are_closed(line: Line) -> None:
    """A connection that has been quiet for too long ends; one that has not stays."""
    line.clock.advance(10)
    line.get()
    line.connection.close_if_idle(1_010.0)
    assert not line.transport.closed
    line.connection.close_if_idle(1_010.1)
    assert line.transport.closed


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/2.0\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", 413),
        (b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 413),
        (b"GET / HTTP/1.1\r\nX: " + b"y" * LONGEST_HEAD, 431),
    ],
)
def test_http__what_cannot_be_understood_is_refused(line: Line, text: bytes, status: int) -> None:
    """The answer says so, and the connection ends."""
    assert line.send(text).startswith(b"HTTP/1.1 %d " % status)
    assert line.transport.closed


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (b"GET / HTTP/1.1\r\nHost: nobody.test\r\n\r\n", 421),
        (b"GET / HTTP/1.1\r\n\r\n", 421),
        (b"DELETE / HTTP/1.1\r\nHost: www.site-0.test\r\n\r\n", 405),
        (b"OPTIONS * HTTP/1.1\r\nHost: www.site-0.test\r\n\r\n", 405),
    ],
)
def test_http__what_is_not_here_is_told_so(line: Line, text: bytes, status: int) -> None:
    """Unknown hosts and methods have their answers, and the connection goes on."""
    assert line.send(text).startswith(b"HTTP/1.1 %d " % status)
    assert not line.transport.closed


def test_http__proxies_clients_name_the_host_in_the_target(line: Line, plain: Web) -> None:
    """An absolute target decides, whatever the Host header says; the log knows whose page it was."""
    answer = line.send(b"GET %b HTTP/1.1\r\nHost: nobody.test\r\n\r\n" % plain.url(1_000).encode())
    assert answer.endswith(plain.body(1_000))
    site = int(plain.scene.site[1_000])
    assert line.entries()[0].site == plain.authority(site, secure=False).decode()


def test_http__chunks_add_up_to_the_page(graph: Graph, tmp_path: Path, plain: Web) -> None:
    """A chunked answer holds the same bytes; old clients get it unchunked."""
    line = Line(Web(graph, dataclasses.replace(PLAIN, chunked=1.0), seed=5, port=8080), tmp_path)
    head, _, rest = line.get().partition(b"\r\n\r\n")
    assert b"Transfer-Encoding: chunked" in head
    assert b"Content-Length" not in head
    body = b""
    while not rest.startswith(b"0\r\n"):
        size, _, rest = rest.partition(b"\r\n")
        body, rest = body + rest[: int(size, 16)], rest[int(size, 16) + 2 :]
    assert rest == b"0\r\n\r\n"
    assert body == plain.body(line.pages[0])
    assert line.get(version=b"HTTP/1.0").endswith(body)


def test_log__last_byte_is_when_the_kernel_took_it(line: Line, plain: Web) -> None:
    """An answer that waits in a buffer is not out before the buffer is empty; the next one waits behind it."""
    line.transport.stuck = True
    line.clock.advance(1)
    size = len(line.get())
    line.clock.advance(2)
    second_path = plain.path(line.pages[1])
    assert line.get(second_path) == b""
    assert line.entries() == []
    line.transport.stuck = False
    line.connection.resume_writing()
    first, second = line.entries()
    assert (first.opened, first.first_byte, first.last_byte) == (1_000.0, 1_001.0, 1_003.0)
    assert (first.path, second.path) == ("/", second_path.decode())
    assert (first.size, second.first_byte) == (size, 1_003.0)
    assert (first.site, first.address, first.scheme) == (line.host.decode(), "127.1.0.1", "http")
    assert (first.method, first.status, first.kind, first.agent) == ("GET", 200, "page", "robot")


def test_log__a_connection_that_ends_too_early_is_written_down(line: Line) -> None:
    """What was not sent, and the end of the connection, both have their line."""
    line.transport.stuck = True
    line.get()
    line.clock.advance(4)
    line.connection.connection_lost(None)
    line.connection.connection_lost(None)
    request, close = line.entries()
    assert (request.event, request.last_byte) == ("request", 1_004.0)
    assert (close.event, close.last_byte, close.connection) == ("close", 1_004.0, request.connection)
    assert close.site == request.site


def test_http__strangers_and_too_many_are_turned_away(plain: Web, tmp_path: Path) -> None:
    """A connection to an address outside loopback is dropped, and so is one too many; neither is logged."""
    assert Line(plain, tmp_path, address="192.0.2.1").transport.aborted
    line = Line(plain, tmp_path, connections=1)
    second = FakeTransport()
    Connection(line.shared, secure=False).connection_made(cast("asyncio.BaseTransport", second))
    assert second.aborted
    assert not line.transport.aborted
    assert line.entries() == []


def test_http__literals_are_known_by_their_address(graph: Graph, tmp_path: Path) -> None:
    """The address decides which site it is; a Host header that contradicts it is refused."""
    web = Web(graph, dataclasses.replace(PLAIN, naming="literals"), seed=5, port=8080)
    line = Line(web, tmp_path, address=web.names.address(7))
    home = graph.pages_of(7)[0]
    assert line.send(b"GET / HTTP/1.0\r\n\r\n").endswith(web.body(home))
    line = Line(web, tmp_path, address=web.names.address(7))
    assert b" 421 " in line.send(b"GET / HTTP/1.1\r\nHost: %b\r\n\r\n" % web.authority(8, secure=False))
    assert line.send(b"GET / HTTP/1.1\r\nHost: %b\r\n\r\n" % web.authority(7, secure=False)).endswith(web.body(home))
