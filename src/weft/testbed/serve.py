"""The origin servers on the network. In: a web and settings. Out: answers and a log, until told to stop.

Everything of a process runs on one event loop: sites, TLS and DNS. More processes share the ports; their
connections are numbered in steps, so that one log serves them all. Crawlers come to the sites' own addresses, or to
one port that is a proxy for all of them.

Source for the limits a server announces: Castillo et al. 2004, section 4.2 (Apache's 15 s between requests).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import formatdate
from functools import partial
from pathlib import Path

import uvloop

from weft.clock import SystemClock
from weft.processes import die_with_parent
from weft.settings import setting
from weft.testbed import dns
from weft.testbed.http import Connection, Manners, Shared
from weft.testbed.log import RequestLog, Stopwatch
from weft.testbed.proxy import Proxied
from weft.testbed.sockets import Sockets, join_sockets, open_sockets, require_files
from weft.testbed.tls import Certificates
from weft.testbed.web import Web
from weft.testbed.web_time import WebTime

_FLUSH_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """How the web is served."""

    port: int = setting(0, "port of all sites; 0 takes a free one", at_least=0, at_most=65_535)
    tls: bool = setting(False, "serve https, too")
    tls_port: int = setting(0, "port of the https sites; 0 takes a free one", at_least=0, at_most=65_535)
    dns_port: int = setting(0, "port of the DNS server, on 127.0.0.1; 0 takes a free one", at_least=0, at_most=65_535)
    proxy: bool = setting(False, "be an HTTP proxy for the sites, too, for crawlers that cannot ask the DNS server")
    proxy_port: int = setting(0, "port of the proxy, on 127.0.0.1; 0 takes a free one", at_least=0, at_most=65_535)
    log: Path | None = setting(None, "file to append the request log to")
    ca_out: Path | None = setting(None, "file to write the certificate authority's certificate to, for clients")
    resumption: bool = setting(True, "TLS sessions may be resumed")
    keep_alive_s: float = setting(15.0, "an idle connection is closed after this", above=0)
    requests_per_connection: int = setting(0, "close a connection after so many answers; 0 is no limit", at_least=0)
    keep_alive_header: bool = setting(False, "say these two in a Keep-Alive header")
    connections: int = setting(4_000, "most connections at once; others are refused", at_least=1)
    processes: int = setting(1, "server processes that share the ports", at_least=1)
    speed_up: float = setting(
        1.0, "of a web that changes: seconds of its time in a second; 0: its time stands still", at_least=0
    )
    begin_s: float = setting(0.0, "of a web that changes: its time when the servers start", at_least=0, unit="seconds")


@dataclass(frozen=True, slots=True)
class Status:
    """A web that is being served."""

    web: Web
    """With the ports in its addresses."""
    dns_port: int
    dns_questions: int
    """Questions the DNS server has been asked so far."""
    proxy_port: int | None = None
    web_time: float | None = None
    """Of a web that changes: seconds from its start."""


def serve(web: Web, settings: ServerSettings, ready: Callable[[Status], None], control: int | None = None) -> None:
    """Serve until SIGTERM or SIGINT, or until the file `control` ends; `ready` is told where the web is.

    A line on `control` is a request to write the log out; `ready` is called again when that is done.
    """
    require_files(settings.connections)
    RequestLog(settings.log, changing=web.world is not None).close()  # a log that cannot be written is told now
    sockets = open_sockets(
        port=settings.port,
        tls_port=settings.tls_port if settings.tls else None,
        dns_port=settings.dns_port,
        proxy_port=settings.proxy_port if settings.proxy else None,
        shared=settings.processes > 1,
        literal=web.names.has_literal,
    )
    with contextlib.closing(sockets):
        web = web.at(sockets.port, sockets.tls_port)
        web.body(0)  # compiled code is loaded now, not when the first client waits
        certificates = _certificates(web, settings) if settings.tls else None
        web_time = _web_time(web, settings)
        workers = [
            _fork(web, settings, sockets, certificates, web_time, number) for number in range(1, settings.processes)
        ]
        server = _Server(web, settings, sockets, certificates, web_time, process=0)
        try:
            uvloop.run(server.run(ready, control, workers))
        finally:
            for worker in workers:
                os.kill(worker, signal.SIGTERM)
            for worker in workers:
                os.waitpid(worker, 0)


def _certificates(web: Web, settings: ServerSettings) -> Certificates:
    made = Certificates(web.names, web.options, web.seed, resumption=settings.resumption)
    if settings.ca_out is not None:
        made.write_authority(settings.ca_out)
    return made


def _web_time(web: Web, settings: ServerSettings) -> WebTime | None:
    if web.world is None:
        return None
    epoch = web.world.epoch
    return WebTime(SystemClock(), begin=settings.begin_s, speed_up=settings.speed_up, epoch=epoch)


def _fork(
    web: Web,
    settings: ServerSettings,
    sockets: Sockets,
    certificates: Certificates | None,
    web_time: WebTime | None,
    process: int,
) -> int:
    """Start one more process, which listens at once; return its id."""
    parent = os.getpid()
    own = join_sockets(sockets)
    child = os.fork()
    if child:
        for sock in (own.http, own.https, own.proxy):
            if sock is not None:
                sock.close()
        return child
    status = 1
    try:
        die_with_parent(parent, signal.SIGTERM)
        server = _Server(web, settings, own, certificates, web_time, process=process)
        uvloop.run(server.run(lambda _: None, None, []))
        status = 0
    finally:
        os._exit(status)


class _Server:
    """One server process."""

    def __init__(
        self,
        web: Web,
        settings: ServerSettings,
        sockets: Sockets,
        certificates: Certificates | None,
        web_time: WebTime | None,
        *,
        process: int,
    ) -> None:
        manners = Manners(
            keep_alive_s=settings.keep_alive_s,
            requests=settings.requests_per_connection,
            announce=settings.keep_alive_header,
            connections=settings.connections,
            hang_s=web.options.hang_s,
            rate_kbs=web.options.rate_kbs,
        )
        self._clock = SystemClock()
        self._log = RequestLog(settings.log, changing=web.world is not None)
        self._shared = Shared(web, self._log, Stopwatch(self._clock), manners, certificates, web_time)
        self._web_time = web_time
        self._shared.number, self._shared.step = process, settings.processes
        self._keep_alive_s = settings.keep_alive_s
        self._sockets = sockets
        self._web = web
        self._dns = dns.Answers(web.names, web.options, web.seed)
        self._has_dns = process == 0

    async def run(self, ready: Callable[[Status], None], control: int | None, workers: list[int]) -> None:
        """Accept connections until told to stop."""
        loop = asyncio.get_running_loop()
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        loop.add_signal_handler(signal.SIGUSR1, self._log.flush)
        self._shared.date = self._date()
        servers = [await self._listen(self._sockets.http, secure=False)]
        if self._sockets.https is not None:
            servers.append(await self._listen(self._sockets.https, secure=True))
        if self._sockets.http6 is not None and self._has_dns:
            servers.append(await self._listen(self._sockets.http6, secure=False))
        if self._sockets.proxy is not None:
            factory = partial(Proxied, self._shared, self._dns)
            servers.append(await loop.create_server(factory, sock=self._sockets.proxy, backlog=4096))
        if self._has_dns:
            await dns.start_dns(self._dns, self._sockets.dns_udp, self._sockets.dns_tcp)
        if control is not None:
            loop.add_reader(control, self._obey, control, stop, ready, workers)
        ready(self._status())
        async with asyncio.TaskGroup() as group:
            chores = [group.create_task(self._flush_often()), group.create_task(self._look_after_each_second())]
            await stop.wait()
            for chore in chores:
                chore.cancel()
        for server in servers:
            server.close()
        await self._end_connections()
        self._log.close()

    async def _listen(self, sock: socket.socket, *, secure: bool) -> asyncio.Server:
        factory = partial(Connection, self._shared, secure=secure)
        return await asyncio.get_running_loop().create_server(factory, sock=sock, backlog=4096)

    def _status(self) -> Status:
        web_time = None if self._web_time is None else self._web_time.read()
        return Status(self._web, self._sockets.dns_port, self._dns.questions, self._sockets.proxy_port, web_time)

    def _obey(self, control: int, stop: asyncio.Event, ready: Callable[[Status], None], workers: list[int]) -> None:
        """Write the log out at each line; stop when there are no more."""
        if not os.read(control, 4096):
            asyncio.get_running_loop().remove_reader(control)
            stop.set()
            return
        self._log.flush()
        for worker in workers:
            os.kill(worker, signal.SIGUSR1)
        # Other processes write within a moment, or at the latest when their own time to flush has come.
        moment = 2 * _FLUSH_S if workers else 0.0
        asyncio.get_running_loop().call_later(moment, lambda: ready(self._status()))

    async def _flush_often(self) -> None:
        while True:
            await asyncio.sleep(_FLUSH_S)
            self._log.flush()

    async def _look_after_each_second(self) -> None:
        while True:
            await asyncio.sleep(1.0)
            self._shared.date = self._date()
            since = self._shared.clock.read() - self._keep_alive_s
            for connection in tuple(self._shared.connections):
                connection.close_if_idle(since)

    async def _end_connections(self) -> None:
        """Close all, and give each of them time for its last line in the log."""
        for connection in tuple(self._shared.connections):
            connection.end()
        for _ in range(100):
            if not self._shared.connections:
                return
            await asyncio.sleep(0.01)

    def _date(self) -> bytes:
        if self._web_time is not None:
            return self._web_time.date(self._web_time.read())
        return f"Date: {formatdate(self._clock.wall(), usegmt=True)}\r\n".encode()
