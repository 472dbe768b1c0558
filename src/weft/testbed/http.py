"""HTTP/1.1 as the testbed's servers speak it. In: bytes of a connection. Out: answers, and lines of the log.

Written by hand because every part of it must be at our command: when the last byte leaves, what is wrong
with an answer, when a connection ends. Keep-alive, pipelining, HEAD, HTTP/1.0 and absolute request targets
are understood; a request with a body is refused.

Invariant: a connection works on one request at a time, in order; each gets one line in the log, when its
answer's last byte has been handed to the kernel, or when the connection ended before that.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, repeat
from typing import NamedTuple, cast

from weft.testbed.answers import REASONS, Answer, Asked, Delivery, Step, plain_answer
from weft.testbed.log import RequestLog, Stopwatch, cleaned
from weft.testbed.messages import Fields, in_chunks, split_absolute, without_port
from weft.testbed.names import ABRUPT
from weft.testbed.tls import Certificates, Secured
from weft.testbed.web import Web
from weft.testbed.web_time import WebTime

LONGEST_HEAD = 131_072
"""More than most servers take: who sends a URL of 100 kB should see that it is answered."""
LONGEST_QUEUE = 1 << 20
"""Bytes of requests that may wait behind one that is worked on."""

_CHUNKED = Delivery.CHUNKED  # looking into an enumeration takes longer than looking here
_TRICKLE = Step(b"<p>and so on</p>\n", wait=0.2)
_AT_ONCE = 1 << 20
"""Bytes of one answer after which others have their turn."""
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class Manners(NamedTuple):
    """How the servers treat connections."""

    keep_alive_s: float = 15.0
    """An idle connection is closed after this."""
    requests: int = 0
    """Requests answered on one connection; 0 is no limit."""
    announce: bool = False
    """Whether answers carry a Keep-Alive header with these two."""
    connections: int = 4_000
    """Connections at once."""
    hang_s: float = 30.0
    rate_kbs: float = 0.0


@dataclass(slots=True)
class Shared:
    """What all connections of a process have in common."""

    web: Web
    log: RequestLog
    clock: Stopwatch
    manners: Manners
    certificates: Certificates | None = None
    web_time: WebTime | None = None
    """Of a web that changes."""
    number: int = 0
    """Number of the latest connection; processes count in steps, so that no two have the same."""
    step: int = 1
    date: bytes = b""
    """The Date header; whoever runs the loop keeps it right."""
    connections: set[Connection] = field(default_factory=set)


class _Client:
    """Who asks for what: read once for all requests of a connection that repeat their header fields."""

    __slots__ = ("agent", "asked", "fields", "prefix", "site", "text")

    def __init__(self, text: bytes, connection: Connection, named: bytes | None = None) -> None:
        self.text = text if named is None else b""
        self.fields = fields = Fields(text)
        host = fields.host if named is None else named
        self.agent = cleaned(fields.agent)
        self.asked = Asked(
            connection.secure, fields.encodings, fields.cookie, without_port(host), fields.agent, connection.number,
            fields.if_none_match, fields.if_modified_since,
        )  # fmt: skip
        self.site = connection.find_site(host)
        self.prefix = connection.log_prefix(b"request", self.site, host)


class Connection(asyncio.Protocol):
    """One connection."""

    UNKNOWN = 421
    """What is answered where no site has the name."""

    __slots__ = (
        *(
            "_address",
            "_arrived",
            "_at",
            "_buffer",
            "_busy",
            "_client",
            "_closing",
            "_ends",
            "_failing",
            "_first_byte",
            "_line",
        ),
        *("_opened", "_requests", "_shared", "_steps", "_timer", "_tls", "_transport", "active_at", "number", "secure"),
    )

    def __init__(self, shared: Shared, *, secure: bool) -> None:
        self._shared = shared
        self.secure = secure
        self.number = 0
        self._address = ""
        self._opened = self.active_at = shared.clock.read()
        self._transport: asyncio.Transport | None = None
        self._tls: Secured | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._client: _Client | None = None
        self._requests = 0
        self._buffer = b""
        self._at = 0.0  # the web's time of the request that is worked on, where it changes
        self._arrived = 0.0  # when the first byte in the buffer was read
        self._first_byte = 0.0  # the same of the request that is worked on
        self._busy = False  # with an answer
        self._closing = False  # after this answer
        self._failing = False  # the answer ends with the connection
        self._steps: Iterator[Step] = iter(())  # what is left of an answer that is sent in steps
        self._ends = 0.0  # when such an answer has been long enough
        self._line: tuple[bytes, int, int, str, bytes] | None = None  # what the log will say of the answer

    # Life of a connection

    def connection_made(self, base: asyncio.BaseTransport) -> None:
        """Begin, unless the client comes from outside or is one too many."""
        transport = cast("asyncio.Transport", base)
        shared = self._shared
        self._address = transport.get_extra_info("sockname")[0]
        if not self._address.startswith(("127.", "::1")) or len(shared.connections) >= shared.manners.connections:
            transport.abort()
            return
        if self._address == ABRUPT:
            reset(transport)
            return
        shared.number += shared.step
        self.number = shared.number
        shared.connections.add(self)
        # Limits of zero: a write is tried at once, and what the kernel does not take is told by `resume_writing`.
        transport.set_write_buffer_limits(high=0)
        self._transport = transport
        if shared.certificates is not None and self.secure:
            self._tls = Secured(shared.certificates.first_context(self._address))

    def data_received(self, data: bytes) -> None:
        """Answer the requests in these bytes."""
        now = self.active_at = self._shared.clock.read()
        if self._tls is not None:
            data = self._unseal(self._tls, data)
        if self._buffer:
            self._buffer += data
            if len(self._buffer) > LONGEST_QUEUE:
                self.end()
        else:
            self._arrived = now
            self._buffer = data
        if not self._busy:
            self._go_on()

    def _unseal(self, tls: Secured, data: bytes) -> bytes:
        """Take TLS away, and answer what belongs to it."""
        data, reply = tls.opened(data)
        if reply and self._transport is not None:
            self._transport.write(reply)
        if tls.broken:
            self._busy = True
            self._close()
        return data

    def _write(self, transport: asyncio.Transport, text: bytes) -> None:
        transport.write(text if self._tls is None else self._tls.sealed(text))

    def _close(self) -> None:
        """End the connection when what was written is out."""
        transport = self._transport
        if transport is not None and not transport.is_closing():
            if self._tls is not None and not self._tls.broken:
                transport.write(self._tls.farewell())
            transport.close()

    def resume_writing(self) -> None:
        """The kernel has taken everything."""
        if self._line is None or self._timer is not None:
            return
        if self._failing:
            self._go_through(self._steps)
        else:
            self._finish(self._shared.clock.read())

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Write down what was not finished, and that the connection has ended."""
        if self._timer is not None:
            self._timer.cancel()
        if self not in self._shared.connections:
            return
        self._shared.connections.discard(self)
        now = self._shared.clock.read()
        if self._line is not None:
            self._write_line(now)
        self._write_close(now)

    def _write_close(self, now: float) -> None:
        client = self._client or _Client(b"", self)
        prefix = b"close" + client.prefix[len(b"request") :]
        self._shared.log.add(
            b"%b%.6f\t%.6f\t-\t0\t0\tclose\t-\t%b%b\n" % (prefix, now, now, client.agent, self._web_time())
        )

    def close_if_idle(self, since: float) -> None:
        """Close if nothing has happened since then."""
        if self.active_at < since and not self._busy:
            self._close()

    def end(self) -> None:
        """Close now, whatever is going on."""
        if self._transport is not None:
            self._transport.abort()

    # Who is asked

    def find_site(self, host: bytes) -> int:
        """The site a request is for: by its host, and where sites are addresses by the address it came to."""
        names = self._shared.web.names
        host = without_port(host)
        here = names.site_at(self._address)
        if here >= 0:
            return here if not host or names.site_of(host) == here else -1
        return names.site_of(host)

    def log_prefix(self, event: bytes, site: int, host: bytes) -> bytes:
        """The beginning of this connection's lines in the log."""
        web = self._shared.web
        known = site >= 0 and not web.names.label(site, without_port(host))
        name = web.authority(site, secure=self.secure) if known else cleaned(host)
        scheme = b"https" if self.secure else b"http"
        values = (event, name, self._address.encode(), scheme, self.number, self._opened)
        return b"%b\t%b\t%b\t%b\t%d\t%.6f\t" % values

    # Requests

    def _go_on(self) -> None:
        """Answer what is in the buffer, up to the first request that takes time."""
        while self._buffer and not self._busy:
            head, blank, rest = self._buffer.partition(b"\r\n\r\n")
            if not blank:
                if len(head) > LONGEST_HEAD:
                    self._refuse(431)
                return
            self._buffer = rest
            self._first_byte = self._arrived
            self._request(head)

    def _request(self, head: bytes) -> None:
        """Answer one request."""
        end = head.find(b"\r\n")
        text = head[end:] if end >= 0 else b""
        client = self._client
        if client is None or client.text != text:
            client = self._client = _Client(text, self)
        words = (head[:end] if end >= 0 else head).split(b" ")
        if len(words) != 3 or not words[2].startswith(b"HTTP/1."):
            self._refuse(400)
            return
        method, target, version = words
        if not target.startswith(b"/"):
            host, target = split_absolute(target)
            client = self._client = _Client(text, self, host)
        if client.fields.has_body:
            self._refuse(413)
        elif method not in {b"GET", b"HEAD"}:
            self._send(method, target, version, plain_answer(405, "405", b"Allow: GET, HEAD\r\n"))
        elif client.site < 0:
            self._send(method, target, version, plain_answer(self.UNKNOWN, str(self.UNKNOWN)))
        else:
            answer = self._shared.web.answer(client.site, target, self._asked_now(client.asked))
            if answer.wait:
                self._later(answer.wait, lambda: self._send(method, target, version, answer))
            else:
                self._send(method, target, version, answer)

    def _asked_now(self, asked: Asked) -> Asked:
        """The same with the web's time, where it changes; the Date header says this time from then on."""
        shared = self._shared
        if shared.web_time is None:
            return asked
        self._at = shared.web_time.read()
        shared.date = shared.web_time.date(self._at)
        return asked._replace(at=self._at)

    def _web_time(self) -> bytes:
        """The end of a line in the log: the time of the web in which the request was answered, where it changes."""
        return b"" if self._shared.web_time is None else b"\t%.3f" % self._at

    def _refuse(self, status: int) -> None:
        """Answer a request that cannot be understood, and end the connection."""
        self._client = self._client or _Client(b"", self)
        self._buffer = b""
        self._send(b"-", b"-", b"HTTP/1.0", plain_answer(status, str(status)))

    # Answers

    def _send(self, method: bytes, target: bytes, version: bytes, answer: Answer) -> None:
        """Send an answer in the way it asks for."""
        transport, client, manners = self._transport, self._client, self._shared.manners
        self._timer = None
        if transport is None or client is None or transport.is_closing():
            return
        self._requests += 1
        if answer.delivery > _CHUNKED:
            self._fail(method, target, answer)
            return
        modern = version == b"HTTP/1.1"
        keep = (modern or client.fields.keep) and not client.fields.close and self._requests != manners.requests
        chunked = modern and answer.delivery == _CHUNKED
        body = answer.body
        text = b"HTTP/1.1 %d %b\r\nServer: weft-testbed\r\n%b%b%b%b\r\n" % (
            answer.status,
            REASONS[answer.status],
            self._shared.date,
            answer.headers,
            _length(answer, chunked=chunked),
            b"" if keep and modern and not manners.announce else self._connection_field(keep=keep),
        )
        if method != b"HEAD":
            text += in_chunks(body) if chunked else body
        self._closing = not keep
        self._line = (method, answer.status, len(text), answer.kind, target)
        if manners.rate_kbs:
            self._write_slowly(transport, text, 0, max(1, int(manners.rate_kbs * 100)))
            return
        # Before it is out: else a server that was held up would count time in which the client had the answer.
        now = self._shared.clock.read()
        self._write(transport, text)
        if transport.get_write_buffer_size():
            self._busy = True
        else:
            self._finish(now)

    def _connection_field(self, *, keep: bool) -> bytes:
        """The Connection header, where one is needed."""
        manners = self._shared.manners
        if not keep:
            return b"Connection: close\r\n"
        if not manners.announce:
            return b"Connection: keep-alive\r\n"
        left = manners.requests - self._requests if manners.requests else 1000
        return b"Connection: keep-alive\r\nKeep-Alive: timeout=%d, max=%d\r\n" % (manners.keep_alive_s, left)

    def _write_slowly(self, transport: asyncio.Transport, text: bytes, at: int, step: int) -> None:
        """Send a tenth of a second's worth, and the rest later."""
        self._busy = True
        self._timer = None
        now = self._shared.clock.read()
        self._write(transport, text[at : at + step])
        if at + step < len(text):
            self._later(0.1, lambda: self._write_slowly(transport, text, at + step, step))
        elif not transport.get_write_buffer_size():
            self._finish(now)

    def _finish(self, now: float) -> None:
        """An answer is out, since then: write its line, and close or go on."""
        self.active_at = now
        self._write_line(now)
        if self._closing:
            self._busy = True
            self._close()
        elif self._busy:
            self._busy = False
            self._go_on()

    def _write_line(self, now: float) -> None:
        client, line = self._client, self._line
        self._line = None
        if client is None or line is None:
            return
        method, status, size, kind, target = line
        if kind != "page":  # the path of a page is our own; others may hold anything
            method, target = cleaned(method), cleaned(target)
        self._shared.log.add(
            b"%b%.6f\t%.6f\t%b\t%d\t%d\t%b\t%b\t%b%b\n"
            % (
                *(client.prefix, self._first_byte, now, method, status, size, kind.encode(), target, client.agent),
                self._web_time(),
            )
        )

    def _later(self, seconds: float, act: Callable[[], None]) -> None:
        self._busy = True
        self._timer = asyncio.get_running_loop().call_later(seconds, act)

    # Failures

    def _fail(self, method: bytes, target: bytes, answer: Answer) -> None:
        """Send less than a whole answer, or none; its line is written when the connection has ended."""
        self._busy = self._failing = True
        self._line = (method, answer.status, 0, answer.kind, target)
        self._ends = self._shared.clock.read() + self._shared.manners.hang_s
        self._steps = iter(self._steps_of(answer))
        self._go_through(self._steps)

    def _steps_of(self, answer: Answer) -> Iterable[Step]:
        """What is sent of an answer that is not sent whole."""
        delivery, body = answer.delivery, answer.body
        if answer.steps is not None:
            return answer.steps()
        head = b"HTTP/1.1 200 OK\r\n%b%bConnection: close\r\n" % (self._shared.date, answer.headers)
        half = Step(head + b"Content-Length: %d\r\n\r\n" % len(body) + body[: len(body) // 2])
        ways: dict[Delivery, Iterable[Step]] = {
            Delivery.MALFORMED: (Step(body),),
            Delivery.SHORT: (half,),
            Delivery.RESET: (half, Step(wait=0.05, reset=True)),  # the half should arrive before
            Delivery.HANG: (Step(wait=self._shared.manners.hang_s),),
            Delivery.ENDLESS: chain((Step(head + b"\r\n"),), repeat(_TRICKLE)),
        }
        return ways.get(delivery, ())

    def _go_through(self, steps: Iterator[Step]) -> None:
        """Take steps, up to one that must wait: for its time, for the kernel, or for the turn of others."""
        self._timer = None
        sent = 0
        for step in steps:
            if step.wait:
                rest = chain((step._replace(wait=0.0),), self._steps)
                self._later(step.wait, partial(self._go_through, rest))
                return
            sent += len(step.text)
            if not self._take(step):
                return
            if sent > _AT_ONCE:
                self._later(0.0, partial(self._go_through, self._steps))
                return
        self._close()

    def _take(self, step: Step) -> bool:
        """Send a step; no: the answer ends here, or goes on when the kernel has taken this."""
        transport, line = self._transport, self._line
        if transport is None or line is None or transport.is_closing():
            return False
        if step.text:
            self._write(transport, step.text)
            method, status, size, kind, target = line
            self._line = (method, status, size + len(step.text), kind, target)
        if step.reset:
            reset(transport)
            return False
        if self._shared.clock.read() > self._ends:
            self._close()
            return False
        return not transport.get_write_buffer_size()


def _length(answer: Answer, *, chunked: bool) -> bytes:
    """The header that says where an answer ends; 304 has no body, and says nothing of the length (RFC 9110, 8.6)."""
    if answer.status == 304:
        return b""
    return b"Transfer-Encoding: chunked\r\n" if chunked else b"Content-Length: %d\r\n" % len(answer.body)


def reset(transport: asyncio.Transport) -> None:
    """End a connection so that the client sees a reset."""
    sock = transport.get_extra_info("socket")
    if sock is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
    transport.abort()
