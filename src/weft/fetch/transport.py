"""HTTP by libcurl. In: a connection to a site and a request. Out: a `Page`, handed to a callback.

One `Connection` is one visit: the first request opens it, and when it is gone the visit is over. libcurl would
silently open a second one when a kept-alive connection turns out dead; the socket callback refuses that, and the
caller is told that nothing was asked (`None`), so that the site's wait is kept. A plain request through an HTTP
proxy is a visit of its own: libcurl shares connections to a proxy among all sites.

libcurl is driven by its socket interface: one epoll object of ours, registered once with the event loop, holds all
of libcurl's sockets (a third cheaper than the loop's own readers). Transfer coding is removed by libcurl, content
coding is left as sent.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import socket
import warnings
from collections.abc import Callable
from typing import Any

import msgspec
import pycurl

from weft.clock import Clock
from weft.fetch.endings import certificate_verdict, failure, fault_of_ours, is_careless_end, is_whole
from weft.fetch.headers import parse_head
from weft.fetch.options import Fetching
from weft.fetch.room import FREE, Room
from weft.model import Page, Reason

Done = Callable[[Page | None], None]

_MASKS = {
    pycurl.POLL_IN: select.EPOLLIN,
    pycurl.POLL_OUT: select.EPOLLOUT,
    pycurl.POLL_INOUT: select.EPOLLIN | select.EPOLLOUT,
    pycurl.POLL_NONE: 0,
}

_REMOVE = pycurl.POLL_REMOVE
_READABLE, _CAN_READ = select.EPOLLIN, pycurl.CSELECT_IN  # what nearly all events are

_SUPPRESS_CONNECT_HEADERS = 265  # pycurl has no name for it: what a proxy says to CONNECT is no part of the answer


class Request(msgspec.Struct, frozen=True, gc=False):
    """What to ask on a connection."""

    url: str
    target: str  # path and query, as it stands in the request line
    headers: list[str]  # all of them, Host included, in the order they are sent; none without a value
    max_bytes: int
    accepts: Callable[[str], bool] | None  # asked with the declared media type before a good answer's body is read
    last: bool  # close the connection when the answer is there
    sniffs: Callable[[bytes], bool] | None = None  # asked with the first bytes, where its type is not accepted
    body: bytes | None = None  # of a POST; None for GET
    shown: list[str] | None = None  # the headers as they are written down, where some of them are secret
    shown_body: bytes = b""
    limits: dict[str, int] = {}  # bytes of a content, in place of `max_bytes`, by declared media type; image/* is all


class Connection:
    """One connection to one origin, at one address: opened by the first request, gone after the last."""

    __slots__ = ("address", "answered", "closed", "host", "opened_at", "port", "slot", "tls", "verify")

    def __init__(
        self, host: str, port: int, address: str, *, verify: bool, answered: Callable[[], None] | None
    ) -> None:
        self.host = host
        self.port = port
        self.address = address
        self.verify = verify
        self.answered = answered  # called at the first byte of the first answer
        self.opened_at = 0.0
        self.closed = False
        self.tls = ""
        self.slot: _Slot | None = None

    def __repr__(self) -> str:
        state = "closed" if self.closed else "open" if self.opened_at else "new"
        return f"Connection({self.host}:{self.port} at {self.address}, {state})"


class _Slot:
    """A libcurl handle with what its callbacks collect for the transfer under way."""

    __slots__ = (
        "added",
        "chunks",
        "connection",
        "curl",
        "done",
        "fds",
        "headers",
        "hears",
        "is_last",
        "is_new",
        "limit",
        "lines",
        "may_open",
        "most",
        "on_gone",
        "on_parted",
        "posts",
        "request",
        "room",
        "sent",
        "size",
        "sockets",
        "started",
        "started_wall",
        "stopped",
        "verifies",
    )

    def __init__(self, curl: Any, sockets: set[int], on_gone: Callable[[int], None], room: Room) -> None:
        self.curl = curl
        self.room = room  # for what is larger than an answer may be by itself
        self.most = 0  # bytes, before that is asked
        self.sockets = sockets  # all open ones of the transport
        self.on_gone = on_gone  # called with the descriptor of a socket that is closed
        self.on_parted: Callable[[_Slot], None] | None = None  # called once when the last socket is closed
        self.fds: set[int] = set()  # those of this visit: one, or for a moment several ways to one proxy
        # What libcurl was told last, so that it is told again only what has changed.
        self.headers: list[str] = []
        self.sent = b""  # the request as far as these headers make it
        self.is_new = self.is_last = False
        self.verifies: bool | None = None  # certificates
        self.posts = False  # libcurl was told to send a body
        self.hears = False  # libcurl tells us, and not the list alone, of header lines
        self.added = False  # to libcurl's multi handle: without it, pycurl cannot tell us that a socket is closed
        self.may_open = False  # a connection: in the first transfer of a visit only
        self.connection: Connection | None = None
        self.request: Request | None = None
        self.done: Done | None = None
        self.lines: list[bytes] = []
        self.chunks: list[bytes] = []
        self.size = 0
        self.limit = 0  # bytes of the content, by its type
        self.stopped = ""  # why our own write callback ended the transfer: "length" or "type"
        self.started = 0.0
        self.started_wall = 0.0

    def on_header(self, line: bytes) -> None:
        connection = self.connection
        if connection is not None and connection.answered is not None:
            connection.answered()
            connection.answered = None
        self.lines.append(line)

    def on_body(self, data: bytes) -> int:
        request = self.request
        assert request is not None
        unwanted = not self.chunks and request.accepts is not None and not _wanted(self.lines, request.accepts)
        if unwanted and (request.sniffs is None or not request.sniffs(data)):
            self.stopped = "type"
            return -1
        if request.limits and not self.chunks:
            self.limit = _limit(self.lines, request)
            self.most = min(self.limit, FREE)
        self.size += len(data)
        if self.size > self.most:
            if self.size > self.limit and not self.stopped:
                self.stopped = "length"
                self.chunks.append(data[: len(data) - (self.size - self.limit)])
            if self.stopped or not self.room.grow(self, len(data)):
                return -1
        self.chunks.append(data)
        return len(data)

    @property
    def coming(self) -> bool:
        return self.done is not None and not self.stopped

    def give_way(self) -> None:
        self.stopped = "length"
        size = 0
        for count, chunk in enumerate(self.chunks):
            if size + len(chunk) >= FREE:
                self.chunks[count:] = [chunk[: FREE - size]]
                break
            size += len(chunk)

    def on_socket(self, fd: int, _purpose: int) -> int:
        """A connection is about to be opened."""
        if not self.may_open or self.connection is None:
            return int(pycurl.SOCKOPT_ERROR)
        self.on_gone(fd)  # who had this number before may have left without a word
        self.fds.add(fd)
        self.sockets.add(fd)
        self.connection.closed = False
        return int(pycurl.SOCKOPT_OK)

    def on_close(self, fd: int) -> int:
        if fd in self.fds:
            self.fds.discard(fd)
            if not self.fds and self.connection is not None:
                self.connection.closed = True
        self.on_gone(fd)
        os.close(fd)
        if self.on_parted is not None and not self.fds:
            self.on_parted(self)
            self.on_parted = None
        return 0


def _wanted(lines: list[bytes], accepts: Callable[[str], bool]) -> bool:
    """Is the content worth reading? Only a good answer is judged by its type: an error page or a redirect is short."""
    good = bool(lines) and lines[0][8:10] == b" 2"
    if not good and not any(line.startswith(b"HTTP/") and line[8:].lstrip()[:1] == b"2" for line in lines):
        return True
    return accepts(_declared(lines))


def _declared(lines: list[bytes]) -> str:
    """The media type in a header; "" where there is none."""
    for line in lines:
        if line[12:13] == b":" and line[:12].lower() == b"content-type":
            return line[13:].partition(b";")[0].partition(b",")[0].strip().lower().decode("latin-1")
    return ""


def _limit(lines: list[bytes], request: Request) -> int:
    """How many bytes of a content are taken, by its declared type."""
    declared = _declared(lines)
    whole = declared.partition("/")[0] + "/*"
    return request.limits.get(declared, request.limits.get(whole, request.max_bytes))


def _give_body(slot: _Slot, body: bytes | None) -> None:
    """Have libcurl send a body, or none any more."""
    slot.posts = body is not None
    if body is None:
        slot.curl.setopt(pycurl.HTTPGET, 1)
    else:
        slot.curl.setopt(pycurl.POST, 1)
        slot.curl.setopt(pycurl.POSTFIELDS, body)


class Transport:
    """All connections of one worker."""

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Clock, settings: Fetching) -> None:
        self._loop = loop
        self._clock = clock
        self._settings = settings
        self._forwarded = settings.proxy != "" and not settings.proxy.startswith("socks")
        self._room = Room(settings.max_bytes_coming)
        self._epoll = select.epoll()
        self._sockets: set[int] = set()  # open connections
        self._watched: dict[int, int] = {}  # by descriptor: what epoll looks for
        self._resting: set[int] = set()  # of these, kept connections that libcurl wants to hear nothing of
        self._slots: dict[Any, _Slot] = {}
        self._idle: list[_Slot] = []
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._kicked = False
        self._at_work = False  # with what libcurl told, behind which it is called anyway
        self._stopped = False
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._on_socket_state)
        self._multi.setopt(pycurl.M_PIPELINING, 0)
        self._multi.setopt(pycurl.M_MAXCONNECTS, 20_000)
        loop.add_reader(self._epoll.fileno(), self._on_events)

    def __repr__(self) -> str:
        return f"Transport({len(self._slots) - len(self._idle)} busy, {len(self._idle)} idle handles)"

    def fetch(self, connection: Connection, request: Request, done: Done) -> None:
        """Ask, and call `done` with the page, or with None when the connection was gone before it could be asked."""
        slot = connection.slot
        fresh = slot is None
        if connection.closed:
            done(None)
            return
        if slot is None:
            slot = connection.slot = self._idle.pop() if self._idle else self._make_slot()
            self._prepare(slot, connection)
        curl = slot.curl
        slot.request = request
        slot.may_open = fresh
        slot.lines.clear()
        slot.chunks = []
        slot.size = 0
        slot.stopped = ""
        slot.limit = request.max_bytes
        slot.most = min(request.max_bytes, FREE)
        if self._room.total:
            self._room.release(slot)
        slot.started = self._clock.now()
        slot.started_wall = self._clock.wall()
        if fresh:
            connection.opened_at = slot.started_wall
        curl.setopt(pycurl.URL, request.url)
        if slot.hears is not (connection.answered is not None):
            slot.hears = not slot.hears
            curl.setopt(pycurl.HEADERFUNCTION, slot.on_header if slot.hears else slot.lines.append)
        if slot.headers != request.headers:
            slot.headers = request.headers
            lines = [line.encode("utf-8", "replace") for line in request.headers]
            shown = lines if request.shown is None else [line.encode("utf-8", "replace") for line in request.shown]
            slot.sent = b"\r\n".join((b" HTTP/1.1", *shown, b"", b""))
            curl.setopt(pycurl.HTTPHEADER, lines)
        if request.body is not None or slot.posts:
            _give_body(slot, request.body)
        last = request.last or (self._forwarded and self._is_forwarded(request))
        if slot.is_last is not last:
            slot.is_last = last
            curl.setopt(pycurl.FORBID_REUSE, last)
        self._begin(slot, done, new=fresh)

    def close(self, connection: Connection) -> None:
        """End a visit: the connection is shut and its handle goes back."""
        slot = connection.slot
        connection.closed = True
        if slot is None:
            return
        connection.slot = None
        slot.connection = None
        slot.request = None
        self._room.release(slot)
        slot.may_open = False
        if slot.done is not None:  # a transfer is under way: drop it, which closes its connection
            self._remove(slot)
            slot.done = None
        if slot.posts:
            _give_body(slot, None)
        if not slot.fds:
            self._free(slot)
            return
        parting = not slot.fds <= self._resting  # libcurl is saying goodbye, as TLS wants it, and closes by itself
        for fd in slot.fds:
            if not parting:
                self._forget(fd, closed=False)
            shared = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, fileno=fd)
            with contextlib.suppress(OSError):  # it is gone already
                shared.shutdown(socket.SHUT_RDWR)
            shared.detach()
        if parting:
            slot.on_parted = self._on_parted
            return
        slot.fds.clear()
        # No call of libcurl closes one idle connection, and it looks for dead ones rarely, all at once and at length.
        # Asked for a connection to the same place, it finds this one dead and gives it up; a new one is refused.
        self._begin(slot, lambda _page: self._free(slot), new=False)

    def _on_parted(self, slot: _Slot) -> None:
        self._loop.call_soon(self._free, slot)

    def _free(self, slot: _Slot) -> None:
        self._remove(slot)
        self._idle.append(slot)

    def _remove(self, slot: _Slot) -> None:
        if slot.added and not self._stopped:
            slot.added = False
            self._multi.remove_handle(slot.curl)

    def stop(self) -> None:
        """Drop everything."""
        self._stopped = True
        self._loop.remove_reader(self._epoll.fileno())
        if self._timer is not None:
            self._timer.cancel()
        for slot in self._slots.values():
            if slot.added:
                self._multi.remove_handle(slot.curl)
                slot.added = False
                slot.done = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # no callback runs from here; libcurl closes by itself
            self._multi.close()
        for slot in self._slots.values():
            slot.curl.close()
        self._slots.clear()
        self._idle.clear()
        self._sockets.clear()
        self._epoll.close()

    # Handles.

    def _make_slot(self) -> _Slot:
        curl = pycurl.Curl()
        slot = self._slots[curl] = _Slot(curl, self._sockets, self._forget, self._room)
        settings = self._settings
        for option, value in (
            (pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1),
            (pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS),
            (pycurl.PATH_AS_IS, 1),
            (pycurl.HTTP_CONTENT_DECODING, 0),
            (pycurl.DNS_CACHE_TIMEOUT, 0),  # its cost grows with the number of hosts, and we resolve names ourselves
            (pycurl.NOSIGNAL, 1),
            (pycurl.NOPROGRESS, 1),
            (pycurl.BUFFERSIZE, 131_072),
            (pycurl.CONNECTTIMEOUT_MS, int(settings.connect_timeout * 1000)),
            (pycurl.TIMEOUT_MS, int(settings.timeout * 1000)),
            (pycurl.SSL_CIPHER_LIST, "DEFAULT:@SECLEVEL=0"),  # old servers are part of the web
            (pycurl.SSLVERSION, pycurl.SSLVERSION_TLSv1_0),
            (pycurl.PROXY, settings.proxy),  # given even where it is empty: else libcurl looks into the environment
            (pycurl.NOPROXY, "" if settings.proxy else "*"),
            (pycurl.HEADERFUNCTION, slot.lines.append),
            (pycurl.WRITEFUNCTION, slot.on_body),
            (pycurl.SOCKOPTFUNCTION, slot.on_socket),
            (pycurl.CLOSESOCKETFUNCTION, slot.on_close),
        ):
            curl.setopt(option, value)
        if settings.ca_file:
            curl.setopt(pycurl.CAINFO, settings.ca_file)
        if settings.proxy:
            curl.setopt(pycurl.PROXYHEADER, ["User-Agent:"])  # a CONNECT says nothing of libcurl
            curl.setopt(_SUPPRESS_CONNECT_HEADERS, 1)
        return slot

    def _prepare(self, slot: _Slot, connection: Connection) -> None:
        slot.connection = connection
        curl = slot.curl
        if connection.address:
            literal = f"[{connection.address}]" if ":" in connection.address else connection.address
            curl.setopt(pycurl.CONNECT_TO, [f"::{literal}:{connection.port}"])
        if slot.verifies is not connection.verify:
            slot.verifies = connection.verify
            curl.setopt(pycurl.SSL_VERIFYPEER, connection.verify)
            curl.setopt(pycurl.SSL_VERIFYHOST, 2 if connection.verify else 0)

    def _is_forwarded(self, request: Request) -> bool:
        """Does a proxy send this request on? Then its connection is not the visit's own."""
        return self._forwarded and request.url.startswith("http:")

    def _begin(self, slot: _Slot, done: Done, *, new: bool) -> None:
        """Start a transfer, on a new connection or on one that is there."""
        if slot.is_new is not new:
            slot.is_new = new
            slot.curl.setopt(pycurl.FRESH_CONNECT, new)
        self._remove(slot)
        self._multi.add_handle(slot.curl)
        slot.added = True
        slot.done = done
        self._kick_soon()

    # The event loop's side.

    def _on_socket_state(self, what: int, fd: int, _multi: object, _data: object) -> None:
        if what == _REMOVE:  # most are wanted again for the visit's next page: epoll need not know
            self._resting.add(fd)
            return
        self._resting.discard(fd)
        mask = _MASKS[what]
        watched = self._watched.get(fd)
        if watched == mask and fd in self._sockets:
            return
        self._watched[fd] = mask
        if watched is not None:
            try:
                self._epoll.modify(fd, mask)
            except FileNotFoundError:  # a descriptor of libcurl's own, which closes it without a word
                watched = None
        if watched is None:
            self._epoll.register(fd, mask)

    def _forget(self, fd: int, *, closed: bool = True) -> None:
        """Watch a socket no more; one that is closed, epoll forgets by itself."""
        self._resting.discard(fd)
        if closed:
            self._sockets.discard(fd)
        if self._watched.pop(fd, None) is not None and not closed:
            with contextlib.suppress(OSError):
                self._epoll.unregister(fd)

    def _set_timer(self) -> None:
        """Ask libcurl when it wants to be called: at once, or after a while. It is asked whenever it did something, and
        tells nobody by itself: that would be three times a page.
        """
        milliseconds = self._multi.timeout()
        if milliseconds < 0:
            return
        if milliseconds == 0:
            self._kick_soon()
            return
        at = self._loop.time() + milliseconds / 1000
        if self._timer is None or at < self._timer_at:
            if self._timer is not None:
                self._timer.cancel()
            self._timer_at = at
            self._timer = self._loop.call_at(at, self._on_time)

    def _on_time(self) -> None:
        self._timer = None
        self._kick()

    def _kick_soon(self) -> None:
        if not self._kicked:
            self._kicked = True
            if not self._at_work:
                self._loop.call_soon(self._kick)

    def _kick(self) -> None:
        self._kicked = False
        if self._stopped:
            return
        self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
        self._drain()
        if not self._kicked and not self._stopped:
            self._set_timer()

    def _on_events(self) -> None:
        self._at_work = True
        try:
            self._act()
            # Whoever got its page wants another: no turn of the loop for that.
            if not self._stopped and (self._kicked or self._multi.timeout() == 0):
                self._kicked = False
                self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
                self._drain()
        finally:
            self._at_work = False
            if self._kicked:
                self._loop.call_soon(self._kick)
            elif not self._stopped:
                self._set_timer()

    def _act(self) -> None:
        """Have libcurl read and write where that is possible, and hand over what came of it."""
        action = self._multi.socket_action
        for fd, events in self._epoll.poll(0, 8):
            if fd in self._resting:  # the server has closed it; libcurl finds out when it wants to use it
                self._forget(fd, closed=False)
            elif events == _READABLE:
                action(fd, _CAN_READ)
            else:
                flags = pycurl.CSELECT_OUT if events & select.EPOLLOUT else 0
                if events & ~select.EPOLLOUT:
                    flags |= pycurl.CSELECT_IN
                action(fd, flags)
        self._drain()

    def _drain(self) -> None:
        """Hand over every finished transfer; a fault in one must not lose the others."""
        finished: list[tuple[_Slot, Done | None, int]] = []
        slots, read = self._slots, self._multi.info_read
        while True:
            queued, succeeded, failed = read()
            for curl in succeeded:
                slot = slots[curl]
                finished.append((slot, slot.done, 0))
            if failed:
                finished += [(slot := slots[curl], slot.done, code) for curl, code, _message in failed]
            if not queued:
                break
        for slot, done, code in finished:
            if done is None or slot.done is not done:  # closed meanwhile, perhaps even at work for another visit
                continue
            slot.done = None
            try:
                page = self._page(slot, code) if slot.connection is not None else None
                slot.chunks = []  # the page has them
                done(page)
            except Exception as error:  # noqa: BLE001  the other pages must not be lost with this one
                self._loop.call_exception_handler({"message": "a page could not be handed over", "exception": error})

    def _page(self, slot: _Slot, code: int) -> Page | None:
        connection, request = slot.connection, slot.request
        assert connection is not None
        assert request is not None
        if code == pycurl.E_ABORTED_BY_CALLBACK:  # a second connection was refused
            connection.closed = True
            return None
        if request.url.startswith("https:") and (connection.tls == "" or code):
            connection.tls = self._verdict(slot, connection, code)
        status, head, headers = parse_head(slot.lines)
        if code and 100 <= status < 200:  # no more came than a promise of an answer
            status, head, headers = 0, b"", {}
        truncated = slot.stopped if slot.stopped == "length" else ""
        reason: Reason | None = None
        ours = ""
        if len(head) > self._settings.max_header_bytes:
            reason = Reason.HEADERS
        elif slot.stopped == "type":
            reason = Reason.TYPE
        elif code == 0:
            if not is_whole(head):
                reason = Reason.RESET
        elif code == pycurl.E_OPERATION_TIMEDOUT and slot.chunks:
            truncated = "time"
        elif not truncated and not is_careless_end(slot.curl, code, head, headers):
            proxied = bool(self._settings.proxy)
            reason = failure(slot.curl, code, answered=bool(slot.lines), proxied=proxied)
            ours = fault_of_ours(slot.curl, code, connection.address, proxied=proxied)
        if code or reason is not None or slot.is_last:
            connection.closed = True
        chunks = slot.chunks
        return Page(
            request.url,
            status,
            reason,
            (b"GET " if request.body is None else b"POST ") + request.target.encode() + slot.sent + request.shown_body,
            head,
            headers,
            chunks[0] if len(chunks) == 1 else b"".join(chunks),
            truncated,
            connection.address,
            connection.tls,
            connection.opened_at,
            slot.started_wall,
            self._clock.now() - slot.started,
            connection.closed,
            ours,
        )

    def _verdict(self, slot: _Slot, connection: Connection, code: int) -> str:
        if not connection.verify:
            return connection.tls or "unverified"
        return certificate_verdict(slot.curl, code, answered=bool(slot.lines))
